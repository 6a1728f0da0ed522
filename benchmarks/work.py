"""The work every measured run does: two queries, the pages they should find, and a model that does as it is asked."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from notion_search.demo.workspace import Workspace, load

WORDS_UNASKED = 10  # of a reason whose length the prompt leaves open


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One query and what finding its pages takes."""

    query: str
    variants: Sequence[str]
    """What the model answers when asked for other phrasings."""
    subjects: Sequence[str]
    matters: Sequence[str]
    """Every subject with every matter is a page's title, and some variant finds each."""
    opening: str
    why: Sequence[str]
    """The words of a reason, of a usual length each."""

    @property
    def titles(self) -> list[str]:
        """The thirty pages to be found."""
        return [f"{subject} {matter}" for matter in self.matters for subject in self.subjects]


ENGLISH = Work(
    query="AI agents",
    variants=("multi-agent orchestration", "autonomous assistants", "LLM tool use", "AI 에이전트"),
    subjects=("AI agents", "Multi-agent orchestration", "Autonomous assistants", "Tool use by an LLM", "AI 에이전트"),
    matters=(
        "for customer support: pilot results",
        "in the release pipeline: design notes",
        "for sales research: weekly review",
        "in 2026: budget and choice of vendor",
        "for the data team: runbook",
        "in finance: what was learned",
    ),
    opening="This page collects what the team decided, which options were left out and why, who owns the next step, "
    "and what has to be measured before the pilot may go on to the remaining offices in the next quarter.",
    why="explains how the team plans and measures agents in production".split(),
)

KOREAN = Work(
    query="신규 입사자 온보딩",
    variants=("새 직원 교육", "수습 기간", "입사 첫 주", "new hire onboarding"),
    subjects=("신규 입사자 온보딩", "새 직원 교육", "수습 기간 안내", "입사 첫 주", "New hire onboarding"),
    matters=(
        "고객 지원팀 시범 운영 결과",
        "배포 절차 설계 기록",
        "영업 조사 주간 점검",
        "2026년 예산과 업체 선정",
        "데이터팀 운영 지침",
        "재무팀에서 배운 점",
    ),
    opening="이 문서는 팀이 결정한 내용과 제외한 대안, 그 이유, 다음 단계를 맡은 사람, 그리고 다음 분기에 나머지 "
    "사무실로 넓히기 전에 반드시 측정해야 할 항목을 한곳에 모아 둔다. 담당자는 매주 금요일까지 진행 상황을 적고, "
    "막힌 일이 있으면 회의를 기다리지 말고 바로 알려서 함께 풀어야 한다. 바뀐 내용은 맨 위에 날짜와 함께 남기고 "
    "오래된 내용은 지우지 않고 아래로 옮긴다.",
    why="신규 입사자에게 필요한 계정과 교육 일정을 첫째 주부터 차례대로 안내하는".split(),
)

OTHERS = [
    f"{thing} {number}"
    for thing in ("Lunch menu", "Parking plan", "회의실 예약", "Travel costs")
    for number in range(8)
]


def workspace(edited: str) -> Workspace:
    """Return a workspace of both works' pages and others that neither query finds, all edited at one time."""
    schema = {
        "Name": "title",
        "Status": {"status": ["In progress", "Done"]},
        "Topic": {"multi_select": ["Strategy", "Operations", "Research"]},
        "Type": {"select": ["Decision record", "Meeting notes"]},
        "Owner": "people",
        "Account Code": "rich_text",
        "Due": "date",
    }
    rows = [_row(title, work.opening, edited) for work in (ENGLISH, KOREAN) for title in work.titles]
    rows += [_row(title, ENGLISH.opening, edited) for title in OTHERS]
    return load(
        {"databases": [{"title": "Knowledge", "sources": [{"name": "Knowledge", "schema": schema, "rows": rows}]}]}
    )


def _row(title: str, opening: str, edited: str) -> dict[str, object]:
    values = {
        "Name": title,
        "Status": "In progress",
        "Topic": ["Strategy", "Operations"],
        "Type": "Decision record",
        "Owner": ["Kim Minji"],
        "Account Code": "D.intelligence",
        "Due": "2026-12-18",
    }
    return {"values": values, "edited": edited, "blocks": [f"{title}. {opening}", "# Next steps", "- Measure again."]}


def tokens(text: str) -> float:
    """Return about how many tokens the text is: four Latin letters a token, one syllable of Hangul."""
    return sum(0.25 if char.isascii() else 1.0 for char in text)


def answer(prompt: str) -> str:
    """Return what an obedient model answers: as many entries, as many words and as many blanks as it is asked for."""
    work = next(work for work in (ENGLISH, KOREAN) if work.query in prompt)
    shown = re.search('"[:,](.)', prompt)
    compact = shown is not None and shown[1] != " "
    separators = (",", ":") if compact else (", ", ": ")
    pages = re.findall(r"^\[\d+\] ", prompt, re.MULTILINE)
    value = _entries(work, _number(r"exactly (\d+) objects", prompt, len(pages)), prompt) if pages else work.variants
    return json.dumps(value, ensure_ascii=False, separators=separators)


def _entries(work: Work, count: int, prompt: str) -> list[dict[str, object]]:
    length = _number(r"at most (\d+) words", prompt, WORDS_UNASKED)
    why = " ".join(work.why[place % len(work.why)] for place in range(length))
    return [{"index": index, "score": 100 - 2 * index, "why": why} for index in range(1, count + 1)]


def _number(pattern: str, text: str, default: int) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else default

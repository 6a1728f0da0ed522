"""`--local`: variants and ranking by rule, without any model."""

from datetime import UTC, datetime, timedelta

import pytest

from notion_search.demo.workspace import load
from notion_search.local import LocalJudge

from .builders import make_candidate
from .conftest import Ended

TODAY = datetime.now(UTC)


def day(days):
    return f"{TODAY - timedelta(days=days):%Y-%m-%d %H:%M}"


PAGES = [
    {"title": "Onboarding checklist", "edited": day(400), "blocks": ["Laptop, accounts, people."]},
    {"title": "Onboarding", "edited": day(40), "blocks": ["What a new colleague needs."]},
    {"title": "온보딩 자료", "edited": day(2), "blocks": ["첫 주에 볼 것."]},
    {"title": "Getting started with onboarding of contractors", "edited": day(1), "blocks": ["Contracts first."]},
    {"title": "Lunch menu", "edited": day(1), "blocks": ["Soup."]},
]


@pytest.fixture
def notion(serve_notion):
    return serve_notion(load({"pages": PAGES}))


def test_a_local_run_needs_no_claude_and_finds_across_languages(notion, run):
    ended = run("--local", "onboarding", "--json")

    assert ended.code == 0
    assert ended.err == ""
    assert ended.titles == [
        "Onboarding",
        "Getting started with onboarding of contractors",
        "Onboarding checklist",
        "온보딩 자료",
    ]
    assert sorted(request.body["query"] for request in notion.searches) == ["getting started 온보딩", "onboarding"]


def test_relevance_is_the_score_and_the_snippet_what_it_is_made_of(notion, run):
    first, second, *_ = run("--local", "onboarding", "--json").json

    assert (first["relevance"], first["snippet"]) == (0.83, "title 30/30 · words 35/40 · edited 40 days ago")
    assert (second["relevance"], second["snippet"]) == (0.95, "title 30/30 · words 35/40 · edited 1 day ago")


def test_the_answer_is_the_same_every_time(notion, run):
    runs: set[Ended] = {run("--local", "onboarding checklist", "--json") for _ in range(3)}

    assert len(runs) == 1


def test_explain_shows_the_parts_of_every_score(notion, run):
    ended = run("--local", "onboarding", "--explain", "--limit", "2")

    assert "score 1: title 30 · words 35 · recency 18 = 83 'Onboarding'" in ended.err
    assert "score 2: title 30 · words 35 · recency 30 = 95" in ended.err


@pytest.mark.parametrize(
    ("arguments", "searches", "judged"),
    [
        pytest.param(("--no-expand",), ["onboarding"], True, id="ranked alone"),
        pytest.param(("--no-rerank",), ["getting started 온보딩", "onboarding"], False, id="widened alone"),
    ],
)
def test_each_half_works_alone(notion, run, arguments, searches, judged):
    ended = run("--local", "onboarding", "--json", *arguments)

    assert sorted(request.body["query"] for request in notion.searches) == searches
    assert all((page["relevance"] is not None) is judged for page in ended.json)


def test_a_weak_match_is_shown_with_a_notice(notion, run):
    ended = run("--local", "--json", "checklist alpha beta gamma delta")

    assert ended.json
    assert all(page["relevance"] < 0.3 for page in ended.json)
    assert "what is shown matches weakly" in ended.err


def test_a_missing_client_is_told_of_the_way_without(notion, run):
    ended = run("onboarding")

    assert ended.code == 3
    assert "--local" in ended.err


def test_a_failed_ranking_is_never_replaced_by_rule(notion, claude, run):
    claude.says("expand", '["온보딩"]')
    claude.says("rerank", "no")

    ended = run("onboarding", "--json")

    assert [page["relevance"] for page in ended.json] == [None] * len(ended.json)
    assert "showing the order of the search" in ended.err


def test_the_users_own_synonyms_come_first(notion, run, outside):
    folder = outside / "home/.config/notion-search"
    folder.mkdir(parents=True)
    (folder / "synonyms.txt").write_text("onboarding / Soup / 점심\n", encoding="utf-8")

    run("--local", "onboarding", "--json")

    assert "Soup 점심" in [request.body["query"] for request in notion.searches]


def test_a_malformed_table_of_synonyms_is_named_and_left_out(notion, run, outside):
    folder = outside / "home/.config/notion-search"
    folder.mkdir(parents=True)
    (folder / "synonyms.txt").write_text("# mine\nonboarding\n", encoding="utf-8")

    ended = run("--local", "onboarding", "--json")

    (notice,) = ended.notices
    assert "synonyms.txt" in notice
    assert "line 2" in notice
    assert len(ended.json) == 4


def test_a_page_whose_status_says_archived_loses_twenty():
    now = datetime(2026, 11, 30, tzinfo=UTC)
    pages = [
        make_candidate(1, title="Travel policy", edited="2026-11-30T00:00:00Z", properties={"Status": "Archived"}),
        make_candidate(2, title="Travel policy", edited="2026-11-29T00:00:00Z", properties={"상태": "완료"}),
    ]

    first, second = LocalJudge(now).judge("travel", pages, None)

    assert first.candidate.id == pages[1].id
    assert second.snippet == "title 30/30 · words 35/40 · edited today · archived"
    assert second.parts["archived"] == -20


def test_equal_scores_keep_the_order_of_the_search():
    pages = [make_candidate(number, title="Plan b", edited=None) for number in (3, 1, 2)]

    judged = LocalJudge(TODAY).judge("plan", pages, None)

    assert [result.candidate.id for result in judged] == [page.id for page in pages]


def test_an_exact_title_is_first_even_when_old():
    pages = [
        make_candidate(1, title="Onboarding plan for all", edited=TODAY.isoformat()),
        make_candidate(2, title="Onboarding PLAN", edited="2020-01-01T00:00:00Z"),
    ]

    assert LocalJudge(TODAY).judge("onboarding plan", pages, None)[0].candidate.id == pages[1].id

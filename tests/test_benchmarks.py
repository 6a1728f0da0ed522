"""The benchmark's own arithmetic, and that both sides do the same work."""

import json

import pytest

from benchmarks import sequential, targets
from benchmarks.processes import Timed
from benchmarks.servers import Call, Latencies, Servers
from benchmarks.work import ENGLISH, KOREAN, answer, tokens
from notion_search.demo.handler import title_matches

LATENCIES = Latencies(notion=0.3, claude=0.8, token=0.01)


@pytest.fixture
def servers(monkeypatch):
    """Both services, answering at once."""
    servers = Servers(Latencies(notion=0, claude=0, token=0))
    for name in ("NOTION_API_BASE_URL", "NOTION_TOKEN"):
        monkeypatch.setenv(name, servers.environment()[name])
    yield servers
    servers.close()


def made_call(kind, **changes):
    return Call(**{"kind": kind, "path": "", "status": 200, "arrived": 0.0, "answered": 0.0, **changes})


def made_run(*calls, seconds=1.0):
    return Timed(seconds=seconds, peak=0.0, log=calls, err="")


def read_pages(servers):
    return [call.path.split("/")[3] for call in servers.log() if call.kind == "children"]


@pytest.mark.parametrize(("text", "count"), [("", 0), ("agents", 1.5), ("온보딩", 3), ("AI 에이전트", 4.75)])
def test_a_token_is_four_latin_letters_or_one_syllable(text, count):
    assert tokens(text) == count


def test_an_answer_takes_longer_with_every_token():
    assert LATENCIES.claude_answers("") == 0.8
    assert LATENCIES.claude_answers("a" * 400) == pytest.approx(1.8)


@pytest.mark.parametrize("work", [ENGLISH, KOREAN], ids=["english", "korean"])
def test_five_variants_find_the_thirty_pages_of_their_own_work(work):
    other = KOREAN if work is ENGLISH else ENGLISH
    variants = (work.query, *work.variants)

    assert len(variants) == 5
    assert len(set(work.titles)) == 30
    assert all(any(title_matches(variant, title) for variant in variants) for title in work.titles)
    assert not any(title_matches(variant, title) for variant in variants for title in other.titles)


@pytest.mark.parametrize(
    ("asked", "entries", "words", "compact"),
    [
        ('exactly 4 objects\n[{"index": 3}]\nat most 7 words', 4, 7, False),
        ('exactly 2 objects\n[{"index":3,"why":"a"}]', 2, 10, True),
        ("all of them", 3, 10, False),
    ],
    ids=["spaced", "minified", "unbounded"],
)
def test_the_judge_answers_as_much_as_it_is_asked_for(asked, entries, words, compact):
    text = answer(f"Search: AI agents\n[1] A\n[2] B\n[3] C\n{asked}")

    ranking = json.loads(text)
    assert [entry["index"] for entry in ranking] == list(range(1, entries + 1))
    assert {len(entry["why"].split()) for entry in ranking} == {words}
    assert (": " not in text) is compact


def test_the_judge_gives_its_reasons_in_the_language_of_the_search():
    assert tokens(answer(f"Search: {KOREAN.query}\n[1] A")) > tokens(answer(f"Search: {ENGLISH.query}\n[1] A"))


def test_the_lower_bound_is_two_answers_of_claude_and_two_of_notion():
    calls = [made_call("search"), made_call("expand", answer="a" * 40), *[made_call("children")] * 30]

    bound = targets.lower_bound(made_run(*calls, made_call("rerank", answer="a" * 400)), LATENCIES)

    assert bound == pytest.approx(0.3 + 0.3 + 0.8 + 0.1 + 0.8 + 1.0)


def test_both_sides_read_the_same_thirty_pages(servers, claude, capsys, run):
    claude.always("expand", answer)
    claude.always("rerank", answer)
    sequential.main(ENGLISH.query, servers.environment())
    one_after_another = read_pages(servers)
    results = json.loads(capsys.readouterr().out)
    servers.begin()
    ended = run("--json", ENGLISH.query)

    assert len(results) == len(ended.json) == 10
    assert len(one_after_another) == len(set(one_after_another)) == 30
    assert set(read_pages(servers)) == set(one_after_another)


def test_an_edit_changes_the_time_and_the_text_of_two_pages(servers, run):
    plain = ("--json", "--no-expand", "--no-rerank", "--limit", "30", ENGLISH.query)
    before = {page["id"]: page for page in run(*plain).json}
    edited = servers.edit()
    changed = [page for page in run(*plain).json if page["last_edited"] != before[page["id"]]["last_edited"]]

    assert {page["id"] for page in changed} == edited
    assert len(edited) == 2
    assert all(page["excerpt"].startswith("Edit 1.") for page in changed)

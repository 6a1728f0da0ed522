"""`--report`: one object for other programs, whose schema ships."""

import json
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pytest
from jsonschema import Draft202012Validator

from notion_search.demo.workspace import load

from .fakes import notion as fakes
from .fakes.claude import by_title
from .fakes.gws import FakeGws
from .test_hostile import BARE

SCHEMA = json.loads((files("notion_search") / "report.schema.json").read_text(encoding="utf-8"))


def day(days):
    return f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%d %H:%M}"


LONG = [
    "# Travel",
    *["Nothing of interest here."] * 150,
    "## Hotels [draft]",
    "Book **early** in [Seoul](https://x.example).",
    "# Other",
    "x",
]
PAGES = [
    {"title": "Travel guide", "edited": day(100), "blocks": LONG},
    {"title": "Travel hotels", "edited": day(5), "blocks": ["Short of words. But it says enough to be read."]},
    *({"title": f"Travel note {number}", "edited": day(300), "blocks": ["A note."]} for number in range(8)),
]


@pytest.fixture
def notion(serve_notion):
    return serve_notion(load({"pages": PAGES}))


@pytest.fixture
def report(run):
    """Make a report, valid by its schema, and return what it says."""

    def report(*arguments):
        ended = run("--report", *arguments)
        assert ended.code == 0
        Draft202012Validator(SCHEMA).validate(ended.json)
        return ended.json["search_results"]

    return report


def test_a_report_is_the_documents_own_object(notion, report):
    made = report("--local", "what do we know of 2026 business trip hotels?")

    assert list(made) == ["query_original", "query_variants", "sources_searched", "total_results", "results"]
    assert made["query_original"] == "what do we know of 2026 business trip hotels?"
    assert 2 <= len(made["query_variants"]) <= 3
    assert made["query_variants"][0] == "2026 business trip hotels"
    assert all(2 <= len(variant.split()) <= 5 for variant in made["query_variants"])
    assert made["sources_searched"] == ["notion"]
    assert made["total_results"] == len(made["results"]) > 0
    assert list(made["results"][0]) == [
        "rank", "score", "source", "title", "url", "content_type", "last_edited", "preview", "extracted_content",
        "score_breakdown",
    ]  # fmt: skip


def test_without_a_judge_the_best_score_is_first(notion, report):
    results = report("--no-expand", "--no-rerank", "travel hotels")["results"]

    assert [result["rank"] for result in results] == list(range(1, 11))
    scores = [result["score"] for result in results]
    assert scores == sorted(scores, reverse=True)
    assert results[0]["title"] == "Travel hotels"
    assert all(result["score"] == sum(result["score_breakdown"].values()) for result in results)
    assert all("relevance" not in result for result in results)


def test_where_claude_judged_its_relevance_is_the_order(notion, claude, report):
    claude.says("expand", '["hotels"]')
    claude.always("rerank", by_title("Travel note 3", "Travel guide"))

    results = report("travel hotels")["results"]

    assert [result["title"] for result in results[:2]] == ["Travel note 3", "Travel guide"]
    relevances = [result["relevance"] for result in results]
    assert relevances == sorted(relevances, reverse=True)
    assert results[0]["score"] < results[1]["score"]


@pytest.mark.parametrize(("arguments", "count"), [((), 5), (("--extract", "0"), 0), (("--extract", "10"), 10)])
def test_the_first_results_are_quoted_and_all_have_a_preview(notion, report, arguments, count):
    results = report("--local", "travel", *arguments)["results"]

    assert [bool(result["extracted_content"]) for result in results] == [True] * count + [False] * (10 - count)
    assert all(result["preview"] for result in results)
    assert len(notion.of_kind("markdown")) == count


def test_a_section_says_whose_it_is_and_starts_at_its_heading(notion, report):
    results = report("--local", "hotels guide")["results"]
    guide = next(result for result in results if result["title"] == "Travel guide")

    head, _, text = guide["extracted_content"].partition("\n\n")
    assert head == f"[Source: Travel guide | notion | Last edited: {guide['last_edited'][:10]}]"
    assert text.startswith("## Hotels [draft]\n")
    assert "Book **early**" in text
    assert "# Other" not in text
    assert len(text) <= 3000


def test_a_preview_is_a_sentence(notion, report):
    (result, *_) = report("--local", "travel hotels")["results"]

    assert result["preview"] == "Short of words. But it says enough to be read."


def test_a_page_that_cannot_be_read_whole_is_quoted_from_its_opening(notion, report, run):
    notion.fault("markdown", fakes.error(500, "internal_server_error"), forever=True)

    ended = run("--report", "--local", "travel hotels", "--limit", "1", "--timeout", "5")

    (result,) = ended.json["search_results"]["results"]
    assert "Short of words." in result["extracted_content"]
    assert "1 of 1 pages could not be read whole" in ended.err


def test_a_copy_in_drive_is_named_beside_the_page(notion, report, outside):
    with FakeGws() as google:
        google.install(outside / "bin")
        text = b"Short of words. But it says enough to be read."
        google.holds(1, "Travel hotels.gdoc", "document", {"text/markdown": text})
        google.holds(2, "Travel costs", "spreadsheet", {"text/csv": b"what,cost\ntrain,50\n"})

        made = report("--local", "travel hotels", "--sources", "notion,drive")
        alone = report("--local", "travel costs", "--sources", "drive")["results"]

    assert made["sources_searched"] == ["notion", "drive"]
    first = made["results"][0]
    assert (first["source"], first["deduplicated_from"]) == ("notion", ["https://docs.google.com/d/file-1"])
    assert [result["content_type"] for result in alone] == ["sheet"]


def test_a_row_of_a_database_is_told_from_a_page(run, report):
    kinds = {result["content_type"] for result in report("--demo", "--local", "AI agents")["results"]}

    assert kinds == {"page", "database_entry"}


def test_nothing_found_is_a_report_too(notion, report):
    made = report("--local", "zebra")

    assert (made["total_results"], made["results"]) == (0, [])


def test_a_report_is_strict_and_inert(serve_notion, report, run):
    serve_notion(load({"pages": [{"title": "AI \x1b[31m\u202e", "blocks": ["\x9bred \ud800 x"]}]}))

    report("--local", "AI")

    assert not BARE.search(run("--report", "--local", "AI").out)


@pytest.mark.parametrize(
    "arguments",
    [("--report", "--json"), ("--report", "--answer"), ("--extract", "3"), ("--report", "--extract", "11")],
    ids=["json", "answer", "no report", "too many"],
)
def test_options_that_contradict_each_other_are_an_error_of_usage(run, arguments):
    ended = run(*arguments, "travel")

    assert (ended.code, ended.out) == (2, "")


def test_json_stays_as_it_is(notion, run):
    assert list(run("--json", "--local", "travel").json[0]) == [
        "id", "url", "title", "relevance", "snippet", "excerpt", "properties", "source", "last_edited", "confidence"
    ]  # fmt: skip

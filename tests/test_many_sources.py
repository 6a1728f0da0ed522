"""Notion and Drive in one ranking: which is searched, which may fail, and what stands in one list."""

import time
import unicodedata
from datetime import UTC, datetime, timedelta

import pytest

from notion_search.demo.workspace import load

from .builders import DATABASE_ID, SLACK, small_workspace
from .fakes import notion as fakes
from .fakes.claude import by_title
from .fakes.gws import Did, FakeGws, error, listing

OPENING = "Book trains first, keep the receipts, and ask before you fly anywhere at all."


@pytest.fixture
def notion(serve_notion):
    day = f"{datetime.now(UTC) - timedelta(days=30):%Y-%m-%d %H:%M}"
    pages = [
        {"title": "Travel policy", "edited": day, "blocks": [OPENING]},
        {"title": "Travel diary", "edited": day, "blocks": ["Rain in Busan."]},
        {"title": "Lunch menu", "edited": day, "blocks": ["Soup."]},
    ]
    return serve_notion(load({"pages": pages}))


@pytest.fixture
def google(outside):
    """Drive behind the `gws` program."""
    with FakeGws() as server:
        server.install(outside / "bin")
        server.holds(1, "Travel costs 2026", "document", {"text/markdown": b"# Travel\n\nWhat trips cost."})
        yield server


BOTH = ("--sources", "notion,drive", "--local", "--json")


def test_a_plain_run_asks_drive_nothing(notion, google, run):
    ended = run("travel", "--local", "--json")

    assert google.calls == []
    assert {page["source"] for page in ended.json} == {"notion"}


def test_both_stand_in_one_ranking(notion, google, run):
    ended = run("travel costs", *BOTH)

    assert ended.code == 0
    assert ended.err == ""
    assert ended.titles[0] == "Travel costs 2026"
    assert [page["source"] for page in ended.json] == ["drive", "notion", "notion"]
    drive = ended.json[0]
    assert drive["url"] == "https://docs.google.com/d/file-1"
    assert drive["excerpt"] == "Travel What trips cost."


def test_the_environment_names_the_places_too(notion, google, run, monkeypatch):
    monkeypatch.setenv("NOTION_SEARCH_SOURCES", "drive, notion")

    assert {page["source"] for page in run("travel", "--local", "--json").json} == {"notion", "drive"}


def test_drive_alone_needs_no_notion_token(google, run):
    ended = run("travel", "--sources", "drive", "--local", "--json")

    assert (ended.code, ended.titles) == (0, ["Travel costs 2026"])


def test_the_table_has_a_column_of_sources_only_where_there_are_several(notion, google, run):
    several = run("travel", "--sources", "notion,drive", "--local").out.splitlines()
    single = run("travel", "--sources", "notion", "--local").out.splitlines()

    assert several[0].split() == ["#", "Title", "Relevance", "Source", "Edited"]
    assert single[0].split() == ["#", "Title", "Relevance", "Edited"]
    assert {line.split()[-2] for line in several if line[:3] in (" 1 ", " 2 ", " 3 ")} == {"notion", "drive"}


def test_a_copy_in_drive_is_shown_as_the_page_with_its_other_link(notion, google, run):
    google.holds(2, "TRAVEL policy.docx", "document", {"text/markdown": OPENING.encode()})

    ended = run("travel policy", *BOTH)
    table = run("travel policy", "--sources", "notion,drive", "--local").out

    assert [page["source"] for page in ended.json if "policy" in page["title"].lower()] == ["notion"]
    assert "    also https://docs.google.com/d/file-2" in table.splitlines()


def test_both_forms_of_hangul_are_one_document(serve_notion, google, run):
    serve_notion(load({"pages": [{"title": "출장 규정", "blocks": [OPENING]}]}))
    name = unicodedata.normalize("NFD", "출장 규정")
    google.says("list", *[listing({"id": "f", "name": name, "mimeType": "text/plain"})] * 3)
    google.says("get", Did(content=OPENING.encode()))

    assert run("출장 규정", *BOTH).titles == ["출장 규정"]


UNAVAILABLE = {
    "signed out": error(401, "authError", "no credentials", code=2),
    "signed out, exit 0": error(401, "authError", "no credentials", code=0),
    "a failing discovery": Did(code=4, stderr="discovery failed"),
    "no JSON": Did(stdout="keyring backend: file\n"),
}


@pytest.fixture(params=[*UNAVAILABLE, "absent"])
def no_drive(request, google, outside):
    """Drive of no use, in one of many ways."""
    if request.param == "absent":
        (outside / "bin/gws").unlink()
    else:
        google.says("list", *[UNAVAILABLE[request.param]] * 9)


def test_without_drive_notion_is_shown_with_one_notice(notion, no_drive, run):
    ended = run("travel", *BOTH)

    assert ended.code == 0
    assert ended.titles == ["Travel policy", "Travel diary"]
    (notice,) = ended.notices
    assert "Drive was skipped" in notice


def test_drive_that_was_not_named_is_missed_in_silence(notion, no_drive, run, monkeypatch):
    monkeypatch.setenv("NOTION_SEARCH_SOURCES", "notion,drive")

    ended = run("travel", "--local", "--json")

    assert ended.err == ""
    assert ended.titles == ["Travel policy", "Travel diary"]


def test_when_nothing_is_found_the_missing_drive_is_told_of(notion, no_drive, run, monkeypatch):
    monkeypatch.setenv("NOTION_SEARCH_SOURCES", "notion,drive")

    ended = run("zebra", "--local", "--json")

    assert ended.json == []
    assert any("Drive was not searched" in notice for notice in ended.notices)


def test_a_program_that_sleeps_for_ever_costs_a_notice_and_some_seconds(notion, google, run):
    google.says("list", *[Did(sleep=600)] * 3)

    start = time.monotonic()
    ended = run("travel", *BOTH, "--timeout", "3")

    assert time.monotonic() - start < 3 + SLACK
    assert ended.titles == ["Travel policy", "Travel diary"]
    assert len(ended.notices) == 1


@pytest.mark.parametrize("status", [401, 500])
def test_without_notion_drive_is_shown_with_a_notice(notion, google, run, monkeypatch, status):
    monkeypatch.setenv("NOTION_SEARCH_WAIT_SCALE", "0.01")
    notion.fault(
        "search", fakes.error(status, "unauthorized" if status == 401 else "internal_server_error"), forever=True
    )

    ended = run("travel", *BOTH)

    assert (ended.code, ended.titles) == (0, ["Travel costs 2026"])
    (notice,) = ended.notices
    assert "Notion was skipped" in notice


def test_without_either_the_run_ends_with_notions_reason(notion, google, run):
    notion.fault("search", fakes.error(403, "restricted_resource"), forever=True)
    google.says("list", *[Did(code=5)] * 3)

    ended = run("travel", *BOTH)

    assert (ended.code, ended.out) == (4, "")
    assert "Notion refused" in ended.err


def test_of_each_source_twenty_pages_are_judged_at_most(serve_notion, google, claude, run):
    serve_notion(load({"pages": [{"title": f"Travel {number}", "blocks": ["x"]} for number in range(40)]}))
    google.says(
        "list",
        *[listing(*({"id": f"f{n}", "name": f"Travel file {n}", "mimeType": "text/plain"} for n in range(20)))] * 2,
    )
    claude.says("expand", '["travel"]')

    ended = run("travel", "--sources", "notion,drive", "--json", "--limit", "30")

    (prompt,) = claude.prompts("rerank")
    assert prompt.count("Travel file") <= 20
    assert len(ended.json) == 30
    assert sum(page["source"] == "notion" for page in ended.json) <= 20


def test_ten_files_are_read_at_most(notion, google, run):
    files = [{"id": f"f{n}", "name": f"Travel file {n}", "mimeType": "text/plain"} for n in range(20)]
    google.says("list", *[listing(*files)] * 2)

    run("travel", *BOTH, "--no-expand", "--limit", "30")

    assert sum(call.method == "get" for call in google.calls) == 10


def test_a_report_reads_no_more_files_than_that(notion, google, claude, run):
    files = [{"id": f"f{n}", "name": f"Travel file {n}", "mimeType": "text/plain"} for n in range(20)]
    google.says("list", *[listing(*files)] * 2)
    google.says("get", *[Did(content=b"A text of travel.")] * 20)
    claude.always("rerank", by_title("Travel file 15", "Travel file 3"))

    ended = run("travel", "--sources", "drive", "--no-expand", "--report", "--extract", "10")

    assert sum(call.method == "get" for call in google.calls) == 10
    first, second, *_ = ended.json["search_results"]["results"]
    assert (first["title"], first["extracted_content"]) == ("Travel file 15", "")
    assert "A text of travel." in second["extracted_content"]
    assert "10 files a run are read at most" in ended.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(("--sources", "notion,dropbox"), 2, "'notion,dropbox'", id="an unknown place"),
        pytest.param(("--sources", ""), 2, "--sources", id="a blank"),
        pytest.param(("--sources", ","), 2, "--sources", id="a comma"),
        pytest.param(("--sources", "drive", "--databases", DATABASE_ID), 2, "--databases", id="with databases"),
        pytest.param(("--sources", "drive", "--demo"), 2, "--demo", id="with the demo"),
    ],
)
def test_places_that_cannot_be_searched_are_an_error_of_usage(notion, google, run, arguments, code, said):
    ended = run("travel", "--local", *arguments)

    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert google.calls == []
    assert notion.requests == []


def test_an_unknown_place_in_the_environment_is_a_matter_of_setup(notion, run, monkeypatch):
    monkeypatch.setenv("NOTION_SEARCH_SOURCES", "dropbox")

    ended = run("travel", "--local")

    assert ended.code == 3
    assert "NOTION_SEARCH_SOURCES" in ended.err


def test_databases_keep_a_run_to_notion_whatever_the_environment_says(serve_notion, google, run, monkeypatch):
    monkeypatch.setenv("NOTION_SEARCH_SOURCES", "notion,drive")
    serve_notion(small_workspace())

    assert run("agents", "--local", "--json", "--databases", DATABASE_ID).code == 0
    assert google.calls == []


def test_words_for_drive_travel_whole_and_unread_by_any_shell(notion, google, run, outside):
    google.says(
        "list", *[listing({"id": "x1", "name": "it's $(touch owned) 회의록.gdoc", "mimeType": "text/plain"})] * 4
    )

    ended = run('it\'s Q3 "draft" \\ 회의록', "--sources", "drive", "--no-expand", "--no-rerank", "--json")

    (call, *_) = google.calls
    assert call.params["q"] == "fullText contains 'it\\'s Q3 \"draft\" \\\\ 회의록' and trashed = false"
    assert call.params["supportsAllDrives"] is call.params["includeItemsFromAllDrives"] is True
    assert ended.titles == ["it's $(touch owned) 회의록.gdoc"]
    assert not list(outside.rglob("owned"))


# When little is found


ROWS = [{"values": {"Name": f"Idea {number}"}, "edited": f"2026-10-0{number} 09:00"} for number in range(1, 8)]


def reading_list(rows):
    source = {"name": "Reading list", "schema": {"Name": "title"}, "rows": rows}
    return {
        "databases": [{"title": "Reading list", "sources": [source]}],
        "pages": [{"title": "Reading", "blocks": ["x"]}],
    }


def test_a_database_whose_title_has_the_words_is_searched_inside(serve_notion, run):
    rows = [*ROWS, {"values": {"Name": "Books for winter"}}]
    notion = serve_notion(load(reading_list(rows)))

    ended = run("reading books", "--local", "--json")

    assert "Books for winter" in ended.titles
    assert len(notion.of_kind("databases")) == 1
    assert all("filter" in request.body for request in notion.queries if request.body["page_size"] == 100)


def test_its_newest_rows_are_shown_only_where_none_has_the_words(serve_notion, run):
    notion = serve_notion(load(reading_list(ROWS * 5)))

    ended = run("reading", "--local", "--json", "--limit", "30")

    assert ended.titles[0] == "Reading"
    assert ended.titles[1:3] == ["Idea 7", "Idea 7"]
    assert len(ended.titles) == 6
    assert len(notion.of_kind("databases")) == 1


@pytest.mark.parametrize("arguments", [("--no-expand",), ("--databases", DATABASE_ID)], ids=["alone", "scoped"])
def test_a_search_that_is_not_to_be_widened_is_not(serve_notion, run, arguments):
    notion = serve_notion(small_workspace())

    run("lunch", "--local", "--json", *arguments)

    assert notion.of_kind("databases") == []


def test_with_five_pages_found_no_further_place_is_looked_into(serve_notion, run):
    notion = serve_notion(load({"pages": [{"title": f"Plan {number}"} for number in range(5)]}))

    run("plan", "--local", "--json")

    assert notion.of_kind("databases") == []


def test_where_notion_has_nothing_the_broader_words_are_tried(serve_notion, claude, run):
    notion = serve_notion(load({"pages": [{"title": "Lunch", "blocks": ["x"]}]}))
    claude.says("expand", '["Q3 figures"]')

    run("Q3 2025 revenues", "--json", "--no-rerank")

    searched = [request.body["query"] for request in notion.searches]
    assert sorted(searched) == sorted(["Q3 2025 revenues", "Q3 figures", "revenues", ""])


def test_where_nothing_is_found_other_words_are_offered(serve_notion, run):
    serve_notion(load({"pages": [{"title": "Lunch", "blocks": ["x"]}]}))

    ended = run("latest minutes", "--local", "--json")

    assert ended.json == []
    assert "try other or fewer words, such as: meeting notes" in ended.err

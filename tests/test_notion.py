"""What Notion sends, as the user sees it: titles, properties, odd answers and refusals."""

import json
import re
import time
from collections import Counter

import pytest

from notion_search.demo.workspace import Workspace

from .builders import DATABASE_ID, SOURCE_ID, notion_list, notion_page, page_id
from .conftest import TOKEN
from .fakes.claude import lines
from .fakes.notion import (
    Sent,
    bad_gateway,
    empty,
    error,
    hang,
    html,
    kind_of,
    overloaded,
    rate_limited,
    reset,
    truncated,
)
from .fakes.server import Reply, Server

ALONE = ("--no-expand", "--no-rerank")


@pytest.fixture
def answer_with(serve_notion):
    """Serve these pages, and answer every search with these objects, as they stand and in this order."""

    def answer(*objects):
        notion = serve_notion(Workspace([item for item in objects if item["object"] == "page"]))
        notion.fault("search", Reply(body=notion_list(*objects)), forever=True)
        return notion

    return answer


def asking(variant):
    """Pick the searches for a variant."""
    return lambda request: kind_of(request) == "search" and request.body["query"] == variant


def shows_part_of(token, ended):
    """Whether seven characters of the token in a row stand in any stream."""
    return any(token[start : start + 7] in ended.out + ended.err for start in range(len(token) - 6))


# Titles and properties: C01 to C03

PIECES = [
    {"type": "text", "text": {"content": "출시 "}, "plain_text": "출시 "},
    {"type": "text", "text": {"content": "계획 "}, "annotations": {"bold": True}, "plain_text": "계획 "},
    {"type": "mention", "mention": {"type": "date", "date": {"start": "2026-10-01"}}, "plain_text": "2026-10-01"},
    {"type": "equation", "equation": {"expression": "x^2"}, "plain_text": " x^2"},
    {"type": "text", "text": {"content": " 🚀"}},
]
DECOYS = {
    "Name": {"id": "ab", "type": "rich_text", "rich_text": [{"type": "text", "plain_text": "decoy one"}]},
    "title": {"id": "cd", "type": "select", "select": {"id": "1", "name": "decoy two", "color": "red"}},
    "주제": {"id": "title", "type": "title", "title": PIECES},
}
WHOLE = "출시 계획 2026-10-01 x^2 🚀"


def test_a_title_is_whole_whatever_its_property_is_called(answer_with, claude, run):
    answer_with(notion_page(1, properties=DECOYS))

    (result,) = run("출시", "--json").json
    table = run("출시").out

    assert result["title"] == WHOLE
    assert result["properties"] == {"Name": "decoy one", "title": "decoy two"}
    assert f" 1  {WHOLE} " in table
    assert lines(claude.prompts("rerank")[0])[0].startswith(f"[1] {WHOLE} | ")
    assert table.count("출시") == 1


@pytest.mark.parametrize("title", [[], "   ", "\u200b\ufeff"], ids=["no piece", "blanks", "invisible characters"])
def test_a_page_without_a_title_is_shown_as_untitled(answer_with, claude, run, title):
    answer_with(notion_page(1, title))

    assert run("x", "--json").titles == ["Untitled"]
    assert " 1  Untitled " in run("x").out
    assert lines(claude.prompts("rerank")[0]) == ["[1] Untitled"]


def test_a_title_cannot_turn_the_text_around_it(answer_with, claude, run):
    answer_with(notion_page(1, "\u202egnp.tropper"))

    as_json, table = run("x", "--json"), run("x")

    assert as_json.titles == ["\u202egnp.tropper"]
    assert "gnp.tropper" in table.out
    assert "\u202e" not in as_json.out + table.out + claude.prompts("rerank")[0]


def test_a_long_title_is_shortened_for_readers_and_whole_in_json(answer_with, claude, run):
    title = "회의록 " * 500
    answer_with(notion_page(1, title))

    table = run("x", "--no-cache").out

    assert run("x", "--json").titles == [title.strip()]
    (shown,) = (line for line in table.splitlines() if "회의록" in line)
    assert "…" in shown
    assert len(shown) < 100
    assert "회의록…" in claude.prompts("rerank")[0]
    assert len(claude.prompts("rerank")[0]) < 1500


EVERY_KIND = {
    "Status": {"type": "status", "status": None},
    "Stage": {"type": "status", "status": {"id": "1", "name": "진행 중", "color": "blue"}},
    "Est": {"type": "number", "number": 0},
    "Done": {"type": "checkbox", "checkbox": False},
    "Code": {"type": "unique_id", "unique_id": {"prefix": None, "number": 3}},
    "Task": {"type": "unique_id", "unique_id": {"prefix": "TASK", "number": 42}},
    "F1": {"type": "formula", "formula": {"type": "string", "string": None}},
    "F2": {"type": "formula", "formula": {"type": "boolean", "boolean": False}},
    "F3": {"type": "formula", "formula": {"type": "date", "date": {"start": "2026-04-28T09:00:00.000+09:00"}}},
    "R1": {"type": "rollup", "rollup": {"type": "number", "number": None, "function": "max"}},
    "R2": {
        "type": "rollup",
        "rollup": {
            "type": "array",
            "array": [
                {"type": "title", "title": [{"plain_text": "Item 1"}]},
                {"type": "number", "number": 42},
                {"type": "date", "date": None},
                {"type": "people", "people": []},
            ],
        },
    },
    "When": {"type": "date", "date": {"start": "2026-04-28", "end": "2026-04-30", "time_zone": None}},
    "Who": {
        "type": "people",
        "people": [
            {"object": "user", "id": "7f000000-0000-8000-8000-000000000001"},
            {"object": "user", "id": "7f000000-0000-8000-8000-000000000002", "name": "Kim Example", "person": {}},
        ],
    },
    "By": {"type": "created_by", "created_by": {"object": "user", "id": "7f000000-0000-8000-8000-000000000003"}},
    "Where": {"type": "place", "place": {"lat": 37.5, "lon": 127.0, "name": None, "address": "Seoul"}},
    "Go": {"type": "button", "button": {}},
    "Verif": {"type": "verification", "verification": {"state": "unverified", "verified_by": None, "date": None}},
    "Files": {"type": "files", "files": [{"name": "plan.pdf", "type": "file", "file": {"url": "https://x.test/?s=1"}}]},
    "Rel": {"type": "relation", "relation": [{"id": "2b0f7c11-4a10-8001-9000-00000000a0f1"}], "has_more": True},
    "New": {"type": "hologram", "hologram": {"x": 1}},
    "T": {"type": "title", "title": [{"plain_text": "Row"}]},
}


def test_properties_are_plain_values_in_json(answer_with, claude, run):
    answer_with(notion_page(1, properties=EVERY_KIND))

    (result,) = run("x", "--json").json

    assert result["properties"] == {
        "Stage": "진행 중",
        "Est": 0,
        "Done": False,
        "Code": "3",
        "Task": "TASK-42",
        "F2": False,
        "F3": "2026-04-28T09:00:00.000+09:00",
        "R2": ["Item 1", 42],
        "When": "2026-04-28/2026-04-30",
        "Who": ["7f000000-0000-8000-8000-000000000001", "Kim Example"],
        "By": "7f000000-0000-8000-8000-000000000003",
        "Where": "Seoul",
        "Verif": "unverified",
        "Files": ["plan.pdf"],
        "Rel": ["2b0f7c11-4a10-8001-9000-00000000a0f1", "…"],
    }


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_no_property_shows_as_a_raw_structure(answer_with, claude, run, kind):
    answer_with(notion_page(1, properties={kind: EVERY_KIND[kind]}))

    out = run("x").out + run("x", "--json").out.replace('"properties": {}', "")

    for trace in ("None", "{}", "[]", "{'id':", "hologram"):
        assert trace not in out
        assert trace not in claude.prompts("rerank")[0].partition("</pages>")[0]


# What the search endpoint returns: C08 and C09

DATA_SOURCE = {
    "object": "data_source",
    "id": SOURCE_ID,
    "title": [{"plain_text": "고객 DB"}],
    "properties": {"Name": {"id": "title", "name": "Name", "type": "title", "title": {}}},
    "in_trash": False,
    "parent": {"type": "database_id", "database_id": DATABASE_ID},
    "url": "https://www.notion.so/2b0f7c114a108077b00000000000d001",
}
OLD_DATABASE = {"object": "database", "id": DATABASE_ID, "title": [{"plain_text": "Old"}], "properties": {}}


def gone(number, **flags):
    """A page without any of the flags Notion has had for trash, and then with these."""
    page = notion_page(number)
    return {name: value for name, value in page.items() if name not in ("in_trash", "is_archived")} | flags


def test_only_live_pages_are_shown(answer_with, run):
    answer_with(
        gone(2, in_trash=True),
        gone(3, archived=True),
        DATA_SOURCE,
        gone(4, is_archived=True),
        {**DATA_SOURCE, "in_trash": True},
        OLD_DATABASE,
        notion_page(1, "Live"),
    )

    ended = run("x", "--json", *ALONE)

    assert ended.titles == ["Live"]
    assert ended.notices == []


def test_trash_takes_no_place_among_the_candidates(answer_with, run):
    trash = [gone(100 + n, in_trash=True) for n in range(40)]
    live = [notion_page(n, f"Live {n}") for n in range(30)]
    answer_with(DATA_SOURCE, *trash, *live)

    assert len(run("x", "--json", "-n", "30", *ALONE).json) == 30


def test_answers_of_the_older_version_are_understood(answer_with, run):
    parent = {"type": "database_id", "database_id": DATABASE_ID}
    live = {**notion_page(1, "Live"), "archived": False, "parent": parent}
    old = [{key: value for key, value in page.items() if key != "is_archived"} for page in (live, notion_page(2))]
    answer_with(old[0], {**old[1], "archived": True, "in_trash": True})

    assert run("x", "--json", *ALONE).titles == ["Live"]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"properties": None}, id="no properties"),
        pytest.param({"properties": {"Name": None}}, id="a property that is null"),
        pytest.param({"url": None, "last_edited_time": None, "parent": None}, id="no address and no time"),
        pytest.param({"url": "javascript:alert(1)"}, id="an address that is none"),
    ],
)
def test_a_page_sent_in_part_is_shown_with_an_address(serve_notion, run, changes):
    notion = serve_notion(Workspace([notion_page(1)]))
    notion.fault("search", Reply(body=notion_list({**notion_page(1), **changes}, {"object": "page"}, None, 3)))

    (result,) = run("x", "--json", *ALONE).json

    assert result["id"] == page_id(1)
    assert result["url"].startswith("https://")
    assert run("x", *ALONE).code == 0


def test_ids_are_dashed_and_in_lower_case(serve_notion, run):
    notion = serve_notion(Workspace([notion_page(1)]))
    bare = notion_page(1, id=page_id(1).replace("-", "").upper())
    notion.fault("search", Reply(body=notion_list(bare)))

    (result,) = run("x", "--json", *ALONE).json

    assert result["id"] == page_id(1)
    assert notion.children[0].path == f"/v1/blocks/{page_id(1)}/children"


FOUND = notion_page(1, "Found")
REFUSED_CURSOR = error(400, "validation_error", "The start_cursor provided is invalid: c1")


@pytest.mark.parametrize(
    ("answers", "titles", "cursors"),
    [
        pytest.param([Reply(body=notion_list(FOUND, cursor="c1"))], ["Found"], [None], id="a: more for ever"),
        pytest.param(
            [Reply(body={**notion_list(FOUND), "has_more": True})], ["Found"], [None], id="b: more without a cursor"
        ),
        pytest.param(
            [Reply(body=notion_list(FOUND, cursor="c1")), REFUSED_CURSOR], ["Found"], [None], id="c: a dead cursor"
        ),
        pytest.param(
            [Reply(body=notion_list(cursor="c1")), Reply(body=notion_list(FOUND))],
            ["Found"],
            [None, "c1"],
            id="d: an empty page first",
        ),
        pytest.param(
            [Reply(body=notion_list(gone(2, in_trash=True), cursor="c1")), Reply(body=notion_list(FOUND))],
            ["Found"],
            [None, "c1"],
            id="a page of trash first",
        ),
        pytest.param([Reply(body=notion_list(cursor="c1"))], [], [None, "c1"], id="an empty page for ever"),
        pytest.param(
            [Reply(body=notion_list(cursor=cursor)) for cursor in ("c1", "c2", "c3")],
            [],
            [None, "c1", "c2"],
            id="empty pages without end",
        ),
    ],
)
def test_paging_ends(serve_notion, run, answers, titles, cursors):
    notion = serve_notion(Workspace([FOUND]))
    notion.fault(asking("x"), *answers, forever=True)

    ended = run("x", "--json", *ALONE)

    assert (ended.code, ended.titles) == (0, titles)
    sent = [search.body.get("start_cursor") for search in notion.searches if search.body["query"] == "x"]
    assert sent == cursors


def test_a_cursor_refused_midway_costs_a_notice(serve_notion, run):
    notion = serve_notion(Workspace([FOUND]))
    notion.fault(asking("x"), Reply(body=notion_list(cursor="c1")), REFUSED_CURSOR)

    ended = run("x", "--json", *ALONE)

    assert (ended.code, ended.json) == (0, [])
    assert any("start_cursor provided is invalid" in notice for notice in ended.notices)


# Refusals: C13 to C15

PASSING = [
    pytest.param(bad_gateway(), id="502 in HTML"),
    pytest.param(error(503, "service_unavailable"), id="503"),
    pytest.param(error(500, "internal_server_error"), id="500"),
    pytest.param(error(504, "gateway_timeout"), id="504"),
    pytest.param(error(409, "conflict_error"), id="409"),
    pytest.param(rate_limited(), id="429"),
    pytest.param(rate_limited(1), id="429 with a wait"),
    pytest.param(rate_limited("Wed, 21 Oct 2026 07:28:00 GMT"), id="429 until a moment gone by"),
    pytest.param(rate_limited("soon"), id="429 with a wait nobody can read"),
    pytest.param(overloaded(1), id="529"),
    pytest.param(reset(), id="a connection reset"),
    pytest.param(html(), id="200 in HTML"),
    pytest.param(truncated(), id="half of the JSON"),
    pytest.param(empty(), id="an empty body"),
]


@pytest.mark.parametrize("fault", PASSING)
def test_a_passing_fault_costs_one_more_request_and_nothing_else(notion, run, fault):
    notion.fault("search", fault)

    ended = run("AI agents", "--json", *ALONE)

    first, second = notion.searches
    assert first.body == second.body
    assert (ended.code, ended.err) == (0, "")
    assert ended.titles[0] == "AI agents handbook"


@pytest.mark.parametrize("seconds", [1, 2])
def test_a_wait_notion_asks_for_is_waited(notion, run, seconds):
    notion.fault("search", rate_limited(seconds))

    run("AI agents", *ALONE)

    first, second = notion.searches
    assert second.arrived - first.arrived >= seconds


LASTING = [
    pytest.param(error(401, "unauthorized", "API token is invalid."), 1, ["token", "401", "integrations"], id="401"),
    pytest.param(error(403, "restricted_resource", "Nope."), 1, ["403", "Nope.", "capability"], id="403"),
    pytest.param(error(404, "object_not_found", "Could not find it."), 1, ["404", "Could not find it."], id="404"),
    pytest.param(error(418, "teapot", "Short and stout."), 1, ["418", "Short and stout."], id="418"),
    pytest.param(rate_limited(600), 1, ["429", "600 s"], id="429 for ten minutes"),
    pytest.param(rate_limited(reason="public_api_request_blocked"), 1, ["blocked", "429"], id="429 for good"),
    pytest.param(rate_limited(0), 5, ["429"], id="429 for ever, without a wait"),
    pytest.param(overloaded(600), 1, ["overloaded", "529", "600 s"], id="529"),
    pytest.param(bad_gateway(), 3, ["unavailable", "502"], id="502 in HTML"),
    pytest.param(error(503, "service_unavailable", "x"), 3, ["unavailable", "503"], id="503"),
    pytest.param(reset(), 3, ["could not be reached"], id="a connection reset"),
    pytest.param(html(), 3, ["unavailable"], id="200 in HTML"),
    pytest.param(truncated(), 3, ["unavailable"], id="half of the JSON"),
    pytest.param(empty(), 3, ["unavailable"], id="an empty body"),
    pytest.param(Reply(body=[1]), 1, ["not in the form"], id="JSON of another kind"),
    pytest.param(Reply(body=b"[" * 100_000), 3, ["unavailable"], id="JSON without a bottom"),
    pytest.param(Reply(status=200, body=b"\xff\xfe"), 3, ["unavailable"], id="bytes that are no text"),
    pytest.param(hang(), 1, ["within the time", "--timeout"], id="silence"),
]


@pytest.mark.parametrize(("fault", "requests", "words"), LASTING)
def test_a_lasting_refusal_ends_the_run_in_one_line(notion, run, fault, requests, words):
    notion.fault("search", fault, forever=True)
    started = time.monotonic()

    ended = run("AI agents", *(["--timeout", "1"] if isinstance(fault, Sent) and fault.wait else []), *ALONE)

    assert (ended.code, ended.out) == (4, "")
    (line,) = ended.err.splitlines()
    assert [word for word in words if word not in line] == []
    assert "<" not in line
    assert len(notion.searches) == requests
    assert time.monotonic() - started < 6
    assert not shows_part_of(TOKEN, ended)


def test_one_gateway_error_and_one_lasting_refusal_among_the_variants(notion, claude, run):
    claude.says("expand", '["에이전트", "reading"]')
    notion.fault(asking("AI agents"), bad_gateway())
    notion.fault(asking("reading"), error(503, "service_unavailable", "x"), forever=True)

    ended = run("AI agents", "--no-rerank", "--json")

    assert ended.code == 0
    assert {"AI agents handbook", "에이전트 설계"} <= set(ended.titles)
    (notice,) = ended.notices
    assert "503" in notice
    assert Counter(search.body["query"] for search in notion.searches) == {"AI agents": 2, "에이전트": 1, "reading": 3}


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(notion, run, status):
    with Server(lambda _: Reply(body=notion_list(FOUND))) as elsewhere:
        to = Reply(status=status, headers={"Location": f"{elsewhere.url}/v1/search"})
        notion.fault("search", to, forever=True)

        ended = run("AI agents", *ALONE)

        assert elsewhere.requests == []
    assert (ended.code, ended.out) == (4, "")
    assert str(status) in ended.err
    assert len(notion.searches) == 1


def test_a_server_that_is_not_there_ends_the_run_in_one_line(notion, run):
    notion.close()

    ended = run("AI agents", *ALONE)

    assert (ended.code, ended.out) == (4, "")
    assert "could not be reached" in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize("token", ["ntn_example\n", "  ntn_example ", "\tntn_example\r\n"])
def test_blanks_around_a_token_do_not_matter(notion, run, monkeypatch, token):
    monkeypatch.setenv("NOTION_TOKEN", token)

    ended = run("AI agents", *ALONE)

    assert ended.code == 0
    assert {request.headers["authorization"] for request in notion.requests} == {"Bearer ntn_example"}
    assert not shows_part_of("ntn_example", ended)


@pytest.mark.parametrize(
    "token",
    ["“ntn_example”", '"ntn_example"', "ntn_ex ample", "ntn_example\nX-Evil: 1", "ntn_exämple", "ntn_example\u200b"],
    ids=["curly quotes", "quotes", "a blank inside", "a line break inside", "a letter outside ASCII", "invisible"],
)
def test_a_token_that_cannot_be_sent_is_told_before_any_request(notion, claude, run, monkeypatch, token):
    monkeypatch.setenv("NOTION_TOKEN", token)

    ended = run("AI agents")

    assert (ended.code, ended.out) == (3, "")
    assert "cannot be sent" in ended.err
    assert notion.requests == claude.requests == []
    assert not shows_part_of(token, ended)
    assert "example" not in ended.err


@pytest.mark.parametrize("token", [None, "", "  \n"], ids=["unset", "empty", "blank"])
def test_without_a_token_the_variable_to_set_is_named(notion, claude, run, monkeypatch, token):
    monkeypatch.delenv("NOTION_TOKEN")
    if token is not None:
        monkeypatch.setenv("NOTION_TOKEN", token)

    ended = run("AI agents")

    assert (ended.code, ended.out) == (3, "")
    assert "NOTION_TOKEN" in ended.err
    assert notion.requests == claude.requests == []


# What --explain counts


def calls(ended):
    """The calls to Notion that --explain names, by kind."""
    line = next(line for line in ended.notices if "notion calls: " in line)
    return {kind: int(number) for number, kind in re.findall(r"(\d+) ([a-z_]+)", line.partition("(")[2])}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(ALONE, id="plain"),
        pytest.param((), id="expanded and judged"),
        pytest.param(("--no-rerank",), id="expanded"),
        pytest.param(("--databases", DATABASE_ID), id="in a small database, judged"),
        pytest.param(("--databases", SOURCE_ID, "--no-rerank"), id="in a data source"),
        pytest.param(("--databases", DATABASE_ID, "--filter", json.dumps({"Status": "Done"}), *ALONE), id="filtered"),
    ],
)
@pytest.mark.parametrize("faults", [(), (error(500, "internal_server_error"),)], ids=["at once", "with a retry"])
def test_explain_counts_the_calls_notion_received(notion, claude, run, options, faults):
    notion.fault(lambda request: kind_of(request) in ("search", "query"), *faults)

    ended = run("AI agents", "--explain", *options)

    assert calls(ended) == Counter(kind_of(request) for request in notion.requests)
    assert f"notion calls: {len(notion.requests)} (" in ended.err

"""Every kind of call through every kind of fault: what still works is shown, what does not is said."""

import json
import time

import pytest

from notion_search.demo.workspace import load

from .builders import DATABASE_ID, SLACK
from .conftest import KEY, TOKEN
from .fakes import notion as notions
from .fakes.claude import Ran, api_error, envelope
from .fakes.notion import Sent
from .fakes.server import Reply

# Waits before a further try are shortened by this, 600 seconds to six: still more than a run has.
SCALE = "0.01"
TIMEOUT = 5.0  # seconds
HANGING_TIMEOUT = 2.5  # seconds, where the call ends with the run

STATUSES = {
    "400": (400, "validation_error", "invalid_request_error"),
    "401": (401, "unauthorized", "authentication_error"),
    "403": (403, "restricted_resource", "permission_error"),
    "404": (404, "object_not_found", "not_found_error"),
    "409": (409, "conflict_error", "conflict_error"),
    "429": (429, "rate_limited", "rate_limit_error"),
    "429, wait 1": (429, "rate_limited", "rate_limit_error"),
    "429, wait 600": (429, "rate_limited", "rate_limit_error"),
    "500": (500, "internal_server_error", "api_error"),
    "503": (503, "service_unavailable", "api_error"),
    "504": (504, "gateway_timeout", "timeout_error"),
    "529": (529, "service_overload", "overloaded_error"),
}
SENT = {
    "502 HTML": notions.bad_gateway(),
    "hang": notions.hang(),
    "reset mid-body": notions.reset(),
    "a byte a second": notions.drip(1.0),
    "truncated JSON": notions.truncated(),
    "200 HTML": notions.html(),
    "empty body": notions.empty(),
}
FAULTS = [*STATUSES, *SENT]

# How often a request is sent before the run goes on without it; the deadline may come first for the slow ones.
FINAL = {"400", "401", "403", "404", "429, wait 600"}
BUSY = {"429", "429, wait 1", "529"}
SLOW = {"hang", "a byte a second"}
# Claude was paid for what it said, so an answer that makes no sense is not asked for again.
GARBLED = {"truncated JSON", "200 HTML", "empty body"}


def tries(fault):
    return 1 if fault in FINAL else 5 if fault in BUSY else 3


def notion_fault(fault):
    if fault in SENT:
        return SENT[fault]
    status, code, _ = STATUSES[fault]
    wait = fault.partition("wait ")[2]
    if status == 429:
        return notions.rate_limited(int(wait) if wait else None)
    return notions.error(status, code)


def sdk_fault(fault):
    if fault in SENT:
        told = SENT[fault]
        return told.applied(Reply(body=_message())) if isinstance(told, Sent) else told
    status, _, kind = STATUSES[fault]
    wait = fault.partition("wait ")[2]
    return api_error(status, kind, **({"retry_after": wait} if wait else {}))


def _message():
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "x" * 400}], "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def program_fault(fault):
    whole = envelope('["other words"]')
    told = {
        "502 HTML": Ran(stdout="<html>502 Bad Gateway</html>", code=1),
        "hang": Ran(sleep=600),
        "reset mid-body": Ran(stdout=whole[:40], code=1),
        "a byte a second": Ran(stdout=whole[:3], sleep=600),
        "truncated JSON": Ran(stdout=whole[:40]),
        "200 HTML": Ran(stdout="<!doctype html><p>Please sign in</p>"),
        "empty body": Ran(stdout="\n"),
    }
    return told.get(fault) or sdk_fault(fault)


@pytest.fixture
def bad_day(monkeypatch, run, record_property, outside):
    """Run on a bad day and check what holds on every one of them."""
    monkeypatch.setenv("NOTION_SEARCH_WAIT_SCALE", SCALE)

    def bad_day(cell, *arguments):
        timeout = HANGING_TIMEOUT if cell.endswith(tuple(SLOW)) else TIMEOUT
        began = time.monotonic()
        ended = run(*arguments, "--json", "--timeout", str(timeout))
        seconds = time.monotonic() - began

        assert seconds < timeout + SLACK
        written = [path.read_bytes().decode(errors="replace") for path in outside.rglob("*") if path.is_file()]
        kept = [text for text in written if "#!" not in text[:2]]
        for secret in (TOKEN, KEY):
            pieces = [secret[start : start + 7] for start in range(len(secret) - 6)]
            assert not any(piece in text for piece in pieces for text in (ended.out, ended.err, *kept))
        assert "Traceback" not in ended.err
        assert "<" not in ended.err
        assert all(line.startswith("notion-search: ") for line in ended.err.splitlines())
        record_property("cell", f"{cell}: exit {ended.code}, {_shown(ended)}; {ended.err.strip()[15:110]}")
        return ended

    return bad_day


def _shown(ended):
    if not ended.out:
        return "nothing shown"
    found = json.loads(ended.out)
    if isinstance(found, dict):
        return f"{len(found['results'])} results, {'an answer' if found['answer'] else 'no answer'}"
    return f"{len(found)} results"


PLAIN = ("--no-expand", "--no-rerank")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_search_ends_the_run_with_its_reason(serve_notion, bad_day, fault):
    notion = serve_notion()
    notion.fault("search", notion_fault(fault), forever=True)

    ended = bad_day(f"search, {fault}", "AI agents", *PLAIN)

    assert (ended.code, ended.out) == (4, "")
    assert len(ended.notices) == 1
    # A refused search is sent once more without its order, which is young.
    assert len(notion.searches) == (2 if fault == "400" else 1 if fault in SLOW else tries(fault))
    assert notion.children == []


@pytest.mark.parametrize("fault", FAULTS)
def test_one_failing_variant_of_two_costs_its_pages_alone(serve_notion, claude, bad_day, fault):
    notion = serve_notion()
    claude.says("expand", '["reading"]')
    notion.fault(lambda request: (request.body or {}).get("query") == "reading", notion_fault(fault), forever=True)

    ended = bad_day(f"a variant's search, {fault}", "AI agents", "--no-rerank")

    if fault == "401":  # no token works for one search and not for the next
        assert (ended.code, ended.out) == (4, "")
        return
    assert ended.code == 0
    assert "AI agents handbook" in ended.titles
    assert len([notice for notice in ended.notices if "1 of 2 searches failed" in notice]) == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_schema_ends_the_run_with_its_reason(serve_notion, bad_day, fault):
    notion = serve_notion()
    notion.fault("data_source", notion_fault(fault), forever=True)

    ended = bad_day(f"schema, {fault}", "agent", "--databases", DATABASE_ID, *PLAIN)

    assert (ended.code, ended.out) == (4, "")
    assert len(ended.notices) == 1
    assert len(notion.of_kind("data_source")) == (1 if fault in SLOW else tries(fault))
    assert notion.queries == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_query_ends_the_run_with_its_reason(serve_notion, bad_day, fault):
    notion = serve_notion()
    notion.fault("query", notion_fault(fault), forever=True)

    ended = bad_day(f"query, {fault}", "agent", "--databases", DATABASE_ID, *PLAIN)

    assert (ended.code, ended.out) == (4, "")
    assert len(notion.queries) == (1 if fault in SLOW else tries(fault))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_page_that_cannot_be_read_keeps_its_place(serve_notion, bad_day, fault):
    workspace = load({"pages": [{"title": f"AI {n}", "blocks": [f"Text {n}."]} for n in range(3)]})
    broken = workspace.pages[1]["id"]
    notion = serve_notion(workspace)
    notion.fault(lambda request: broken in request.path, notion_fault(fault), forever=True)

    ended = bad_day(f"children, {fault}", "AI", *PLAIN)

    assert ended.code == 0
    excerpts = {result["id"]: result["excerpt"] for result in ended.json}
    assert excerpts.pop(broken) == ""
    # A wait nobody can sit out closes the lane to whoever has not been sent yet.
    assert set(excerpts.values()) == {"Text 0.", "Text 2."} or fault == "429, wait 600"
    assert len([notice for notice in ended.notices if "could not be read" in notice]) == len(ended.notices) == 1
    asked = [request for request in notion.children if broken in request.path]
    assert len(asked) == (1 if fault in SLOW else tries(fault))


DOORS = [pytest.param("sdk", id="sdk"), pytest.param("program", id="program")]


def claude_fault(door, fault):
    return sdk_fault(fault) if door == "sdk" else program_fault(fault)


def asks(door, fault):
    return 1 if door == "program" or fault in SLOW | GARBLED else tries(fault)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fault", FAULTS)
def test_without_variants_the_query_alone_is_searched(serve_notion, request, bad_day, door, fault):
    notion, claude = serve_notion(), request.getfixturevalue(door)
    claude.always("expand", claude_fault(door, fault))

    ended = bad_day(f"expansion by {door}, {fault}", "AI agents", "--no-rerank")

    assert ended.code == 0
    assert ended.titles[0] == "AI agents handbook"
    assert [request.body["query"] for request in notion.searches] == ["AI agents"]
    assert [notice for notice in ended.notices if "searching for the query alone" in notice] == ended.notices
    assert len(claude.asked) == asks(door, fault)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fault", FAULTS)
def test_without_a_judgement_the_order_of_the_search_stays(serve_notion, request, bad_day, door, fault):
    serve_notion()
    claude = request.getfixturevalue(door)
    claude.always("rerank", claude_fault(door, fault))

    ended = bad_day(f"rerank by {door}, {fault}", "AI agents", "--no-expand")

    assert ended.code == 0
    assert ended.titles == ["AI agents handbook", "Agent budget", "Agent rollout", "AI reading list"]
    assert {(result["relevance"], result["snippet"]) for result in ended.json} == {(None, None)}
    assert [notice for notice in ended.notices if "showing the order of the search" in notice] == ended.notices
    assert len(claude.asked) == asks(door, fault)


PASSING = [fault for fault in FAULTS if fault not in FINAL | SLOW]


@pytest.mark.parametrize("kind", ["search", "data_source", "query", "children"])
@pytest.mark.parametrize("fault", PASSING)
def test_a_passing_fault_of_notion_is_not_noticed(serve_notion, bad_day, kind, fault):
    notion = serve_notion()
    notion.fault(kind, notion_fault(fault))

    scope = ("--databases", DATABASE_ID) if kind in ("data_source", "query") else ()
    ended = bad_day(f"{kind} once, {fault}", "agents", *scope, *PLAIN)

    assert (ended.code, ended.err) == (0, "")
    assert ended.json


@pytest.mark.parametrize("stage", ["expand", "rerank"])
@pytest.mark.parametrize("fault", [fault for fault in PASSING if fault in STATUSES])
def test_a_passing_fault_of_claude_is_not_noticed(serve_notion, sdk, bad_day, stage, fault):
    serve_notion()
    sdk.says(stage, sdk_fault(fault))

    ended = bad_day(f"{stage} once, {fault}", "AI agents")

    assert (ended.code, ended.err) == (0, "")
    assert ended.json[0]["relevance"] is not None


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fault", FAULTS)
def test_without_an_answer_the_pages_are_shown(serve_notion, request, bad_day, door, fault):
    serve_notion()
    claude = request.getfixturevalue(door)
    claude.always("answer", claude_fault(door, fault))

    ended = bad_day(f"answer by {door}, {fault}", "--answer", "AI agents", *PLAIN)

    assert ended.code == 0
    assert (ended.json["answer"], ended.json["citations"], ended.json["confidence"]) == (None, [], None)
    assert ended.json["results"][0]["title"] == "AI agents handbook"
    assert [notice for notice in ended.notices if "showing the pages without an answer" in notice] == ended.notices
    assert len(claude.asked) == asks(door, fault)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_page_that_cannot_be_read_whole_is_answered_from_its_first_words(serve_notion, claude, bad_day, fault):
    notion = serve_notion(load({"pages": [{"title": "AI agents", "blocks": ["Start here."]}]}))
    notion.fault("markdown", notion_fault(fault), forever=True)

    ended = bad_day(f"whole page, {fault}", "--answer", "AI agents", *PLAIN)

    assert ended.code == 0
    assert ended.json["answer"] == "It is so [1]."
    (prompt,) = claude.prompts("answer")
    assert "  | Start here." in prompt
    # What is refused is read block by block instead; a token that is unknown, and a fault, are told.
    told = [notice for notice in ended.notices if "could not be read whole" in notice]
    assert len(told) == len(ended.notices) == (0 if fault in {"400", "403", "404"} else 1)
    assert len(notion.of_kind("markdown")) == (1 if fault in SLOW else tries(fault))

"""Waiting, trying again and ending in time, as the services on the other side see it."""

import time

import httpx
import pytest

from notion_search.demo.workspace import Workspace, load
from notion_search.errors import SourceError
from notion_search.pace import Pacer, TryAgainError
from notion_search.sources.timed import Timed
from notion_search.types import Meter, Run

from .builders import DATABASE_ID, SLACK, notion_page, small_workspace
from .fakes.claude import Text
from .fakes.notion import Sent, bad_gateway, drip, error, hang, kind_of, overloaded, rate_limited

ALONE = ("--no-expand", "--no-rerank")
VARIANTS = '["에이전트", "reading", "lunch", "orchestration"]'


def plans(count):
    return Workspace([notion_page(n, f"Plan {n}") for n in range(count)])


def overlap(requests, seconds):
    """The most requests under way at once, when each takes so long."""
    return max(sum(0 <= other.arrived - one.arrived < seconds for other in requests) for one in requests)


@pytest.mark.parametrize("refusal", [rate_limited(1), overloaded(1)], ids=["429", "529"])
def test_a_refusal_pauses_every_call(serve_notion, run, refusal):
    notion = serve_notion(plans(30))
    notion.fault("children", refusal)

    ended = run("plan", "-n", "30", "--json", *ALONE)

    assert (ended.code, len(ended.json), ended.err) == (0, 30, "")
    refused = notion.children[0]
    early = [call for call in notion.children if call.arrived < refused.arrived + 1]
    # Those under way when the refusal came are past calling back.
    assert len(early) <= 16
    assert len(notion.children) == 31


def test_calls_never_sent_go_before_the_refused_one(serve_notion, run):
    notion = serve_notion(plans(30), latency=0.05)
    notion.fault("children", rate_limited(1))

    run("plan", "-n", "30", *ALONE)

    paths = [call.path for call in notion.children]
    (again,) = {path for path in paths if paths.count(path) == 2}
    assert paths[0] == again
    # The last ones are let go at once, so their order on arrival is not quite that of their sending.
    assert paths.index(again, 1) >= len(paths) - 16
    fresh = [call for call in notion.children[1:] if call.arrived >= notion.children[0].arrived + 1]
    assert len(fresh) > 2


def test_a_refused_query_goes_behind_variants_that_came_later(notion, claude, run, monkeypatch):
    """With a budget of three calls, whoever goes last is not sent at all."""
    monkeypatch.setenv("NOTION_SEARCH_CALLS_PER_MINUTE", "3")
    claude.says("expand", Text(text='["에이전트", "reading"]', wait=0.2))
    notion.fault("search", rate_limited(2))

    ended = run("AI agents", "--no-rerank", "--no-cache", "--timeout", "10")

    asked = [search.body["query"] for search in notion.searches]
    assert (asked[0], sorted(asked)) == ("AI agents", sorted(["AI agents", "에이전트", "reading"]))
    assert notion.searches[1].arrived - notion.searches[0].arrived >= 2
    assert ended.code == 0


def test_a_budget_of_calls_is_outlasted(serve_notion, run):
    notion = serve_notion(plans(20))
    notion.budget(calls=12, retry_after=1)

    ended = run("plan", "-n", "20", "--json", *ALONE)

    assert (ended.code, len(ended.json), ended.err) == (0, 20, "")


def test_at_most_sixteen_calls_are_under_way(serve_notion, run):
    notion = serve_notion(plans(40), latency=0.2)

    run("plan", "-n", "30", *ALONE)

    assert 2 <= overlap(notion.children, 0.2) <= 16


def test_searches_of_all_variants_are_under_way_together(serve_notion, claude, run):
    notion = serve_notion(small_workspace(), latency=0.3)
    claude.says("expand", VARIANTS)

    run("AI agents", "--no-rerank")

    others = notion.searches[1:]
    assert len(others) == 4
    assert overlap(others, 0.3) == 4


def test_a_service_that_stays_busy_is_asked_five_times(notion, run):
    notion.fault("search", rate_limited(0), forever=True)

    assert run("AI agents", *ALONE).code == 4
    assert len(notion.searches) == 5


def test_waits_grow_between_tries(notion, run):
    notion.fault("search", bad_gateway(), forever=True)

    run("AI agents", *ALONE)

    first, second, third = (search.arrived for search in notion.searches)
    assert second - first >= 0.37
    assert third - second >= 0.75


def test_a_long_wait_is_named_and_not_waited(notion, run):
    notion.fault("search", rate_limited(600))
    started = time.monotonic()

    ended = run("AI agents", *ALONE)

    assert time.monotonic() - started < SLACK
    assert (ended.code, ended.out) == (4, "")
    assert "600 s" in ended.err
    assert len(notion.searches) == 1


def test_a_long_wait_after_the_search_costs_the_excerpts_alone(serve_notion, run):
    notion = serve_notion(plans(30))
    notion.fault("children", rate_limited(600), forever=True)
    started = time.monotonic()

    ended = run("plan", "-n", "30", "--json", *ALONE)

    assert time.monotonic() - started < SLACK
    assert (ended.code, len(ended.json)) == (0, 30)
    (notice,) = ended.notices
    assert "600 s" in notice
    assert len(notion.children) <= 16


def test_a_budget_that_is_used_up_costs_what_it_cannot_pay_for(serve_notion, run, monkeypatch):
    monkeypatch.setenv("NOTION_SEARCH_CALLS_PER_MINUTE", "3")
    notion = serve_notion(plans(5))
    started = time.monotonic()

    ended = run("plan", "--json", "--timeout", "2", "--no-cache", *ALONE)

    assert time.monotonic() - started < 2 + SLACK
    assert (ended.code, len(ended.json)) == (0, 5)
    assert len(notion.requests) == 3
    (notice,) = ended.notices
    assert "3 of 5 pages could not be read" in notice


def test_a_budget_too_small_for_a_search_ends_the_run(notion, run, monkeypatch):
    monkeypatch.setenv("NOTION_SEARCH_CALLS_PER_MINUTE", "2")
    started = time.monotonic()

    ended = run("agent", "--databases", DATABASE_ID, "--timeout", "2", "--no-cache", *ALONE)

    assert time.monotonic() - started < 2 + SLACK
    assert (ended.code, ended.out) == (4, "")
    assert len(ended.err.splitlines()) == 1
    assert len(notion.requests) == 2


@pytest.mark.parametrize(
    ("which", "fault", "options", "code"),
    [
        pytest.param("search", hang(), ALONE, 4, id="a search"),
        pytest.param("search", drip(0.2), ALONE, 4, id="a search that drips"),
        pytest.param("search", Sent(wait=1.9, drip=10.0), ALONE, 4, id="a search that falls silent"),
        pytest.param("children", hang(), ALONE, 0, id="every excerpt"),
        pytest.param("database", hang(), ("--databases", DATABASE_ID, *ALONE), 4, id="a database"),
        pytest.param("query", hang(), ("--databases", DATABASE_ID, *ALONE), 4, id="a query"),
    ],
)
def test_a_call_that_hangs_does_not_hold_up_the_end(notion, run_process, which, fault, options, code):
    notion.fault(which, fault, forever=True)
    started = time.monotonic()

    ended = run_process("agent", "--timeout", "2", *options)

    assert time.monotonic() - started < 2 + SLACK
    assert ended.code == code
    assert bool(ended.out) == (code == 0)
    assert len(ended.err.splitlines()) == 1
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("fault", [hang(), drip(0.05)], ids=["silence", "a byte at a time"])
def test_a_request_ends_with_the_run_even_when_nobody_waits_for_it(notion, fault):
    notion.fault("me", fault)
    started = time.monotonic()
    timed = Timed(started + 0.4)
    headers = {"Authorization": "Bearer ntn_example", "Notion-Version": "2026-03-11"}

    with (
        httpx.Client(event_hooks={"request": [timed.request], "response": [timed.response]}) as client,
        pytest.raises(httpx.ReadTimeout),
    ):
        client.get(f"{notion.url}/v1/users/me", headers=headers)

    assert 0.3 < time.monotonic() - started < 0.4 + SLACK


def test_a_variant_that_hangs_costs_a_notice(notion, claude, run):
    claude.says("expand", '["reading", "에이전트"]')
    notion.fault(lambda r: kind_of(r) == "search" and r.body["query"] == "reading", hang(), forever=True)
    started = time.monotonic()

    ended = run("AI agents", "--no-rerank", "--json", "--timeout", "3")

    assert time.monotonic() - started < 3 + SLACK
    assert ended.code == 0
    assert "에이전트 설계" in ended.titles
    (notice,) = ended.notices
    assert "1 of 3 searches failed" in notice


def test_a_run_ends_when_its_answer_is_there(serve_notion, run_process):
    notion = serve_notion(load({"pages": [{"title": "Plan", "blocks": ["Text"]}]}))
    notion.fault("search", error(500, "internal_server_error"))
    started = time.monotonic()

    ended = run_process("plan", "--json", "--timeout", "30", *ALONE)

    assert (ended.code, ended.titles) == (0, ["Plan"])
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("kind", "tries"),
    [({"late": True}, 2), ({}, 3), ({"busy": True}, 5)],
    ids=["no answer in time", "a fault", "busy"],
)
def test_how_often_a_request_is_sent_depends_on_what_became_of_it(kind, tries):
    pace, sent = Pacer(wait_scale=0.01), []
    run = Run(deadline=time.monotonic() + 10, pace=pace, notify=None, emit=None, meter=Meter())

    def request():
        sent.append(1)
        raise TryAgainError(SourceError("no"), **kind)

    with pytest.raises(SourceError):
        pace.send(request, run, service="x")

    assert len(sent) == tries

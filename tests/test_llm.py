"""The door to Claude: what the SDK sends, what its refusals mean, and which door is tried next."""

import json
import os
import time
from functools import partial

import pytest

from notion_search import llm
from notion_search.demo.workspace import load
from notion_search.errors import LLMError, LLMReplyError, SetupError
from notion_search.pace import Pacer
from notion_search.types import Meter, Run

from .builders import SLACK
from .conftest import KEY, TOKEN
from .fakes.claude import Ran, Text, api_error, entries
from .fakes.server import Reply

TOO_POOR = "Your credit balance is too low to access the Anthropic API."


@pytest.fixture
def notices():
    return []


@pytest.fixture
def errand(notices):
    """A run of ten seconds for asking a door directly."""
    deadline = time.monotonic() + 10
    return Run(deadline=deadline, pace=Pacer(), notify=notices.append, emit=lambda _: None, meter=Meter())


def ask(doors, errand, **more):
    return doors.ask("Say hi", system="Be brief", schema=None, max_tokens=50, run=errand, **more)


@pytest.fixture
def doors():
    """Whatever doors the environment has when asked for."""
    opened = []

    def connect():
        opened.append(llm.connect("claude-haiku-4-5", os.environ))
        return opened[-1]

    yield connect
    for each in opened:
        each.close()


def paths(claude):
    return [question.request.path for question in claude.asked]


def expand(run, *arguments):
    return run("AI agents", "--no-rerank", "--json", *arguments)


# What the SDK sends.


def test_a_request_holds_nothing_a_successor_of_the_model_would_reject(notion, sdk, run):
    run("AI agents")

    expanding, judging = (question.request for question in sdk.asked)
    for request in (expanding, judging):
        assert (request.method, request.path) == ("POST", "/v1/messages")
        assert set(request.body) == {"model", "max_tokens", "system", "messages", "thinking"}
        assert request.body["model"] == "claude-haiku-4-5"
        assert request.body["thinking"] == {"type": "disabled"}
        assert [message["role"] for message in request.body["messages"]] == ["user"]
        assert request.headers["authorization"] == f"Bearer {KEY}"
    assert expanding.body["max_tokens"] >= 300
    assert judging.body["max_tokens"] == 300 + 100 * 4


def test_the_allowance_grows_with_the_pages_asked_for(serve_notion, sdk, run):
    serve_notion(load({"pages": [{"title": f"Plan {number}"} for number in range(30)]}))

    run("plan", "--no-expand", "--limit", "30")

    assert sdk.asked[0].request.body["max_tokens"] == 3300


@pytest.mark.parametrize(
    ("arguments", "environment", "model"),
    [
        ((), {}, "claude-haiku-4-5"),
        ((), {"NOTION_SEARCH_MODEL": "claude-haiku-5-5"}, "claude-haiku-5-5"),
        (("--model", "other"), {"NOTION_SEARCH_MODEL": "claude-haiku-5-5"}, "other"),
    ],
    ids=["default", "environment", "option"],
)
def test_the_model_is_the_option_else_the_environment_else_the_default(
    notion, claude, run, monkeypatch, arguments, environment, model
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    run("AI agents", *arguments)

    assert {question.model for question in claude.asked} == {model}


def test_a_schema_and_streamed_text_travel_through_the_sdk(sdk, doors, errand):
    sdk.says("expand", Text(text="안녕, hello", tokens=(9, 4)))
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    pieces = []

    reply = doors().ask(
        "Say hi", system="Be brief", schema=schema, max_tokens=50, run=errand, on_text=pieces.append
    )  # fmt: skip

    assert len(pieces) > 1
    assert "".join(pieces) == reply.text == "안녕, hello"
    assert (reply.tokens_in, reply.tokens_out, reply.model, reply.whole) == (9, 4, "claude-haiku-4-5", True)
    body = sdk.asked[0].request.body
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert body["stream"] is True


def test_text_reaches_its_reader_through_the_program_too(program, doors, errand):
    program.says("expand", Text(text="안녕, hello", tokens=(9, 4)))
    pieces = []

    reply = ask(doors(), errand, on_text=pieces.append)

    assert pieces == [reply.text] == ["안녕, hello"]
    assert (reply.tokens_in, reply.tokens_out, reply.door) == (9, 4, "the claude program")


# What its refusals mean.

SHUT = [
    pytest.param(api_error(401, "authentication_error", f"invalid key {KEY}"), "401", id="401"),
    pytest.param(api_error(402, "billing_error", "pay first"), "402", id="402"),
    pytest.param(api_error(403, "permission_error", "no"), "403", id="403"),
    pytest.param(api_error(400, "invalid_request_error", TOO_POOR), "400", id="400 about credit"),
]


@pytest.mark.parametrize(("refusal", "named"), SHUT)
def test_refused_credentials_open_the_programs_door_once_with_a_notice(notion, sdk, run, outside, refusal, named):
    sdk.install(outside / "bin")
    sdk.says("expand", refusal)

    ended = run("AI agents", "--json")

    assert paths(sdk) == ["/v1/messages", "/program", "/program"]
    assert ended.json[0]["relevance"] is not None
    assert len(ended.notices) == 1
    assert "the anthropic SDK" in ended.notices[0]
    assert named in ended.notices[0]
    assert "using the claude program instead" in ended.notices[0]
    assert KEY not in ended.err


@pytest.mark.parametrize(("refusal", "named"), SHUT)
def test_refused_credentials_without_a_program_cost_a_notice_a_stage(notion, sdk, run, outside, refusal, named):
    sdk.always("expand", refusal)
    sdk.always("rerank", refusal)

    ended = run("AI agents", "--json")

    assert ended.code == 0
    assert ended.json[0]["relevance"] is None
    assert [named in notice for notice in ended.notices] == [True, True]
    assert KEY not in ended.err
    assert list(outside.rglob("*.json")) == []


@pytest.mark.parametrize(
    ("refusal", "calls"),
    [
        pytest.param(api_error(429, "rate_limit_error", retry_after="3600"), 1, id="429 for an hour"),
        pytest.param(api_error(429, "rate_limit_error", retry_after="0"), 5, id="429 again and again"),
        pytest.param(api_error(529, "overloaded_error", retry_after="0"), 5, id="529 again and again"),
        pytest.param(api_error(500), 3, id="500"),
        pytest.param(api_error(400, "invalid_request_error", "max_tokens: too large"), 1, id="another 400"),
        pytest.param(api_error(404, "not_found_error", "model: nope"), 1, id="404"),
        pytest.param(api_error(413, "request_too_large"), 1, id="413"),
        pytest.param(Reply(status=302, headers={"Location": "/elsewhere"}), 1, id="a redirect"),
        pytest.param(Reply(body="<html>Please sign in</html>"), 1, id="a web page"),
        pytest.param(Reply(body=b"", headers={"Content-Type": "application/json"}), 1, id="no body"),
        pytest.param(Reply(body={"type": "message"}), 1, id="half a message"),
        pytest.param(Reply(body=[]), 1, id="a list"),
        pytest.param(Text(text=""), 1, id="no text"),
        pytest.param(Text(text="", stop_reason="refusal"), 1, id="a refusal"),
        pytest.param(Text(text=" \n"), 1, id="blanks"),
    ],
)
def test_no_other_failure_switches_doors_and_tries_are_few(notion, sdk, run, outside, refusal, calls):
    sdk.install(outside / "bin")
    sdk.always("expand", refusal)

    ended = expand(run)

    assert paths(sdk) == ["/v1/messages"] * calls
    assert ended.code == 0
    assert "AI agents handbook" in ended.titles
    assert len(ended.notices) == 1
    assert "searching for the query alone" in ended.notices[0]
    assert list(outside.rglob("*.json")) == []


def test_no_answer_in_time_is_not_asked_for_twice(notion, sdk, run, outside):
    sdk.install(outside / "bin")
    sdk.says("expand", Text(text='["x"]', wait=60))
    began = time.monotonic()

    ended = expand(run, "--timeout", "2")

    assert time.monotonic() - began < 2 + SLACK
    assert paths(sdk) == ["/v1/messages"]
    assert "in time" in ended.notices[0]


def test_an_answer_that_drips_ends_with_its_time_too(notion, sdk, run):
    sdk.says("rerank", Reply(body={"type": "message", "content": []}, drip=0.2))
    began = time.monotonic()

    ended = run("AI agents", "--no-expand", "--json", "--timeout", "1.5")

    assert time.monotonic() - began < 1.5 + SLACK
    assert ended.json[0]["relevance"] is None
    assert "in time" in ended.notices[0]


def test_a_passing_failure_costs_nothing_but_a_second_try(notion, sdk, run):
    sdk.says("expand", api_error(529, "overloaded_error", retry_after="0"), '["other words"]')

    ended = expand(run, "--explain")

    assert paths(sdk) == ["/v1/messages"] * 2
    assert "variants: AI agents · other words" in ended.err
    assert "claude calls: 2 " in ended.err


def test_a_broken_connection_is_tried_again(notion, sdk, run):
    sdk.says("expand", Reply(body={"type": "message"}, cut=5), '["other words"]')

    ended = expand(run)

    assert paths(sdk) == ["/v1/messages"] * 2
    assert ended.notices == []


def test_a_redirect_carries_the_key_nowhere(notion, sdk, run, serve_notion):
    elsewhere = serve_notion()
    sdk.always("expand", Reply(status=307, headers={"Location": elsewhere.url + "/v1/messages"}))
    before = len(elsewhere.requests)

    ended = expand(run)

    assert all(request.path != "/v1/messages" for request in elsewhere.requests[before:])
    assert len(ended.notices) == 1


def test_a_refusals_words_are_quoted_inertly_and_in_short(notion, sdk, run):
    sdk.says("expand", api_error(400, "invalid_request_error", "\x1b[31mno\nway\u202e " + "x" * 5000))

    (notice,) = expand(run).notices

    assert "Claude refused (400: [31mno way xxx" in notice
    assert len(notice) < 400
    assert notice.isprintable()


def test_thinking_before_the_text_is_passed_over(notion, sdk, run):
    message = {
        "id": "m", "type": "message", "role": "assistant", "model": "claude-haiku-5-5", "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 2},
        "content": [{"type": "thinking", "thinking": '["no"]', "signature": "s"}, {"type": "text", "text": '["yes"]'}],
    }  # fmt: skip
    sdk.says("expand", Reply(body=message))

    expand(run)

    assert {request.body["query"] for request in notion.searches} == {"AI agents", "yes"}


def test_two_questions_that_find_the_same_door_shut_both_go_on_to_the_next(sdk, doors, errand, notices, outside):
    sdk.install(outside / "bin")
    refused = api_error(401, "authentication_error")
    sdk.says("expand", *(Reply(status=401, body=refused.body, wait=0.3) for _ in range(2)))
    door = doors()

    replies = errand.pace.gather([partial(ask, door, errand)] * 2, errand)

    assert [reply.door for reply in replies] == ["the claude program"] * 2
    assert len(notices) == 1


# Keys.


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
@pytest.mark.parametrize(
    "key",
    ["sk-ant-비밀K3yForTests", "sk-ant K3yForTests", '"sk-ant-K3yForTests"', "sk-ant\nK3yForTests", "K3yForTests…"],
)
def test_a_key_that_cannot_travel_is_a_setup_error_that_shows_no_part_of_it(notion, sdk, run, monkeypatch, name, key):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv(name, key)

    ended = run("AI agents")

    assert ended.code == 3
    assert name in ended.err
    assert not any(part in ended.err for part in ("K3y", "sk-ant", "비밀", "…"))
    assert notion.requests == sdk.requests == []


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"ANTHROPIC_API_KEY": f" {KEY}\n"}, id="around the key"),
        pytest.param({"ANTHROPIC_AUTH_TOKEN": f"\t{KEY} "}, id="around the token"),
        pytest.param({"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": KEY}, id="an empty key beside a token"),
        pytest.param({"ANTHROPIC_API_KEY": " ", "ANTHROPIC_AUTH_TOKEN": KEY}, id="a blank key beside a token"),
        pytest.param({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_AUTH_TOKEN": "other"}, id="the key before a token"),
    ],
)
def test_blanks_around_a_key_do_not_count(notion, sdk, run, monkeypatch, environment):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f" {sdk.url}/\n")

    ended = expand(run)

    assert ended.notices == []
    assert sdk.asked[0].request.headers["authorization"] == f"Bearer {KEY}"


def test_the_key_is_shown_in_no_stream_whatever_goes_wrong(notion, sdk, run_process):
    for stage in ("expand", "rerank"):
        sdk.says(stage, api_error(400, "invalid_request_error", f"{KEY} {TOKEN}"))

    ended = run_process("AI agents", "--explain")

    assert ended.code == 0
    assert len(ended.notices) > 2
    assert not any(secret[6:13] in ended.out + ended.err for secret in (KEY, TOKEN))


# Which door, and none.


def test_the_sdk_is_the_first_door_where_it_has_credentials(notion, sdk, run, outside):
    sdk.install(outside / "bin")

    run("AI agents")

    assert paths(sdk) == ["/v1/messages"] * 2


@pytest.mark.parametrize("key", ["", "  "], ids=["empty", "blank"])
def test_the_program_is_the_door_where_the_key_is_empty(notion, program, run, monkeypatch, key):
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)

    ended = run("AI agents", "--json")

    assert ended.notices == []
    assert paths(program) == ["/program"] * 2


def test_a_profile_of_the_sdk_counts_as_credentials_and_without_use_opens_the_program(
    notion, claude_server, run, outside, monkeypatch
):
    pytest.importorskip("anthropic", reason="this run is without the SDK")
    claude_server.install(outside / "bin")
    (outside / "home/.config/anthropic/configs").mkdir(parents=True)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", claude_server.url)

    ended = run("AI agents", "--json")

    assert paths(claude_server) == ["/program"] * 2
    assert len(ended.notices) == 1
    assert "no usable credentials" in ended.notices[0]


@pytest.mark.parametrize("arguments", [(), ("--no-expand",), ("--no-rerank",)], ids=["both", "judging", "expanding"])
def test_a_run_that_needs_claude_and_has_none_says_how_to_get_one(notion, run, arguments):
    ended = run("AI agents", *arguments)

    assert ended.code == 3
    assert ended.out == ""
    assert all(hint in ended.err for hint in ("ANTHROPIC_API_KEY", "claude", "--no-expand --no-rerank"))
    assert notion.requests == []


def test_a_run_without_both_stages_needs_no_claude(notion, run):
    ended = run("AI agents", "--no-expand", "--no-rerank", "--json")

    assert ended.code == 0
    assert ended.json
    assert ended.err == ""


def test_the_demo_without_claude_goes_on_with_one_notice(run):
    ended = run("AI agents", "--demo", "--json")

    assert ended.code == 0
    assert ended.json
    assert len(ended.notices) == 1
    assert "no Claude client" in ended.notices[0]


def test_connect_without_any_door_is_a_setup_error():
    with pytest.raises(SetupError, match="no Claude client"):
        llm.connect("m", {})


def test_a_door_without_text_or_at_all_raises_an_llm_error(program, doors, errand):
    program.says("expand", Text(text=""), Ran(code=1, stderr="no"))
    door = doors()

    with pytest.raises(LLMReplyError):
        ask(door, errand)
    with pytest.raises(LLMError, match="exit 1"):
        ask(door, errand)


# When the SDK is imported at all.

WATCH = """
import atexit, os, sys
loaded = lambda name: any(f"{module}.".startswith(name + ".") for module in sys.modules)
atexit.register(lambda: os.write(2, b"imported: %d\\n" % loaded("anthropic")))
atexit.register(lambda: os.write(2, b"beta types: %d\\n" % loaded("anthropic.types.beta")))
"""


@pytest.fixture
def watched(start, outside, run_process, request):
    """Run the tool as a process that says at its end whether it imported the SDK."""
    if request.config.getoption("--without"):
        pytest.skip("this run is without the SDK")
    (outside / "site/sitecustomize.py").write_text(WATCH)
    return run_process


def test_the_sdk_is_not_imported_for_help(watched):
    assert "imported: 0" in watched("--help").err


def test_the_sdk_is_not_imported_for_a_run_without_claude(notion, sdk, watched):
    assert "imported: 0" in watched("AI agents", "--no-expand", "--no-rerank").err


def test_the_sdk_is_not_imported_when_the_caches_hold_the_answer(notion, sdk, watched, run):
    cold = watched("AI agents", "--json")
    warm = watched("AI agents", "--json")

    assert "imported: 1" in cold.err
    assert "beta types: 0" in cold.err  # most of the time the SDK would take
    assert "imported: 0" in warm.err
    assert warm.json == cold.json


@pytest.mark.parametrize("cut", [False, True], ids=["ended early", "reset"])
def test_a_streamed_answer_that_broke_off_after_some_text_is_not_asked_for_again(sdk, doors, errand, cut):
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}}
    events = [{"type": "message_start", "message": {**message, "usage": usage}}, delta, {"type": "ping"}]
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
    kept = len(body) - 5 if cut else None
    sdk.says("expand", Reply(body=body, headers={"Content-Type": "text/event-stream"}, cut=kept))
    pieces = []

    with pytest.raises(LLMReplyError, match="broke off"):
        ask(doors(), errand, on_text=pieces.append)

    assert pieces == ["hello"]
    assert len(sdk.requests) == 1


# What --explain says of it.


def test_explain_counts_what_claude_was_asked_cold_warm_and_degraded(notion, claude, run):
    claude.says("expand", Text(text='["handbook"]', tokens=(300, 20)))
    claude.says("rerank", Text(text=entries((1, 90), (2, 80), (3, 70), (4, 60)), tokens=(900, 80)))
    cold = run("AI agents", "--explain", "--json").err
    first = len(claude.asked)
    warm = run("AI agents", "--explain", "--json").err
    second = len(claude.asked)
    claude.says("rerank", Text(text="I cannot.", tokens=(50, 3)))
    degraded = run("AI agents", "--explain", "--no-expand", "--no-cache", "--json").err

    assert (first, second, len(claude.asked)) == (2, 2, 3)
    assert "claude calls: 2 (2 " in cold
    assert "1 ranking miss, 1 variants miss" in cold
    assert "tokens: 1200 in, 100 out" in cold
    assert "claude calls: 0" in warm
    assert "1 ranking hit, 1 variants hit" in warm
    assert "tokens: 0 in, 0 out" in warm
    assert "claude calls: 1 (1 " in degraded
    assert "tokens: 50 in, 3 out" in degraded
    assert "variants: AI agents\n" in degraded

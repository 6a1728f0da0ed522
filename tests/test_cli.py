"""The command line: options, streams, exit codes, and answers to bad input."""

import json
import os
import re
import signal
import time
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from notion_search.demo.workspace import load

from .builders import DATABASE_ID, SLACK
from .conftest import KEY, TOKEN
from .fakes.claude import Text, by_title
from .fakes.notion import FakeNotion, hang
from .fakes.server import Reply, Server

PLAIN = ("--no-expand", "--no-rerank")
SCHEMA = json.loads((files("notion_search") / "results.schema.json").read_text(encoding="utf-8"))


def leaks(text: str, secret: str = TOKEN) -> bool:
    """Whether seven characters of the secret in a row stand in the text."""
    return any(secret[start : start + 7] in text for start in range(len(secret) - 6))


# Arguments


@pytest.mark.parametrize(
    "arguments",
    [
        ("AI", "--json", "agents", *PLAIN),
        ("--json", *PLAIN, "AI agents"),
        ("AI", "agents", *PLAIN, "--json"),
        ("--json", *PLAIN, "--", "AI", "agents"),
        (*PLAIN, "AI", "--json", "--", "agents"),
        ("--json", *PLAIN, " AI\t\n agents "),
    ],
)
def test_options_stand_anywhere_and_words_need_no_quotes(notion, run, arguments):
    ended = run(*arguments)

    assert ended.code == 0
    assert [request.body["query"] for request in notion.searches] == ["AI agents"]
    assert ended.titles[0] == "AI agents handbook"


@pytest.mark.parametrize("words", [("--dangerously-skip x",), ("-p",), ("--json",), ("a", "--", "b"), ("-",)], ids=str)
def test_two_dashes_end_the_options(notion, run, words):
    ended = run(*PLAIN, "--", *words)

    assert ended.code == 0
    assert notion.searches[0].body["query"] == " ".join(words)


def test_a_dash_reads_the_query_from_standard_input(notion, run_process):
    ended = run_process("--json", *PLAIN, "-", stdin="AI\n에이전트 $(id) `id` \"'\n".encode())

    assert ended.code == 0
    assert notion.searches[0].body["query"] == "AI 에이전트 $(id) `id` \"'"


def test_an_open_standard_input_is_left_alone(notion, start):
    reader, writer = os.pipe()
    with start(*PLAIN, "AI", stdin=reader) as process:
        out, _ = process.communicate(timeout=20)
    os.close(reader)
    os.close(writer)

    assert process.returncode == 0
    assert b"AI" in out


def test_a_composed_and_a_decomposed_query_are_the_same_search(notion, run):
    run(*PLAIN, "에이전트")

    assert notion.searches[0].body["query"] == "에이전트"


def test_limit_bounds_the_results(notion, run):
    assert len(run("AI agents", *PLAIN, "--json", "-n", "1").json) == 1
    assert len(run("AI agents", *PLAIN, "--json", "--limit", "30").json) == 4


@pytest.mark.parametrize("argument", ["--help", "-h", "--version"])
def test_help_and_version_answer_on_stdout(run_process, argument):
    ended = run_process(argument)

    assert (ended.code, ended.err) == (0, "")
    assert "notion-search" in ended.out


def test_help_is_what_it_was(run_process, golden):
    golden("help.txt", run_process("--help").out)


def test_help_imports_no_client(run_process):
    ended = run_process("--help", env={"PYTHONPROFILEIMPORTTIME": "1"})
    imported = set(re.findall(r"\| +([\w.]+)$", ended.err, re.MULTILINE))

    assert {"argparse", "notion_search.cli"} <= imported
    assert imported.isdisjoint({"anthropic", "notion_client", "rich", "httpx"})


# Bad input

NO_OBJECT = "expected a JSON object"
BAD = [
    pytest.param((), 2, "no query", id="no query"),
    pytest.param(("",), 2, "no query", id="empty query"),
    pytest.param((" \t\n",), 2, "no query", id="blank query"),
    pytest.param(("\u200b\ufeff",), 2, "no query", id="invisible query"),
    pytest.param(("x" * 2001,), 2, "2001", id="2001 characters"),
    pytest.param(("a\x1b[31mb",), 2, "U+001B", id="escape"),
    pytest.param(("a\x9bb",), 2, "U+009B", id="C1 control"),
    pytest.param(("a\udc80b",), 2, "not text", id="half surrogate"),
    pytest.param(("x", "--limit", "0"), 2, "--limit", id="limit 0"),
    pytest.param(("x", "--limit", "31"), 2, "--limit", id="limit 31"),
    pytest.param(("x", "--limit", "x"), 2, "'x'", id="limit x"),
    pytest.param(("x", "-n", "-1"), 2, "--limit", id="limit -1"),
    pytest.param(("x", "-n", "99999999"), 2, "--limit", id="limit huge"),
    pytest.param(("x", "-n", "1.5"), 2, "--limit", id="limit 1.5"),
    pytest.param(("x", "-n", "٣"), 2, "--limit", id="limit in other digits"),
    pytest.param(("x", "--limit"), 2, "--limit", id="limit without a number"),
    pytest.param(("x", "--timeout", "0"), 2, "--timeout", id="timeout 0"),
    pytest.param(("x", "--timeout", "nan"), 2, "--timeout", id="timeout nan"),
    pytest.param(("x", "--timeout", "inf"), 2, "--timeout", id="timeout inf"),
    pytest.param(("x", "--timeout", "soon"), 2, "--timeout", id="timeout in words"),
    pytest.param(("x", "--color", "red"), 2, "--color", id="color red"),
    pytest.param(("x", "--model", "\udcff"), 2, "--model", id="model in bytes"),
    pytest.param(("x", "--model", ""), 2, "--model", id="model empty"),
    pytest.param(("x", "--jsn"), 2, "--jsn", id="unknown option"),
    pytest.param(("x", "--js"), 2, "--js", id="abbreviated option"),
    pytest.param(("x", "--filter", "[1]", "--databases", DATABASE_ID), 2, NO_OBJECT, id="filter is a list"),
    pytest.param(("x", "--filter", "{Status:Done}", "--databases", DATABASE_ID), 2, "--filter", id="filter no JSON"),
    pytest.param(("x", "--filter", '{"Status":"Done"}'), 2, "--databases", id="filter without a database"),
    pytest.param(
        (
            "x",
            "--databases",
            DATABASE_ID,
            "--filter",
            '{"and":[{"or":[{"and":[{"property":"Status","status":{"equals":"Done"}}]}]}]}',
        ),
        2,
        "--filter",
        id="filter three levels deep",
    ),
    pytest.param(("x", "--databases", ""), 2, "--databases", id="databases empty"),
    pytest.param(("x", "--databases", " , "), 2, "--databases", id="databases blank"),
    pytest.param(("x", "--databases", "abc-def-..."), 2, "abc-def-...", id="databases malformed"),
    pytest.param(("x", "--databases", "0" * 31), 2, "0" * 31, id="databases 31 digits"),
]


@pytest.mark.parametrize(("arguments", "code", "named"), BAD)
def test_bad_arguments_get_one_line_and_send_nothing(notion, claude, run, outside, arguments, code, named):
    ended = run(*arguments, "--json")

    assert (ended.code, ended.out) == (code, "")
    assert re.fullmatch(r"notion-search: [^\n]+\n", ended.err)
    assert named in ended.err
    assert notion.requests == claude.requests == []
    assert list((outside / "home").rglob("*")) == []


ENVIRONMENTS = [
    pytest.param({"NOTION_TOKEN": ""}, "NOTION_TOKEN", id="no token"),
    pytest.param({"NOTION_TOKEN": "“ntn_example_long”"}, "NOTION_TOKEN", id="curly quotes"),
    pytest.param({"NOTION_TOKEN": '"ntn_example_long"'}, "NOTION_TOKEN", id="straight quotes"),
    pytest.param({"NOTION_TOKEN": "ntn_exam ple_long"}, "NOTION_TOKEN", id="a blank inside"),
    pytest.param({"NOTION_TOKEN": "ntn_exam\nple_long"}, "NOTION_TOKEN", id="a newline inside"),
    pytest.param(
        {"NOTION_TOKEN": "ntn_exam\x00ple_long".replace("\x00", "\x01")}, "NOTION_TOKEN", id="a control inside"
    ),
    pytest.param({"NOTION_API_BASE_URL": "http://api.notion.example"}, "NOTION_API_BASE_URL", id="plain http"),
    pytest.param({"NOTION_API_BASE_URL": "http://127.0.0.1.example"}, "NOTION_API_BASE_URL", id="loopback look-alike"),
    pytest.param({"NOTION_API_BASE_URL": "ftp://127.0.0.1"}, "NOTION_API_BASE_URL", id="another scheme"),
    pytest.param({"NOTION_API_BASE_URL": "https://u:p@host"}, "NOTION_API_BASE_URL", id="a user in it"),
    pytest.param({"NOTION_API_BASE_URL": "http://[::1"}, "NOTION_API_BASE_URL", id="broken"),
    pytest.param({"ANTHROPIC_BASE_URL": "http://claude.example"}, "ANTHROPIC_BASE_URL", id="plain http for Claude"),
    pytest.param({"ANTHROPIC_API_KEY": "sk-ant\nlonger-key"}, "ANTHROPIC_API_KEY", id="a newline in the key"),
    pytest.param({"NOTION_SEARCH_MODEL": "two words"}, "NOTION_SEARCH_MODEL", id="a model of two words"),
    pytest.param({"NOTION_SEARCH_WAIT_SCALE": "2"}, "NOTION_SEARCH_WAIT_SCALE", id="longer waits"),
    pytest.param({"NOTION_SEARCH_CALLS_PER_MINUTE": "0"}, "NOTION_SEARCH_CALLS_PER_MINUTE", id="no calls a minute"),
    pytest.param({"NOTION_SEARCH_CALLS_PER_MINUTE": "many"}, "NOTION_SEARCH_CALLS_PER_MINUTE", id="calls in words"),
]


@pytest.mark.parametrize(("environment", "named"), ENVIRONMENTS)
def test_an_unusable_environment_is_named_and_shown_to_no_one(
    notion, claude, run, outside, monkeypatch, environment, named
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    ended = run("x")

    assert (ended.code, ended.out) == (3, "")
    assert re.fullmatch(r"notion-search: [^\n]+\n", ended.err)
    assert named in ended.err
    assert not leaks(ended.err, "ntn_example_long")
    assert "longer-key" not in ended.err
    assert notion.requests == claude.requests == []
    assert list((outside / "home").rglob("*")) == []


# Environment


@pytest.mark.parametrize(
    ("environment", "sent"),
    [
        ({"NOTION_TOKEN": "one_11", "NOTION_API_TOKEN": "two_22", "NOTION_API_KEY": "three_33"}, "one_11"),
        ({"NOTION_TOKEN": " ", "NOTION_API_TOKEN": "two_22", "NOTION_API_KEY": "three_33"}, "two_22"),
        ({"NOTION_TOKEN": "", "NOTION_API_KEY": " three_33\n"}, "three_33"),
    ],
)
def test_the_first_token_set_is_sent_trimmed(notion, run, monkeypatch, environment, sent):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert run("AI", *PLAIN).code == 0
    assert {request.headers["authorization"] for request in notion.requests} == {f"Bearer {sent}"}


def test_the_model_is_an_option_before_it_is_a_variable(notion, claude, run, monkeypatch):
    run("one", "--no-cache")
    monkeypatch.setenv("NOTION_SEARCH_MODEL", "claude-haiku-5-5")
    run("AI two", "--no-cache", "--no-expand")
    run("AI three", "--no-cache", "--no-expand", "--model", "claude-other")

    assert [asked.model for asked in claude.asked] == ["claude-haiku-4-5", "claude-haiku-5-5", "claude-other"]


def test_a_redirect_is_not_followed(notion, run, monkeypatch):
    with Server(lambda _: Reply(status=302, headers={"Location": notion.url + "/v1/search"})) as elsewhere:
        monkeypatch.setenv("NOTION_API_BASE_URL", elsewhere.url)
        ended = run("AI", *PLAIN)

    assert (ended.code, ended.out) == (4, "")
    assert notion.requests == []


def test_a_proxy_that_is_not_there_shows_no_credential(notion, run, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://user:{TOKEN}@127.0.0.1:9")

    ended = run("AI", *PLAIN, "--timeout", "3")

    assert (ended.code, ended.out, len(ended.notices)) == (4, "", 1)
    assert not leaks(ended.err)


# Streams


def test_notices_go_to_stderr_with_the_name_of_the_tool(notion, claude, run):
    claude.says("expand", "no idea")

    ended = run("AI", "--json")

    assert ended.json
    assert re.fullmatch(r"notion-search: [^\n]+\n", ended.err)


def test_quiet_keeps_notices_to_itself_and_errors_not(notion, claude, run):
    claude.says("expand", "no idea")

    assert run("AI", "--json", "--quiet").err == ""
    assert run("x", "-q", "--limit", "0").err


def test_a_reader_that_stops_early_is_no_error(notion, start):
    with start("AI agents", *PLAIN) as process:
        process.stdout.close()
        err = process.stderr.read()
        process.wait(timeout=20)

    assert (process.returncode, err) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said_once(notion, run_process):
    with Path("/dev/full").open("wb") as full:
        ended = run_process("AI agents", *PLAIN, stdout=full)

    assert ended.code == 1
    assert re.fullmatch(r"notion-search: [^\n]*could not be written[^\n]*\n", ended.err)


@pytest.mark.parametrize("encoding", ["ascii", "cp949", "latin-1", "utf-8"])
def test_any_encoding_of_stdout_carries_the_answer(serve_notion, run_process, encoding):
    serve_notion(load({"pages": [{"title": "AI 에이전트 🚀", "blocks": ["café"]}]}))

    as_json = run_process("AI", *PLAIN, "--json", env={"PYTHONIOENCODING": encoding})
    table = run_process("AI", *PLAIN, env={"PYTHONIOENCODING": encoding})

    assert (as_json.code, table.code) == (0, 0)
    if encoding in ("ascii", "latin-1"):
        assert as_json.json[0]["title"] == "AI 에이전트 🚀"
    assert "https://" in table.out


# The answer


def test_json_has_the_promised_keys_in_order_and_valid_values(notion, claude, run):
    ended = run("agent", "--json", "--databases", DATABASE_ID)

    jsonschema.Draft202012Validator(SCHEMA).validate(ended.json)
    assert [list(result) for result in ended.json] == [SCHEMA["items"]["required"]] * len(ended.json)
    assert ended.out.endswith("]\n")
    assert not ended.out.endswith("\n\n")
    assert ended.json[0]["properties"]["Topic"]


@pytest.mark.parametrize("format_option", [(), ("--json",)], ids=["table", "json"])
def test_no_matches_is_an_answer(notion, run, format_option):
    ended = run("zebra", *PLAIN, *format_option)

    assert ended.code == 0
    assert ended.out == ("[]\n" if format_option else "No matches for 'zebra'\n")
    assert "no title has these words" in ended.err
    assert [request.body["page_size"] for request in notion.searches] == [100, 1]


def test_nothing_shared_is_told_from_nothing_matching(serve_notion, run):
    serve_notion(load({}))

    ended = run("zebra", *PLAIN)

    assert (ended.code, ended.out) == (0, "No matches for 'zebra'\n")
    assert "no page at all is shared" in ended.err


def test_the_table_is_what_it_was(run, golden):
    golden("table.txt", run("--demo", *PLAIN, "AI agents").out)


def test_the_json_is_what_it_was(run, golden):
    golden("results.json", run("--demo", *PLAIN, "--json", "-n", "3", "AI agents").out)


# The demo


def test_the_demo_asks_no_one(notion, claude, run):
    ended = run("--demo", *PLAIN, "AI agents")

    assert ended.code == 0
    assert notion.requests == claude.requests == []


def test_the_demo_reaches_by_meaning_what_a_title_search_misses(claude, run):
    wanted = {"Multi-agent orchestration", "에이전트 설계"}
    claude.says("expand", '["multi-agent orchestration", "autonomous agents", "에이전트", "LLM tool use"]')
    claude.always("rerank", by_title(*wanted))

    plain = run("--demo", *PLAIN, "--json", "-n", "30", "AI agents").titles
    widened = run("--demo", "--json", "AI agents").titles

    assert plain
    assert wanted.isdisjoint(plain)
    assert set(widened[:2]) == wanted


def test_the_demo_without_a_model_goes_on_and_says_so(run):
    ended = run("--demo", "AI agents")

    assert (ended.code, len(ended.notices)) == (0, 1)
    assert "no Claude client" in ended.err
    assert "AI agents in customer support" in ended.out


# Explain


def test_explain_counts_what_the_servers_saw(notion, claude, run):
    claude.says("expand", Text(text='["handbook", "에이전트"]', tokens=(111, 22)))
    claude.says("rerank", Text(text='[{"index": 1, "score": 90, "why": "x"}]', tokens=(333, 44)))

    err = run("AI agents", "--explain", "--json").err

    assert "variants: AI agents · handbook · 에이전트" in err
    kinds = f"{len(notion.children)} children, 1 me, {len(notion.searches)} search"
    assert f"notion calls: {len(notion.requests)} ({kinds})" in err
    assert f"claude calls: {len(claude.asked)} " in err
    assert "tokens: 444 in, 66 out; about $0.0008 for claude-haiku-4-5 at list prices of " in err
    assert "1 ranking miss, 1 variants miss" in err
    assert set(re.findall(r"([a-z]+) \d+\.\d\d", err)) == {"expand", "search", "excerpt", "rerank"}


def test_explain_says_what_the_caches_spared(notion, claude, run):
    run("AI agents")
    before = len(claude.asked)

    err = run("AI agents", "--explain").err

    assert len(claude.asked) == before
    assert "claude calls: 0" in err
    assert "tokens: 0 in, 0 out" in err
    assert "4 pages hit, 1 ranking hit, 1 variants hit" in err


def test_explain_is_asked_for_and_so_survives_quiet(notion, run):
    assert "notion calls" in run("AI", *PLAIN, "--explain", "--quiet").err


# Ends


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_at_once_without_a_traceback(serve_notion, start, number, code):
    notion: FakeNotion = serve_notion()
    notion.fault("search", hang(), forever=True)
    with start("AI", *PLAIN) as process:
        while not notion.searches:
            time.sleep(0.01)
        sent = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=10)

    assert (process.returncode, out, err) == (code, b"", b"")
    assert time.monotonic() - sent < SLACK


def test_a_crash_shows_no_credential(run_process, outside, monkeypatch):
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    # A broken installation of a package we use, which quotes what it should not.
    (outside / "site" / "notion_client.py").write_text("import os\nraise RuntimeError(f'odd {dict(os.environ)}')\n")

    ended = run_process("x", *PLAIN)

    assert (ended.code, ended.out) == (1, "")
    assert "Traceback" in ended.err
    assert not leaks(ended.err)
    assert not leaks(ended.err, KEY)

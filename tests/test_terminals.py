"""What a person sees: real terminals of every width, dumb ones, and streams that cannot carry Korean."""

import re
import subprocess

import pytest

from notion_search.words import display_width

DEMO = ("--demo", "--no-expand", "--no-rerank", "AI agents")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_every_line_fits_the_terminal_and_every_link_is_whole(on_terminal, width):
    lines = ESCAPES.sub("", on_terminal(*DEMO, width=width)).splitlines()

    links = [line for line in lines if "https://" in line]
    assert len(links) == 6
    assert all(re.fullmatch(r" {4}https://app\.notion\.com/p/\S+-?[0-9a-f]{32}", line) for line in links)
    assert all(display_width(line) <= width for line in lines if line not in links)


def test_columns_line_up_beside_korean(on_terminal):
    rows = [line for line in ESCAPES.sub("", on_terminal(*DEMO)).splitlines() if re.match(r" \d  ", line)]

    assert any("활용" in row for row in rows)
    assert {display_width(row) for row in rows} == {80}


def test_a_terminal_shows_colour_and_clickable_links(on_terminal):
    pytest.importorskip("rich")

    sent = on_terminal(*DEMO)

    assert "\x1b[1m" in sent
    assert re.search(r"\x1b\]8;[^;]*;https://app\.notion\.com/", sent)


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"NO_COLOR": "1"}], ids=["dumb", "NO_COLOR"])
def test_no_colour_where_it_is_not_wanted(on_terminal, environment):
    assert "\x1b" not in on_terminal(*DEMO, **environment)


def test_progress_is_gone_at_the_end(on_terminal):
    sent = on_terminal(*DEMO, "--color", "never", stderr="terminal")

    # Whatever is drawn is erased: after the last erasure only the table stands.
    table = re.split(r"\x1b\[2K|\x1b\[\?25h", sent)[-1]
    assert "AI agents in customer support" in table
    assert "searching" not in ESCAPES.sub("", table)


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"PYTHONIOENCODING": "cp949"}, id="cp949"),
        pytest.param({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, id="the C locale"),
    ],
)
def test_a_stream_without_unicode_loses_no_answer(run_process, environment):
    table = run_process(*DEMO, env=environment)
    as_json = run_process(*DEMO, "--json", env=environment)

    assert (table.code, as_json.code) == (0, 0)
    assert "Traceback" not in table.err + as_json.err
    assert table.out.count("https://app.notion.com/p/") == 6
    if "LC_ALL" in environment:
        assert "AI 활용 가이드라인" in as_json.titles


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_stream_closed_from_the_start_is_no_traceback(start, stream):
    arguments = {stream: subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with start("--demo", "zebra", **arguments) as process:
        getattr(process, stream).close()
        other = process.stdout if stream == "stderr" else process.stderr
        rest = other.read() if other else b""
        process.wait(timeout=20)

    assert process.returncode == 0
    assert b"Traceback" not in rest

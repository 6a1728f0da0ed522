"""Runs that end before their time: killed, interrupted, out of time; and several at once."""

import json
import os
import random
import signal
import subprocess
import time

import pytest

from notion_search.demo.workspace import load

from .builders import SLACK
from .fakes.claude import Ran, Text
from .fakes.notion import drip, hang

LINE = ("AI", "--json")


def pages(count=6):
    return load({"pages": [{"title": f"AI {n}", "blocks": [f"Text {n}."]} for n in range(count)]})


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not _is_zombie(pid)


def _is_zombie(pid):
    state = subprocess.run(["/bin/ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return state.stdout.startswith("Z")


def test_a_run_killed_at_any_moment_breaks_no_later_one(serve_notion, program, start, run, outside):
    notion = serve_notion(pages(), latency=0.05)
    chance = random.Random(20)
    for _ in range(5):
        runs = [start(*LINE, start_new_session=True) for _ in range(4)]
        began = time.monotonic()
        for moment, process in zip(sorted(chance.uniform(0.1, 2.0) for _ in runs), runs, strict=True):
            time.sleep(max(0.0, began + moment - time.monotonic()))
            os.killpg(process.pid, signal.SIGKILL)
        for process in runs:
            process.communicate()

    ended = run(*LINE)

    assert (ended.code, ended.err) == (0, "")
    assert len(ended.json) == 6
    assert all(page["excerpt"] and page["relevance"] is not None for page in ended.json)
    assert run(*LINE).json == ended.json
    for path in (outside / "home/.cache/notion-search").glob("*.json"):
        json.loads(path.read_text())
    assert notion.requests


def test_eight_runs_at_once_give_eight_good_answers(serve_notion, program, start, outside):
    serve_notion(pages())
    runs = [start(*LINE) for _ in range(8)]
    ends = [(*process.communicate(timeout=60), process.returncode) for process in runs]

    assert {code for _, _, code in ends} == {0}
    assert {err for _, err, _ in ends} == {b""}
    assert len({out for out, _, _ in ends}) == 1
    kept = sorted(path.suffix for path in (outside / "home/.cache/notion-search").iterdir())
    assert [suffix for suffix in kept if suffix == ".json"] == [".json", ".json"]  # one of variants, one a ranking
    assert ".part" not in kept
    assert kept.count(".sqlite") == 1


SLOW_NOTION = [
    pytest.param("search", hang(), 4, id="a hanging search"),
    pytest.param("search", drip(0.5), 4, id="a dripping search"),
    pytest.param("children", hang(), 0, id="hanging pages"),
    pytest.param("children", drip(0.5), 0, id="dripping pages"),
]


@pytest.mark.parametrize(("kind", "fault", "code"), SLOW_NOTION)
def test_a_slow_notion_ends_with_the_time_there_is(serve_notion, run_process, kind, fault, code):
    notion = serve_notion(pages())
    notion.fault(kind, fault, forever=True)
    began = time.monotonic()

    ended = run_process(*LINE, "--no-expand", "--no-rerank", "--timeout", "2")

    assert time.monotonic() - began < 2 + SLACK
    assert ended.code == code
    assert len(ended.notices) == 1
    assert "Traceback" not in ended.err
    assert not code or ended.out == ""


@pytest.mark.parametrize("stage", ["expand", "rerank"])
def test_a_slow_program_ends_with_the_time_there_is(serve_notion, program, run_process, stage):
    serve_notion(pages())
    program.says(stage, Ran(sleep=600, children=True))
    began = time.monotonic()

    ended = run_process(*LINE, "--timeout", "2")

    assert time.monotonic() - began < 2 + SLACK
    assert ended.code == 0
    assert len(ended.json) == 6
    slow = next(asked for asked in program.asked if asked.stage == stage)
    until(lambda: not is_running(slow.request.body["pid"]))


STAGES = ["search", "children", "expand", "rerank"]


@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_ends_any_stage_at_once(serve_notion, program, start, stage):
    notion = serve_notion(pages())
    if stage in ("search", "children"):
        notion.fault(stage, hang(), forever=True)
    else:
        program.says(stage, Ran(sleep=600, children=True))
    asked = {"search": lambda: notion.searches, "children": lambda: notion.children}.get(
        stage, lambda: program.prompts(stage)
    )
    with start(*LINE, start_new_session=True) as process:
        until(asked)
        time.sleep(0.1)
        sent = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to everyone in front of it
        out, err = process.communicate(timeout=10)

    assert time.monotonic() - sent < SLACK
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    for question in program.asked:
        until(lambda pid=question.request.body["pid"]: not is_running(pid))


def test_ctrl_c_ends_a_wait_for_the_sdk(serve_notion, sdk, start):
    serve_notion(pages())
    sdk.says("expand", Text(text="[]", wait=600))
    with start(*LINE) as process:
        until(lambda: sdk.asked, seconds=30)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)

    assert time.monotonic() - sent < SLACK
    assert (process.returncode, out, err) == (130, b"", b"")

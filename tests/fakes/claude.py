"""Claude behind a loopback socket, spoken to by the SDK and by a `claude` program that asks it what to print."""

import json
import re
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .server import Reply, Request, Server

# Placed first on PATH. It reports how it was started and prints what it is told, so both doors share one log.
PROGRAM = """#!{python} -IS
import http.client, json, os, subprocess, sys, time
connection = http.client.HTTPConnection("127.0.0.1", {port})
started = {{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "files": os.listdir(),
           "stdin": sys.stdin.buffer.read().decode(), "pid": os.getpid()}}
connection.request("POST", "/program", json.dumps(started))
told = json.loads(connection.getresponse().read())
if told["children"]:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
sys.stdout.write(told["stdout"])
sys.stderr.write(told["stderr"])
sys.stdout.flush()
time.sleep(told["sleep"])
sys.exit(told["code"])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What the program does instead of printing a reply: raw output, an exit code, seconds of sleep."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0
    sleep: float = 0.0
    children: bool = False
    """Whether it starts a child of its own that outlives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A reply in words, with what the API says beside it."""

    text: str
    stop_reason: str = "end_turn"
    tokens: tuple[int, int] = (100, 20)
    wait: float = 0.0


Told = str | Text | Reply | Ran


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question, whatever the door it came through."""

    stage: str
    """expand, rerank or answer."""
    prompt: str
    system: str
    model: str
    request: Request


class FakeClaude(Server):
    """Answers each stage from its queue, and once that is empty as an obliging model would."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[Told]] = {stage: deque() for stage in ("expand", "rerank", "answer")}
        self._always: dict[str, Callable[[str], Told]] = {
            "expand": lambda _: '["other words"]',
            "rerank": in_order,
            "answer": lambda _: "It is so [1].",
        }
        self._lock = threading.Lock()
        super().__init__(self._answer)

    def says(self, stage: str, *told: Told) -> None:
        """Queue answers for a stage: text, or what replaces it."""
        self._queues[stage].extend(told)

    def always(self, stage: str, told: Told | Callable[[str], Told]) -> None:
        """Answer a stage with this whenever its queue is empty; a function is given the prompt."""
        self._always[stage] = told if callable(told) else lambda _: told

    @property
    def asked(self) -> list[Asked]:
        """Every question so far, in order."""
        return [_asked(request) for request in self.requests if request.method == "POST"]

    def prompts(self, stage: str) -> list[str]:
        """The prompts of one stage, in order."""
        return [asked.prompt for asked in self.asked if asked.stage == stage]

    def install(self, folder: Path) -> Path:
        """Put a `claude` program in the folder."""
        path = folder / "claude"
        port = self.url.rpartition(":")[2]
        path.write_text(PROGRAM.format(python=sys.executable, port=port))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def _answer(self, request: Request) -> Reply:
        if request.method != "POST":
            return Reply(status=404)
        asked = _asked(request)
        with self._lock:
            queue = self._queues[asked.stage]
            told = queue.popleft() if queue else None
        if told is None:
            told = self._always[asked.stage](asked.prompt)
        told = Text(text=told) if isinstance(told, str) else told
        return _for_program(told, asked) if request.path == "/program" else _for_sdk(told, asked)


def _asked(request: Request) -> Asked:
    body = request.body
    if request.path == "/program":
        argv = body["argv"]
        system, prompt, model = argv[argv.index("--system-prompt") + 1], body["stdin"], argv[argv.index("--model") + 1]
    else:
        content = body["messages"][0]["content"]
        prompt = content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
        system, model = body["system"], body["model"]
    stage = "rerank" if "\n<pages>\n" in prompt else "answer" if "\n<sources>\n" in prompt else "expand"
    return Asked(stage=stage, prompt=prompt, system=system, model=model, request=request)


def _for_sdk(told: Text | Reply | Ran, asked: Asked) -> Reply:
    if isinstance(told, Reply):
        return told
    assert isinstance(told, Text), "the SDK cannot run a program"
    usage = {"input_tokens": told.tokens[0], "output_tokens": told.tokens[1]}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [{"type": "text", "text": told.text}] if told.text else [],
        "stop_reason": told.stop_reason,
        "stop_sequence": None,
        "usage": {**usage, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }
    if asked.request.body.get("stream"):
        return Reply(body=_streamed(message), headers={"Content-Type": "text/event-stream"}, wait=told.wait)
    return Reply(body=message, wait=told.wait)


def _streamed(message: dict) -> bytes:
    """The message as server-sent events, its text in pieces of three characters, of a long one in 300 pieces."""
    text = "".join(block["text"] for block in message["content"])
    size = max(3, len(text) // 300)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    deltas = [{"index": 0, "delta": {"type": "text_delta", "text": piece}} for piece in pieces]
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events = [
        ("message_start", {"message": {**message, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        *(("content_block_delta", delta) for delta in deltas),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": ended, "usage": message["usage"]}),
        ("message_stop", {}),
    ]
    lines = (f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n" for kind, data in events)
    return "".join(lines).encode()


def _for_program(told: Text | Reply | Ran, asked: Asked) -> Reply:
    if isinstance(told, Reply):
        told = Ran(stdout=_failed(told), code=1, sleep=told.wait)
    if isinstance(told, Text):
        told = Ran(stdout=envelope(told.text, told.stop_reason, told.tokens), sleep=told.wait)
    return Reply(body={name: getattr(told, name) for name in Ran.__dataclass_fields__})


def envelope(text: str, stop_reason: str = "end_turn", tokens: tuple[int, int] = (100, 20), **changes: object) -> str:
    """The one object the program prints for a reply."""
    usage = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
    result = {"type": "result", "subtype": "success", "is_error": False, "result": text, "stop_reason": stop_reason}
    return json.dumps({**result, "usage": usage, "session_id": "s", **changes})


def _failed(reply: Reply) -> str:
    body = reply.body if isinstance(reply.body, dict) else {}
    message = body.get("error", {}).get("message", "")
    return envelope(f"API Error: {reply.status} {message}", is_error=True, api_error_status=reply.status)


def api_error(status: int, kind: str = "api_error", message: str = "m", **headers: str) -> Reply:
    """An error as the API words it; header names are written with underscores."""
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return Reply(status=status, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def entries(*scores: tuple[int, int] | tuple[int, int, str]) -> str:
    """A ranking as asked for, of (index, score) or (index, score, why)."""
    return json.dumps(
        [{"index": s[0], "score": s[1], "why": s[2] if len(s) > 2 else "fits"} for s in scores], ensure_ascii=False
    )


def lines(prompt: str) -> Sequence[str]:
    """The candidate lines of a rerank prompt."""
    return prompt.partition("<pages>\n")[2].rpartition("\n</pages>")[0].split("\n")


def in_order(prompt: str) -> str:
    """Every page asked for, in the order offered."""
    count = int(re.search(r"Rank the (\d+) pages", prompt)[1])
    return entries(*((index, 100 - index) for index in range(1, count + 1)))


def by_title(*titles: str, why: str = "fits") -> Callable[[str], str]:
    """These titles first, in this order, then the rest as offered, as many as asked for."""

    def rank(prompt: str) -> str:
        count = int(re.search(r"Rank the (\d+) pages", prompt)[1])
        offered = {line.partition("] ")[2].split(" | ")[0]: index for index, line in enumerate(lines(prompt), 1)}
        first = [offered.pop(title) for title in titles if title in offered]
        order = [*first, *offered.values()][:count]
        return entries(*((index, max(0, 95 - 5 * place), why) for place, index in enumerate(order)))

    return rank


def late(told: Text, seconds: float) -> Text:
    """The same reply after so many seconds."""
    return replace(told, wait=seconds)

"""Google Drive behind a `gws` program that asks a loopback socket what to print, write and do."""

import base64
import json
import re
import stat
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .server import Reply, Request, Server

# Placed first on PATH. It reports how it was started and does what it is told. As the real one, it writes nowhere but
# below its current folder.
PROGRAM = """#!{python} -IS
import base64, http.client, json, os, subprocess, sys, time
connection = http.client.HTTPConnection("127.0.0.1", {port})
started = {{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "files": os.listdir(),
           "mode": os.stat(".").st_mode & 0o777, "stdin": sys.stdin.buffer.read().decode(), "pid": os.getpid()}}
connection.request("POST", "/gws", json.dumps(started))
told = json.loads(connection.getresponse().read())
if told["children"]:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
if told["content"] is not None and "--output" in sys.argv:
    path = os.path.realpath(sys.argv[sys.argv.index("--output") + 1])
    if not path.startswith(os.path.realpath(".") + os.sep):
        sys.exit(3)
    with open(path, "wb") as file:
        file.write(base64.b64decode(told["content"]))
        file.truncate(max(file.tell(), told["grown"]))
sys.stdout.write(told["stdout"])
sys.stderr.write(told["stderr"])
sys.stdout.flush()
time.sleep(told["sleep"])
sys.exit(told["code"])
"""

GOOGLE = "application/vnd.google-apps."


@dataclass(frozen=True, slots=True, kw_only=True)
class Did:
    """What the program does: raw output, an exit code, seconds of sleep, and the file it writes."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0
    sleep: float = 0.0
    children: bool = False
    """Whether it starts a child of its own that outlives it."""
    content: bytes | None = None
    grown: int = 0
    """The size the file is brought to, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One file: what a listing says of it, and its content, by media type where it can be exported."""

    metadata: Mapping[str, object]
    content: bytes | Mapping[str, bytes] = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """One start of the program."""

    method: str
    params: Mapping[str, object]
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: str
    files: tuple[str, ...]
    mode: int
    stdin: str
    pid: int


class FakeGws(Server):
    """Answers each method from its queue, and once that is empty as Drive would over the files it holds."""

    def __init__(self) -> None:
        self.files: list[Stored] = []
        self._queues: dict[str, deque[Did]] = {"list": deque(), "get": deque(), "export": deque()}
        self._lock = threading.Lock()
        super().__init__(self._answer)

    def says(self, method: str, *told: Did) -> None:
        """Queue what the program does at the next calls of a method: list, get or export."""
        self._queues[method].extend(told)

    def holds(self, number: int, name: str, mime: str, content: bytes | Mapping[str, bytes] = b"", **more) -> str:
        """Keep a file, and return its id; the media type of Google's own is named without what they share."""
        metadata = {
            "id": f"file-{number}",
            "name": name,
            "mimeType": mime if "/" in mime else GOOGLE + mime,
            "modifiedTime": f"2026-10-{number:02}T09:08:00.000Z",
            "webViewLink": f"https://docs.google.com/d/file-{number}",
            **more,
        }
        self.files.append(Stored(metadata=metadata, content=content))
        return str(metadata["id"])

    @property
    def calls(self) -> list[Called]:
        """Every start of the program so far, in order."""
        return [_called(request) for request in self.requests]

    def install(self, folder: Path) -> Path:
        """Put a `gws` program in the folder."""
        path = folder / "gws"
        path.write_text(PROGRAM.format(python=sys.executable, port=self.url.rpartition(":")[2]))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def _answer(self, request: Request) -> Reply:
        called = _called(request)
        with self._lock:
            queue = self._queues[called.method]
            told = queue.popleft() if queue else None
        told = told or {"list": self._list, "get": self._get, "export": self._export}[called.method](called.params)
        content = None if told.content is None else base64.b64encode(told.content).decode()
        return Reply(body={**{name: getattr(told, name) for name in Did.__dataclass_fields__}, "content": content})

    def _list(self, params: Mapping[str, object]) -> Did:
        words = re.findall(r"\w+", str(params["q"]).removeprefix("fullText contains").rpartition(" and ")[0].casefold())
        found = [stored.metadata for stored in self.files if all(word in _searched(stored) for word in words)]
        return listing(*found[: params["pageSize"]])

    def _get(self, params: Mapping[str, object]) -> Did:
        stored = self._stored(params)
        if stored is None:
            return error(404, "notFound", f"File not found: {params['fileId']}.")
        if params.get("alt") != "media":
            return Did(stdout=json.dumps(stored.metadata, indent=2, ensure_ascii=False) + "\n")
        if not isinstance(stored.content, bytes):
            return error(403, "fileNotDownloadable", "Only files with binary content can be downloaded.")
        return saved(stored.content)

    def _export(self, params: Mapping[str, object]) -> Did:
        stored = self._stored(params)
        exports = stored.content if stored and isinstance(stored.content, dict) else {}
        if params["mimeType"] not in exports:
            return error(400, "badRequest", "The requested conversion is not supported.")
        return saved(exports[params["mimeType"]])

    def _stored(self, params: Mapping[str, object]) -> Stored | None:
        return next((stored for stored in self.files if stored.metadata["id"] == params["fileId"]), None)


def _called(request: Request) -> Called:
    body = request.body
    argv = body["argv"]
    return Called(
        method=argv[2],
        params=json.loads(argv[argv.index("--params") + 1]),
        argv=tuple(argv),
        env=body["env"],
        cwd=body["cwd"],
        files=tuple(body["files"]),
        mode=body["mode"],
        stdin=body["stdin"],
        pid=body["pid"],
    )


def _searched(stored: Stored) -> str:
    contents = [stored.content] if isinstance(stored.content, bytes) else stored.content.values()
    texts = (content.decode(errors="replace") for content in contents)
    return " ".join([str(stored.metadata["name"]), *texts]).casefold()


def listing(*files: Mapping[str, object], before: str = "") -> Did:
    """A listing as it is printed, after whatever else is."""
    return Did(stdout=f"{before}{json.dumps({'files': files}, indent=2, ensure_ascii=False)}\n")


def saved(content: bytes, **more: object) -> Did:
    """A file written, and what is printed of it."""
    said = {"status": "success", "saved_file": "content", "bytes": len(content)}
    return Did(stdout=json.dumps(said, indent=2) + "\n", content=content, **more)


def error(status: int, reason: str, message: str = "m", *, code: int = 1, **more: object) -> Did:
    """An error object, on stdout as the program prints it, with the exit code of its kind."""
    details = {"code": status, "message": message, "reason": reason, **more}
    return Did(stdout=json.dumps({"error": details}) + "\n", stderr=f"error[api]: {message}\n", code=code)

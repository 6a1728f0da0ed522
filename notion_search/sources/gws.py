"""Google's Workspace program, `gws`, run for one call to Drive at a time; its output and its errors stop here."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ..children import Children
from ..errors import SourceError
from ..pace import TryAgainError
from ..redaction import redacted, secrets
from ..types import Run
from ..words import quoted

T = TypeVar("T")

# A listing takes a second or two and a download a few; a program silent for longer waits for something else.
LIMIT = 15.0  # seconds a call
SERVICE = "drive"
HOME_PAGE = "https://github.com/googleworkspace/cli"

# `gws` writes below its current folder alone, so a plain name is all it can be given.
OUTPUT = "content"

TOKEN = "GOOGLE_WORKSPACE_CLI_TOKEN"  # noqa: S105 - a variable's name
CREDENTIALS = "GOOGLE_WORKSPACE_CLI_CREDENTIALS_FILE"
SETTINGS = "GOOGLE_WORKSPACE_CLI_CONFIG_DIR"

# What `gws` needs from the caller's environment to find its login, its key ring, its network and its locale.
_PASSED = frozenset(
    """PATH HOME USER LOGNAME TMPDIR TMP TEMP TZ LANG LANGUAGE DBUS_SESSION_BUS_ADDRESS SSL_CERT_FILE SSL_CERT_DIR
    HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy
    SYSTEMROOT SYSTEMDRIVE COMSPEC PATHEXT WINDIR USERNAME USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA""".split()
)
_PASSED_PREFIXES = ("LC_", "XDG_", "GOOGLE_WORKSPACE_")

# Its exit codes as its README lists them; 2, a login that is missing, has words of its own.
_MEANING = {
    1: "Google refused",
    3: "it does not take these arguments",
    4: "it could not load the description of the API",
    5: "it failed inside",
}
_BUSY = ("rateLimitExceeded", "userRateLimitExceeded")

_OBJECT = re.compile(r"^\{", re.MULTILINE)
# Lines that open an object and hold none, passed over before the rest is given up: each can cost a whole reading.
_PATIENCE = 50


class RefusedError(SourceError):
    """Google understood the request and will not answer it."""


def account(environ: Mapping[str, str]) -> str:
    """Return a name for the login `gws` uses, from where it is kept. Raises SourceError when it is kept nowhere."""
    # It goes before every other login, and says nothing of whose it is that could be written down.
    if environ.get(TOKEN, "").strip():
        raise SourceError(f"{TOKEN} does not say whose Drive it opens")
    kept = (".config", "gws")
    for name, below in ((CREDENTIALS, ()), (SETTINGS, ()), ("HOME", kept), ("USERPROFILE", kept)):
        root = environ.get(name, "").strip()
        if root:
            return f"drive:{Path(root, *below).absolute()}"
    raise SourceError("gws has no folder to keep a login in")


def answers(out: str) -> tuple[Mapping[str, object], ...]:
    """Return every JSON object that begins a line, in order; whatever stands before and between is passed over."""
    found: list[Mapping[str, object]] = []
    position, patience = 0, _PATIENCE
    while patience and (start := _OBJECT.search(out, position)):
        position = start.end()
        try:
            value, position = json.JSONDecoder().raw_decode(out, start.start())
        except (ValueError, RecursionError):
            patience -= 1
        else:
            found.append(value)
    return tuple(found)


class Gws:
    """The program at a path, safe to use from many threads."""

    def __init__(self, path: Path, environ: Mapping[str, str], *, folder: Path | None = None) -> None:
        """Run the program with what it needs of this environment, each call in a folder of its own below `folder`."""
        self._path = path
        self._environ = _environment(environ)
        self._hidden = secrets(environ)
        self._children = Children(folder)

    def ask(self, method: str, params: Mapping[str, object], run: Run) -> tuple[Mapping[str, object], ...]:
        """Return the objects `gws drive files METHOD` prints, one at least. Raises SourceError."""

        def request(folder: Path) -> tuple[Mapping[str, object], ...]:
            printed = self._call(method, params, ("--format", "json"), folder, run)
            if not printed:
                raise SourceError("gws answered with no JSON")
            return printed

        return self._send(method, request, run)

    def fetch(self, method: str, params: Mapping[str, object], run: Run, *, limit: int) -> bytes:
        """Return the first `limit` bytes of the file the method writes, which is gone then. Raises SourceError."""

        def request(folder: Path) -> bytes:
            self._call(method, params, ("--output", OUTPUT), folder, run)
            try:
                with (folder / OUTPUT).open("rb") as file:
                    return file.read(limit)
            except OSError as error:
                raise SourceError(f"gws left no file to read ({error.strerror})") from error

        return self._send(method, request, run)

    def close(self) -> None:
        """End every process still running, with the processes it started, and see their folders gone."""
        self._children.close()

    def _send(self, method: str, request: Callable[[Path], T], run: Run) -> T:
        def attempt() -> T:
            run.meter.count(f"{SERVICE}.{method}")
            try:
                with self._children.folder() as folder:
                    # The nearest `.env` is where `gws` takes settings from, and above this folder anyone may have
                    # put one.
                    (folder / ".env").touch()
                    return request(folder)
            except TimeoutError as error:
                raise SourceError(f"gws {error}") from None
            except OSError as error:
                raise SourceError(f"gws cannot be started ({error.strerror})") from error

        return run.pace.send(attempt, run, service=SERVICE)

    def _call(
        self, method: str, params: Mapping[str, object], options: Sequence[str], folder: Path, run: Run
    ) -> tuple[Mapping[str, object], ...]:
        # In ASCII, so that no locale stands between what was meant and what arrives.
        arguments = [str(self._path), "drive", "files", method, "--params", json.dumps(params), *options]
        code, out, err = self._children.run(arguments, folder, self._environ, limit=min(LIMIT, run.left()))
        printed = answers(out)
        refused = next((answer["error"] for answer in printed if "error" in answer), None)
        if code or refused is not None:
            raise _failure(code, refused, err, self._hidden)
        return printed


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    passed = {k: v for k, v in environ.items() if k in _PASSED or k.startswith(_PASSED_PREFIXES)}
    # It runs in a folder of ours, and these are meant from the caller's.
    return passed | {name: str(Path(passed[name]).absolute()) for name in (CREDENTIALS, SETTINGS) if passed.get(name)}


def _failure(code: int, refused: object, err: str, hidden: Sequence[str]) -> Exception:
    """Return what the exit code and the error object say as one of our errors, or as one worth trying again."""
    details: Mapping[str, object] = refused if isinstance(refused, dict) else {"message": refused}
    status, message = _whole(details.get("code")), details.get("message")
    words = redacted(quoted(message if isinstance(message, str) and message else err, 200), hidden)
    if code == 2 or status == 401:
        return SourceError(f"gws is not signed in to Google Drive ({words or 'no reason given'}): run `gws auth login`")
    said = ": ".join(filter(None, (str(status or ""), words)))
    if status == 429 or (status == 403 and details.get("reason") in _BUSY):
        after = _whole(details.get("retry_after_seconds")) or None
        return TryAgainError(SourceError(f"Google Drive limits the rate of calls ({said})"), after=after, busy=True)
    if code in (0, 1) and status >= 500:
        return TryAgainError(SourceError(f"Google Drive is unavailable ({said})"))
    if code in (0, 1) and status >= 400:
        return RefusedError(f"Google Drive refused the request ({said})")
    return SourceError(f"gws failed: {_MEANING.get(code, 'it ended early')} (exit {code}; {said or 'it said nothing'})")


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0

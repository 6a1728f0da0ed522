"""Whole processes of the tool and of what it is compared with: their time, their memory, and the calls they made."""

import os
import shlex
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.claude import envelope

from .servers import BUDGET, Call, Latencies, Servers
from .work import ENGLISH

ROOT = Path(__file__).parent.parent
TOOL = ("-m", "notion_search")
SEARCH = (*TOOL, "--json", ENGLISH.query)
SEQUENTIAL = ("-m", "benchmarks.sequential", ENGLISH.query)
# A `claude` that takes no time of its own, only what its answers are said to take.
PROGRAM = """#!/bin/sh
case $(/bin/cat) in
*'<pages>'*) /bin/sleep {rerank}; exec /bin/cat {folder}/rerank;;
*) /bin/sleep {expand}; exec /bin/cat {folder}/expand;;
esac
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One process that is over."""

    seconds: float
    peak: float
    """Megabytes resident at most; a process is never seen smaller than this one, which it began as a copy of."""
    log: Sequence[Call]
    err: str

    def of(self, *kinds: str) -> list[Call]:
        """Return the calls of these kinds, in order of arrival."""
        return [call for call in self.log if call.kind in kinds]

    @property
    def pages(self) -> list[str]:
        """The ids of the pages read, in order of arrival."""
        return [call.path.split("/")[3] for call in self.of("children") if call.status == 200]


class Bench:
    """The servers, and a folder for homes and programs."""

    def __init__(self, servers: Servers, latencies: Latencies, folder: Path) -> None:
        """Make everything in the folder, which must be empty."""
        self.servers = servers
        self.latencies = latencies
        self._folder = folder
        self._homes = 0

    def home(self) -> Path:
        """Return a home nobody has used."""
        self._homes += 1
        path = self._folder / f"home-{self._homes}"
        path.mkdir()
        return path

    def run(
        self,
        *arguments: str,
        home: Path | None = None,
        program: Path | None = None,
        budget: tuple[int, int] = BUDGET,
    ) -> Timed:
        """Run Python with these arguments to its end; in a new home, and at the SDK's door, unless told otherwise."""
        environment = _environment(self.servers.environment(), home or self.home(), program)
        self.servers.begin(*budget)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
            start = time.monotonic()
            process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=environment, **streams)
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.monotonic() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            err.seek(0)
            said = err.read().decode(errors="replace")
        if process.returncode or "notion-search:" in said:
            raise SystemExit(f"{shlex.join(arguments)} ended with {process.returncode}: {said}")
        kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
        return Timed(seconds=seconds, peak=kilobytes / 1024, log=self.servers.log(), err=said)

    def program(self, like: Timed, *, instant: bool) -> Path:
        """Return a folder with a `claude` that answers as in this run, at once or when the SDK's Claude would."""
        folder = self._folder / ("instant" if instant else "program")
        folder.mkdir()
        pauses: dict[str, float] = {}
        for call in like.of("expand", "rerank"):
            (folder / call.kind).write_text(envelope(call.answer), encoding="utf-8")
            pauses[call.kind] = 0 if instant else self.latencies.claude_answers(call.answer)
        path = folder / "claude"
        path.write_text(PROGRAM.format(folder=shlex.quote(str(folder)), **pauses))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return folder


def _environment(servers: Mapping[str, str], home: Path, program: Path | None) -> dict[str, str]:
    """Return this environment without its credentials, proxies and caches, leading to the servers."""
    unwanted = ("ANTHROPIC_", "CLAUDE", "NOTION_", "XDG_", "PYTHON")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(unwanted) and not k.lower().endswith("_proxy")}
    given = {k: v for k, v in servers.items() if program is None or not k.startswith("ANTHROPIC_")}
    return {**kept, **given, "HOME": str(home), "PATH": str(program or home)}

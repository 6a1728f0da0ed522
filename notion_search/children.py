"""Programs run for one answer each: found by an absolute path, in an empty folder, ended with all they started."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path


def find_program(name: str, search_path: str) -> Path | None:
    """Return the first program of this name on an absolute entry of the search path."""
    # Never the current folder: a program lying beside someone's notes must not be run.
    entries = [entry for entry in search_path.split(os.pathsep) if Path(entry).is_absolute()]
    found = shutil.which(name, path=os.pathsep.join(entries)) if entries else None
    return Path(found) if found else None


class Children:
    """The programs under way; safe to use from many threads."""

    def __init__(self, folder: Path | None = None) -> None:
        """Run each in a folder made for it below this one, else in the system's place for such folders."""
        self._folder = folder
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._answered = threading.Condition()
        self._asking = 0
        self._closed = False

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Give an empty folder, private to this user and gone afterwards. Raises OSError."""
        with self._answered:
            self._asking += 1
        try:
            with tempfile.TemporaryDirectory(
                prefix="notion-search-", dir=self._folder, ignore_cleanup_errors=True
            ) as folder:
                yield Path(folder)
        finally:
            with self._answered:
                self._asking -= 1
                self._answered.notify_all()

    def run(
        self, arguments: list[str], folder: Path, environ: Mapping[str, str], *, limit: float, stdin: bytes = b""
    ) -> tuple[int, str, str]:
        """Return exit code, output and errors of the program, run without a shell.

        Raises TimeoutError after `limit` seconds or when the run is over, OSError where it cannot be started.
        """
        process = self._start(arguments, folder, environ)
        try:
            out, err = process.communicate(stdin, timeout=limit)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"did not answer within {limit:.0f} s") from None
        finally:
            _end(process)
            for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
                with suppress(OSError):  # what it never read cannot be flushed any more
                    pipe.close()
            with self._lock:
                self._running.discard(process)
        return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")

    def close(self) -> None:
        """End every process still running, with the processes it started, and see their folders gone."""
        with self._lock:
            self._closed = True
            running = tuple(self._running)
        for process in running:
            _end(process)
        with self._answered:
            self._answered.wait_for(lambda: not self._asking, timeout=1.0)

    def _start(self, arguments: list[str], folder: Path, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
        # Under the lock, so that a run which ends meanwhile misses no process.
        with self._lock:
            if self._closed:
                raise TimeoutError("was not started: the run is over")
            # Its own process group, so that at the deadline its children end with it.
            process = subprocess.Popen(  # noqa: S603 - an absolute path and a list; no shell
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=environ,
                start_new_session=True,
            )
            self._running.add(process)
            return process


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and whatever it started: asked first, then made to."""
    for force in (process.poll() is not None, True):
        _signal(process, force=force)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)


def _signal(process: subprocess.Popen[bytes], *, force: bool) -> None:
    if hasattr(os, "killpg"):
        # The whole group may have ended; macOS says it the second way.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL if force else signal.SIGTERM)
    elif force:
        process.kill()
    else:
        process.terminate()

"""Files of a vault that is a folder; nothing is ever written there, and no link is followed."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ..words import quoted
from .files import File
from .notes import is_skipped

READ_CAP = 20_000_000  # bytes; far beyond what is kept of a note or a table
NAME_LENGTH = 100  # characters of a name in a warning


def files(root: Path, warn: Callable[[str], None]) -> Iterator[File]:
    """Yield the files that may hold notes, folder by folder, by name; a folder that cannot be listed costs a warning.

    A link inside the vault leads to what is found without it, and one out of it leads to what is none of ours.
    """
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(root / below) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            warn(f"{quoted(below or root.name, NAME_LENGTH)}: {error.strerror}")
            continue
        folders = []
        for entry in found:
            path = f"{below}{entry.name}"
            try:
                if entry.is_dir(follow_symlinks=False):
                    if not is_skipped(f"{path}/note.md"):
                        folders.append(f"{path}/")
                elif entry.is_file(follow_symlinks=False) and not is_skipped(path):
                    yield _file(path, entry)
            except OSError as error:  # gone since it was listed
                warn(f"{quoted(path, NAME_LENGTH)}: {error.strerror}")
        waiting += reversed(folders)


def _file(path: str, entry: "os.DirEntry[str]") -> File:
    status = entry.stat(follow_symlinks=False)
    return File(
        path=path,
        size=status.st_size,
        stamp=f"{status.st_size}-{status.st_mtime_ns}",
        edited=written(status.st_mtime),
        read=partial(_read, entry.path),
    )


def written(seconds: float) -> str:
    """Return the time of a file's last writing in ISO form; empty for one no calendar holds."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return ""


def _read(path: str) -> bytes:
    # A link may have come into the place of the file since it was listed.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        return file.read(READ_CAP)

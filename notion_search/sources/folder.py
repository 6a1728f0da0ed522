"""Files of a vault that is a folder; nothing is ever written there, and no link is followed."""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path

from ..words import quoted
from .files import File
from .notes import is_no_note, is_passed_over

READ_CAP = 20_000_000  # bytes; far beyond what is kept of a note or a table
NAME_LENGTH = 100  # characters of a name in a warning


def stamps(root: Path, warn: Callable[[str], None]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the stamp of each file that may hold notes by its path, folder by folder, by name.

    A folder that cannot be listed costs a warning, and how the paths of its files begin is returned beside the stamps.
    A link inside the vault leads to what is found without it, and one out of it to what is none of ours.
    """
    found: dict[str, str] = {}
    unknown: list[str] = []
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(root / below) as entries:
                listed = sorted(entries, key=attrgetter("name"))
        except OSError as error:
            warn(f"{quoted(below or root.name, NAME_LENGTH)}: {error.strerror}")
            unknown.append(below)
            continue
        folders = []
        for entry in listed:
            path = below + entry.name
            try:
                if entry.is_file(follow_symlinks=False):
                    if not is_no_note(entry.name, top=not below):
                        found[path] = _stamp(entry.stat(follow_symlinks=False))
                elif entry.is_dir(follow_symlinks=False) and not is_passed_over(path):
                    folders.append(f"{path}/")
            except FileNotFoundError:  # gone since it was listed
                continue
            except OSError as error:
                warn(f"{quoted(path, NAME_LENGTH)}: {error.strerror}")
                unknown.append(path)
        waiting += reversed(folders)
    return found, tuple(unknown)


def files(root: Path, paths: Iterable[str], warn: Callable[[str], None]) -> Iterator[File]:
    """Yield the files of these paths as they are now; one that is gone costs a warning."""
    for path in paths:
        try:
            status = (root / path).lstat()
        except OSError as error:
            warn(f"{quoted(path, NAME_LENGTH)}: {error.strerror}")
            continue
        read = partial(_read, root / path)
        yield File(path=path, size=status.st_size, stamp=_stamp(status), written=status.st_mtime, read=read)


def _stamp(status: os.stat_result) -> str:
    return f"{status.st_size}-{status.st_mtime_ns}"


def _read(path: Path) -> bytes:
    # A link may have come into the place of the file since it was listed.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        return file.read(READ_CAP)

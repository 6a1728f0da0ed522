"""One vault and its index: read anew where files changed, never written to."""

import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TypeVar
from urllib.parse import quote

from ..clock import utc_now
from ..database import is_damaged, set_aside
from ..embed import Embedder
from ..errors import SourceError
from ..index import COMPLETE, EMBEDDED, Entry, Index
from ..types import Failure, Indexed, Notice, Pending, Run
from ..words import fold, quoted
from . import archive, folder, notes
from .contents import opening_words
from .files import File

Answered = TypeVar("Answered")

BATCH = 50  # files written at once: what a killed run loses
BATCH_SIZE = 100_000  # bytes of them: some tenths of a second
EMBED_BATCH = 16  # passages embedded at once: some tenths of a second
INDEX_SHARE = 0.75  # of the time there is for bringing an index up to date; the rest is for vectors
WARNING_CAP = 10
PAGE_LINK = "https://app.notion.com/p/"
_EXPORTED = re.compile(r"\s*[0-9a-f]{32}\Z")
# As far as Notion keeps a row's title in the name of its file.
TITLE_KEPT = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What an index holds, for people."""

    notes: int
    passages: int
    vectors: int
    updated: str
    """When it was last brought up to date, as an ISO time; empty for never."""
    size: int
    """Bytes of its file."""


class Shelf:
    """One vault; safe to use from many threads."""

    def __init__(self, root: Path, store: Path | None, notify: Callable[[Notice], None], *, label: str = "") -> None:
        """Index the folder or archive at `root` in the file `store`, or for this run alone; ids begin with `label`."""
        self.root = root
        self.label = label
        self._store = store
        self._notify = notify
        self._lock = threading.RLock()
        self._index: Index | None = None
        self._fresh = False
        self._renewed = False

    @property
    def index(self) -> Index:
        """The index, opened when it is first asked for. Raises sqlite3.Error and OSError."""
        with self._lock:
            if self._index is None:
                self._index = Index(self._store, self._notify, "this vault's notes")
            return self._index

    def state(self, embedder: str | None) -> State:
        """Return what the index holds now, without looking for changes."""

        def told(index: Index) -> State:
            pages, passages = index.counts()
            return State(
                notes=pages,
                passages=passages,
                vectors=index.vectors(embedder) if embedder else 0,
                updated=index.setting("updated"),
                size=sum(path.stat().st_size for path in self._kept() if path.exists()),
            )

        return self._answered(told)

    def close(self) -> None:
        """Close the index."""
        with self._lock:
            if self._index is not None:
                self._index.close()

    def ask(self, question: Callable[[Index], Answered], embedder: Embedder | None, run: Run) -> Answered:
        """Return what the index answers, brought up to date first, which takes the time of the run at most.

        An index that is damaged or cannot be kept is replaced. Raises SourceError for a vault that cannot be read.
        """

        def answered(index: Index) -> Answered:
            self._refresh(embedder, run)
            return question(index)

        return self._answered(answered)

    def _answered(self, question: Callable[[Index], Answered]) -> Answered:
        with self._lock:
            while True:
                try:
                    return question(self.index)
                except sqlite3.ProgrammingError:  # closed, for the run is over
                    raise
                except sqlite3.Error as error:
                    if not self._is_busy(error):
                        self._recover(error, str(error), damaged=is_damaged(error))
                except OSError as error:
                    self._recover(error, error.strerror, damaged=False)

    def _is_busy(self, error: sqlite3.Error) -> bool:
        """Whether another process writes what this one was to write, while there is something to be searched."""
        with suppress(sqlite3.Error):
            code = getattr(error, "sqlite_errorcode", None)
            if code == sqlite3.SQLITE_BUSY and not self._fresh and self.index.counts()[0]:
                text = "another search is writing the index of the notes; this one searches what was in it before"
                self._notify(Notice(stage="index", text=text))
                self._fresh = True
                return True
        return False

    def _recover(self, error: Exception, reason: object, *, damaged: bool) -> None:
        """Begin anew: in a new file where the old one is damaged, else in memory."""
        if self._store is None:
            raise SourceError(f"the vault cannot be indexed ({reason})") from error
        self.close()
        self._index, self._fresh = None, False
        if damaged and not self._renewed:
            self._renewed = True
            with suppress(OSError):
                set_aside(self._store, self._notify, "this vault's notes")
                return
        self._notify(Notice(stage="store", text=f"the index cannot be kept at {self._store} ({reason})"))
        self._store = None

    # Bringing it up to date

    def _refresh(self, embedder: Embedder | None, run: Run) -> None:
        if self._fresh:
            return
        changed = self._read(run.within(INDEX_SHARE))
        if changed:
            self.index.note("updated", utc_now().isoformat(timespec="seconds"))
        if embedder and self.index.setting(EMBEDDED) != embedder.name:
            self._embed(embedder, run)
        self._fresh = True

    def _read(self, run: Run) -> bool:
        """Read what changed and forget what is gone; return whether there was anything."""
        index = self.index
        complete = index.setting(COMPLETE)
        stamp = self._stamp()
        if stamp and stamp == complete:
            return False
        warnings = _Warnings(self._notify)
        listed, unknown = self._stamps(warnings.add)
        stamp = stamp or _digest(listed)
        if stamp == complete:
            warnings.tell()
            return False
        known = index.files()
        changed = [path for path, stamp in listed.items() if known.get(path) != stamp]
        gone = [path for path in known.keys() - listed.keys() if not path.startswith(unknown)]
        done = 0
        if gone:
            with index.writing():
                index.drop(sorted(gone))
        for batch in _batches(self._files(changed, warnings.add)):
            self._put(batch, listed, warnings)
            done += len(batch)
            run.emit(Indexed(what="notes", done=done, total=len(changed)))
            if not run.left() and done < len(changed):
                text = f"{done} of {len(changed)} changed notes are indexed so far; the next run goes on from there, "
                text += "and --timeout gives more"
                self._notify(Notice(stage="index", text=text))
                break
        else:
            index.complete(stamp, listed)
        warnings.tell()
        return bool(changed or gone)

    def _put(self, batch: Sequence[File], listed: Mapping[str, str], warnings: "_Warnings") -> None:
        now = utc_now().isoformat()
        read = []
        for file in batch:
            try:
                found = notes.notes(file.path, file.read(), warnings.add)
            except OSError as error:  # another run may read it
                warnings.add(f"{quoted(file.path, 100)}: {error.strerror or 'cannot be read'}")
                continue
            except ValueError as error:  # its bytes are spoilt for good
                warnings.add(f"{quoted(file.path, 100)}: {error}")
                found = ()
            read.append((file, [self._entry(note, file) for note in _without_pages(found, file.path, listed)]))
        with self.index.writing():
            for file, entries in read:
                self.index.put("vault", file.path, file.stamp, entries, now)

    def _entry(self, note: notes.Note, file: File) -> Entry:
        link = PAGE_LINK + note.notion_id.replace("-", "") if note.notion_id else self._link(file.path)
        return Entry(
            id=note.notion_id or f"{self.label}{note.id}",
            title=note.title,
            url=link,
            text=note.text,
            opening=opening_words(note.text),
            edited=_time(file.written),
            kind="database_entry" if file.path.lower().endswith(".csv") else "page",
            properties=note.properties,
        )

    def _link(self, path: str) -> str:
        if archive.is_archive(self.root):
            return f"{self.root.as_uri()}#{quote(path, errors='replace')}"
        return (self.root / path).as_uri()

    def _stamps(self, warn: Callable[[str], None]) -> tuple[Mapping[str, str], tuple[str, ...]]:
        """Return the stamp of each file by its path, and how paths begin of which nothing can be known."""
        if archive.is_archive(self.root):
            listed = archive.files(self.root, warn)
            return {file.path: file.stamp for file in listed if not notes.is_skipped(file.path)}, ()
        return folder.stamps(self.root, warn)

    def _files(self, paths: Sequence[str], warn: Callable[[str], None]) -> Iterator[File]:
        """Yield the files of these paths, fit to be read one after another."""
        if not archive.is_archive(self.root):
            return folder.files(self.root, paths, warn)
        wanted = frozenset(paths)
        # The parts of an archive are unpacked one at a time, so it is listed again; what ails it was told before.
        return (
            (file for file in archive.files(self.root, lambda _: None) if file.path in wanted) if wanted else iter(())
        )

    def _stamp(self) -> str:
        """Return what tells an archive from its next version; empty for a folder, whose files tell of themselves."""
        if not archive.is_archive(self.root):
            return ""
        status = self.root.stat()
        return f"{status.st_size}-{status.st_mtime_ns}"

    def _embed(self, embedder: Embedder, run: Run) -> None:
        missing = self.index.unembedded(embedder.name)
        done = 0
        while done < len(missing) and run.left():
            part = missing[done : done + EMBED_BATCH]
            # Beside this thread, for the first waits for the encoder to be loaded.
            encoding = run.pace.submit(partial(embedder.encode, [text for _, text in part]), run)
            codes = encoding.outcome(run.deadline)
            if isinstance(codes, Failure):
                raise codes.error
            if isinstance(codes, Pending):
                break
            with self.index.writing():
                self.index.put_vectors(embedder.name, [hashed for hashed, _ in part], codes)
            done += len(part)
            run.emit(Indexed(what="vectors", done=done, total=len(missing)))
        if done < len(missing):
            text = f"{done} of {len(missing)} new passages have their vectors; until the next runs add the others, "
            text += "notes are ranked by words, and --timeout gives more"
            self._notify(Notice(stage="index", text=text))
            return
        self.index.tidy_vectors(embedder.name, embedder.width)

    # One note

    def text(self, id_: str) -> str | None:
        """Return the text of the note of this id as it is now, or None where this vault has none."""
        path = self._answered(lambda index: index.file_of("vault", id_))
        if path is None:
            return None
        for file in self._files([path], lambda _: None):
            with suppress(OSError, ValueError):
                found = notes.notes(path, file.read(), lambda _: None)
                return next((note.text for note in found if id_ in (note.notion_id, f"{self.label}{note.id}")), "")
        return None

    def _kept(self) -> list[Path]:
        if self._store is None:
            return []
        return [self._store.with_name(self._store.name + suffix) for suffix in ("", "-wal", "-shm")]


class _Warnings:
    """What could not be read as it should, told at the end: the first of it by name, the rest by number."""

    def __init__(self, notify: Callable[[Notice], None]) -> None:
        self._notify = notify
        self._lines: list[str] = []

    def add(self, line: str) -> None:
        self._lines.append(line)

    def tell(self) -> None:
        for line in self._lines[:WARNING_CAP]:
            self._notify(Notice(stage="index", text=line))
        if (more := len(self._lines) - WARNING_CAP) > 0:
            self._notify(Notice(stage="index", text=f"and {more} more files of the vault like these"))


def _digest(stamps: Mapping[str, str]) -> str:
    """Return what tells these files from any others, or from these at another time."""
    told = "\0".join(chain.from_iterable(stamps.items()))
    return sha256(told.encode("utf-8", "surrogateescape")).hexdigest()


def _batches(files: Iterator[File]) -> Iterator[list[File]]:
    batch: list[File] = []
    for file in files:
        batch.append(file)
        if len(batch) == BATCH or sum(one.size for one in batch) > BATCH_SIZE:
            yield batch
            batch = []
    if batch:
        yield batch


def _time(written: float | None) -> str:
    """Return the time in ISO form; empty for none, and for one no calendar holds."""
    try:
        return "" if written is None else datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return ""


def _without_pages(found: Sequence[notes.Note], path: str, listed: Mapping[str, str]) -> Iterator[notes.Note]:
    """Yield the notes without those rows of a table that Notion exported as pages too, in a folder beside it."""
    place = PurePosixPath(path)
    if place.suffix.lower() != ".csv":
        yield from found
        return
    beside = {str(place.with_suffix("")), str(place.with_name(_EXPORTED.sub("", place.stem)))}
    pages = {
        _squeezed(_EXPORTED.sub("", own.stem))
        for own in map(PurePosixPath, listed)
        if own.suffix.lower() == ".md" and str(own.parent) in beside
    }
    yield from (note for note in found if _squeezed(note.title) not in pages)


def _squeezed(title: str) -> str:
    return "".join(filter(str.isalnum, fold(title)))[:TITLE_KEPT]

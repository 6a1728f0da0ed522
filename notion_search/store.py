"""Pages read before, in one SQLite file a workspace, so that an unchanged page is never read twice."""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from .types import Candidate, Failure, Handle, Listing, Notice, Page, Pending, Run, Scope, Source, Widening

T = TypeVar("T")

# Notion's times have minute precision: a page edited twice in a minute looks unchanged, so a page is not kept
# until its minute is surely over.
SETTLED = timedelta(minutes=2)
PAGE_CAP = 20_000  # pages; at most a kilobyte each of excerpt and opening
TEXT_CAP = 1_000  # pages whose whole text is kept: five kilobytes as a rule, three hundred at most
BUSY_TIMEOUT = 1.0  # seconds to wait for another process's write
CLOSING_TIMEOUT = 0.5  # seconds for statements under way; each takes less than a thousandth
WORKSPACE_WAIT = 1.0  # seconds; asked beside the first search, it is answered long before the first page is read

# Each step takes a file from the version of its place to the next; page rows go along and are never thrown away.
MIGRATIONS = (
    """
    CREATE TABLE page (
        source TEXT NOT NULL,
        id TEXT NOT NULL,
        edited TEXT NOT NULL,
        excerpt TEXT NOT NULL,
        opening TEXT NOT NULL,
        text TEXT,
        read_at TEXT NOT NULL,
        PRIMARY KEY (source, id)
    ) WITHOUT ROWID;
    CREATE INDEX page_read_at ON page (read_at);
    """,
    # A page may be asked for as a whole before its first words are.
    """
    ALTER TABLE page ADD COLUMN unread INTEGER NOT NULL DEFAULT 0;
    """,
)


def utc_now() -> datetime:
    """Return the present, in UTC."""
    return datetime.now(UTC)


class Workspace(Source, Protocol):
    """A source that can tell which workspace it is."""

    def workspace(self, run: Run) -> str:
        """Return an id that two workspaces never share. Raises SourceError."""


class PageStore:
    """The pages of one workspace; safe with several threads and processes, and a miss when anything is wrong."""

    def __init__(
        self,
        path: Path,
        notify: Callable[[Notice], None],
        now: Callable[[], datetime] = utc_now,
        cap: int = PAGE_CAP,
        text_cap: int = TEXT_CAP,
    ) -> None:
        """Keep at most `cap` pages in the file, which is made at the first write, readable by its owner alone.

        Of `text_cap` of them the whole text is kept.
        """
        self._path = path
        self._notify = notify
        self._now = now
        self._cap = cap
        self._text_cap = text_cap
        self._lock = threading.Condition()
        self._busy = 0
        self._connections: dict[int, sqlite3.Connection] = {}
        self._wrote = False
        self._state = "new"  # then "open", or "shut" when the file is of no use in this run

    def get(self, page: Candidate) -> Candidate | None:
        """Return the page as it was read at this very edit, or None."""
        row = self._try(
            lambda connection: connection.execute(
                "SELECT excerpt, opening FROM page WHERE source = ? AND id = ? AND edited = ? AND NOT unread",
                (page.source, page.id, page.edited),
            ).fetchone()
        )
        return replace(page, read=True, excerpt=row[0], opening=row[1]) if row else None

    def put(self, page: Candidate) -> None:
        """Keep a page that was read, unless it was edited so lately that another edit could hide in the minute."""
        if not self._is_settled(page.edited):
            return
        self._wrote = True
        self._try(
            lambda connection: connection.execute(
                "INSERT INTO page (source, id, edited, excerpt, opening, read_at) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (source, id) DO UPDATE SET edited = excluded.edited, excerpt = excluded.excerpt, "
                "opening = excluded.opening, read_at = excluded.read_at, unread = 0, "
                "text = CASE WHEN page.edited = excluded.edited THEN page.text END",
                (page.source, page.id, page.edited, page.excerpt, page.opening, self._now().isoformat()),
            )
        )

    def text(self, page: Candidate) -> str | None:
        """Return the whole text of the page at this very edit, or None."""
        row = self._try(
            lambda connection: connection.execute(
                "SELECT text FROM page WHERE source = ? AND id = ? AND edited = ?",
                (page.source, page.id, page.edited),
            ).fetchone()
        )
        return row[0] if row else None

    def put_text(self, page: Candidate, text: str) -> None:
        """Keep the whole text of a page beside its first words, under the same rule as those."""
        if not self._is_settled(page.edited):
            return
        self._wrote = True
        self._try(
            lambda connection: connection.execute(
                "INSERT INTO page (source, id, edited, excerpt, opening, text, read_at, unread) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source, id) DO UPDATE SET "
                "excerpt = CASE page.edited WHEN excluded.edited THEN page.excerpt ELSE excluded.excerpt END, "
                "opening = CASE page.edited WHEN excluded.edited THEN page.opening ELSE excluded.opening END, "
                "unread = CASE page.edited WHEN excluded.edited THEN page.unread ELSE excluded.unread END, "
                "edited = excluded.edited, text = excluded.text, read_at = excluded.read_at",
                (
                    *(page.source, page.id, page.edited, page.excerpt, page.opening),
                    *(text, self._now().isoformat(), not page.read),
                ),
            )
        )

    def close(self) -> None:
        """Bring the file within its bound and close it."""
        if self._state == "open" and self._wrote:
            self._try(
                lambda connection: connection.execute(
                    "DELETE FROM page WHERE (source, id) IN "
                    "(SELECT source, id FROM page ORDER BY read_at DESC LIMIT -1 OFFSET ?)",
                    (self._cap,),
                )
            )
            self._try(
                lambda connection: connection.execute(
                    "UPDATE page SET text = NULL WHERE (source, id) IN "
                    "(SELECT source, id FROM page WHERE text IS NOT NULL ORDER BY read_at DESC LIMIT -1 OFFSET ?)",
                    (self._text_cap,),
                )
            )
        self._shut()

    def _shut(self) -> None:
        """Close the connections, none of them under a thread that is still using it."""
        with self._lock:
            self._state = "shut"
            if self._lock.wait_for(lambda: not self._busy, timeout=CLOSING_TIMEOUT):
                for connection in self._connections.values():
                    connection.close()
                self._connections.clear()

    def _is_settled(self, edited: str | None) -> bool:
        try:
            return edited is not None and self._now() - datetime.fromisoformat(edited) >= SETTLED
        except (ValueError, TypeError):  # not a time, or one without a zone
            return False

    def _try(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """Return what the action gives on this thread's connection; anything SQLite finds wrong shuts the store."""
        try:
            connection = self._borrow()
            if connection is None:
                return None
            try:
                return action(connection)
            finally:
                with self._lock:
                    self._busy -= 1
                    self._lock.notify_all()
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)
            return None

    def _borrow(self) -> sqlite3.Connection | None:
        with self._lock:
            if self._state == "shut":
                return None
            if self._state == "new":
                self._prepare()
                self._state = "open"
            thread = threading.get_ident()
            if thread not in self._connections:
                self._connections[thread] = self._connect()
            self._busy += 1
            return self._connections[thread]

    def _prepare(self) -> None:
        """Make the file or bring it up to date; a damaged one is set aside first."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        try:
            self._migrate()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):  # locked, full, read-only: the file itself is well
                raise
            self._set_aside()
            self._migrate()

    def _migrate(self) -> None:
        with contextlib.closing(self._connect()) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            # One process migrates, the others wait for it and then find nothing to do.
            connection.execute("BEGIN IMMEDIATE")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            for step in MIGRATIONS[version:]:
                for statement in filter(str.strip, step.split(";")):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {max(version, len(MIGRATIONS))}")
            connection.execute("COMMIT")

    def _connect(self) -> sqlite3.Connection:
        # Statements commit themselves; each connection is used by its own thread and closed by whoever ends the run.
        connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def _set_aside(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            damaged = self._path.with_name(self._path.name + suffix)
            with contextlib.suppress(FileNotFoundError):
                damaged.replace(damaged.with_name(damaged.name + ".damaged"))
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        text = f"the store of pages read before was damaged; it begins anew, and the old file is {self._path}.damaged"
        self._notify(Notice(stage="store", text=text))

    def _give_up(self, error: Exception) -> None:
        with self._lock:
            if self._state == "shut":
                return
            self._state = "shut"
        if type(error) is sqlite3.DatabaseError:  # found damaged in use; the next run begins with a whole file
            with contextlib.suppress(OSError):
                self._set_aside()
                return
        reason = error.strerror if isinstance(error, OSError) else str(error)
        self._notify(Notice(stage="store", text=f"pages read before cannot be kept at {self._path} ({reason})"))


class Remembering:
    """A Source whose pages are read once an edit: from the store where they stand there, else from the source."""

    def __init__(self, source: Workspace, open_store: Callable[[str], PageStore], *, ahead: int = 0) -> None:
        """Search with the source, and open the store of the workspace that it is.

        The first `ahead` pages of the first search are read at once, while the other phrasings are thought up.
        """
        self.name = source.name
        self.read_cap = source.read_cap
        self._source = source
        self._open_store = open_store
        self._ahead = ahead
        self._lock = threading.Lock()
        self._workspace: Handle[str] | None = None
        self._store: PageStore | None = None
        self._reading: dict[tuple[str, str | None], Handle[Candidate]] = {}

    def search(self, variant: str, scope: Scope, run: Run) -> Listing:
        """Return what the source finds; which workspace it is, is asked beside the first search."""
        with self._lock:
            first = self._workspace is None
            if first:
                self._workspace = run.pace.submit(partial(self._source.workspace, run), run)
        listing = self._source.search(variant, scope, run)
        if first:
            for page in listing.candidates[: self._ahead]:
                self._reading[page.id, page.edited] = run.pace.submit(partial(self._read, page, run), run)
        return listing

    def widen(self, variants: Sequence[str], run: Run) -> tuple[Listing, ...]:
        """Return what a second look of the source finds, where it can look a second time."""
        return self._source.widen(variants, run) if isinstance(self._source, Widening) else ()

    def read(self, candidate: Candidate, run: Run) -> Candidate:
        """Return the candidate with excerpt and opening filled in, at no call when the store has this very edit."""
        under_way = self._reading.get((candidate.id, candidate.edited))
        if under_way is None:
            return self._read(candidate, run)
        outcome = under_way.outcome(run.deadline)
        if isinstance(outcome, Failure):
            raise outcome.error
        if isinstance(outcome, Pending):
            raise TimeoutError("the page was still being read")
        return replace(candidate, read=True, excerpt=outcome.excerpt, opening=outcome.opening)

    def _read(self, candidate: Candidate, run: Run) -> Candidate:
        store = self._opened(run)
        known = store and store.get(candidate)
        run.meter.count("cache.pages.hit" if known else "cache.pages.miss")
        if known:
            return known
        page = self._source.read(candidate, run)
        if store:
            store.put(page)
        return page

    def text(self, candidate: Candidate, run: Run) -> Page:
        """Return the candidate's whole text, at no call when the store has that of this very edit."""
        store = self._opened(run)
        known = store.text(candidate) if store else None
        run.meter.count("cache.texts.miss" if known is None else "cache.texts.hit")
        if known is not None:
            return Page(text=known)
        page = self._source.text(candidate, run)
        if store and not page.truncated:
            store.put_text(candidate, page.text)
        return page

    def close(self) -> None:
        """Close the store."""
        if self._store:
            self._store.close()

    def _opened(self, run: Run) -> PageStore | None:
        """Return the store, or None where the workspace does not say which it is."""
        with self._lock:
            if self._workspace is not None:
                outcome = self._workspace.outcome(min(run.deadline, time.monotonic() + WORKSPACE_WAIT))
                self._workspace = None if isinstance(outcome, Pending) else self._workspace
                if self._store is None and isinstance(outcome, str):
                    self._store = self._open_store(outcome)
            return self._store

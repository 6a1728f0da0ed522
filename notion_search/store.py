"""Pages read before, in one SQLite file a workspace, so that an unchanged page is never read twice."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from .clock import utc_now
from .database import connect, is_damaged, prepare, set_aside
from .types import Candidate, Notice

T = TypeVar("T")

WHAT = "pages read before"

# Notion's times have minute precision: a page edited twice in a minute looks unchanged, so a page is not kept
# until its minute is surely over.
SETTLED = timedelta(minutes=2)
PAGE_CAP = 20_000  # pages; at most a kilobyte each of excerpt and opening
TEXT_CAP = 1_000  # pages whose whole text is kept: five kilobytes as a rule, three hundred at most
CLOSING_TIMEOUT = 0.5  # seconds for statements under way; each takes less than a thousandth


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
            lambda connection: _texts(
                connection.execute(
                    "SELECT excerpt, opening FROM page WHERE source = ? AND id = ? AND edited = ? AND NOT unread",
                    (page.source, page.id, page.edited),
                )
            )
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
            lambda connection: _texts(
                connection.execute(
                    "SELECT text FROM page WHERE source = ? AND id = ? AND edited = ? AND text IS NOT NULL",
                    (page.source, page.id, page.edited),
                )
            )
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
                prepare(self._path, self._notify, WHAT)
                self._state = "open"
            thread = threading.get_ident()
            if thread not in self._connections:
                self._connections[thread] = connect(self._path)
            self._busy += 1
            return self._connections[thread]

    def _give_up(self, error: Exception) -> None:
        with self._lock:
            if self._state == "shut":
                return
            self._state = "shut"
        if is_damaged(error):  # found damaged in use; the next run begins with a whole file
            with contextlib.suppress(OSError):
                set_aside(self._path, self._notify, WHAT)
                return
        reason = error.strerror if isinstance(error, OSError) else str(error)
        self._notify(Notice(stage="store", text=f"{WHAT} cannot be kept at {self._path} ({reason})"))


def _texts(rows: Iterable[Sequence[object]]) -> tuple[str, ...] | None:
    """Return the first row, or None where there is none. Raises sqlite3.DatabaseError for values that are no texts."""
    for row in rows:
        texts = tuple(value for value in row if isinstance(value, str))
        if len(texts) < len(row):
            raise sqlite3.DatabaseError("a text was kept, and this is none")
        return texts
    return None

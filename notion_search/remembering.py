"""A source whose pages are read once an edit: from the store where they stand there, else from the source."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from .store import PageStore
from .types import Candidate, Failure, Handle, Listing, Page, Pending, Run, Scope, Source, Widening

WORKSPACE_WAIT = 1.0  # seconds; asked beside the first search, it is answered long before the first page is read


class Workspace(Source, Protocol):
    """A source that can tell which workspace it is."""

    def workspace(self, run: Run) -> str:
        """Return an id that two workspaces never share. Raises SourceError."""


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

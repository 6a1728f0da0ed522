"""Notes of folders and of Notion's exports; each has an index of its own, brought up to date by every run."""

import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from ..clock import utc_now
from ..embed import EXTRA, Embedder
from ..errors import EmbedderError, SourceError
from ..index import EMBEDDED, Index
from ..lookup import Found, Lookup, Ranking
from ..ranking import FLOOR
from ..types import Candidate, Failure, Listing, Notice, Page, Pending, Plain, Ranked, Result, Run, Scope
from ..words import clip, fold
from .equality import compiled
from .shelf import Shelf

SHOWN = 30  # candidates of one search
UPDATE_SHARE = 0.8  # of a search's time for bringing the vaults up to date
WAIT_SHARE = 0.5  # of what is then left for the query's vector; the rest is for searching
EXCERPT_LENGTH = 200

Answered = TypeVar("Answered")
Allowed = Callable[[Mapping[str, Plain]], bool]


class VaultSource:
    """Notes of one or several vaults; also the judge of its own candidates. Safe to use from many threads."""

    name = "vault"
    read_cap: int | None = None
    floor = FLOOR

    def __init__(self, shelves: Sequence[Shelf], embedder: Embedder | None) -> None:
        """Search the vaults, by meaning too where there is an embedder."""
        self._shelves = shelves
        self._embedder = embedder
        self._lock = threading.Lock()
        self._rankings: dict[str, tuple[Found, ...]] = {}

    def search(self, variant: str, scope: Scope, run: Run) -> Listing:
        """Return the notes whose text, title or tags hold the variant's words, or whose meaning is near."""
        found: Sequence[Found] = ()
        # No note is in a database of Notion's.
        if not scope.databases:
            found = self._ranked(variant, scope, run) if variant.strip() else self._any(run)
        found_by = (variant,) if variant else ()
        candidates = tuple(_candidate(page, place, found_by) for place, page in enumerate(found, 1))
        return Listing(source=self.name, variant=variant, candidates=candidates, complete=len(found) < SHOWN)

    def read(self, candidate: Candidate, run: Run) -> Candidate:
        """Return the candidate as it is: the search has read it."""
        return candidate

    def text(self, candidate: Candidate, run: Run) -> Page:
        """Return the note's whole text. Raises SourceError for one that is gone since."""
        for shelf in self._shelves:
            if (text := shelf.text(candidate.id)) is not None:
                return Page(text=text)
        raise SourceError("the note is no longer there")

    def judge(self, query: str, candidates: Sequence[Candidate], run: Run) -> tuple[Result, ...]:
        """Return every candidate once, in the order of the search for the query, each with its confidence."""
        ranked = self._rankings.get(fold(query), ())
        places = {page.id: place for place, page in enumerate(ranked)}
        ordered = sorted(candidates, key=lambda candidate: places.get(candidate.id, len(ranked)))
        return tuple(
            _result(candidate, ranked[places[candidate.id]] if candidate.id in places else None)
            for candidate in ordered
        )

    def close(self) -> None:
        """Close the indexes."""
        for shelf in self._shelves:
            shelf.close()

    def _any(self, run: Run) -> Sequence[Found]:
        self._update(run)
        found = (
            page for shelf in self._shelves for page in self._ask(shelf, lambda kept: Lookup(kept).some_page(), run)
        )
        return list(found)[:1]

    def _ranked(self, variant: str, scope: Scope, run: Run) -> tuple[Found, ...]:
        """Return the best notes of all vaults, by relevance."""
        vector = self._vector(variant, run)
        allowed = self._allowed(scope, run)
        embedder = self._embedder
        name = embedder.name if embedder else None

        def rank(index: Index) -> Ranking:
            return Lookup(index).rank(variant, limit=SHOWN, embedder=name, vector=vector, allowed=allowed)

        rankings = [self._ask(shelf, rank, run) for shelf in self._shelves]
        pages = sorted((page for ranking in rankings for page in ranking.pages), key=lambda page: -page.relevance)
        with self._lock:
            self._rankings[fold(variant)] = tuple(pages[:SHOWN])
        by_meaning = all(ranking.by_meaning for ranking in rankings)
        run.emit(Ranked(text="ranked by meaning and words" if by_meaning else self._by_words(run)))
        return tuple(pages[:SHOWN])

    def _allowed(self, scope: Scope, run: Run) -> Allowed | None:
        if not scope.property_filter:
            return None
        known = {name for shelf in self._shelves for name in self._ask(shelf, Index.property_names, run)}
        return compiled(scope.property_filter, known)

    def _vector(self, variant: str, run: Run) -> bytes | None:
        """Bring the vaults up to date; return the variant's vector, kept from an earlier run or made meanwhile."""
        embedder = self._embedder
        kept = self._kept_vector(embedder, variant) if embedder else None
        encoding = run.pace.submit(partial(embedder.encode, [variant]), run) if embedder and not kept else None
        self._update(run)
        if embedder is None or encoding is None:
            return kept
        outcome = encoding.outcome(run.within(WAIT_SHARE).deadline)
        if isinstance(outcome, Failure):
            self._without_meaning(outcome.error, run)
            return None
        if isinstance(outcome, Pending):
            return None
        with suppress(sqlite3.Error, OSError):  # another process is writing: it will be made again
            self._shelves[0].index.put_query_vector(embedder.name, variant, outcome[0], utc_now().isoformat())
        return outcome[0]

    def _kept_vector(self, embedder: Embedder, variant: str) -> bytes | None:
        with suppress(sqlite3.Error, OSError):
            return self._shelves[0].index.query_vector(embedder.name, embedder.width, variant)
        return None

    def _update(self, run: Run) -> None:
        """Bring the vaults up to date, each in its part of the time."""
        stage = run.within(UPDATE_SHARE)
        for place, shelf in enumerate(self._shelves):
            part = stage.within(1 / (len(self._shelves) - place))
            try:
                shelf.ask(lambda _: None, self._embedder, part)
            except EmbedderError as error:
                self._without_meaning(error, run)
                shelf.ask(lambda _: None, None, part)

    def _ask(self, shelf: Shelf, question: Callable[[Index], Answered], run: Run) -> Answered:
        return shelf.ask(question, self._embedder, run.within(UPDATE_SHARE))

    def _without_meaning(self, error: Exception, run: Run) -> None:
        with self._lock:
            told, self._embedder = self._embedder is None, None
        if not told:
            run.notify(Notice(stage="search", text=f"{error}; ranking by words"))

    def _by_words(self, run: Run) -> str:
        """Return why the ranking was by words alone."""
        embedder = self._embedder
        if embedder is None:
            return f"ranked by words; to rank by meaning too: {EXTRA}"
        if all(self._ask(shelf, lambda kept: kept.setting(EMBEDDED), run) == embedder.name for shelf in self._shelves):
            return "ranked by words: the sentence encoder was not ready in time, and --timeout gives more"
        return "ranked by words: not every passage has its vector yet"


def _candidate(page: Found, position: int, found_by: tuple[str, ...]) -> Candidate:
    return Candidate(
        source=VaultSource.name,
        id=page.id,
        url=f"{page.url}#{page.block}" if page.block else page.url,
        title=page.title,
        edited=page.edited or None,
        position=position,
        found_by=found_by,
        properties=page.properties,
        read=True,
        excerpt=page.passage or clip(page.opening, EXCERPT_LENGTH),
        opening=page.opening,
        passage=page.passage,
        kind=page.kind,
    )


def _result(candidate: Candidate, page: Found | None) -> Result:
    """Return the result; a page that only other phrasings found has nothing that speaks for it."""
    if page is None:
        return Result(candidate=candidate, relevance=0.0, confidence="low")
    return Result(candidate=candidate, relevance=page.relevance, confidence=page.confidence, parts=page.parts)

"""The values that travel through the walk, and the protocols of what they meet on the way."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar, runtime_checkable

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Plain = str | int | float | bool | tuple[str | int | float | bool, ...]
"""A property's value as the user reads it: text, a number, a truth, or a list of those."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where to look; empty means everything the token can see."""

    databases: tuple[str, ...] = ()
    property_filter: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What the user typed, never changed, and what was asked of the run with it."""

    text: str
    scope: Scope = field(default_factory=Scope)
    limit: int = 10
    named: frozenset[str] = frozenset()
    """The sources the user asked for by name; of these a failure is always told."""
    least: float | None = None
    """The relevance below which no result is shown; None leaves it to the judge."""
    extract: int | None = None
    """How many of the results are read whole for their most relevant section; None: no previews either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A page that may answer, not yet judged."""

    source: str
    id: str
    url: str
    title: str
    edited: str | None
    position: int
    """1-based place in the source's own order, best over the variants that found it."""
    found_by: tuple[str, ...] = ()
    """The variants whose words found it; empty for a row taken only because its database is small."""
    properties: Mapping[str, Plain] = field(default_factory=dict)
    read: bool = False
    """Whether the page's text was read; False leaves excerpt and opening empty."""
    excerpt: str = ""
    """First text of the page, at most 200 characters."""
    opening: str = ""
    """First text of the page over several blocks, at most 500 characters."""
    passage: str = ""
    """The text of the page that matched, where its source looks into bodies; the excerpt is then from there."""
    kind: str = "page"
    """What it is: page, database_entry, doc, sheet, pdf or text."""
    elsewhere: tuple[str, ...] = ()
    """Links to copies of it that other sources hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The whole text of a candidate, as Markdown."""

    text: str
    truncated: bool = False
    """Whether the source had more than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One source's answer to one variant, in the source's own order."""

    source: str
    variant: str
    candidates: tuple[Candidate, ...]
    complete: bool = True
    """False when the source had more than was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A candidate in its final place; relevance and snippet are None when nothing judged it."""

    candidate: Candidate
    relevance: float | None = None
    snippet: str | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    """Named scores the relevance is made of, where a rule made it."""
    confidence: str | None = None
    """high, medium or low, where the relevance is calibrated."""
    section: str = ""
    """The most relevant section of the page's text, as Markdown, where it was read whole."""
    preview: str = ""
    """Its first meaningful sentence, where that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something the run did without, in words for the user."""

    stage: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """Progress: the candidates are known."""

    candidates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Progress: this many of the pages to be read are read."""

    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Progress: the results are in their final order."""

    results: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerText:
    """Progress: a further piece of the answer, checked and fit to be shown."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """Progress: this many of a vault's changed files, or of their passages, are indexed."""

    what: str
    """notes or vectors."""
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Progress: a store ranked its own pages, in words for the user: by what, and how to have more."""

    text: str


Event = Searched | Read | Judged | AnswerText | Indexed | Ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What one run did, for `--explain`."""

    variants: tuple[str, ...]
    listings: tuple[tuple[str, str, int], ...]
    """Source, variant and number of pages found, one a listing."""
    candidates: int
    read: int

    @property
    def searched(self) -> tuple[str, ...]:
        """The sources that answered, in order."""
        return tuple(dict.fromkeys(source for source, _, _ in self.listings))


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedAnswer:
    """An answer in words, each claim followed by the number of the result it stands on."""

    text: str
    cited: tuple[int, ...]
    """The places of the results it cites, from 1, in the order of its numbers."""
    confidence: str
    """high, medium or low."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Everything a run found out."""

    results: tuple[Result, ...]
    notices: tuple[Notice, ...]
    facts: Facts
    cited: CitedAnswer | None = None
    """The answer in words, where one was asked for and could be given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model answered, and what it cost."""

    text: str
    tokens_in: int
    tokens_out: int
    model: str
    door: str
    whole: bool = True
    """False when the answer was cut off by its length."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The place of a call that failed, in what `Pace.gather` returns."""

    error: Exception


class Pending:
    """The place of a call that had not ended by the deadline."""


class Handle(Protocol[T_co]):
    """A call under way."""

    def outcome(self, deadline: float) -> "T_co | Failure | Pending":
        """Return what the call came to, waiting for it until the deadline at most."""


class Meter:
    """Counts of what a run did, taken where it happens; safe to use from many threads."""

    def __init__(self) -> None:
        """Start with nothing counted."""
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}

    def count(self, name: str, amount: int = 1) -> None:
        """Add to a count, such as `notion.search` or `tokens.in`."""
        with self._lock:
            self.counts[name] += amount

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the wall time of the block, in seconds, to the stage."""
        start = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - start


class Pace(Protocol):
    """The one queue for outside calls."""

    def gather(self, calls: "Sequence[Callable[[], T]]", run: "Run") -> "list[T | Failure | Pending]":
        """Return what each call came to, in order, at the run's deadline at the latest."""

    def submit(self, call: Callable[[], T], run: "Run") -> "Handle[T]":
        """Start a call and return at once."""

    def send(self, request: Callable[[], T], run: "Run", *, service: str) -> T:
        """Send one outside request when its service has a place for it; again when that helps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What every stage and edge is handed beside its input."""

    deadline: float
    """Monotonic seconds."""
    pace: Pace
    notify: Callable[[Notice], None]
    emit: Callable[[Event], None]
    meter: Meter

    def left(self) -> float:
        """Return the seconds until the deadline, never below zero."""
        return max(0.0, self.deadline - time.monotonic())

    def within(self, share: float) -> "Run":
        """Return the same run with only this share of the time left."""
        return replace(self, deadline=time.monotonic() + self.left() * share)


class Source(Protocol):
    """A place with pages."""

    name: str
    read_cap: int | None
    """How many of its pages are worth reading in one run; None for all."""

    def search(self, variant: str, scope: Scope, run: Run) -> Listing:
        """Return the pages the variant finds, in the source's own order; an empty variant finds any page."""

    def read(self, candidate: Candidate, run: Run) -> Candidate:
        """Return the candidate with excerpt and opening filled in."""

    def text(self, candidate: Candidate, run: Run) -> Page:
        """Return the candidate's whole text."""


@runtime_checkable
class Widening(Protocol):
    """A source that can look a second time, in other places, where its search found little."""

    def widen(self, variants: Sequence[str], run: Run) -> tuple[Listing, ...]:
        """Return one listing for each variant that found something there."""


class Expander(Protocol):
    """Finds other words for a query."""

    def expand(self, query: str, run: Run) -> tuple[str, ...]:
        """Return the query first, then other phrasings; five at most. Raises LLMError."""


class Judge(Protocol):
    """Puts candidates in order of how well they answer."""

    @property
    def floor(self) -> float:
        """The relevance below which a result is not worth showing unasked."""

    def judge(self, query: str, candidates: Sequence[Candidate], run: Run) -> tuple[Result, ...]:
        """Return every candidate once, best first. Raises LLMError."""


class Answerer(Protocol):
    """Answers in words from pages that were read."""

    def answer(self, query: str, results: Sequence[Result], run: Run) -> CitedAnswer | None:
        """Return the answer, or None where the results hold none. Raises LLMError."""


class LLM(Protocol):
    """A language model, whatever the door to it."""

    model: str

    def ask(
        self,
        prompt: str,
        *,
        system: str,
        schema: Mapping[str, object] | None,
        max_tokens: int,
        run: Run,
        on_text: Callable[[str], None] | None = None,
    ) -> Reply:
        """Return the model's reply; text reaches `on_text` as it is written. Raises LLMError."""


class Cache(Protocol):
    """Small JSON objects kept for a day."""

    def get(self, key: str) -> Mapping[str, object] | None:
        """Return the object stored under the key within the last day, or None."""

    def put(self, key: str, value: Mapping[str, object]) -> None:
        """Store the object; a failure to do so is not the caller's concern."""

"""Stage 2: run every variant through every source and keep one candidate a page."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from .defaults import CANDIDATE_CAP
from .errors import SourceError, UnauthorizedError, UsageError
from .types import Candidate, Failure, Handle, Listing, Notice, Pending, Run, Scope, Source
from .words import fold

# The constant of reciprocal rank fusion as its authors measured it: Cormack, Clarke and Büttcher, SIGIR 2009.
RRF_CONSTANT = 60
SOURCE_CAP = 20


def search(
    variants: Sequence[str], scope: Scope, source: Source, run: Run, *, already: Handle[Listing] | None = None
) -> tuple[Listing, ...]:
    """Return one listing for each variant that the source answered, in that order.

    `already` is the source's search of the first variant, under way. Raises SourceError when nothing answered, and
    whatever would make every search fail: a filter that does not fit, a token.
    """
    own = [already] if already else []
    rest = variants[len(own) :]
    handles = [*own, *(run.pace.submit(partial(source.search, variant, scope, run), run) for variant in rest)]
    outcomes = [handle.outcome(run.deadline) for handle in handles]
    failures = [outcome for outcome in outcomes if not isinstance(outcome, Listing)]
    for failure in failures:
        if isinstance(failure, Failure) and isinstance(failure.error, UsageError | UnauthorizedError):
            raise failure.error
    if len(failures) == len(outcomes):
        raise _reason(failures[0])
    if failures:
        text = f"{len(failures)} of {len(outcomes)} searches failed ({_reason(failures[0])}); showing the others' pages"
        run.notify(Notice(stage="search", text=text))
    return tuple(outcome for outcome in outcomes if isinstance(outcome, Listing))


def _reason(failure: Failure | Pending | Listing) -> Exception:
    if isinstance(failure, Failure) and not isinstance(failure.error, TimeoutError):
        return failure.error
    return SourceError("no answer within the time; --timeout gives more")


def fuse(listings: Sequence[Listing], query: str, *, cap: int = CANDIDATE_CAP) -> tuple[Candidate, ...]:
    """Return each page once, at most `cap`, those most variants agree on first; of several sources at most 20 each.

    One variant alone keeps the source's order. Several: reciprocal rank fusion, an exact title first,
    then the better position. Pages no variant's words found come last.
    """
    pages: dict[tuple[str, str], Candidate] = {}
    agreement: dict[tuple[str, str], float] = {}
    for listing in listings:
        for candidate in _once_each(listing.candidates):
            key = (candidate.source, candidate.id)
            pages[key] = _merged(pages[key], candidate) if key in pages else candidate
            share = 1 / (RRF_CONSTANT + candidate.position) if candidate.found_by else 0.0
            agreement[key] = agreement.get(key, 0.0) + share
    several = len({listing.variant for listing in listings}) > 1

    def place(key: tuple[str, str]) -> tuple[bool, bool, float, int]:
        page = pages[key]
        exact = several and fold(page.title) == fold(query)
        return (not page.found_by, not exact, -agreement[key] if several else 0.0, page.position)

    ordered = tuple(pages[key] for key in sorted(pages, key=place))
    return (ordered if len({page.source for page in ordered}) == 1 else _evened(ordered))[:cap]


def _evened(pages: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return the pages without those beyond each source's share, so that no place crowds out another."""
    seen: Counter[str] = Counter()
    kept = []
    for page in pages:
        seen[page.source] += 1
        if seen[page.source] <= SOURCE_CAP:
            kept.append(page)
    return tuple(kept)


def _once_each(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return each page at its best position; Notion itself may list one twice."""
    best: dict[str, Candidate] = {}
    for candidate in candidates:
        best.setdefault(candidate.id, candidate)
    return tuple(best.values())


def _merged(one: Candidate, other: Candidate) -> Candidate:
    found_by = tuple(dict.fromkeys((*one.found_by, *other.found_by)))
    return replace(one, position=min(one.position, other.position), found_by=found_by)

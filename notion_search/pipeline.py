"""The five verbs in order, and how a run goes on without the help of a model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from .errors import LLMError
from .excerpt import excerpt
from .search import fuse, search
from .types import (
    Answer,
    Candidate,
    Expander,
    Facts,
    Failure,
    Judge,
    Judged,
    Listing,
    Notice,
    Pending,
    Query,
    Result,
    Run,
    Scope,
    Searched,
    Source,
)

# Shares of the time left: no stage can use up what the next ones need.
EXPAND_SHARE = 0.4
SEARCH_SHARE = 0.6


def run(query: Query, *, sources: Sequence[Source], expander: Expander | None, judge: Judge | None, run: Run) -> Answer:
    """Answer the query; whatever the run had to do without goes to `run.notify`. Raises what leaves no answer."""
    notices: list[Notice] = []
    run = replace(run, notify=partial(_note, notices, run.notify))
    stage = run.within(SEARCH_SHARE)
    own = [run.pace.submit(partial(source.search, query.text, query.scope, stage), stage) for source in sources]
    with run.meter.stage("expand"):
        variants = _variants(query, expander, run)
    with run.meter.stage("search"):
        listings = search(variants, query.scope, sources, run.within(SEARCH_SHARE), already=own)
    candidates = fuse(listings, query.text)
    if judge is None:
        candidates = _hits(candidates)[: query.limit]
    run.emit(Searched(candidates=len(candidates)))
    with run.meter.stage("excerpt"):
        candidates = excerpt(candidates, sources, run)
    with run.meter.stage("rerank"):
        results = _results(candidates, query, judge, run)
    run.emit(Judged(results=len(results)))
    if not results:
        _explain_nothing(query, sources, run)
    return Answer(results=results, notices=tuple(notices), facts=_facts(variants, listings, candidates))


def _note(notices: list[Notice], notify: Callable[[Notice], None], notice: Notice) -> None:
    notices.append(notice)
    notify(notice)


def _variants(query: Query, expander: Expander | None, run: Run) -> tuple[str, ...]:
    """Return the query's variants, or the query alone when the model is no help."""
    if expander is None:
        return (query.text,)
    stage = run.within(EXPAND_SHARE)
    (outcome,) = run.pace.gather([partial(expander.expand, query.text, stage)], stage)
    if isinstance(outcome, tuple):
        return outcome
    run.notify(Notice(stage="expand", text=f"{_reason(outcome)}; searching for the query alone"))
    return (query.text,)


def _results(candidates: Sequence[Candidate], query: Query, judge: Judge | None, run: Run) -> tuple[Result, ...]:
    """Return the results to show: judged where there is a judge, else hits in the order of the search."""
    if judge and candidates:
        (outcome,) = run.pace.gather([partial(judge.judge, query.text, candidates, run)], run)
        if isinstance(outcome, tuple):
            return tuple(result for result in outcome if result.relevance or result.candidate.found_by)[: query.limit]
        run.notify(Notice(stage="rerank", text=f"{_reason(outcome)}; showing the order of the search"))
    return tuple(Result(candidate=candidate) for candidate in _hits(candidates)[: query.limit])


def _hits(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates some variant's words found; without a judge nothing speaks for the others."""
    return tuple(candidate for candidate in candidates if candidate.found_by)


def _reason(outcome: Failure | Pending) -> Exception:
    """Return why a model's stage came to nothing; an error that is not about the model ends the run."""
    if isinstance(outcome, Pending) or isinstance(outcome.error, TimeoutError):
        return LLMError("Claude did not answer in time")
    if not isinstance(outcome.error, LLMError):
        raise outcome.error
    return outcome.error


def _explain_nothing(query: Query, sources: Sequence[Source], run: Run) -> None:
    """Say whether nothing matched or nothing is shared: one more search, for any page at all."""
    outcomes = run.pace.gather([partial(source.search, "", query.scope, run) for source in sources], run)
    listings = [outcome for outcome in outcomes if isinstance(outcome, Listing)]
    if not listings:
        return
    run.notify(Notice(stage="search", text=_nothing(query.scope, any(listing.candidates for listing in listings))))


def _nothing(scope: Scope, anything: bool) -> str:  # noqa: FBT001 - both are read where they are passed
    if not scope.databases and anything:
        return "pages are shared with this token, but no title has these words: try other or fewer words"
    if not scope.databases:
        return (
            "no page at all is shared with this token: in Notion open a page, ••• > Connections, "
            "and add the integration"
        )
    if anything:
        return "the databases hold rows, but none with these words: try other or fewer words"
    return "no row passes --filter: try another" if scope.property_filter else "the databases hold no rows"


def _facts(variants: tuple[str, ...], listings: Sequence[Listing], candidates: Sequence[Candidate]) -> Facts:
    return Facts(
        variants=variants,
        listings=tuple((listing.source, listing.variant, len(listing.candidates)) for listing in listings),
        candidates=len(candidates),
        read=sum(candidate.read for candidate in candidates),
    )

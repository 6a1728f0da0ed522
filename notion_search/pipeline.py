"""The verbs in order, and how a run goes on without the help of a model or of one of its sources."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from .duplicates import unite
from .errors import LLMError, SourceError, UsageError
from .excerpt import excerpt
from .search import fuse, search
from .types import (
    Answer,
    Answerer,
    Candidate,
    CitedAnswer,
    Expander,
    Facts,
    Failure,
    Handle,
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
    Widening,
)
from .variants import Synonyms, broadened, synonym
from .words import fold

# Shares of the time left: no stage can use up what the next ones need.
EXPAND_SHARE = 0.4
SEARCH_SHARE = 0.6
# So few pages are worth a second look in other places.
FEW = 5


def run(
    query: Query,
    *,
    sources: Sequence[Source],
    expander: Expander | None,
    judge: Judge | None,
    run: Run,
    answerer: Answerer | None = None,
    synonyms: Synonyms = lambda _: (),
) -> Answer:
    """Answer the query; whatever the run had to do without goes to `run.notify`. Raises what leaves no answer."""
    notices: list[Notice] = []
    run = replace(run, notify=partial(_note, notices, run.notify))
    stage = run.within(SEARCH_SHARE)
    own = {
        source.name: run.pace.submit(partial(source.search, query.text, query.scope, stage), stage)
        for source in sources
    }
    with run.meter.stage("expand"):
        variants = _variants(query, expander, run)
    with run.meter.stage("search"):
        listings, skipped = _searched(variants, query, sources, own, run)
        if expander and not query.scope.databases:
            listings = _wider(listings, variants, query, sources, run)
    candidates = fuse(listings, query.text)
    if judge is None:
        candidates = _hits(candidates)[: query.limit]
    run.emit(Searched(candidates=len(candidates)))
    with run.meter.stage("excerpt"):
        candidates = unite(excerpt(candidates, sources, run))
    with run.meter.stage("rerank"):
        results = _results(candidates, query, judge, run)
    run.emit(Judged(results=len(results)))
    if query.extract is not None:
        # Reading Markdown takes as long to load as all the other stages, and most runs quote nothing.
        from .quote import quote

        with run.meter.stage("quote"):
            results = quote(results, query.text, sources, run, count=query.extract)
    cited = None
    if results and answerer:
        with run.meter.stage("answer"):
            cited = _answered(query, results, answerer, run)
    if not results and not any(candidate.source == "vault" for candidate in candidates):
        _explain_nothing(query, sources, skipped, synonyms, run)
    facts = _facts(variants, listings, candidates)
    return Answer(results=results, notices=tuple(notices), facts=facts, cited=cited)


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


def _searched(
    variants: Sequence[str], query: Query, sources: Sequence[Source], own: Mapping[str, Handle[Listing]], run: Run
) -> tuple[tuple[Listing, ...], Mapping[str, Exception]]:
    """Return the listings of the sources that answered, and why each other was skipped; raises where none did."""
    stage = run.within(SEARCH_SHARE)
    calls = [partial(search, variants, query.scope, source, stage, already=own[source.name]) for source in sources]
    outcomes = run.pace.gather(calls, run)
    skipped = {
        source.name: _source_error(outcome)
        for source, outcome in zip(sources, outcomes, strict=True)
        if not isinstance(outcome, tuple)
    }
    if len(skipped) == len(sources):
        raise skipped[sources[0].name]
    for name, error in skipped.items():
        if name in query.named or name == sources[0].name:
            run.notify(Notice(stage="search", text=f"{name.capitalize()} was skipped: {error}"))
    return tuple(listing for found in outcomes if isinstance(found, tuple) for listing in found), skipped


def _source_error(outcome: Failure | Pending | tuple[Listing, ...]) -> Exception:
    """Return why a source did not answer; what asks for the impossible ends the run."""
    if isinstance(outcome, Failure) and isinstance(outcome.error, UsageError):
        raise outcome.error
    if isinstance(outcome, Failure) and not isinstance(outcome.error, TimeoutError):
        return outcome.error
    return SourceError("no answer within the time; --timeout gives more")


def _wider(
    listings: tuple[Listing, ...], variants: Sequence[str], query: Query, sources: Sequence[Source], run: Run
) -> tuple[Listing, ...]:
    """Return the listings, and where they hold little, those of a second look: broader words, other places."""
    stage = run.within(SEARCH_SHARE)
    found = {listing.source for listing in listings if listing.candidates}
    answered = [source for source in sources if any(listing.source == source.name for listing in listings)]
    broad = broadened(query.text)
    calls: list[Callable[[], tuple[Listing, ...]]] = []
    if broad and fold(broad) not in {fold(variant) for variant in variants}:
        empty = [source for source in answered if source.name not in found]
        calls += [partial(search, (broad,), query.scope, source, stage) for source in empty]
    if len({(page.source, page.id) for listing in listings for page in listing.candidates}) < FEW:
        calls += [partial(source.widen, variants, stage) for source in answered if isinstance(source, Widening)]
    more = run.pace.gather(calls, stage)
    # Looking further is more than was asked for, so its failures are no one's loss.
    return (*listings, *(listing for outcome in more if isinstance(outcome, tuple) for listing in outcome))


def _results(candidates: Sequence[Candidate], query: Query, judge: Judge | None, run: Run) -> tuple[Result, ...]:
    """Return the results to show: judged where there is a judge, else hits in the order of the search."""
    if judge and candidates:
        (outcome,) = run.pace.gather([partial(judge.judge, query.text, candidates, run)], run)
        if isinstance(outcome, tuple):
            return _worth_showing(outcome, judge.floor if query.least is None else query.least, run)[: query.limit]
        run.notify(Notice(stage="rerank", text=f"{_reason(outcome)}; showing the order of the search"))
    return tuple(Result(candidate=candidate) for candidate in _hits(candidates)[: query.limit])


def _worth_showing(results: Sequence[Result], least: float, run: Run) -> tuple[Result, ...]:
    """Return the results that something speaks for, none below the least relevance; where none is left, say so."""
    held = [result for result in results if result.relevance or result.candidate.found_by]
    kept = tuple(result for result in held if result.relevance is None or result.relevance >= least)
    if held and not kept:
        text = f"{len(held)} pages match weakly and are not shown: --min-relevance 0 shows them"
        run.notify(Notice(stage="rerank", text=text))
    return kept


def _hits(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates some variant's words found; without a judge nothing speaks for the others."""
    return tuple(candidate for candidate in candidates if candidate.found_by)


def _answered(query: Query, results: Sequence[Result], answerer: Answerer, run: Run) -> CitedAnswer | None:
    """Return the answer in words, or None with a notice when the model is no help."""
    (outcome,) = run.pace.gather([partial(answerer.answer, query.text, results, run)], run)
    if outcome is None or isinstance(outcome, CitedAnswer):
        return outcome
    run.notify(Notice(stage="answer", text=f"{_reason(outcome)}; showing the pages without an answer"))
    return None


def _reason(outcome: Failure | Pending) -> Exception:
    """Return why a model's stage came to nothing; an error that is not about the model ends the run."""
    if isinstance(outcome, Pending) or isinstance(outcome.error, TimeoutError):
        return LLMError("Claude did not answer in time")
    if not isinstance(outcome.error, LLMError):
        raise outcome.error
    return outcome.error


def _explain_nothing(
    query: Query, sources: Sequence[Source], skipped: Mapping[str, Exception], synonyms: Synonyms, run: Run
) -> None:
    """Say whether nothing matched or nothing is shared, what was not searched, and which words to try."""
    for name, error in skipped.items():
        if name not in query.named and name != sources[0].name:
            run.notify(Notice(stage="search", text=f"{name.capitalize()} was not searched: {error}"))
    asked = [source for source in sources if source.name not in skipped]
    outcomes = run.pace.gather([partial(source.search, "", query.scope, run) for source in asked], run)
    listings = [outcome for outcome in outcomes if isinstance(outcome, Listing)]
    if not listings:
        return
    text = _nothing(query.scope, listings)
    if any(listing.candidates for listing in listings) and (other := synonym(query.text, synonyms)):
        text += f", such as: {other}"
    run.notify(Notice(stage="search", text=text))


def _nothing(scope: Scope, listings: Sequence[Listing]) -> str:
    """Return what is there although nothing matched, and the way out, for any page at all of each source."""
    anything = any(listing.candidates for listing in listings)
    if scope.databases:
        if anything:
            return "the databases hold rows, but none with these words: try other or fewer words"
        return "no row passes --filter: try another" if scope.property_filter else "the databases hold no rows"
    if all(listing.source != "notion" for listing in listings):
        what = "note" if all(listing.source == "vault" for listing in listings) else "file"
        return f"no {what} has these words: try other or fewer words" if anything else f"no {what} at all can be seen"
    if anything:
        return "pages are shared with this token, but no title has these words: try other or fewer words"
    return "no page at all is shared with this token: in Notion open a page, ••• > Connections, and add the integration"


def _facts(variants: tuple[str, ...], listings: Sequence[Listing], candidates: Sequence[Candidate]) -> Facts:
    return Facts(
        variants=variants,
        listings=tuple((listing.source, listing.variant, len(listing.candidates)) for listing in listings),
        candidates=len(candidates),
        read=sum(candidate.read for candidate in candidates),
    )

"""The report: one JSON object with every result's score, preview and most relevant section, for other programs."""

from collections.abc import Mapping
from datetime import datetime

from .score import Score, score_of
from .strict_json import strict_json
from .types import Answer, Query, Result
from .variants import literal
from .words import fold


def render_report(answer: Answer, query: Query, now: datetime, *, ascii_only: bool = False) -> str:
    """Return the answer as one JSON object with a final newline, its results by relevance, else by score.

    The object is the knowledge retrieval document's own, "Output Structure".
    """
    results = _ordered(answer.results, query, now)
    report = {
        "query_original": query.text,
        "query_variants": _variants(answer.facts.variants, query.text),
        "sources_searched": list(answer.facts.searched),
        "total_results": len(results),
        "results": [_public(rank, result, found) for rank, (result, found) in enumerate(results, 1)],
    }
    return strict_json({"search_results": report}, ascii_only=ascii_only)


def _ordered(results: tuple[Result, ...], query: Query, now: datetime) -> list[tuple[Result, Score]]:
    scored = [(result, score_of(query.text, result.candidate, now)) for result in results]
    if any(result.relevance is not None for result in results):
        return scored  # the judge's order
    return sorted(scored, key=lambda pair: (fold(pair[0].candidate.title) != fold(query.text), -pair[1].total))


def _variants(variants: tuple[str, ...], query: str) -> list[str]:
    """Return the phrasings searched for, without the query where its core words are one of them."""
    core = fold(literal(query))
    spelled = core != fold(query) and core in {fold(variant) for variant in variants}
    return [variant for variant in variants if not (spelled and fold(variant) == fold(query))]


def _public(rank: int, result: Result, found: Score) -> Mapping[str, object]:
    """Return the public keys, in their order; keys are only ever added."""
    page = result.candidate
    judged = {"relevance": result.relevance} if result.relevance is not None and not result.parts else {}
    copies = {"deduplicated_from": list(page.elsewhere)} if page.elsewhere else {}
    return {
        "rank": rank,
        "score": found.total,
        **judged,
        "source": page.source,
        "title": page.title,
        "url": page.url,
        "content_type": page.kind,
        "last_edited": page.edited,
        "preview": result.preview,
        "extracted_content": result.section,
        "score_breakdown": {"keyword_density": found.words, "title_match": found.title, "recency": found.recency},
        **copies,
    }

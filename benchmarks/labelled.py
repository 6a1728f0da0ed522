"""Queries with the pages that are right, and how good a ranking of pages is for them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One query, and the pages that are right."""

    text: str
    kind: str
    right: frozenset[str]
    exclude: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Means over some queries."""

    ndcg: float
    success: float
    recall: float
    queries: int


def figures(rankings: Sequence[tuple[Labelled, Sequence[str]]]) -> Figures:
    """Return nDCG@10, success@1 and recall@30, each the mean over the queries; every right page counts the same."""
    each = [_figures(query, [page for page in ranking if page not in query.exclude]) for query, ranking in rankings]
    ndcg, success, recall = (sum(values) / len(each) for values in zip(*each, strict=True))
    return Figures(ndcg=ndcg, success=success, recall=recall, queries=len(each))


def _figures(query: Labelled, ranking: Sequence[str]) -> tuple[float, float, float]:
    gain = sum(1 / math.log2(place + 1) for place, page in enumerate(ranking[:10], 1) if page in query.right)
    best = sum(1 / math.log2(place + 1) for place in range(1, min(10, len(query.right)) + 1))
    found = len(query.right.intersection(ranking[:30]))
    return gain / best, float(bool(ranking) and ranking[0] in query.right), found / len(query.right)

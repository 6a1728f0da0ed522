"""Pages of an index found by a query: by the words they hold, by how near their meaning is, by both."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from heapq import nsmallest
from itertools import groupby

from .embed import Nearness, nearness
from .index import Index, plain_properties, tags_of
from .passages import around
from .ranking import (
    MEANING,
    TAG_BONUS,
    TITLE_BONUS,
    TITLE_MEANING,
    WORDS,
    Calibration,
    Evidence,
    Verdict,
    ranked,
)
from .types import Plain
from .words import fold, index_terms, key_terms, query_terms

# Of each script so many pages are looked at passage by passage.
CLOSER = 40
# BM25's usual constants, which are also those of SQLite's FTS5: https://sqlite.org/fts5.html#the_bm25_function
K1 = 1.2
# So many pages beyond those there are, without the query's words: what three notes of three hold is still a word.
BACKGROUND = 100
B = 0.75
NEXT_TO_NOTHING = 0.02  # of the greatest weight: what nearly every page holds parts none, and takes longest
SHARES = 300  # pages whose share of the query's words is worth knowing


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A page in its place among those that were found."""

    id: str
    title: str
    url: str
    opening: str
    edited: str
    kind: str
    properties: Mapping[str, Plain]
    passage: str
    """The passage that speaks most for it; empty where that is its title alone."""
    block: str
    """The id of the block the passage begins with, where it is known."""
    relevance: float
    confidence: str
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The pages found, best first, and how they were ranked."""

    pages: tuple[Found, ...]
    by_meaning: bool


class Lookup:
    """Searches one index."""

    def __init__(self, index: Index) -> None:
        """Search this index."""
        self._index = index

    def rank(
        self,
        query: str,
        *,
        limit: int,
        embedder: str | None = None,
        vector: bytes | None = None,
        allowed: Callable[[Mapping[str, Plain]], bool] | None = None,
        calibration: Calibration | None = None,
    ) -> Ranking:
        """Return the pages that hold the query's words or are near its meaning, best first, at most `limit`.

        The ranking is by words alone without a vector, and where some passage has none. `allowed` sees the properties.
        Relevance and confidence follow the calibration of the embedder, where no other is given.
        """
        with self._index.together():
            asked = self._asked(query)
            # Of all pages the best are enough; a filter may leave the others.
            shares = self._shares(asked, SHARES if allowed is None else -1)
            near = self._nearness(embedder, vector)
            # By words alone all pages are of one kind.
            scripts = dict(self._index.rows("SELECT page, script FROM indexed")) if near else {}
            only = None if allowed is None else self._allowed(allowed)
            family = (embedder or "").partition("-")[0]
            calibration = calibration or (MEANING.get(family, WORDS) if near else WORDS)
            meaning = {page: near.best[page] + TITLE_MEANING * near.title[page] for page in near.best} if near else {}
            titled = {page for (page,) in self._index.rows("SELECT page FROM indexed WHERE title = ?", fold(query))}
            exact = titled if only is None else titled.intersection(only)
            strengths = {
                page: meaning.get(page, 0.0) + calibration.words * shares.get(page, 0.0)
                for page in (meaning or shares)
                if only is None or page in only
            }
            looked_at = {page: self._look(page, asked, near) for page in _closer(strengths, scripts, exact)}
            evidence = [
                Evidence(
                    page=page,
                    script=scripts.get(page, ""),
                    words=look.words + shares.get(page, 0.0) / 2,
                    meaning=meaning.get(page, 0.0),
                    exact=page in exact,
                )
                for page, look in looked_at.items()
            ]
            held = [one for one in evidence if one.words or one.meaning or one.exact]
            by_page = {one.page: one for one in held}
            verdicts = ranked(held, calibration)[:limit]
            pages = tuple(
                self._found(verdict, by_page[verdict.page], looked_at[verdict.page], asked.words)
                for verdict in verdicts
            )
            return Ranking(pages=pages, by_meaning=near is not None or (vector is not None and not asked.pages))

    def some_page(self) -> tuple[Found, ...]:
        """Return any one page, or none where there is none."""
        with self._index.together():
            rows = self._index.rows("SELECT page FROM indexed LIMIT 1")
            verdicts = [Verdict(page=page, relevance=0.0, confidence="low") for (page,) in rows]
            nothing = _Look(words=0.0, passage="", block="")
            return tuple(
                self._found(one, Evidence(page=one.page, script="", words=0.0), nothing, ()) for one in verdicts
            )

    def _allowed(self, allowed: Callable[[Mapping[str, Plain]], bool]) -> Set[int]:
        rows = self._index.rows("SELECT number, properties FROM page")
        return {number for number, properties in rows if allowed(plain_properties(properties))}

    def _nearness(self, embedder: str | None, vector: bytes | None) -> Nearness | None:
        if not embedder or not vector:
            return None
        with closing(self._index.each("SELECT hashes, codes FROM vectors WHERE embedder = ?", embedder)) as packs:
            return nearness(packs, self._index.rows("SELECT page, hashes FROM indexed ORDER BY page"), vector)

    def _asked(self, query: str) -> "_Asked":
        """Return the weight of each of the query's terms: how few pages hold it."""
        wanted = query_terms(query)
        ((total, terms, passages),) = self._index.rows(
            "SELECT count(*), coalesce(sum(terms), 0), coalesce(sum(passages), 0) FROM indexed"
        )
        if self._index.full_text:
            held = [self._index.rows("SELECT doc FROM vocabulary WHERE term = ?", term) for term in wanted]
            counts = [rows[0][0] if rows else 0 for rows in held]
        else:
            patterns = [f"% {term} %" for term in wanted]
            sql = "SELECT count(DISTINCT page) FROM passage WHERE ' ' || terms || ' ' LIKE ?"
            counts = [self._index.rows(sql, pattern)[0][0] for pattern in patterns]
        weights = {
            term: math.log(1 + (BACKGROUND + total - count + 0.5) / (count + 0.5))
            for term, count in zip(wanted, counts, strict=True)
        }
        return _Asked(
            weights=weights,
            counts=dict(zip(wanted, counts, strict=True)),
            pages=total,
            page_length=terms / max(1, total),
            passage_length=terms / max(1, passages - total, total),
            words=key_terms(query),
        )

    def _shares(self, asked: "_Asked", limit: int) -> Mapping[int, float]:
        """Return the share of the query's weight that each page holds as a whole, of the best pages."""
        least = NEXT_TO_NOTHING * max(asked.weights.values(), default=0.0)
        terms = [term for term, count in asked.counts.items() if count and asked.weights[term] >= least]
        if not terms:
            return {}
        if not self._index.full_text:
            return self._slow_shares(asked, terms)
        # FTS5 weighs a term by another formula, which is 0 for what half of the pages hold; this weighs it anew.
        part = "SELECT rowid AS page, rank * ? AS share FROM words WHERE words MATCH ?"
        sql = f"SELECT page, sum(share) FROM ({' UNION ALL '.join([part] * len(terms))}) GROUP BY page"  # noqa: S608 - as above
        values: list[object] = []
        for term in terms:
            count = asked.counts[term]
            theirs = max(1e-6, math.log((asked.pages - count + 0.5) / (count + 0.5)))
            values += [-asked.weights[term] / theirs / asked.mass, f'"{term}"']
        return dict(self._index.rows(f"{sql} ORDER BY 2 DESC LIMIT {limit}", *values))

    def _slow_shares(self, asked: "_Asked", terms: Sequence[str]) -> Mapping[int, float]:
        shares: dict[int, float] = {}
        rows = self._index.rows("SELECT page, terms FROM passage ORDER BY page, number")
        for page, group in groupby(rows, key=lambda row: row[0]):
            split = " ".join(terms for _, terms in group).split()
            share = asked.share(split, asked.page_length)
            if share:
                shares[page] = share
        return shares

    def _look(self, page: int, asked: "_Asked", near: Nearness | None) -> "_Look":
        """Return what the page's title, tags and single passages say."""
        rows = self._index.rows("SELECT text, block, terms FROM passage WHERE page = ? ORDER BY number", page)
        ((properties,),) = self._index.rows("SELECT properties FROM page WHERE number = ?", page)
        title = rows[0][2].split()  # and the tags
        shares = [0.0] if rows[1:] else [asked.share(title, asked.passage_length)]
        shares += [asked.share(title + terms.split(), asked.passage_length) for _, _, terms in rows[1:]]
        cosines = near.cosines(page) if near else [0.0] * len(rows)
        place = max(range(len(rows)), key=lambda place: cosines[place] + shares[place])
        tags = [term for tag in tags_of(plain_properties(properties)) for term in index_terms(tag)]
        bonus = TITLE_BONUS * asked.held(index_terms(rows[0][0])) + TAG_BONUS * asked.held(tags)
        text, block = rows[place][:2] if place else ("", "")
        return _Look(words=max(shares) / 2 + bonus, passage=text, block=block)

    def _found(self, verdict: Verdict, evidence: Evidence, look: "_Look", words: Sequence[str]) -> Found:
        ((id_, title, url, opening, edited, kind, properties),) = self._index.rows(
            "SELECT id, title, url, opening, edited, kind, properties FROM page WHERE number = ?", verdict.page
        )
        meaning = {"meaning": round(evidence.meaning, 2)} if evidence.meaning else {}
        return Found(
            id=id_, title=title, url=url, opening=opening, edited=edited, kind=kind,
            properties=plain_properties(properties),
            passage=around(look.passage, words),
            block=look.block,
            relevance=verdict.relevance,
            confidence=verdict.confidence,
            parts={"words": round(evidence.words, 2), **meaning},
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The terms of a query, and what BM25 asks of the collection."""

    weights: Mapping[str, float]
    counts: Mapping[str, int]
    pages: int
    page_length: float
    passage_length: float
    words: tuple[str, ...]

    @property
    def mass(self) -> float:
        """What a text that holds every term beyond measure would come to."""
        return (K1 + 1) * sum(self.weights.values()) or 1.0

    def share(self, terms: Sequence[str], usual: float) -> float:
        """Return BM25 as a share of the query's mass, for a text of these terms, where `usual` is the usual number."""
        norm = K1 * (1 - B + B * len(terms) / (usual or 1))
        found = 0.0
        for term, weight in self.weights.items():
            if count := terms.count(term):
                found += weight * count / (count + norm)
        return found * (K1 + 1) / self.mass

    def held(self, terms: Sequence[str]) -> float:
        """Return the share of the query's weight that stands among the terms."""
        return sum(self.weights[term] for term in {*terms} & self.weights.keys()) / (self.mass / (K1 + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    words: float
    passage: str
    block: str


def _closer(strengths: Mapping[int, float], scripts: Mapping[int, str], exact: Set[int]) -> Iterator[int]:
    """Yield the pages worth a closer look: of each script the strongest, and every exact title."""
    groups: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for page, strength in strengths.items():
        groups[scripts.get(page, "")].append((-strength, page))
    strongest = {page for group in groups.values() for _, page in nsmallest(CLOSER, group)}
    yield from sorted(strongest | exact, key=lambda page: (-strengths.get(page, 0.0), page))

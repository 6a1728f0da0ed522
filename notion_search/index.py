"""What the pages of one collection are found by: their passages, words and vectors, in one SQLite file."""

import json
import math
import sqlite3
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from .database import connect, in_memory, prepare
from .embed import Nearness, hash_of, nearness
from .passages import around, cut
from .ranking import MEANING, TAG_BONUS, TITLE_BONUS, TITLE_MEANING, WORDS, Calibration, Evidence, Verdict, ranked
from .types import Notice, Plain
from .words import fold, index_terms, key_terms, query_terms

# Raised whenever the cutting of passages or the splitting of words changes: what is derived is then derived anew.
VERSION = "1"
# Of each script so many pages are looked at passage by passage.
CLOSER = 40
# BM25's usual constants, which are also those of SQLite's FTS5: https://sqlite.org/fts5.html#the_bm25_function
K1 = 1.2
# So many pages beyond those there are, without the query's words: what three notes of three hold is still a word.
BACKGROUND = 100
B = 0.75
PACK = 2000  # vectors a row: a hundred thousand are read as fifty
STALE_SHARE = 0.3
QUERIES_KEPT = 1000
NEXT_TO_NOTHING = 0.02  # of the greatest weight: what nearly every page holds parts none, and takes longest
SHARES = 300  # pages whose share of the query's words is worth knowing
# What a script is told from: letters at the beginning of a page.
BEGINNING = 500
OTHER_SHARE = 1 / 6
# Up to which character letters are of which script, as far as it matters here.
SCRIPTS = (
    ("\u03ff", "Greek"), ("\u052f", "Cyrillic"), ("\u05ff", "Hebrew"), ("\u08ff", "Arabic"), ("\u0dff", "Indic"),
    ("\u0e7f", "Thai"), ("\u10ff", "other"), ("\u11ff", "Hangul"), ("\u1fff", "other"), ("\u2fff", "Latin"),
    ("\u303f", "Han"), ("\u30ff", "kana"), ("\u312f", "Han"), ("\u318f", "Hangul"), ("\u9fff", "Han"),
    ("\ua95f", "other"), ("\ua97f", "Hangul"), ("\uabff", "other"), ("\ud7ff", "Hangul"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A page to be found, as its file gives it."""

    id: str
    title: str
    url: str
    text: str
    """Markdown."""
    opening: str
    edited: str
    kind: str = "page"
    properties: Mapping[str, Plain] = field(default_factory=dict)


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


class Index:
    """One collection; safe to use from many threads, and from several processes at once."""

    def __init__(self, path: Path | None, notify: Callable[[Notice], None], what: str) -> None:
        """Open the file, made where there is none; without a path the collection is gone with the process.

        Raises sqlite3.Error and OSError, as every method does.
        """
        self.full_text = _has_full_text()
        if not self.full_text:
            text = "this Python's SQLite has no full-text search (FTS5): notes are searched the slow way"
            notify(Notice(stage="store", text=text))
            # A file with tables that this SQLite cannot read is left to one that can.
            path = path and path.with_suffix(".plain.sqlite")
        if path is not None:
            prepare(path, notify, what)
        self._lock = threading.RLock()
        self._connection = in_memory() if path is None else connect(path)
        self._derive()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    # What is in it

    def files(self) -> dict[str, str]:
        """Return the stamp of each file by its path."""
        return {_path(path): stamp for path, stamp in self._rows("SELECT path, stamp FROM file")}

    def setting(self, name: str) -> str:
        """Return what was noted under the name, or an empty text."""
        return next((value for (value,) in self._rows("SELECT value FROM setting WHERE name = ?", name)), "")

    def note(self, name: str, value: str) -> None:
        """Keep a text under a name."""
        self._rows("INSERT OR REPLACE INTO setting VALUES (?, ?)", name, value)

    def counts(self) -> tuple[int, int]:
        """Return the number of pages and of passages."""
        ((pages, passages),) = self._rows("SELECT count(*), coalesce(sum(passages), 0) FROM indexed")
        return pages, passages

    def vectors(self, embedder: str) -> int:
        """Return the number of vectors kept of the embedder."""
        ((kept,),) = self._rows("SELECT coalesce(sum(length(hashes) / 8), 0) FROM vectors WHERE embedder = ?", embedder)
        return int(kept)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write all of the block, or nothing of it where it is left by an error or the process ends within."""
        with self._together("IMMEDIATE"):
            yield

    @contextmanager
    def _together(self, kind: str) -> Iterator[None]:
        """See the file as it is at one moment, whatever other processes write meanwhile."""
        with self._lock:
            self._connection.execute(f"BEGIN {kind}")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def put(self, source: str, path: str, stamp: str, entries: Sequence[Entry], now: str) -> None:
        """Keep a file's pages in the place of those it gave before, unless they are of this very stamp."""
        if self._rows("SELECT 1 FROM file WHERE path = ? AND stamp = ?", _spelled(path), stamp):
            return  # another process was faster
        self.drop([path])
        self._rows("INSERT OR REPLACE INTO file VALUES (?, ?)", _spelled(path), stamp)
        for entry in entries:
            # Two files that say to be the same page are: the later one stays.
            for (number,) in self._rows("SELECT number FROM page WHERE source = ? AND id = ?", source, entry.id):
                self._forget(number)
            self._rows(
                "INSERT INTO page (source, id, edited, excerpt, opening, read_at, title, url, kind, properties, file) "
                "VALUES (?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?)",
                *(source, entry.id, entry.edited, entry.opening, now, entry.title, entry.url, entry.kind),
                *(json.dumps(entry.properties, ensure_ascii=False), _spelled(path)),
            )
            ((number,),) = self._rows("SELECT last_insert_rowid()")
            self._index(number, entry)

    def drop(self, paths: Iterable[str]) -> None:
        """Forget the files and the pages they gave."""
        for path in paths:
            for (number,) in self._rows("SELECT number FROM page WHERE file = ?", _spelled(path)):
                self._forget(number)
            self._rows("DELETE FROM file WHERE path = ?", _spelled(path))

    def _index(self, number: int, entry: Entry) -> None:
        passages = cut(entry.text, title=entry.title)
        texts = [entry.title, *(passage.text for passage in passages)]
        split = [
            " ".join(index_terms(text)) for text in (" ".join([entry.title, *_tags(entry.properties)]), *texts[1:])
        ]
        hashes = [hash_of(text) for text in (entry.title, *(_embedded(entry.title, text) for text in texts[1:]))]
        self._connection.executemany(
            "INSERT INTO passage (page, heading, text, block, terms) VALUES (?, ?, ?, ?, ?)",
            [
                (number, "", entry.title, "", split[0]),
                *((number, p.heading, p.text, p.block, s) for p, s in zip(passages, split[1:], strict=True)),
            ],
        )
        body = " ".join(split[1:])
        if self.full_text:
            self._rows("INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)", number, split[0], body)
        self._rows(
            "INSERT INTO indexed VALUES (?, ?, ?, ?, ?, ?)",
            *(number, fold(entry.title), script_of(" ".join(texts[:5])), len(texts)),
            *(len(split[0].split()) + len(body.split()), array("q", hashes).tobytes()),
        )

    def _forget(self, number: int) -> None:
        split = [terms for (terms,) in self._rows("SELECT terms FROM passage WHERE page = ? ORDER BY number", number)]
        if self.full_text and split:
            self._rows(
                "INSERT INTO words (words, rowid, title, body) VALUES ('delete', ?, ?, ?)",
                *(number, split[0], " ".join(split[1:])),
            )
        for table, key in (("passage", "page"), ("indexed", "page"), ("page", "number")):
            self._rows(f"DELETE FROM {table} WHERE {key} = ?", number)  # noqa: S608 - names of our own

    # Vectors

    def unembedded(self, embedder: str) -> list[tuple[int, str]]:
        """Return hash and text of each passage that has no vector of the embedder yet, in order."""
        with self._together("DEFERRED"):
            return self._unembedded(embedder)

    def _unembedded(self, embedder: str) -> list[tuple[int, str]]:
        known = array("q")
        for (hashes,) in self._rows("SELECT hashes FROM vectors WHERE embedder = ?", embedder):
            known.frombytes(hashes)
        missing = set(self._hashes()) - set(known)
        if not missing:
            return []
        wanted: dict[int, str] = {}
        for number, hashes in self._rows("SELECT page, hashes FROM indexed ORDER BY page"):
            own = array("q", hashes)
            if missing.isdisjoint(own):
                continue
            texts = [text for (text,) in self._rows("SELECT text FROM passage WHERE page = ? ORDER BY number", number)]
            for place, (hashed, text) in enumerate(zip(own, texts, strict=True)):
                if hashed in missing:
                    wanted[hashed] = _embedded(texts[0], text) if place else text
        return list(wanted.items())

    def put_vectors(self, embedder: str, hashes: Sequence[int], codes: Sequence[bytes]) -> None:
        """Keep the vectors of the passages of these hashes."""
        self._rows(
            "INSERT INTO vectors (embedder, hashes, codes) VALUES (?, ?, ?)",
            *(embedder, array("q", hashes).tobytes(), b"".join(codes)),
        )

    def tidy_vectors(self, embedder: str, width: int) -> None:
        """Throw away what no passage needs, once that is much, and other embedders' vectors; few rows hold the rest."""
        with self.writing():
            ((rows, kept),) = self._rows(
                "SELECT count(*), coalesce(sum(length(hashes) / 8), 0) FROM vectors WHERE embedder = ?", embedder
            )
            ((others,),) = self._rows("SELECT count(*) FROM vectors WHERE embedder != ?", embedder)
            live = dict.fromkeys(self._hashes())
            if not others and rows <= 2 * (kept // PACK) + 20 and kept - len(live) <= STALE_SHARE * kept:
                return
            codes: dict[int, bytes] = {}
            for hashes, packed in self._rows("SELECT hashes, codes FROM vectors WHERE embedder = ?", embedder):
                pieces = (packed[start : start + width] for start in range(0, len(packed), width))
                codes.update(zip(array("q", hashes), pieces, strict=True))
            self._rows("DELETE FROM vectors")
            wanted = [hashed for hashed in live if hashed in codes]
            for start in range(0, len(wanted), PACK):
                part = wanted[start : start + PACK]
                self.put_vectors(embedder, part, [codes[hashed] for hashed in part])

    def query_vector(self, embedder: str, query: str) -> bytes | None:
        """Return the vector kept for the query, or None."""
        kept = self._rows("SELECT vector FROM query_vector WHERE embedder = ? AND query = ?", embedder, fold(query))
        return kept[0][0] if kept else None

    def put_query_vector(self, embedder: str, query: str, vector: bytes, now: str) -> None:
        """Keep the vector of the query; of a thousand the oldest goes."""
        self._rows("INSERT OR REPLACE INTO query_vector VALUES (?, ?, ?, ?)", embedder, fold(query), vector, now)
        self._rows(
            "DELETE FROM query_vector WHERE (embedder, query) IN "
            "(SELECT embedder, query FROM query_vector ORDER BY used_at DESC LIMIT -1 OFFSET ?)",
            QUERIES_KEPT,
        )

    def _hashes(self) -> "array[int]":
        hashes = array("q")
        for (own,) in self._rows("SELECT hashes FROM indexed ORDER BY page"):
            hashes.frombytes(own)
        return hashes

    # Search

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
        with self._together("DEFERRED"):
            asked = self._asked(query)
            shares = self._shares(asked)
            near = self._nearness(embedder, vector)
            # By words alone all pages are of one kind.
            scripts = dict(self._rows("SELECT page, script FROM indexed")) if near else {}
            only = None if allowed is None else self._allowed(allowed)
            family = (embedder or "").partition("-")[0]
            calibration = calibration or (MEANING.get(family, WORDS) if near else WORDS)
            meaning = {page: near.best[page] + TITLE_MEANING * near.title[page] for page in near.best} if near else {}
            titled = {page for (page,) in self._rows("SELECT page FROM indexed WHERE title = ?", fold(query))}
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
            return Ranking(pages=pages, by_meaning=near is not None)

    def some_page(self) -> tuple[Found, ...]:
        """Return any one page, or none where there is none."""
        rows = self._rows("SELECT page FROM indexed LIMIT 1")
        verdicts = [Verdict(page=page, relevance=0.0, confidence="low") for (page,) in rows]
        nothing = _Look(words=0.0, passage="", block="")
        return tuple(self._found(one, Evidence(page=one.page, script="", words=0.0), nothing, ()) for one in verdicts)

    def file_of(self, source: str, id_: str) -> str | None:
        """Return the path of the file that gave the page, or None."""
        rows = self._rows("SELECT file FROM page WHERE source = ? AND id = ?", source, id_)
        return _path(rows[0][0]) if rows else None

    def property_names(self) -> Collection[str]:
        """Return the names of all properties that some page has."""
        return {name for (kept,) in self._rows("SELECT properties FROM page") for name in json.loads(kept)}

    def _allowed(self, allowed: Callable[[Mapping[str, Plain]], bool]) -> Collection[int]:
        rows = self._rows("SELECT number, properties FROM page")
        return {number for number, properties in rows if allowed(_properties(properties))}

    def _nearness(self, embedder: str | None, vector: bytes | None) -> Nearness | None:
        if not embedder or not vector:
            return None
        packs = self._rows("SELECT hashes, codes FROM vectors WHERE embedder = ?", embedder)
        return nearness(packs, self._rows("SELECT page, hashes FROM indexed ORDER BY page"), vector)

    def _asked(self, query: str) -> "_Asked":
        """Return the weight of each of the query's terms: how few pages hold it."""
        wanted = query_terms(query)
        ((total, terms, passages),) = self._rows(
            "SELECT count(*), coalesce(sum(terms), 0), coalesce(sum(passages), 0) FROM indexed"
        )
        if self.full_text:
            held = [self._rows("SELECT doc FROM vocabulary WHERE term = ?", term) for term in wanted]
            counts = [rows[0][0] if rows else 0 for rows in held]
        else:
            patterns = [f"% {term} %" for term in wanted]
            sql = "SELECT count(DISTINCT page) FROM passage WHERE ' ' || terms || ' ' LIKE ?"
            counts = [self._rows(sql, pattern)[0][0] for pattern in patterns]
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

    def _shares(self, asked: "_Asked") -> Mapping[int, float]:
        """Return the share of the query's weight that each page holds as a whole, of the best pages."""
        least = NEXT_TO_NOTHING * max(asked.weights.values(), default=0.0)
        terms = [term for term, count in asked.counts.items() if count and asked.weights[term] >= least]
        if not terms:
            return {}
        if not self.full_text:
            return self._slow_shares(asked, terms)
        # FTS5 weighs a term by another formula, which is 0 for what half of the pages hold; this weighs it anew.
        part = "SELECT rowid AS page, rank * ? AS share FROM words WHERE words MATCH ?"
        sql = f"SELECT page, sum(share) FROM ({' UNION ALL '.join([part] * len(terms))}) GROUP BY page"  # noqa: S608 - as above
        values: list[object] = []
        for term in terms:
            count = asked.counts[term]
            theirs = max(1e-6, math.log((asked.pages - count + 0.5) / (count + 0.5)))
            values += [-asked.weights[term] / theirs / asked.mass, f'"{term}"']
        return dict(self._rows(f"{sql} ORDER BY 2 DESC LIMIT {SHARES}", *values))

    def _slow_shares(self, asked: "_Asked", terms: Sequence[str]) -> Mapping[int, float]:
        shares: dict[int, float] = {}
        rows = self._rows("SELECT page, terms FROM passage ORDER BY page, number")
        for page, group in groupby(rows, key=lambda row: row[0]):
            split = " ".join(terms for _, terms in group).split()
            share = asked.share(split, asked.page_length)
            if share:
                shares[page] = share
        return shares

    def _look(self, page: int, asked: "_Asked", near: Nearness | None) -> "_Look":
        """Return what the page's title, tags and single passages say."""
        rows = self._rows("SELECT text, block, terms FROM passage WHERE page = ? ORDER BY number", page)
        ((properties,),) = self._rows("SELECT properties FROM page WHERE number = ?", page)
        title = rows[0][2].split()  # and the tags
        shares = [0.0] if rows[1:] else [asked.share(title, asked.passage_length)]
        shares += [asked.share(title + terms.split(), asked.passage_length) for _, _, terms in rows[1:]]
        cosines = near.cosines(page) if near else [0.0] * len(rows)
        place = max(range(len(rows)), key=lambda place: cosines[place] + shares[place])
        tags = [term for tag in _tags(_properties(properties)) for term in index_terms(tag)]
        bonus = TITLE_BONUS * asked.held(index_terms(rows[0][0])) + TAG_BONUS * asked.held(tags)
        text, block = rows[place][:2] if place else ("", "")
        return _Look(words=max(shares) / 2 + bonus, passage=text, block=block)

    def _found(self, verdict: Verdict, evidence: Evidence, look: "_Look", words: Sequence[str]) -> Found:
        ((id_, title, url, opening, edited, kind, properties),) = self._rows(
            "SELECT id, title, url, opening, edited, kind, properties FROM page WHERE number = ?", verdict.page
        )
        meaning = {"meaning": round(evidence.meaning, 2)} if evidence.meaning else {}
        return Found(
            id=id_, title=title, url=url, opening=opening, edited=edited, kind=kind,
            properties=_properties(properties),
            passage=around(look.passage, words),
            block=look.block,
            relevance=verdict.relevance,
            confidence=verdict.confidence,
            parts={"words": round(evidence.words, 2), **meaning},
        )  # fmt: skip

    # The file

    def _derive(self) -> None:
        """Make the tables of what is derived from the pages, anew where an older version made them."""
        with self.writing():
            kept = self.setting("derived by")
            if kept != VERSION:
                for table in ("words", "passage", "indexed"):
                    self._rows(f"DROP TABLE IF EXISTS {table}")
                # What files gave is read again; what has no file is derived from its text when it is next put.
                self._rows("DELETE FROM page WHERE file != ''")
                self._rows("DELETE FROM file")
                for statement in TABLES:
                    self._rows(statement)
                if self.full_text:
                    self._rows("CREATE VIRTUAL TABLE words USING fts5 (title, body, content = '', tokenize = ascii)")
                self.note("derived by", VERSION)
        if self.full_text:
            self._rows("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab (main, words, row)")

    def _rows(self, sql: str, *values: object) -> list[Any]:
        with self._lock:
            return self._connection.execute(sql, values).fetchall()


TABLES = (
    "CREATE TABLE passage (number INTEGER PRIMARY KEY, page INTEGER NOT NULL, heading TEXT NOT NULL, "
    "text TEXT NOT NULL, block TEXT NOT NULL, terms TEXT NOT NULL)",
    "CREATE INDEX passage_page ON passage (page)",
    "CREATE TABLE indexed (page INTEGER PRIMARY KEY, title TEXT NOT NULL, script TEXT NOT NULL, "
    "passages INTEGER NOT NULL, terms INTEGER NOT NULL, hashes BLOB NOT NULL)",
    "CREATE INDEX indexed_title ON indexed (title)",
)


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


def _closer(strengths: Mapping[int, float], scripts: Mapping[int, str], exact: Collection[int]) -> Iterator[int]:
    """Yield the pages worth a closer look: of each script the strongest, and every exact title."""
    taken: Counter[str] = Counter()
    for page in sorted(strengths, key=lambda page: (-strengths[page], page)):
        script = scripts.get(page, "")
        taken[script] += 1
        if taken[script] <= CLOSER or page in exact:
            yield page
    yield from sorted(exact - strengths.keys())


def script_of(text: str) -> str:
    """Return the script most of a page's words are written in, as far as it parts languages that share no words."""
    letters = Counter(_script(char) for char in text[:BEGINNING] if char.isalpha())
    own = {name: count for name, count in letters.items() if name != "Latin"}
    # Technical terms stay Latin in every language, so a sixth of other letters decides.
    name = max(own, key=own.__getitem__, default="Latin")
    return name if own.get(name, 0) > OTHER_SHARE * letters.total() else "Latin"


def _script(char: str) -> str:
    if char < "\u0370":
        return "Latin"
    for last, name in SCRIPTS:
        if char <= last:
            return name
    return "other"


def _embedded(title: str, text: str) -> str:
    """Return what is embedded for a passage: it may not name what it is about, and its page's title does."""
    return f"{title}. {text}"


def _has_full_text() -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        return bool(connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchall())


def _properties(kept: str) -> Mapping[str, Plain]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(kept).items()}


def _tags(properties: Mapping[str, Plain]) -> Iterable[str]:
    tags = properties.get("tags", ())
    return map(str, tags) if isinstance(tags, tuple) else (str(tags),)


def _spelled(path: str) -> bytes:
    """Return the path as it is kept: one that is no text is no text for SQLite either."""
    return path.encode("utf-8", "surrogateescape")


def _path(kept: bytes) -> str:
    return kept.decode("utf-8", "surrogateescape")

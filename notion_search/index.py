"""What the pages of one collection are found by: their passages, words and vectors, in one SQLite file."""

import json
import sqlite3
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .database import connect, in_memory, prepare
from .embed import hash_of
from .passages import cut
from .types import Notice, Plain
from .words import fold, index_terms

# Raised whenever the cutting of passages or the splitting of words changes: what is derived is then derived anew.
VERSION = "1"
DERIVED = "derived by"
PACK = 2000  # vectors a row: a hundred thousand are read as fifty
# Settings that whatever changes the pages takes away: the stamp of all files as they are now, and the embedder that
# every passage has a vector of.
COMPLETE = "complete"
EMBEDDED = "embedded"
STALE_SHARE = 0.3
# What comes of bytes that changed on the disk where SQLite sees nothing wrong.
MISREAD = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)
QUERIES_KEPT = 1000
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
        return {_path(path): stamp for path, stamp in self.rows("SELECT path, stamp FROM file")}

    def setting(self, name: str) -> str:
        """Return what was noted under the name, or an empty text."""
        return next((value for (value,) in self.rows("SELECT value FROM setting WHERE name = ?", name)), "")

    def note(self, name: str, value: str) -> None:
        """Keep a text under a name."""
        self.rows("INSERT OR REPLACE INTO setting VALUES (?, ?)", name, value)

    def counts(self) -> tuple[int, int]:
        """Return the number of pages and of passages."""
        ((pages, passages),) = self.rows("SELECT count(*), coalesce(sum(passages), 0) FROM indexed")
        return pages, passages

    def vectors(self, embedder: str) -> int:
        """Return the number of vectors kept of the embedder."""
        ((kept,),) = self.rows("SELECT coalesce(sum(length(hashes) / 8), 0) FROM vectors WHERE embedder = ?", embedder)
        return int(kept)

    def file_of(self, source: str, id_: str) -> str | None:
        """Return the path of the file that gave the page, or None."""
        rows = self.rows("SELECT file FROM page WHERE source = ? AND id = ?", source, id_)
        return _path(rows[0][0]) if rows else None

    def property_names(self) -> Collection[str]:
        """Return the names of all properties that some page has."""
        with self.together():
            return {name for (kept,) in self.rows("SELECT properties FROM page") for name in json.loads(kept)}

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write all of the block, or nothing of it where it is left by an error or the process ends within."""
        with self.together("IMMEDIATE"):
            yield

    @contextmanager
    def together(self, kind: str = "DEFERRED") -> Iterator[None]:
        """See the file as it is at one moment, whatever other processes write meanwhile.

        Raises sqlite3.DatabaseError also where values are such as nothing here writes.
        """
        with self._lock:
            self._connection.execute(f"BEGIN {kind}")
            try:
                yield
            except MISREAD as error:
                self._connection.execute("ROLLBACK")
                raise sqlite3.DatabaseError(f"{type(error).__name__} in what was read of it: {error}") from error
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def put(self, source: str, path: str, stamp: str, entries: Sequence[Entry], now: str) -> None:
        """Keep a file's pages in the place of those it gave before, unless they are of this very stamp."""
        if self.rows("SELECT 1 FROM file WHERE path = ? AND stamp = ?", _spelled(path), stamp):
            return  # another process was faster
        self._drop([path])
        self.rows("INSERT OR REPLACE INTO file VALUES (?, ?)", _spelled(path), stamp)
        for entry in entries:
            # Two files that say to be the same page are: the later one stays.
            for (number,) in self.rows("SELECT number FROM page WHERE source = ? AND id = ?", source, entry.id):
                self._forget(number)
            self.rows(
                "INSERT INTO page (source, id, edited, excerpt, opening, read_at, title, url, kind, properties, file) "
                "VALUES (?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?)",
                *(source, entry.id, entry.edited, entry.opening, now, entry.title, entry.url, entry.kind),
                *(json.dumps(entry.properties, ensure_ascii=False), _spelled(path)),
            )
            ((number,),) = self.rows("SELECT last_insert_rowid()")
            self._index(number, entry)

    def drop(self, paths: Iterable[str]) -> None:
        """Forget the files and the pages they gave."""
        self._drop(paths)

    def complete(self, stamp: str, files: Mapping[str, str]) -> None:
        """Note the stamp of all files, if what is kept is of these files, by path and stamp, and no other."""
        with self.writing():
            if self.files() == files:
                self.note(COMPLETE, stamp)

    def _drop(self, paths: Iterable[str]) -> None:
        self._unsettle()
        for path in paths:
            for (number,) in self.rows("SELECT number FROM page WHERE file = ?", _spelled(path)):
                self._forget(number)
            self.rows("DELETE FROM file WHERE path = ?", _spelled(path))

    def _unsettle(self) -> None:
        self.rows("DELETE FROM setting WHERE name IN (?, ?)", COMPLETE, EMBEDDED)

    def _index(self, number: int, entry: Entry) -> None:
        passages = cut(entry.text, title=entry.title)
        texts = [entry.title, *(passage.text for passage in passages)]
        split = [
            " ".join(index_terms(text)) for text in (" ".join([entry.title, *tags_of(entry.properties)]), *texts[1:])
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
            self.rows("INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)", number, split[0], body)
        self.rows(
            "INSERT INTO indexed VALUES (?, ?, ?, ?, ?, ?)",
            *(number, fold(entry.title), script_of(" ".join(texts[:5])), len(texts)),
            *(len(split[0].split()) + len(body.split()), array("q", hashes).tobytes()),
        )

    def _forget(self, number: int) -> None:
        split = [terms for (terms,) in self.rows("SELECT terms FROM passage WHERE page = ? ORDER BY number", number)]
        if self.full_text and split:
            self.rows(
                "INSERT INTO words (words, rowid, title, body) VALUES ('delete', ?, ?, ?)",
                *(number, split[0], " ".join(split[1:])),
            )
        for table, key in (("passage", "page"), ("indexed", "page"), ("page", "number")):
            self.rows(f"DELETE FROM {table} WHERE {key} = ?", number)  # noqa: S608 - names of our own

    # Vectors

    def unembedded(self, embedder: str) -> list[tuple[int, str]]:
        """Return hash and text of each passage that has no vector of the embedder yet, in order."""
        with self.together("DEFERRED"):
            return self._unembedded(embedder)

    def _unembedded(self, embedder: str) -> list[tuple[int, str]]:
        missing = set(self._hashes()) - set(self._known(embedder))
        if not missing:
            return []
        wanted: dict[int, str] = {}
        for number, hashes in self.rows("SELECT page, hashes FROM indexed ORDER BY page"):
            own = array("q", hashes)
            if missing.isdisjoint(own):
                continue
            texts = [text for (text,) in self.rows("SELECT text FROM passage WHERE page = ? ORDER BY number", number)]
            for place, (hashed, text) in enumerate(zip(own, texts, strict=True)):
                if hashed in missing:
                    wanted[hashed] = _embedded(texts[0], text) if place else text
        return list(wanted.items())

    def put_vectors(self, embedder: str, hashes: Sequence[int], codes: Sequence[bytes]) -> None:
        """Keep the vectors of the passages of these hashes."""
        self.rows(
            "INSERT INTO vectors (embedder, hashes, codes) VALUES (?, ?, ?)",
            *(embedder, array("q", hashes).tobytes(), b"".join(codes)),
        )

    def tidy_vectors(self, embedder: str, width: int) -> None:
        """Throw away what no passage needs, once that is much, and other embedders' vectors; few rows hold the rest.

        Note the embedder, if now every passage has its vector.
        """
        with self.writing():
            live = dict.fromkeys(self._hashes())
            known = self._known(embedder)
            ((rows,),) = self.rows("SELECT count(*) FROM vectors WHERE embedder = ?", embedder)
            ((others,),) = self.rows("SELECT count(*) FROM vectors WHERE embedder != ?", embedder)
            if live.keys() <= set(known):
                self.note(EMBEDDED, embedder)
            stale = live and len(known) - len(live) > STALE_SHARE * len(known)  # with no page at all they may come back
            if others or stale or rows > 2 * (len(known) // PACK) + 20:
                self._pack(embedder, width, live or dict.fromkeys(known))

    def _pack(self, embedder: str, width: int, live: Iterable[int]) -> None:
        codes: dict[int, bytes] = {}
        for hashes, packed in self.rows("SELECT hashes, codes FROM vectors WHERE embedder = ?", embedder):
            pieces = (packed[start : start + width] for start in range(0, len(packed), width))
            codes.update(zip(array("q", hashes), pieces, strict=True))
        self.rows("DELETE FROM vectors")
        wanted = [hashed for hashed in live if hashed in codes]
        for start in range(0, len(wanted), PACK):
            part = wanted[start : start + PACK]
            self.put_vectors(embedder, part, [codes[hashed] for hashed in part])

    def query_vector(self, embedder: str, width: int, query: str) -> bytes | None:
        """Return the vector kept for the query, or None."""
        sql = "SELECT vector FROM query_vector WHERE embedder = ? AND query = ? AND length(vector) = ?"
        kept = self.rows(sql, embedder, fold(query), width)
        return kept[0][0] if kept else None

    def put_query_vector(self, embedder: str, query: str, vector: bytes, now: str) -> None:
        """Keep the vector of the query; of a thousand the oldest goes."""
        self.rows("INSERT OR REPLACE INTO query_vector VALUES (?, ?, ?, ?)", embedder, fold(query), vector, now)
        self.rows(
            "DELETE FROM query_vector WHERE (embedder, query) IN "
            "(SELECT embedder, query FROM query_vector ORDER BY used_at DESC LIMIT -1 OFFSET ?)",
            QUERIES_KEPT,
        )

    def _hashes(self) -> "array[int]":
        hashes = array("q")
        for (own,) in self.rows("SELECT hashes FROM indexed ORDER BY page"):
            hashes.frombytes(own)
        return hashes

    def _known(self, embedder: str) -> "array[int]":
        hashes = array("q")
        for (own,) in self.rows("SELECT hashes FROM vectors WHERE embedder = ?", embedder):
            hashes.frombytes(own)
        return hashes

    # The file

    def _derive(self) -> None:
        """Make the tables of what is derived from the pages, anew where an older version made them."""
        # Looked at first: who only reads waits for no writer.
        if self.setting(DERIVED) != VERSION:
            with self.writing():
                self._derive_anew()
        if self.full_text:
            self.rows("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab (main, words, row)")

    def _derive_anew(self) -> None:
        if self.setting(DERIVED) == VERSION:
            return  # another process was faster
        for table in ("words", "passage", "indexed"):
            self.rows(f"DROP TABLE IF EXISTS {table}")
        # What files gave is read again; what has no file is derived from its text when it is next put.
        self.rows("DELETE FROM page WHERE file != ''")
        self.rows("DELETE FROM file")
        self._unsettle()
        for statement in TABLES:
            self.rows(statement)
        if self.full_text:
            self.rows("CREATE VIRTUAL TABLE words USING fts5 (title, body, content = '', tokenize = ascii)")
        self.note(DERIVED, VERSION)

    def each(self, sql: str, *values: object) -> Generator[Any]:
        """Yield the rows one by one, as they are read; closed while the file is still seen `together`."""
        yield from self._connection.execute(sql, values)

    def rows(self, sql: str, *values: object) -> list[Any]:
        """Return the rows that the statement gives."""
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


def plain_properties(kept: str) -> Mapping[str, Plain]:
    """Return the properties as they were put."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(kept).items()}


def tags_of(properties: Mapping[str, Plain]) -> Iterable[str]:
    """Return the tags among the properties."""
    tags = properties.get("tags", ())
    return map(str, tags) if isinstance(tags, tuple) else (str(tags),)


def _spelled(path: str) -> bytes:
    """Return the path as it is kept: one that is no text is no text for SQLite either."""
    return path.encode("utf-8", "surrogateescape")


def _path(kept: bytes) -> str:
    return kept.decode("utf-8", "surrogateescape")

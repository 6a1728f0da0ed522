"""The SQLite files that hold pages: how one is made, brought up to date, and set aside when it is damaged."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from .types import Notice

BUSY_TIMEOUT = 1.0  # seconds to wait for another process's write

# Each step takes a file from the version of its place to the next; page rows go along and are never thrown away.
MIGRATIONS = (
    """
    CREATE TABLE page (
        source TEXT NOT NULL,
        id TEXT NOT NULL,
        edited TEXT NOT NULL,
        excerpt TEXT NOT NULL,
        opening TEXT NOT NULL,
        text TEXT,
        read_at TEXT NOT NULL,
        PRIMARY KEY (source, id)
    ) WITHOUT ROWID;
    CREATE INDEX page_read_at ON page (read_at);
    """,
    # A page may be asked for as a whole before its first words are.
    """
    ALTER TABLE page ADD COLUMN unread INTEGER NOT NULL DEFAULT 0;
    """,
    # Pages get a number, by which what is derived of them is kept; and what a search shows of them.
    """
    CREATE TABLE numbered (
        number INTEGER PRIMARY KEY,
        source TEXT NOT NULL,
        id TEXT NOT NULL,
        edited TEXT NOT NULL,
        excerpt TEXT NOT NULL,
        opening TEXT NOT NULL,
        text TEXT,
        read_at TEXT NOT NULL,
        unread INTEGER NOT NULL DEFAULT 0,
        title TEXT NOT NULL DEFAULT '',
        url TEXT NOT NULL DEFAULT '',
        kind TEXT NOT NULL DEFAULT 'page',
        properties TEXT NOT NULL DEFAULT '{}',
        file TEXT NOT NULL DEFAULT '',
        UNIQUE (source, id)
    );
    INSERT INTO numbered (source, id, edited, excerpt, opening, text, read_at, unread)
        SELECT source, id, edited, excerpt, opening, text, read_at, unread FROM page;
    DROP TABLE page;
    ALTER TABLE numbered RENAME TO page;
    CREATE INDEX page_read_at ON page (read_at);
    CREATE INDEX page_file ON page (file);
    CREATE TABLE file (path TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE vectors (
        number INTEGER PRIMARY KEY, embedder TEXT NOT NULL, hashes BLOB NOT NULL, codes BLOB NOT NULL
    );
    CREATE TABLE query_vector (
        embedder TEXT NOT NULL, query TEXT NOT NULL, vector BLOB NOT NULL, used_at TEXT NOT NULL,
        PRIMARY KEY (embedder, query)
    ) WITHOUT ROWID;
    """,
)


def is_damaged(error: Exception) -> bool:
    """Whether the file does not hold what was written to it; one that is locked, full, read-only or closed is well."""
    if isinstance(error, sqlite3.OperationalError):
        # Of a text that is no UTF-8 Python complains itself, without a code of SQLite's.
        return not hasattr(error, "sqlite_errorcode")
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError)


def prepare(path: Path, notify: Callable[[Notice], None], what: str) -> None:
    """Make the file, readable by its owner alone, or bring it up to date; a damaged one is set aside first."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    try:
        _migrate(path)
    except sqlite3.DatabaseError as error:
        if not is_damaged(error):
            raise
        set_aside(path, notify, what)
        _migrate(path)


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection whose statements commit themselves; whoever opened it closes it, from any thread."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error:  # the file is no database, which shows at the first statement
        connection.close()
        raise
    except UnicodeDecodeError as error:  # nor is what SQLite quotes from it any text
        connection.close()
        raise sqlite3.DatabaseError("the file is no database") from error
    return connection


def in_memory() -> sqlite3.Connection:
    """Return a connection to an empty database of the same shape, which is gone with it."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _bring_up_to_date(connection)
    return connection


def set_aside(path: Path, notify: Callable[[Notice], None], what: str) -> None:
    """Put an empty file in the place of a damaged one, keep that beside it, and say so."""
    for suffix in ("", "-wal", "-shm"):
        damaged = path.with_name(path.name + suffix)
        with contextlib.suppress(FileNotFoundError):
            damaged.replace(damaged.with_name(damaged.name + ".damaged"))
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    text = f"the store of {what} was damaged; it begins anew, and the old file is {path}.damaged"
    notify(Notice(stage="store", text=text))


def _migrate(path: Path) -> None:
    with contextlib.closing(connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        _bring_up_to_date(connection)


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    if _version(connection) >= len(MIGRATIONS):
        return
    # One process migrates, the others wait for it and then find nothing to do.
    connection.execute("BEGIN IMMEDIATE")
    version = _version(connection)
    for step in MIGRATIONS[version:]:
        for statement in filter(str.strip, step.split(";")):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {max(version, len(MIGRATIONS))}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)

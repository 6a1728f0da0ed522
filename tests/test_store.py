"""Pages read before: never read twice, never shared between workspaces, never in the way."""

import sqlite3
import stat
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.database import MIGRATIONS
from notion_search.demo.workspace import load
from notion_search.store import PageStore

from .builders import make_candidate
from .fakes.claude import Text
from .fakes.notion import error
from .fakes.server import Reply

PLAIN = ("--no-expand", "--no-rerank", "--json")
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def notices():
    return []


@pytest.fixture
def open_store(tmp_path, notices):
    stores = []

    def open_store(path=tmp_path / "pages.sqlite", **options) -> PageStore:
        stores.append(PageStore(path, notices.append, **{"now": lambda: NOW, **options}))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


def pages(**changes):
    return load(
        {
            "pages": [
                {"title": f"AI {n}", "edited": f"2026-11-0{n} 10:00", "blocks": [f"Text {n}."]} for n in (1, 2, 3)
            ],
            **changes,
        }
    )


def store_files(outside):
    return sorted(path.name for path in (outside / "home/.cache/notion-search").glob("*.sqlite"))


# Through the command


def test_an_unchanged_page_is_never_read_twice(serve_notion, run):
    notion = serve_notion(pages())
    first = run("AI", *PLAIN)
    second = run("AI", *PLAIN)

    assert len(notion.children) == 3
    assert second.json == first.json
    assert [result["excerpt"] for result in second.json] == ["Text 3.", "Text 2.", "Text 1."]


def test_only_an_edited_page_is_read_again(serve_notion, run):
    serve_notion(pages())
    run("AI", *PLAIN)
    changed = pages()
    changed.pages[1]["last_edited_time"] = "2026-11-20T10:00:00.000Z"
    notion = serve_notion(changed)
    run("AI", *PLAIN)

    assert [request.path.split("/")[3] for request in notion.children] == [changed.pages[1]["id"]]


def test_a_page_edited_this_minute_is_read_again(serve_notion, run):
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    notion = serve_notion(load({"pages": [{"title": "AI", "edited": now, "blocks": ["Text."]}]}))
    run("AI", *PLAIN)
    run("AI", *PLAIN)

    assert len(notion.children) == 2


def test_without_the_cache_nothing_is_kept_and_nothing_asked_about_the_workspace(serve_notion, run, outside):
    notion = serve_notion(pages())
    run("AI", *PLAIN, "--no-cache")
    run("AI", *PLAIN, "--no-cache")

    assert len(notion.children) == 6
    assert notion.of_kind("me") == []
    assert list((outside / "home").iterdir()) == []


def test_the_workspace_is_asked_for_once_a_run(serve_notion, claude, run):
    notion = serve_notion(pages())
    run("AI", "--json")

    assert len(notion.of_kind("me")) == 1


def test_two_workspaces_never_share_a_page(serve_notion, run, outside, monkeypatch):
    first = serve_notion(pages())
    run("AI", *PLAIN)
    second = serve_notion(pages())
    second.fault("me", _bot("2b0f7c11-4a10-8099-b000-00000000b002"), forever=True)
    monkeypatch.setenv("NOTION_TOKEN", "ntn_another_token_here")
    run("AI", *PLAIN)

    assert len(first.children) == len(second.children) == 3
    assert len(store_files(outside)) == 2


def test_two_tokens_of_one_bot_share_what_was_read(serve_notion, run, outside, monkeypatch):
    notion = serve_notion(pages())
    run("AI", *PLAIN)
    monkeypatch.setenv("NOTION_TOKEN", "ntn_the_token_renewed")
    run("AI", *PLAIN)

    assert len(notion.children) == 3
    assert len(store_files(outside)) == 1


def _bot(bot_id):
    return Reply(body={"object": "user", "id": bot_id, "type": "bot", "bot": {}})


def test_a_workspace_that_does_not_say_which_it_is_is_searched_all_the_same(serve_notion, run, outside):
    notion = serve_notion(pages())
    notion.fault("me", error(403, "restricted_resource"), forever=True)

    ended = run("AI", *PLAIN)

    assert (ended.code, len(ended.json), len(notion.children)) == (0, 3, 3)
    assert store_files(outside) == []


def test_the_file_is_its_owners_alone_and_holds_no_token(serve_notion, run, outside):
    serve_notion(pages())
    run("AI", *PLAIN)

    folder = outside / "home/.cache/notion-search"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        assert b"T0pS3cr" not in path.read_bytes()


def test_a_folder_that_cannot_be_made_costs_one_notice(serve_notion, run, outside):
    serve_notion(pages())
    (outside / "home" / ".cache").write_text("a file where the folder should be")

    ended = run("AI", *PLAIN)

    assert (ended.code, len(ended.json)) == (0, 3)
    assert len(ended.notices) == 1


def test_eight_runs_at_once_leave_one_good_file(serve_notion, start, run, outside):
    notion = serve_notion(pages())
    processes = [start("AI", *PLAIN) for _ in range(8)]
    ends = [(process.communicate(timeout=60), process.returncode) for process in processes]
    read = len(notion.children)
    run("AI", *PLAIN)

    assert {code for _, code in ends} == {0}
    assert len({out for (out, _), _ in ends}) == 1
    assert {err for (_, err), _ in ends} == {b""}
    assert len(notion.children) == read
    assert len(store_files(outside)) == 1


# The store itself


def read_page(number=1, **changes):
    return make_candidate(number, read=True, excerpt=f"excerpt {number}", opening=f"opening {number}", **changes)


def test_what_is_put_is_got_for_this_edit_alone(open_store):
    store = open_store()
    store.put(read_page())

    assert store.get(make_candidate()) == read_page()
    assert store.get(make_candidate(edited="2026-11-04T09:08:00.000Z")) is None
    assert store.get(make_candidate(2)) is None
    assert store.get(make_candidate(source="vault")) is None


def test_what_is_got_keeps_the_live_title_and_link(open_store):
    store = open_store()
    store.put(read_page(title="Old"))

    assert store.get(make_candidate(title="New")).title == "New"


@pytest.mark.parametrize(
    ("edited", "kept"),
    [
        pytest.param(NOW - timedelta(minutes=2), True, id="two minutes ago"),
        pytest.param(NOW - timedelta(seconds=119), False, id="just under"),
        pytest.param(NOW + timedelta(hours=1), False, id="in the future"),
        pytest.param(None, False, id="no time"),
        pytest.param("yesterday", False, id="not a time"),
        pytest.param("2026-11-01T09:00:00", False, id="a time without a zone"),
    ],
)
def test_a_page_is_kept_once_its_minute_is_over(open_store, edited, kept):
    store = open_store()
    page = read_page(edited=edited.isoformat() if isinstance(edited, datetime) else edited)
    store.put(page)

    assert (store.get(page) is not None) == kept


def test_the_store_keeps_the_pages_read_last(open_store):
    clock = [NOW]
    store = open_store(cap=3, now=lambda: clock[0])
    for number in range(1, 6):
        clock[0] += timedelta(seconds=1)
        store.put(read_page(number))
    store.close()

    kept = open_store()
    assert [kept.get(make_candidate(number)) is not None for number in range(1, 6)] == [False, False, True, True, True]


def test_many_threads_may_read_and_write(open_store, notices):
    store = open_store()

    def work(first):
        for number in range(first, first + 25):
            store.put(read_page(number))
            assert store.get(make_candidate(number)) is not None

    threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 400, 25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert notices == []
    assert all(store.get(make_candidate(number)) for number in range(400))


def test_a_damaged_file_is_set_aside_and_said(open_store, notices, tmp_path):
    path = tmp_path / "pages.sqlite"
    path.write_bytes(b"this is no database, and has been long enough not to be one" * 99)
    store = open_store()
    store.put(read_page())

    assert store.get(make_candidate()) == read_page()
    assert (tmp_path / "pages.sqlite.damaged").exists()
    assert [notice.stage for notice in notices] == ["store"]


def test_a_file_damaged_inside_is_whole_again_at_the_next_run(open_store, tmp_path):
    store = open_store()
    for number in range(300):
        store.put(read_page(number))
    store.close()
    path = tmp_path / "pages.sqlite"
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)

    damaged = open_store()
    damaged.get(make_candidate())
    damaged.close()
    mended = open_store()
    mended.put(read_page())

    assert mended.get(make_candidate()) == read_page()


@pytest.mark.parametrize("spoilt", ["CAST(x'ff' AS TEXT)", "x'ff'"])
def test_a_text_spoilt_in_the_file_is_a_miss_and_the_file_set_aside(open_store, notices, tmp_path, spoilt):
    store = open_store()
    store.put(read_page())
    store.close()
    with sqlite3.connect(tmp_path / "pages.sqlite") as connection:
        connection.execute(f"UPDATE page SET excerpt = {spoilt}")
    connection.close()

    assert open_store().get(make_candidate()) is None
    assert (tmp_path / "pages.sqlite.damaged").exists()
    assert [notice.stage for notice in notices] == ["store"]


@given(st.binary(max_size=5000))
def test_any_bytes_in_the_file_are_a_miss_at_worst(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "pages.sqlite"
    path.write_bytes(data)
    store = PageStore(path, lambda _: None, now=lambda: NOW)
    store.put(read_page())
    store.get(make_candidate())
    store.close()


def test_a_locked_file_is_done_without(open_store, notices, tmp_path):
    open_store().put(read_page())
    with sqlite3.connect(tmp_path / "pages.sqlite") as other:
        other.execute("BEGIN EXCLUSIVE")
        store = open_store()
        store.put(read_page(2))
        other.rollback()
    other.close()

    assert len(notices) == 1


def test_a_file_of_an_earlier_version_keeps_its_pages(open_store, tmp_path):
    path = tmp_path / "pages.sqlite"
    with sqlite3.connect(path) as old:
        old.executescript(MIGRATIONS[0])
        old.execute(
            "INSERT INTO page VALUES (?, ?, ?, 'kept', 'kept whole', NULL, ?)",
            ("notion", make_candidate().id, make_candidate().edited, NOW.isoformat()),
        )
        old.execute("PRAGMA user_version = 1")
    old.close()

    assert open_store().get(make_candidate()).excerpt == "kept"


def test_the_querys_own_pages_are_read_while_it_is_expanded(serve_notion, claude, run):
    notion = serve_notion(load({"pages": [{"title": f"AI {n}", "blocks": [f"Text {n}."]} for n in range(20)]}))
    claude.says("expand", Text(text='["other words"]', wait=0.5))

    ended = run("AI", "--json", "-n", "20")

    (other,) = (request for request in notion.searches if request.body["query"] == "other words")
    assert sum(request.arrived < other.arrived for request in notion.children) == 14
    assert len(notion.children) == 20
    assert all(result["excerpt"] for result in ended.json)

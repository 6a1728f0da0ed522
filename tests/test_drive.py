"""Google Drive through the `gws` program: how it is started, what of its output is believed, what becomes text."""

import json
import os
import subprocess
import sys
import threading
import time
import zlib
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.errors import SourceError, UnauthorizedError
from notion_search.pace import Pacer
from notion_search.sources import contents, drive, gws
from notion_search.types import Meter, Page, Run, Scope
from notion_search.words import inert

from .builders import SLACK, make_candidate
from .fakes.gws import GOOGLE, Did, FakeGws, error, listing, saved

DRAFT = "it's $(id) 회의록.gdoc"


@pytest.fixture
def google(outside):
    """Drive behind the `gws` program."""
    with FakeGws() as server:
        server.install(outside / "bin")
        yield server


@pytest.fixture
def downloads(outside):
    folder = outside / "downloads"
    folder.mkdir()
    return folder


@pytest.fixture
def connect(downloads):
    """Connect to the Drive of the environment as it is when asked for."""
    opened = []

    def connect():
        opened.append(drive.connect(os.environ, folder=downloads))
        return opened[-1]

    yield connect
    for each in opened:
        each.close()


def make_run(seconds=10):
    pace = Pacer(wait_scale=0.01)
    deadline = time.monotonic() + seconds
    return Run(deadline=deadline, pace=pace, notify=lambda _: None, emit=lambda _: None, meter=Meter())


@pytest.fixture
def errand():
    return make_run()


@pytest.fixture
def search(connect, errand):
    return lambda variant="plan", scope=Scope(): connect().search(variant, scope, errand)  # noqa: B008


@pytest.fixture
def text_of(google, connect, errand):
    """The page one file becomes, found by an empty search."""

    def text_of(name, mime, content, **more):
        google.holds(1, name, mime, content, **more)
        source = connect()
        return source.text(source.search("", Scope(), errand).candidates[0], errand)

    return text_of


def titles(found):
    return [candidate.title for candidate in found.candidates]


def pdf(*pages):
    """A PDF of pages that hold a line of text each, or the drawing commands in these bytes."""
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} /MediaBox [0 0 612 792] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, page in enumerate(pages):
        drawn = page if isinstance(page, bytes) else f"BT /F1 12 Tf 72 700 Td ({page}) Tj ET".encode()
        stream = zlib.compress(drawn)
        links = f"/Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * index} 0 R"
        objects.append(f"<< /Type /Page {links} >>".encode())
        length = b"<< /Length %d /Filter /FlateDecode >>" % len(stream)
        objects.append(length + b"\nstream\n" + stream + b"\nendstream")
    out, table = b"%PDF-1.4\n", b"0000000000 65535 f \n"
    for number, body in enumerate(objects, 1):
        table += b"%010d 00000 n \n" % len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    count = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, len(out))
    return out + b"xref\n0 %d\n" % count + table + trailer


def drawing(seconds):
    """Drawing commands that take the reader about so long, and draw nothing."""
    return b"q Q " * int(100_000 * seconds)


# How the program is started.


def test_a_query_with_quotes_and_backslashes_is_one_argument_of_valid_json(google, search):
    search('it\'s Q3 "draft" \\ 회의록')

    [call] = google.calls
    assert call.argv[:4] == ("drive", "files", "list", "--params")
    assert call.argv[5:] == ("--format", "json")
    assert call.params == {
        "q": r"""fullText contains 'it\'s Q3 "draft" \\ 회의록' and trashed = false""",
        "pageSize": 20,
        "fields": "files(id,name,mimeType,modifiedTime,webViewLink,size,shortcutDetails)",
        "supportsAllDrives": True,
        "includeItemsFromAllDrives": True,
        "corpora": "allDrives",
    }


@pytest.mark.parametrize("variant", ["$(touch pwned)", "`id`; [x]", "--help", "\ud800\x00\x1b[31m", "학점\r\n인정"])
def test_a_query_is_text_whatever_it_looks_like(google, search, variant):
    search(variant)

    [call] = google.calls
    assert call.params["q"].endswith("' and trashed = false")
    assert call.argv[4].isascii()
    assert call.argv[4].isprintable()


def test_an_empty_variant_asks_for_any_one_file(google, search):
    google.holds(1, "회의록", "document")
    google.holds(2, "Plan", "document")

    found = search("")

    assert (google.calls[0].params["q"], google.calls[0].params["pageSize"]) == ("trashed = false", 1)
    assert titles(found) == ["회의록"]
    assert found.candidates[0].found_by == ()
    assert not found.complete


def test_a_scope_of_notion_databases_is_answered_with_no_file_and_no_call(google, search):
    google.holds(1, "Plan", "document")

    found = search("plan", Scope(databases=("2b0f7c11-4a10-8077-b000-00000000d001",)))

    assert found.candidates == ()
    assert google.calls == []


@pytest.fixture
def typed():
    """Something to read on this process's stdin."""
    before = os.dup(0)
    reading, writing = os.pipe()
    os.write(writing, b"typed ahead\n")
    os.close(writing)
    os.dup2(reading, 0)
    os.close(reading)
    yield
    os.dup2(before, 0)
    os.close(before)


def test_nothing_of_this_process_s_stdin_reaches_it(google, search, typed):
    search()

    assert google.calls[0].stdin == ""


def test_it_runs_in_a_private_folder_that_is_gone_afterwards(google, search, outside, downloads):
    (outside / "cwd/.env").write_text("GOOGLE_WORKSPACE_CLI_TOKEN=theirs")

    search()

    [call] = google.calls
    assert (call.files, call.mode) == ((".env",), 0o700)
    assert Path(call.cwd).parent == downloads
    assert list(downloads.iterdir()) == []


def test_it_gets_an_allow_listed_environment(google, search, monkeypatch, outside):
    passed = {
        "HOME": str(outside / "home"), "LANG": "ko_KR.UTF-8", "LC_ALL": "ko_KR.UTF-8", "SSL_CERT_FILE": "/c.pem",
        "HTTPS_PROXY": "http://127.0.0.1:9", "no_proxy": "localhost", "XDG_RUNTIME_DIR": "/run/user/1",
        "GOOGLE_WORKSPACE_CLI_TOKEN": "ya29.t", "GOOGLE_WORKSPACE_CLI_KEYRING_BACKEND": "file",
    }  # fmt: skip
    stopped = {
        "NOTION_TOKEN": "n", "NOTION_SEARCH_MODEL": "m", "ANTHROPIC_API_KEY": "a", "CLAUDECODE": "1",
        "CLAUDE_CODE_OAUTH_TOKEN": "o", "GITHUB_TOKEN": "g", "AWS_SECRET_ACCESS_KEY": "s", "LD_PRELOAD": "",
    }  # fmt: skip
    for name, value in {**passed, **stopped}.items():
        monkeypatch.setenv(name, value)

    search()

    env = google.calls[0].env
    assert {name: env.get(name) for name in passed} == passed
    assert not any(name in env for name in stopped)


def test_a_login_named_from_the_current_folder_is_found_from_another(google, search, monkeypatch, outside):
    monkeypatch.setenv("GOOGLE_WORKSPACE_CLI_CREDENTIALS_FILE", "mine/key.json")

    search()

    assert google.calls[0].env["GOOGLE_WORKSPACE_CLI_CREDENTIALS_FILE"] == str(outside / "cwd/mine/key.json")


@pytest.mark.parametrize("entries", [(), ("",), (".",), ("bin",)], ids=["none", "empty", "dot", "relative"])
def test_a_program_in_the_current_folder_is_never_run(google, search, monkeypatch, outside, entries):
    monkeypatch.chdir(outside)
    google.install(outside)
    monkeypatch.setenv("PATH", os.pathsep.join(entries))

    with pytest.raises(SourceError, match=r"not on PATH: https://github\.com/googleworkspace/cli"):
        search()
    assert google.calls == []


def test_a_path_without_the_program_is_no_error_until_the_search(connect, errand):
    source = connect()

    with pytest.raises(SourceError, match="gws program, which is not on PATH"):
        source.search("plan", Scope(), errand)


def test_a_program_that_cannot_be_started_is_an_error_of_the_source(search, outside):
    (outside / "bin/gws").write_text("#!/no/such/interpreter\n")
    (outside / "bin/gws").chmod(0o755)

    with pytest.raises(SourceError, match="gws cannot be started"):
        search()


def test_every_call_is_counted(google, connect, errand):
    google.holds(1, "Plan", "document", {"text/plain": b"One."})
    source = connect()

    source.read(source.search("plan", Scope(), errand).candidates[0], errand)

    assert errand.meter.counts == {"drive.list": 1, "drive.export": 2}


# What of its output is believed.

FILE = {"id": "a-1", "name": "계획 [draft]", "mimeType": f"{GOOGLE}document"}
OTHER = {"id": "b-2", "name": "Plan", "mimeType": "text/plain"}


def lines(*pages):
    return Did(stdout="".join(json.dumps({"files": page}) + "\n" for page in pages))


@pytest.mark.parametrize(
    ("told", "names"),
    [
        (listing(FILE, before="Using keyring backend: file\n"), ["계획 [draft]"]),
        (listing(FILE, before='{"not json\n{also not}\nwarning: {x}\n'), ["계획 [draft]"]),
        (lines([FILE], [OTHER]), ["계획 [draft]", "Plan"]),
        (Did(stdout="{}\n"), []),
        (listing(), []),
        (Did(stdout='{"files": null}'), []),
        (Did(stdout='{"files": [null, 3, {"id": 4}]}'), []),
        (Did(stdout='{"files": []}', stderr="\x1b[31mcareful\n"), []),
    ],
    ids=["a line before", "broken lines before", "two pages", "{}", "no files", "null", "no objects", "stderr"],
)
def test_the_listing_is_found_among_whatever_else_is_printed(google, search, told, names):
    google.says("list", told)

    assert titles(search()) == names


@given(st.one_of(st.text(), st.lists(st.sampled_from(['{"a":', "{", "}", "[", '"', "\n", "{}", "회"])).map("".join)))
def test_any_output_is_read_without_an_error(out):
    assert all(isinstance(answer, dict) for answer in gws.answers(out))


@pytest.mark.parametrize("line", ['{"a":\n', '{"a": [[[\n', "{\n"], ids=["nested", "lists", "braces"])
def test_endless_output_is_soon_given_up(line):
    start = time.monotonic()

    assert gws.answers(line * 200_000) == ()
    assert time.monotonic() - start < SLACK


NO_LOGIN = error(401, "authError", "no credentials", code=2)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (NO_LOGIN, r"not signed in .*no credentials.* run `gws auth login`"),
        (Did(stdout=NO_LOGIN.stdout), r"not signed in .*no credentials.* run `gws auth login`"),
        (Did(code=2), r"not signed in .*no reason given.* run `gws auth login`"),
        (error(400, "validationError", "bad", code=3), r"does not take these arguments \(exit 3; 400: bad\)"),
        (Did(code=4, stderr="no\x1b[2J network\n"), r"description of the API \(exit 4; no\[2J network\)"),
        (Did(code=5), r"failed inside \(exit 5; it said nothing\)"),
        (Did(code=77), r"ended early \(exit 77"),
        (error(403, "forbidden", "[draft] 권한 없음"), r"refused the request \(403: \[draft\] 권한 없음\)"),
        (Did(stdout='{"error": "Content blocked by Model Armor"}'), "Content blocked by Model Armor"),
        (Did(stdout='{"error": []}', code=1), "exit 1"),
        (Did(stdout="<html>sign in to the network</html>"), "answered with no JSON"),
        (Did(), "answered with no JSON"),
    ],
    ids=["exit 2", "exit 0", "2 silent", "3", "4", "5", "77", "403", "words", "a list", "a web page", "silence"],
)
def test_each_way_to_fail_is_told_apart(google, search, told, said):
    google.says("list", told)

    with pytest.raises(SourceError, match=said) as caught:
        search()
    # Only a source without which there is nothing to search ends the whole run.
    assert not isinstance(caught.value, UnauthorizedError)
    assert inert(str(caught.value)) == str(caught.value)
    assert len(google.calls) == 1


@pytest.mark.parametrize(
    "told",
    [
        error(429, "rateLimitExceeded", retry_after_seconds=1),
        error(403, "rateLimitExceeded"),
        error(403, "userRateLimitExceeded"),
        error(503, "backendError"),
    ],
    ids=["429", "403", "403 of the user", "503"],
)
def test_a_passing_refusal_is_asked_again(google, search, told):
    google.holds(1, "Plan", "document")
    google.says("list", told)

    assert titles(search()) == ["Plan"]
    assert len(google.calls) == 2


@pytest.mark.parametrize(("reason", "calls"), [("rateLimitExceeded", 5), ("backendError", 3)])
def test_a_lasting_refusal_is_an_error_after_the_tries_it_is_worth(google, search, reason, calls):
    google.says("list", *[error(503 if reason == "backendError" else 429, reason)] * 5)

    with pytest.raises(SourceError, match="Google Drive"):
        search()
    assert len(google.calls) == calls


def test_no_piece_of_a_token_is_quoted_from_what_the_program_says(google, search, monkeypatch):
    monkeypatch.setenv("GOOGLE_WORKSPACE_CLI_TOKEN", "ya29.S3cretTokenXyz")
    google.says("list", Did(code=5, stderr="bad header: Bearer ya29.S3cretTokenXyz"))

    with pytest.raises(SourceError, match="bad header") as caught:
        search()
    assert "S3cretT" not in str(caught.value)


def test_a_program_that_sleeps_for_ever_is_ended_with_its_children_at_the_time_out(google, connect, downloads):
    google.says("list", Did(sleep=600, children=True))

    start = time.monotonic()
    with pytest.raises(SourceError, match="did not answer within"):
        connect().search("plan", Scope(), make_run(0.6))

    assert time.monotonic() - start < 0.6 + SLACK
    assert not is_running(google.calls[0].pid)
    assert list(downloads.iterdir()) == []


def test_a_source_that_is_closed_ends_the_calls_under_way(google, connect, errand, downloads):
    google.says("list", Did(sleep=600, children=True))
    source = connect()
    raised = []

    def search():
        with pytest.raises(SourceError):
            source.search("plan", Scope(), errand)
        raised.append(True)

    thread = threading.Thread(target=search)
    thread.start()
    while not google.calls:
        time.sleep(0.01)
    source.close()
    thread.join(timeout=5)

    assert raised
    assert not is_running(google.calls[0].pid)
    assert list(downloads.iterdir()) == []
    with pytest.raises(SourceError, match="the run is over"):
        source.search("plan", Scope(), errand)


def is_running(group):
    """Whether a process of the group runs; one that ended and waits to be collected does not."""
    listed = subprocess.run(["/bin/ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    states = [line.split()[1] for line in listed.splitlines() if line.split()[0] == str(group)]
    return any(not state.startswith("Z") for state in states)


# What a listing keeps.


def test_documents_tables_pdfs_and_texts_are_kept_in_the_order_of_the_listing(google, search):
    kinds = {
        "document": "doc", "folder": None, "spreadsheet": "sheet", "video/mp4": None, "application/pdf": "pdf",
        "application/zip": None, "text/plain": "text", "text/markdown": "text", "text/csv": "sheet", "form": None,
        "text/html": None, "presentation": None, "text/plain; charset=utf-8": "text",
    }  # fmt: skip
    for number, mime in enumerate(kinds):
        google.holds(number, f"계획 {mime}", mime)

    found = search("계획")

    assert [candidate.kind for candidate in found.candidates] == [kind for kind in kinds.values() if kind]
    assert [candidate.position for candidate in found.candidates] == list(range(1, 8))
    assert {candidate.found_by for candidate in found.candidates} == {("계획",)}
    assert found.complete


def test_a_file_name_stays_text_and_a_missing_link_is_made_from_the_id(google, search):
    google.says("list", listing({**FILE, "name": DRAFT}))

    [candidate] = search("it's").candidates

    assert candidate.title == DRAFT
    assert candidate.url == "https://drive.google.com/open?id=a-1"
    assert (candidate.source, candidate.edited, candidate.properties) == ("drive", None, {})


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("회의록", "회의록"),
        ("a\x1b[31m\nb\u202e", "a[31m b"),
        ("  \u200b ", "Untitled"),
        (None, "Untitled"),
        ("<b>[bold]</b>", "<b>[bold]</b>"),
    ],
    ids=["decomposed", "controls", "blank", "none", "markup"],
)
def test_a_title_is_one_composed_line(google, search, name, title):
    google.says("list", listing({**FILE, "name": name}))

    assert titles(search()) == [title]


@pytest.mark.parametrize(
    "link",
    ["javascript:alert(1)", "http://docs.google.com/d/1", "https://a\x1b[2J", "https://a b", "https://", 7, None],
)
def test_a_link_that_is_none_is_made_from_the_id(google, search, link):
    google.says("list", listing({**FILE, "webViewLink": link}))

    assert search().candidates[0].url == "https://drive.google.com/open?id=a-1"


def test_a_link_and_a_time_are_kept_as_they_are(google, search):
    google.holds(3, "Plan", "document")

    [candidate] = search().candidates

    assert candidate.url == "https://docs.google.com/d/file-3"
    assert candidate.edited == "2026-10-03T09:08:00.000Z"


@pytest.mark.parametrize("edited", ["yesterday\x1b[2J", "٢٠٢٦-10-03T09:08:00Z", 3], ids=["words", "digits", "number"])
def test_a_time_that_is_none_is_left_out(google, search, edited):
    google.says("list", listing({**FILE, "modifiedTime": edited}))

    assert search().candidates[0].edited is None


@pytest.mark.parametrize("file_id", ["../../etc/passwd", "a b", "", "회의", "a/b", "a\n", 7, None])
def test_a_file_whose_id_cannot_be_asked_for_is_left_out(google, search, file_id):
    google.says("list", listing({**FILE, "id": file_id}, OTHER))

    assert titles(search()) == ["Plan"]


def test_a_full_listing_says_that_there_may_be_more(google, search):
    for number in range(1, 22):
        google.holds(number, f"Plan {number}", "folder")

    assert not search().complete


def shortcut(number, target, mime=f"{GOOGLE}document"):
    details = {"targetId": target, **({"targetMimeType": mime} if mime else {})}
    return {"id": f"s-{number}", "name": "Shortcut", "mimeType": f"{GOOGLE}shortcut", "shortcutDetails": details}


def test_a_shortcut_is_shown_as_the_file_it_points_to(google, search):
    google.holds(1, "목표", "document")
    google.says("list", listing(shortcut(1, "file-1"), OTHER))

    found = search()

    assert [(candidate.id, candidate.title) for candidate in found.candidates] == [("file-1", "목표"), ("b-2", "Plan")]
    assert google.calls[1].params == {
        "fileId": "file-1",
        "fields": "id,name,mimeType,modifiedTime,webViewLink,size,trashed",
        "supportsAllDrives": True,
    }


def test_a_target_listed_twice_counts_once_and_is_asked_for_once(google, search):
    google.holds(1, "Target", "document")
    google.says("list", listing(shortcut(1, "file-1"), shortcut(2, "file-1"), shortcut(3, "b-2"), OTHER))

    assert titles(search()) == ["Target", "Plan"]
    assert [call.method for call in google.calls] == ["list", "get"]


@pytest.mark.parametrize(
    "told",
    [
        Did(stdout=json.dumps(shortcut(9, "file-1"))),
        Did(stdout=json.dumps({**FILE, "mimeType": "video/mp4"})),
        Did(stdout=json.dumps({**FILE, "trashed": True})),
        error(404, "notFound"),
        Did(sleep=600),
    ],
    ids=["a shortcut", "a video", "in the trash", "gone", "hanging"],
)
def test_a_target_that_cannot_be_shown_is_left_out(google, connect, told):
    google.says("list", listing(shortcut(1, "file-1", mime=None), OTHER))
    google.says("get", told)
    short = make_run(1.5)

    assert titles(connect().search("plan", Scope(), short)) == ["Plan"]
    assert short.left() > 0.2


@pytest.mark.parametrize(
    "broken",
    [shortcut(1, "file-1", mime="video/mp4"), shortcut(1, "../x"), {**shortcut(1, "f"), "shortcutDetails": None}],
    ids=["to a video", "to no id", "to nothing"],
)
def test_a_shortcut_to_nothing_of_use_is_not_followed(google, search, broken):
    google.says("list", listing(broken, OTHER))

    assert titles(search()) == ["Plan"]
    assert len(google.calls) == 1


def test_five_shortcuts_of_a_listing_are_followed(google, search):
    for number in range(1, 8):
        google.holds(number, f"Target {number}", "document")
    google.says("list", listing(*(shortcut(number, f"file-{number}") for number in range(1, 8))))

    assert titles(search()) == [f"Target {number}" for number in range(1, 6)]


# What becomes text.


def test_a_document_is_exported_as_markdown_into_a_folder_that_is_gone_afterwards(google, text_of, downloads):
    page = text_of("문서", "document", {"text/markdown": "# 목표\r\n\r\n**책임**을 나눈다.\r\n".encode()})

    assert page == Page(text="# 목표\n\n**책임**을 나눈다.")
    call = google.calls[-1]
    assert call.argv[:4] == ("drive", "files", "export", "--params")
    assert call.argv[5:] == ("--output", "content")
    assert call.params == {"fileId": "file-1", "mimeType": "text/markdown"}
    assert list(downloads.iterdir()) == []


def test_a_document_that_is_refused_as_markdown_is_exported_as_plain_text(google, text_of):
    assert text_of("문서", "document", {"text/plain": "\ufeff책임을 나눈다.".encode()}).text == "책임을 나눈다."
    assert [call.params["mimeType"] for call in google.calls[1:]] == ["text/markdown", "text/plain"]


def test_a_login_that_is_lost_is_not_asked_for_another_export(google, text_of, downloads):
    google.says("export", Did(stdout=NO_LOGIN.stdout, code=2, content=b"half"))

    with pytest.raises(SourceError, match="gws auth login"):
        text_of("문서", "document", {"text/plain": b"One."})
    assert len(google.calls) == 2
    assert list(downloads.iterdir()) == []


def test_the_pictures_of_a_document_are_no_text(text_of):
    markdown = b"One ![][image1] two.\n\n[image1]: <data:image/png;base64,iVBORw0KGgo=>\n"

    assert text_of("Doc", "document", {"text/markdown": markdown}).text == "One ![][image1] two."


def test_a_table_keeps_its_header_and_its_first_twenty_rows(text_of):
    rows = ["이름,Notes", *(f'행 {number},"a | b\nc"' for number in range(1, 31))]

    page = text_of("표", "spreadsheet", {"text/csv": "\r\n".join(rows).encode()})

    shown = page.text.splitlines()
    assert shown[:3] == ["| 이름 | Notes |", "| --- | --- |", r"| 행 1 | a \| b c |"]
    assert shown[-1].startswith("| 행 20 |")
    assert page.truncated


def test_a_small_table_is_whole(google, text_of):
    page = text_of("data.csv", "text/csv", b",,\na,b,[c]\n1\n")

    assert page == Page(text="| a | b | [c] |\n| --- | --- | --- |\n| 1 |  |  |")
    assert google.calls[-1].params == {"fileId": "file-1", "alt": "media", "supportsAllDrives": True}


@pytest.mark.parametrize(
    "text",
    ['"' + "a\n" * 200_000, "," * 2_000_000, ",".join(["가" * 1_200] * 120), "\x00", ""],
    ids=["open quote", "commas", "wide", "NUL", "empty"],
)
def test_a_hostile_table_is_read_at_once_and_stays_small(text):
    start = time.monotonic()

    table, _ = contents.table_of(text)

    assert time.monotonic() - start < SLACK
    assert len(table) < 2 * contents.TEXT_CAP


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('a\n"' + "b" * 200_000, "| a |\n| --- |"),
        ("a\n" + "b" * 1_001, "| a |\n| --- |\n| " + "b" * 1_000 + " |"),
        (",".join("a" * 101), "| " + "a | " * 99 + "a |\n| " + "--- | " * 99 + "--- |"),
    ],
    ids=["a field without an end", "a long cell", "a long row"],
)
def test_a_table_that_is_not_shown_whole_says_so(text, shown):
    assert contents.table_of(text) == (shown, True)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("회의록 [draft]".encode(), "회의록 [draft]"),
        ("\ufeff회의록".encode(), "회의록"),
        ("회의록".encode("utf-16"), "회의록"),
        (b"\xfe\xff" + "회의록".encode("utf-16-be"), "회의록"),
        ("회의록".encode("cp949"), "회의록"),
        (b"caf\xe9 \xff", "café ÿ"),
        (b"", ""),
    ],
    ids=["UTF-8", "mark", "UTF-16", "UTF-16 BE", "cp949", "Latin-1", "empty"],
)
def test_a_text_is_decoded_whatever_it_is_written_in(text_of, data, text):
    assert text_of("notes.txt", "text/plain", data) == Page(text=text)


@given(st.binary(max_size=40))
def test_any_bytes_become_text(data):
    assert isinstance(contents.decoded(data), str)


def test_a_character_cut_in_two_at_the_end_does_not_change_how_the_rest_is_read():
    assert contents.decoded("회의록".encode()[:-1]) == "회의"


def test_a_long_text_is_cut_and_said_to_be(text_of):
    page = text_of("notes.md", "text/markdown", ("회의 " * 40_000).encode())

    assert len(page.text) == 100_000
    assert page.truncated


def test_a_text_that_fills_the_page_is_whole(text_of):
    assert text_of("notes.md", "text/markdown", b"x" * 100_000) == Page(text="x" * 100_000)


def test_a_file_that_is_said_to_be_too_large_is_not_downloaded(google, text_of):
    with pytest.raises(SourceError, match="larger than 10 MB"):
        text_of("big.pdf", "application/pdf", b"", size="10000001")
    assert [call.method for call in google.calls] == ["list"]


def test_a_document_is_not_measured_by_its_pictures(text_of):
    assert text_of("Doc", "document", {"text/markdown": b"One."}, size="99999999999").text == "One."


def test_a_text_that_is_larger_than_it_was_said_to_be_is_cut(google, text_of):
    google.says("get", saved(b"Plan ", grown=10_000_100))

    page = text_of("notes.txt", "text/plain", b"", size="5")

    assert page.text.startswith("Plan ")
    assert page.truncated


def test_a_table_that_is_larger_than_it_was_said_to_be_is_cut(google, text_of):
    google.says("get", saved(b"a,b\n1,2\n", grown=10_000_100))

    page = text_of("data.csv", "text/csv", b"")

    assert page == Page(text="| a | b |\n| --- | --- |\n| 1 | 2 |", truncated=True)


def test_a_picture_that_is_cut_is_no_text_either(google, text_of):
    google.says("export", saved(b"One.\n\n[image1]: <data:image/png;base64,iVBO", grown=10_000_100))

    assert text_of("Doc", "document", {}) == Page(text="One.", truncated=True)


def test_a_pdf_that_is_larger_than_it_was_said_to_be_is_refused(google, text_of, downloads):
    google.says("get", saved(pdf("Plan"), grown=10_000_100))

    with pytest.raises(SourceError, match="larger than 10 MB"):
        text_of("paper.pdf", "application/pdf", b"")
    assert list(downloads.iterdir()) == []


def test_a_program_that_writes_no_file_is_an_error(google, text_of):
    google.says("get", Did(stdout='{"status": "success"}'))

    with pytest.raises(SourceError, match="no file to read"):
        text_of("notes.txt", "text/plain", b"One.")


def test_a_pdf_is_read_page_by_page(text_of):
    page = text_of("paper.pdf", "application/pdf", pdf("Agent plan [draft]", "Second page"))

    assert page == Page(text="Agent plan [draft]\n\nSecond page")


def test_a_long_pdf_is_read_to_its_fiftieth_page(text_of):
    page = text_of("paper.pdf", "application/pdf", pdf(*(f"Page {number}" for number in range(1, 53))))

    assert page.text.endswith("Page 50")
    assert page.truncated


@pytest.mark.parametrize(
    "data",
    [pdf(b""), pdf("One")[:200], b"%PDF-1.4\n" + bytes(range(256)) * 20, b"", b"no PDF at all"],
    ids=["scanned", "cut", "noise", "empty", "text"],
)
def test_a_pdf_without_text_has_an_empty_page_and_nothing_is_logged(text_of, caplog, capsys, data):
    assert text_of("paper.pdf", "application/pdf", data) == Page(text="")
    assert capsys.readouterr() == ("", "")
    assert caplog.records == []


@pytest.mark.parametrize("rest", [[drawing(5)], [drawing(0.1)] * 49], ids=["one page too many", "pages enough"])
def test_a_pdf_that_keeps_its_reader_busy_is_read_as_far_as_a_run_has_time(google, connect, rest):
    google.holds(1, "paper.pdf", "application/pdf", pdf("One", *rest))
    source = connect()
    candidate = source.search("", Scope(), make_run()).candidates[0]
    import_module("pypdf")  # which a busy machine may take a second for

    start = time.monotonic()
    page = source.text(candidate, make_run(4))

    assert page == Page(text="One", truncated=True)
    assert time.monotonic() - start < 4 + SLACK


def test_a_file_no_search_of_this_run_found_is_looked_up_first(google, connect, errand):
    google.holds(1, "notes.txt", "text/plain", b"One.")

    assert connect().text(make_candidate(source="drive", id="file-1"), errand).text == "One."
    assert [call.method for call in google.calls] == ["get", "get"]


def test_a_file_that_holds_text_no_longer_is_an_error(google, connect, errand):
    google.holds(1, "notes.txt", "text/plain", b"One.", trashed=True)

    with pytest.raises(SourceError, match="no longer"):
        connect().text(make_candidate(source="drive", id="file-1"), errand)


# What is read of it.


def test_reading_gives_the_first_words_and_the_text_then_costs_no_call(google, connect, errand):
    google.holds(1, "문서", "document", {"text/markdown": "# 목표\n\n**책임**을 [나눈다](https://a.b).\n".encode()})
    source = connect()
    candidate = source.search("", Scope(), errand).candidates[0]

    read = source.read(candidate, errand)
    calls = len(google.calls)

    assert (read.read, read.excerpt, read.opening) == (True, "목표 책임을 나눈다.", "목표 책임을 나눈다.")
    assert source.text(read, errand).text.startswith("# 목표")
    assert len(google.calls) == calls


def test_an_excerpt_and_an_opening_are_short(google, connect, errand):
    google.holds(1, "notes.txt", "text/plain", ("회의 록 " * 300).encode())
    source = connect()

    read = source.read(source.search("", Scope(), errand).candidates[0], errand)

    assert 190 < len(read.excerpt) <= 200
    assert 490 < len(read.opening) <= 500
    assert read.opening.startswith(read.excerpt)


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("# 목표\n## *책임*을", "목표 책임을"),
        ("[draft] plan [x][y]", "[draft] plan [x][y]"),
        ("가이드[링크](https://a.b/c)와 ![그림](x.png)", "가이드링크와 그림"),
        ("2 * 3 * 4 snake_case_name __굵게__ ~~no~~ `code`", "2 * 3 * 4 snake_case_name 굵게 no code"),
        (r"1\. \[TODO\] a\_b \*no\*", "1. [TODO] a_b *no*"),
        ("| 이름 | 값 |\n| --- | --- |\n| a | b |", "이름 | 값 a | b"),
        ("---\n- item\n> quote\n* other", "item quote other"),
        ("\x1b[31mred\x07\u202e\n\x00", "[31mred"),
        ("\u200b\n\n", ""),
    ],
    ids=["headings", "brackets", "links", "marks", "escapes", "table", "lists", "controls", "blank"],
)
def test_first_words_are_plain_text_on_one_line(markdown, words):
    assert contents.opening_words(markdown) == words


@given(st.text(alphabet=st.sampled_from("[]()*_`~!\\#|>- \n회a\x1b")))
def test_first_words_are_one_line_of_at_most_500_characters(markdown):
    words = contents.opening_words(markdown)

    assert len(words) <= 500
    assert inert(words) == words


@pytest.mark.parametrize("piece", ["[", "*a", "[a](", "_", "`a", "![", "\\", " ", "|", "~~a"])
def test_no_markdown_keeps_the_reader_busy(piece):
    start = time.monotonic()
    contents.opening_words(piece * 100_000)

    assert time.monotonic() - start < SLACK


# Whose Drive it is.


def workspace(**environ):
    return drive.connect(environ).workspace(make_run())


def test_a_workspace_is_named_after_the_place_of_its_login(outside):
    places = [
        workspace(HOME="/home/a"),
        workspace(HOME="/home/b"),
        workspace(HOME="/home/a", GOOGLE_WORKSPACE_CLI_CONFIG_DIR="/etc/gws"),
        workspace(HOME="/home/a", GOOGLE_WORKSPACE_CLI_CREDENTIALS_FILE="key.json"),
        workspace(USERPROFILE="/c/users/a"),
    ]

    assert len(set(places)) == len(places)
    assert places[0] == workspace(HOME="/home/a", NOTION_TOKEN="n")
    assert str(outside / "cwd/key.json") in places[3]


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"GOOGLE_WORKSPACE_CLI_TOKEN": "ya29.secret"},
        {"GOOGLE_WORKSPACE_CLI_TOKEN": "ya29.secret", "HOME": "/home/a"},
    ],
    ids=["nothing", "token", "token over a login"],
)
def test_a_token_names_no_workspace(environ):
    with pytest.raises(SourceError) as caught:
        workspace(**environ)
    assert "ya29" not in str(caught.value)


def test_pypdf_is_not_imported_before_a_pdf_is_read():
    code = "import sys, notion_search.sources.drive; sys.exit('pypdf' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent.parent, check=False).returncode == 0

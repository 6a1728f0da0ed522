"""Notes on the disk: what is found in them, and what is left alone."""

import json
import os
import time
import unicodedata
import zipfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notion_search.demo.workspace import load

from .builders import DATABASE_ID, EVERYTHING, SLACK, ids, page_id, put, write
from .fakes.claude import by_title

HEX = "0123456789abcdef0123456789abcdef"
DASHED = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.fixture
def search(run, vault, words_only):
    """Search the vault by words, as JSON."""
    return lambda *arguments: run("--vault", str(vault), "--json", *arguments)


def opened(result):
    """The file a result's link opens."""
    return Path(unquote(urlsplit(result["url"]).path))


# What is found


def test_a_vault_alone_needs_no_token_and_no_claude(vault, search):
    write(
        vault,
        deploy="# Rolling back\n\nHow a release is rolled back: rolling back takes a minute.",
        lunch="# Lunch\n\nSoup.",
    )

    ended = search("rolled back")

    assert ended.code == 0
    (result,) = ended.json
    assert result == {
        "id": "deploy.md",
        "url": (vault / "deploy.md").as_uri(),
        "title": "Rolling back",
        "relevance": result["relevance"],
        "snippet": None,
        "excerpt": "How a release is rolled back: rolling back takes a minute.",
        "properties": {},
        "source": "vault",
        "last_edited": result["last_edited"],
        "confidence": "high",
    }
    assert ended.notices == [
        "notion-search: ranked by words; to rank by meaning too: pip install 'notion-search[semantic]'"
    ]


def test_words_far_down_a_note_are_found_and_shown(vault, search):
    filler = "\n\n".join(f"Paragraph {number} says nothing of note, at some length." for number in range(300))
    write(vault, long=f"# Long\n\n{filler}\n\nThe zeppelin leaves at noon.\n\n{filler}", other="# Other\n\nNothing.")

    (result,) = search("zeppelin").json

    assert "zeppelin leaves at noon" in result["excerpt"]
    assert len(result["excerpt"]) <= 200


def test_an_exact_title_comes_first(vault, search):
    write(vault, a="# Release plan\n\nOld.", b="# The plan\n\nRelease plan, release plan, release plan.")

    assert ids(search("release plan"))[0] == "a.md"


def test_a_tag_counts_twice_a_title(vault, search):
    notes = {f"n{number}": f"# Note {number}\n\nOf gardens." for number in range(8)}
    write(vault, **notes, tagged="---\ntags: [harvest]\n---\nOf gardens.", titled="# Harvest\n\nOf gardens and fields.")

    assert ids(search("harvest gardens"))[:2] == ["tagged.md", "titled.md"]


def test_results_under_the_floor_are_not_shown_unless_asked_for(vault, search):
    many = "Alpha beta gamma delta epsilon zeta."
    write(
        vault, right=f"# Right\n\n{many}", **{f"weak{n}": f"# Weak {n}\n\nOnly alpha, of {n} words." for n in range(9)}
    )

    few, all_ = search(many), search(many, *EVERYTHING)

    assert ids(few) == ["right.md"]
    assert len(ids(all_)) == 10
    assert ids(search(many, "--min-relevance", "1")) == []
    assert "match weakly" in search(many, "--min-relevance", "1").err


def test_a_filter_keeps_the_notes_that_have_the_value(vault, search):
    write(
        vault,
        done="---\nstatus: Done\nn: 3\n---\nA plan.",
        open="---\nstatus: open\ntags: [x, y]\n---\nA plan.",
        none="A plan.",
    )

    assert ids(search("plan", "--filter", '{"Status": "done"}')) == ["done.md"]
    assert ids(search("plan", "--filter", '{"n": 3}')) == ["done.md"]
    assert ids(search("plan", "--filter", '{"tags": "y", "status": "open"}')) == ["open.md"]
    assert ids(search("plan", "--filter", '{"status": ["done", "open"]}', *EVERYTHING)) == ["done.md", "open.md"]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ('{"stauts": "done"}', "no note has a property 'stauts'; there are: status"),
        ('{"property": "status", "select": {"equals": "done"}}', "equality alone"),
        ('{"status": {"x": 1}}', "expected a value or a list of values"),
        ('{"status": null}', "'status': expected a text"),
    ],
)
def test_a_filter_that_cannot_be_is_an_error(vault, search, wanted, said):
    write(vault, a="---\nstatus: done\n---\nA plan.")

    ended = search("plan", "--filter", wanted)

    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_the_table_shows_confidence_and_the_passage(vault, run, words_only):
    write(vault, a="# Rolling back\n\nHow a release is rolled back: rolling back takes a minute.", b="# Lunch\n\nSoup.")

    lines = run("--vault", str(vault), "rolled back").out.splitlines()

    assert lines[0].split() == ["#", "Title", "Relevance", "Edited"]
    assert " high  " in lines[1]
    assert "How a release is rolled back" in lines[2]
    assert lines[3].strip() == (vault / "a.md").as_uri()


def test_nothing_found_is_told_from_no_notes(vault, search):
    empty = search("plan")
    write(vault, a="# Lunch\n\nSoup.")
    other = search("plan")

    assert (empty.json, other.json) == ([], [])
    assert "no note at all can be seen" in empty.err
    assert "no note has these words" in other.err


# Cases


def test_front_matter_that_does_not_parse_hides_no_note(vault, search):
    for name, data in {
        "one": b"---\npeople: [[A]], [[B]]\n---\nbody one",
        "two": b"---\ntitle: Convex: xxx\n---\nbody two",
        "three": '\ufeff---\r\ntitle: "제목"\r\n---\r\nbody three'.encode(),
        "four": b"---\ntitle: open\nno closing line\nbody four",
        "five": b"---\ndescription: {{description}}\n---\nbody five",
        "six": "본문 여섯 body".encode("cp949"),
        "seven": b"body seven \xff end",
        "eight": b"body eight",
        "nine": b"body nine",
        "ten": b"body ten",
    }.items():
        put(vault, f"{name}.md", data)

    first = search("body", "-n", "30", *EVERYTHING)

    assert sorted(ids(first)) == sorted(
        f"{n}.md" for n in ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
    assert {r["title"] for r in first.json if r["id"] == "three.md"} == {"제목"}
    said = [line for line in first.notices if "UTF-8" in line]
    assert [line for line in said if "six.md" in line] and [line for line in said if "seven.md" in line]
    assert len(said) == 2
    assert "UTF-8" not in search("body").err  # said when it is read, which is once


def test_a_hash_in_a_fence_is_no_heading(vault, search):
    put(
        vault, "a.md",
        "```\n# install deps\npip install x\n```\n\n~~~\n# not this either\n~~~\n\n"
        "# 실제 제목\n\n배포는 금요일에 한다.",
    )  # fmt: skip
    put(vault, "fenced only.md", "```\n# 배포 comment\n```\n")

    titles = {result["id"]: result["title"] for result in search("배포", *EVERYTHING).json}

    assert titles == {"a.md": "실제 제목", "fenced only.md": "fenced only"}


def test_the_section_of_a_note_begins_at_its_heading(vault, run, words_only):
    put(vault, "a.md", "```\n# install\n```\n\n# 실제 제목\n\n배포는 금요일에 한다.")

    (result,) = run("--vault", str(vault), "--report", "배포").json["search_results"]["results"]

    assert result["extracted_content"].split("\n\n", 1)[1].startswith("# 실제 제목")


def test_both_forms_of_korean_are_the_same_word(vault, search):
    nfd = unicodedata.normalize("NFD", "학점인정_b")
    put(vault, "학점인정_a.md", "학점인정 신청 방법")
    put(vault, f"{nfd}.md", unicodedata.normalize("NFD", "학점인정 신청 방법"))

    for query in ("학점인정", unicodedata.normalize("NFD", "학점인정")):
        found = search(query, *EVERYTHING).json
        assert sorted(result["id"] for result in found) == ["학점인정_a.md", "학점인정_b.md"]
        assert all(opened(result).exists() for result in found)
        assert all(unicodedata.is_normalized("NFC", json.dumps(result, ensure_ascii=False)) for result in found)


RUNS = {
    "game": "오늘 끝말잇기게임을 했다",
    "server": "서버를 재시작했다",
    "chinese": "中文合約轉換體驗課問題",
    "mixed": "다시gen-itgc후정리",
}


@pytest.mark.parametrize(
    ("query", "name"),
    [("끝말잇기", "game"), ("서버", "server"), ("合約", "chinese"), ("itgc", "mixed"), ("서버 재시작", "server")],
)
def test_words_are_found_inside_runs_without_blanks(vault, search, query, name):
    write(vault, **RUNS)

    assert ids(search(query)) == [f"{name}.md"]


def test_one_syllable_is_not_in_everything(vault, search):
    write(vault, **RUNS, water="물을 마신다", thing="물건이 많다")

    assert ids(search("물")) == ["water.md"]


def test_what_is_no_note_is_not_found(vault, search):
    body = "회의 기록과 계획"
    for path in (
        ".obsidian/plugins/x/README.md", ".trash/삭제된 노트.md", "05 - Templates/meeting.md", ".git/x.md", ".md",
        "06 - Atlas/map.md", "Home.md", "sub/.hidden.md", "Skills MOC.md",
    ):  # fmt: skip
        put(vault, path, body)
    put(vault, "무제 파일.md", "")
    put(vault, "template.md", f"---\nisTemplate: true\n---\n{body}")
    put(vault, "회의 📝 (1).md", body)
    put(vault, "그림.excalidraw.md", f"---\nexcalidraw-plugin: parsed\n---\n{body}\n\n# Drawing\n" + "QUJD" * 500_000)

    began = time.monotonic()
    found = search("회의 기록", "-n", "30", *EVERYTHING).json

    assert time.monotonic() - began < SLACK
    assert sorted(result["id"] for result in found) == ["그림.excalidraw.md", "회의 📝 (1).md"]
    assert not any("QUJD" in result["excerpt"] for result in found)
    (emoji,) = (result for result in found if "📝" in result["id"])
    assert opened(emoji).read_text(encoding="utf-8") == body


def test_a_note_deleted_or_renamed_since_is_as_it_is_now(vault, search):
    write(vault, gone="# Gone\n\nA quokka.", old="# Old\n\nA quokka too.", kept="# Kept\n\nA quokka three.")
    assert len(ids(search("quokka", *EVERYTHING))) == 3
    (vault / "gone.md").unlink()
    (vault / "old.md").rename(vault / "new.md")

    assert sorted(ids(search("quokka", *EVERYTHING))) == ["kept.md", "new.md"]


# Safety


def test_no_link_is_followed(vault, search, outside):
    secret = outside / "secret"
    secret.mkdir()
    (secret / "plan.md").write_text("A quokka.")
    write(vault, real="# Real\n\nA quokka.")
    (vault / "out").symlink_to(secret)
    (vault / "out.md").symlink_to(secret / "plan.md")
    (vault / "loop").symlink_to(vault)
    (vault / "nowhere.md").symlink_to(outside / "nothing")

    ended = search("quokka", *EVERYTHING)

    assert ids(ended) == ["real.md"]


@pytest.mark.parametrize("run_number", [1, 2])
def test_a_note_that_cannot_be_read_costs_each_run_one_notice(vault, run_process, as_anyone, run_number):
    write(vault, a="# A\n\nA quokka.", b="# B\n\nA quokka.")
    (vault / "b.md").chmod(0)

    for _ in range(run_number):
        ended = run_process("--vault", str(vault), "--json", "quokka", *EVERYTHING, under=as_anyone)

    assert ids(ended) == ["a.md"]
    assert len([line for line in ended.notices if "b.md: Permission denied" in line]) == 1


def test_notes_of_a_folder_that_cannot_be_listed_are_found_as_they_were(vault, run_process, as_anyone):
    put(vault, "locked/a.md", "# A\n\nA quokka.")
    line = ("--vault", str(vault), "--json", "quokka", *EVERYTHING)
    run_process(*line)
    (vault / "locked").chmod(0)

    locked = run_process(*line, under=as_anyone)
    (vault / "locked").chmod(0o700)
    (vault / "locked/a.md").unlink()
    unlocked = run_process(*line, under=as_anyone)

    assert ids(locked) == ["locked/a.md"]
    assert len([line for line in locked.notices if "locked/: Permission denied" in line]) == 1
    assert ids(unlocked) == []


def test_a_pipe_among_the_notes_holds_nothing_up(vault, search):
    write(vault, a="# A\n\nA quokka.")
    os.mkfifo(vault / "b.md")

    assert ids(search("quokka")) == ["a.md"]


def test_names_that_are_no_text_are_printed_and_opened(vault, search):
    name = os.fsdecode(b"caf\xe9 \x1b[31m.md")
    put(vault, name, "# \x1b[2JTitle\n\nA quokka.")

    (result,) = search("quokka").json

    assert "\x1b" not in json.dumps(result, ensure_ascii=False)
    assert os.fsencode(name).decode("latin-1") == unquote(urlsplit(result["url"]).path, "latin-1").rpartition("/")[2]


# Exports


def export(path, **parts):
    """A zip as Notion's: parts inside it, each with pages."""
    with zipfile.ZipFile(path, "w") as outer:
        for name, pages in parts.items():
            inner = path.with_name(f"{name}.zip")
            with zipfile.ZipFile(inner, "w") as part:
                for place, text in pages.items():
                    part.writestr(place, text)
            outer.write(inner, inner.name)
            inner.unlink()
    return path


PAGES = {
    f"Roadmap {HEX}.md": "# Roadmap\n\nThe quokka release comes in May.",
    "Tasks fedcba9876543210fedcba9876543210.csv": "Name,Status\nShip quokka,Done\nWrite wombat docs,Open\n",
    "Tasks fedcba9876543210fedcba9876543210_all.csv": "Name,Status\nShip quokka,Done\nWrite wombat docs,Open\n",
    f"Tasks/Ship quokka {HEX[::-1]}.md": "# Ship quokka\n\nStatus: Done\nOwner: Kim\n\nOut of the door.",
}


def test_an_export_is_read_as_it_was_downloaded(outside, run, words_only):
    path = export(outside / "Export.zip", Part1=PAGES)

    found = run("--vault", str(path), "--json", "quokka", *EVERYTHING).json

    assert {page["title"] for page in found} == {"Roadmap", "Ship quokka"}
    roadmap = next(page for page in found if page["title"] == "Roadmap")
    assert (roadmap["id"], roadmap["url"]) == (DASHED, f"https://app.notion.com/p/{HEX}")
    shipped = next(page for page in found if page["title"] == "Ship quokka")
    assert shipped["properties"] == {"Status": "Done", "Owner": "Kim"}


def test_an_export_is_read_the_same_unpacked(outside, run, words_only, vault):
    for path, text in PAGES.items():
        put(vault, path, text)
    path = export(outside / "Export.zip", Part1=PAGES)

    unpacked = run("--vault", str(vault), "--json", "quokka", *EVERYTHING).json
    packed = run("--vault", str(path), "--json", "quokka", *EVERYTHING).json

    keys = ("id", "url", "title", "relevance", "excerpt", "properties")
    assert [[p[k] for k in keys] for p in packed] == [[p[k] for k in keys] for p in unpacked]


def test_rows_of_a_table_are_pages_once(outside, run, words_only):
    path = export(outside / "Export.zip", Part1=PAGES)

    (row,) = run("--vault", str(path), "--json", "wombat docs").json

    assert row["title"] == "Write wombat docs"
    assert row["properties"] == {"Status": "Open"}


def test_an_export_merges_with_the_page_in_notion(serve_notion, vault, run, words_only):
    serve_notion(load({"pages": [{"id": page_id(1), "title": "Roadmap", "blocks": ["Live text."]}]}))
    put(vault, f"Roadmap {page_id(1).replace('-', '')}.md", "# Roadmap\n\nThe quokka release comes in May.")

    found = run("--vault", str(vault), "--local", "--json", "roadmap quokka").json

    assert [(page["source"], page["id"]) for page in found] == [("notion", page_id(1))]
    assert "quokka release" in found[0]["excerpt"]


def test_a_changed_archive_is_read_anew(outside, run, words_only):
    path = export(outside / "Export.zip", Part1={"a.md": "A quokka."})
    assert len(run("--vault", str(path), "--json", "quokka").json) == 1
    export(path, Part1={"a.md": "A wombat, this time."})

    assert run("--vault", str(path), "--json", "quokka").json == []
    assert len(run("--vault", str(path), "--json", "wombat").json) == 1


def test_a_spoilt_file_of_an_archive_costs_one_notice_once(outside, run, words_only):
    path = outside / "Export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.md", "A quokka.")
        archive.writestr("b.md", "A wombat.")
    path.write_bytes(path.read_bytes().replace(b"A wombat.", b"A spoilt."))

    first, second = (run("--vault", str(path), "--json", "quokka", *EVERYTHING) for _ in range(2))

    assert ids(first) == ids(second) == ["a.md"]
    assert len([line for line in first.notices if "b.md" in line]) == 1
    assert second.notices == [line for line in first.notices if "b.md" not in line]


def test_a_file_that_is_no_archive_ends_the_run(outside, run):
    (outside / "bad.zip").write_bytes(b"no zip at all")

    ended = run("--vault", str(outside / "bad.zip"), "--json", "plan")

    assert (ended.code, ended.out) == (4, "")
    assert "bad.zip is not a zip archive" in ended.err


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=400), name=st.sampled_from(["a.md", "b.csv", "c.markdown"]))
def test_whatever_the_bytes_of_a_note_no_error_reaches_the_user(vault, search, data, name):
    put(vault, name, data)
    write(vault, real="# Real\n\nA quokka.")

    ended = search("quokka", "--no-cache")

    assert ended.code == 0
    assert "real.md" in ids(ended)


WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Z"]), max_size=60)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(paragraphs=st.lists(WORDS, min_size=1, max_size=30), place=st.integers(0, 29))
def test_every_passage_is_found_by_its_own_rare_word(vault, search, paragraphs, place):
    paragraphs.insert(min(place, len(paragraphs)), "Here the zyzzyva stands.")
    body = "\n\n".join(paragraph.replace("\n", " ").replace("`", "").replace("%", "") for paragraph in paragraphs)
    write(vault, a=f"# A\n\n{body}", b="# B\n\nNothing.")

    (found,) = search("zyzzyva", "--no-cache").json

    assert found["id"] == "a.md"
    assert "zyzzyva" in found["excerpt"]


# Several places


def test_several_vaults_stand_in_one_ranking(outside, run, words_only):
    for name in ("one", "two"):
        put(outside / name, "plan.md", f"# Plan\n\nA quokka in {name}.")

    found = run("--vault", str(outside / "one"), "--vault", str(outside / "two"), "--json", "quokka").json

    assert sorted(page["id"] for page in found) == ["one/plan.md", "two/plan.md"]


def test_the_environment_names_vaults_for_every_run(outside, run, words_only, monkeypatch):
    for name in ("one", "two"):
        put(outside / name, f"{name}.md", "# Plan\n\nA quokka.")
    monkeypatch.setenv("NOTION_SEARCH_VAULT", os.pathsep.join(str(outside / name) for name in ("one", "two")))

    assert len(run("--json", "quokka").json) == 2


def test_with_a_token_notes_are_one_more_place(notion, vault, run, words_only):
    write(vault, a="# Agents at home\n\nAgents.")

    found = run("--vault", str(vault), "--local", "--json", "agents").json

    assert {page["source"] for page in found} == {"notion", "vault"}
    assert notion.searches
    assert all(page["confidence"] is None for page in found)


def test_notes_alone_are_searched_with_a_token_too_where_that_is_said(notion, vault, run, words_only):
    write(vault, a="# Agents at home\n\nAgents.")

    assert len(run("--vault", str(vault), "--sources", "vault", "--json", "agents").json) == 1
    assert notion.requests == []


def test_claude_judges_notes_like_any_page(vault, run, claude, words_only):
    write(vault, a="# Agents\n\nHow agents share a task.", b="# Other agents\n\nMore.")
    claude.says("expand", '["agents", "에이전트"]')
    claude.always("rerank", by_title("Other agents", "Agents"))

    ended = run("--vault", str(vault), "--json", "agents")

    assert ended.titles == ["Other agents", "Agents"]
    assert ended.json[0]["relevance"] == 0.95
    assert ended.json[0]["confidence"] is None
    assert "ranked by" not in ended.err
    assert "How agents share a task" in claude.prompts("rerank")[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--vault", "nowhere"), "--vault: 'nowhere' is no folder and no zip archive"),
        (("--sources", "vault"), "say where the notes are"),
        (("--status",), "--status: name a vault too"),
        (("--min-relevance", "2"), "expected a number from 0 to 1"),
        (("--vault", ".", "--databases", DATABASE_ID), "searches Notion alone: leave out --vault"),
        (("--vault", ".", "--demo"), "leave out --vault"),
        (("--vault", ".", "--sources", "notion", "--filter", '{"a": "b"}'), "name the database too"),
    ],
)
def test_what_cannot_be_is_an_error(run, arguments, said):
    ended = run(*arguments, "plan")

    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_vault_of_the_environment_that_is_not_there_is_named(run, monkeypatch):
    monkeypatch.setenv("NOTION_SEARCH_VAULT", "/nowhere/at/all")

    ended = run("plan")

    assert ended.code == 3
    assert "NOTION_SEARCH_VAULT: '/nowhere/at/all' is no folder" in ended.err


def test_the_status_says_what_the_index_holds(vault, run, words_only):
    write(vault, a="# A\n\nA quokka.")
    line = ("--vault", str(vault), "--status")
    before = run(*line)
    run("--vault", str(vault), "quokka")

    after = run(*line, "--json").json

    assert "updated    never" in before.out
    (state,) = after
    assert state["vault"] == str(vault)
    assert (state["notes"], state["passages"], state["vectors"], state["embedder"]) == (1, 2, 0, None)
    assert state["updated"] and state["size"] > 0

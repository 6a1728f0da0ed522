"""What people and programs see: inert text, aligned columns, whole links, strict JSON."""

import json
import re

import pytest

from notion_search.render import render_json, render_table, wrap
from notion_search.types import Result
from notion_search.words import display_width

from .builders import make_candidate

HOSTILE = [
    pytest.param("[Draft] Q3 [/archive] plan", id="closing markup"),
    pytest.param("[red]alert[/red]", id="colour markup"),
    pytest.param("Release :rocket: notes", id="emoji code"),
    pytest.param("00:ab:12", id="colons"),
    pytest.param("[link=https://evil.example]click[/link]", id="link markup"),
    pytest.param(r"\[a] [x[y]]", id="backslashes"),
]
SEQUENCES = [
    pytest.param("a\x1b]0;owned\x07b", id="window title"),
    pytest.param("a\x1b[2Jb", id="clear screen"),
    pytest.param("a\x9b31mb", id="C1 introducer"),
    pytest.param("a\x1b]52;c;QUJD\x07", id="clipboard"),
    pytest.param("x\ry", id="carriage return"),
    pytest.param("tab\there", id="tab"),
    pytest.param("back\x08space", id="backspace"),
    pytest.param("a\u202egnp.b", id="right-to-left override"),
    pytest.param("a\u2066b\u2069c", id="isolates"),
    pytest.param("a\u200b\u2060b", id="invisible"),
    pytest.param("a\u2028b\u2029c", id="separators"),
]
ACTING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069]")


def make_result(number: int = 1, relevance: float | None = 0.9, snippet: str | None = "fits", **changes) -> Result:
    return Result(candidate=make_candidate(number, **changes), relevance=relevance, snippet=snippet)


def without_links(painted: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", painted)


@pytest.mark.parametrize("color", [False, True], ids=["plain", "colour"])
@pytest.mark.parametrize("text", HOSTILE)
def test_page_text_is_shown_letter_for_letter(text, color):
    result = make_result(title=text, snippet=text, properties={"Note": text})

    shown = without_links(render_table([result], width=120, color=color))

    assert shown.count(text) == 3


@pytest.mark.parametrize("color", [False, True], ids=["plain", "colour"])
@pytest.mark.parametrize("text", SEQUENCES)
def test_no_sequence_of_a_page_reaches_the_terminal(text, color):
    results = [
        make_result(title=text, snippet=text, properties={text: text}),
        make_result(2, snippet=None, excerpt=text),
    ]

    assert not ACTING.search(without_links(render_table(results, width=100, color=color)))


@pytest.mark.parametrize("text", SEQUENCES)
def test_json_keeps_page_text_escaped(text):
    result = make_result(title=text, snippet=text, properties={text: text})

    written = render_json([result])

    assert not ACTING.search(written.replace("\n", "").replace("\u200b", "").replace("\u2060", ""))
    assert json.loads(written)[0]["title"] == text


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_every_line_fits_but_the_links_which_stand_whole(width):
    results = [
        make_result(
            title="신규 온보딩 체크리스트 " * 9, snippet="온보딩을 다룬다 " * 12, properties={"상태": "진행 중"}
        ),
        make_result(2, title="x" * 300, snippet="w" * 150, url="https://app.notion.com/p/" + "a" * 180),
    ]

    lines = render_table(results, width=width, color=False).splitlines()

    links = [line for line in lines if "https://" in line]
    assert [link.strip() for link in links] == [result.candidate.url for result in results]
    assert all(display_width(line) <= width for line in lines if line not in links)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_columns_line_up_whatever_the_script(width):
    titles = [
        "에이전트 설계",
        "Agent design",
        "設計 🚀 plan",
        "e\u0301te\u0301",
        "👨‍👩‍👧 가족 page",
        "x" * 200,
        "긴" * 99,
    ]
    results = [make_result(number, title=title) for number, title in enumerate(titles, 1)]

    rows = [line for line in render_table(results, width=width, color=False).splitlines() if re.match(r" ?[#\d]", line)]

    columns = {display_width(line[: line.rindex("0.90" if "0.90" in line else "vance")]) for line in rows[1:]}
    assert len(rows) == len(titles) + 1
    assert len(columns) == 1
    assert {display_width(line) for line in rows[1:]} == {width}


def test_a_narrow_table_keeps_the_date_among_the_details():
    shown = render_table([make_result(properties={"Status": "Done"})], width=40, color=False)

    assert "Status: Done · 2026-11-03" in shown


def test_at_most_four_properties_are_shown_status_topic_and_type_first():
    properties = {
        "A": "1",
        "B": "2",
        "Type": "Doc",
        "C": True,
        "Topic": ("AI", "MCP"),
        "Status": "Done",
        "Long": "x" * 99,
    }

    shown = render_table([make_result(properties=properties)], width=120, color=False)

    assert "Status: Done · Topic: AI, MCP · Type: Doc · A: 1\n" in shown


def test_words_of_the_page_stand_in_quotes_words_of_the_judge_bare():
    shown = render_table(
        [make_result(snippet="why"), make_result(2, None, None, excerpt="text")], width=80, color=False
    )

    assert "\n    why\n" in shown
    assert "\n    “text”\n" in shown
    assert re.search(r"Page 2 +- +2026", shown)


def test_without_any_judgement_there_is_no_column_for_it():
    assert "Relevance" not in render_table([make_result(1, None, None)], width=80, color=False)


def test_colour_adds_sequences_and_changes_no_letter():
    pytest.importorskip("rich")
    results = [make_result(1, properties={"Status": "Done"}), make_result(2, None, None, excerpt="“x”")]

    painted = render_table(results, width=100, color=True)

    assert "\x1b[" in painted
    assert "\x1b]8;id=" in painted or "\x1b]8;;" in painted
    plain = render_table(results, width=100, color=False)
    assert [line.rstrip() for line in without_links(painted).splitlines()] == plain.splitlines()


def test_json_without_unicode_is_the_same_data():
    results = [make_result(title="에이전트 🚀")]

    written = render_json(results, ascii_only=True)

    assert written.isascii()
    assert json.loads(written) == json.loads(render_json(results))


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        pytest.param("", 10, [], id="nothing"),
        pytest.param("one two three", 7, ["one two", "three"], id="at blanks"),
        pytest.param("가나다라마", 4, ["가나", "다라", "마"], id="inside a long word"),
        pytest.param("a " + "b" * 5, 3, ["a", "bbb", "bb"], id="after a short one"),
    ],
)
def test_wrap_breaks_where_it_must(text, width, lines):
    assert list(wrap(text, width)) == lines


COLOR_RUNS = [
    pytest.param({}, (), False, id="a pipe has none"),
    pytest.param({"FORCE_COLOR": "1"}, (), True, id="FORCE_COLOR"),
    pytest.param({"TERM": "dumb", "FORCE_COLOR": "1"}, (), True, id="FORCE_COLOR over a dumb terminal"),
    pytest.param({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), False, id="NO_COLOR over FORCE_COLOR"),
    pytest.param({"NO_COLOR": "1"}, ("--color", "always"), True, id="the option over NO_COLOR"),
    pytest.param({"FORCE_COLOR": "1"}, ("--color", "never"), False, id="the option over FORCE_COLOR"),
]


@pytest.mark.parametrize(("environment", "options", "colored"), COLOR_RUNS)
def test_colour_follows_the_option_then_the_environment(run, monkeypatch, environment, options, colored):
    pytest.importorskip("rich")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    out = run("--demo", "--no-expand", "--no-rerank", "AI agents", *options).out

    assert ("\x1b[" in out) == colored

"""Notion's property objects as plain values."""

import json
import math
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.sources.properties import plain_properties, rich_text, title_of

PERSON = "7f000000-0000-8000-8000-000000000001"
PAGE = "2b0f7c11-4a10-8001-9000-00000000a0f1"

C01 = {
    "object": "page",
    "id": "2b0f7c11-4a10-8001-9000-00000000a001",
    "properties": {
        "Name": {"id": "ab", "type": "rich_text", "rich_text": [{"type": "text", "plain_text": "decoy one"}]},
        "title": {"id": "cd", "type": "select", "select": {"id": "1", "name": "decoy two", "color": "red"}},
        "주제": {
            "id": "title",
            "type": "title",
            "title": [
                {"type": "text", "text": {"content": "출시 "}, "plain_text": "출시 "},
                {"type": "text", "text": {"content": "계획 "}, "annotations": {"bold": True}, "plain_text": "계획 "},
                {
                    "type": "mention",
                    "mention": {"type": "date", "date": {"start": "2026-10-01", "end": None}},
                    "plain_text": "2026-10-01",
                },
                {"type": "equation", "equation": {"expression": "x^2"}, "plain_text": " x^2"},
                {"type": "text", "text": {"content": " 🚀"}},
            ],
        },
    },
}

C03 = json.loads("""
{"Status":{"type":"status","status":null},
 "Stage":{"type":"status","status":{"id":"1","name":"진행 중","color":"blue"}},
 "Est":{"type":"number","number":0}, "Done":{"type":"checkbox","checkbox":false},
 "Code":{"type":"unique_id","unique_id":{"prefix":null,"number":3}},
 "Task":{"type":"unique_id","unique_id":{"prefix":"TASK","number":42}},
 "F1":{"type":"formula","formula":{"type":"string","string":null}},
 "F2":{"type":"formula","formula":{"type":"boolean","boolean":false}},
 "F3":{"type":"formula","formula":{"type":"date","date":
  {"start":"2026-04-28T09:00:00.000+09:00","end":null,"time_zone":null}}},
 "R1":{"type":"rollup","rollup":{"type":"number","number":null,"function":"max"}},
 "R2":{"type":"rollup","rollup":{"type":"array","array":[
  {"type":"title","title":[{"plain_text":"Item 1"}]},{"type":"number","number":42},{"type":"date","date":null},
  {"type":"people","people":[]}],"function":"show_original"}},
 "When":{"type":"date","date":{"start":"2026-04-28","end":"2026-04-30","time_zone":null}},
 "Who":{"type":"people","people":[{"object":"user","id":"7f000000-0000-8000-8000-000000000001"},
  {"object":"user","id":"7f000000-0000-8000-8000-000000000002","name":"Kim Example","type":"person","person":{}}]},
 "By":{"type":"created_by","created_by":{"object":"user","id":"7f000000-0000-8000-8000-000000000003"}},
 "Where":{"type":"place","place":{"lat":37.5,"lon":127.0,"name":null,"address":"Seoul"}},
 "Go":{"type":"button","button":{}},
 "Verif":{"type":"verification","verification":{"state":"unverified","verified_by":null,"date":null}},
 "Files":{"type":"files","files":[{"name":"plan.pdf","type":"file","file":{"url":"https://example.com/x?sig=1"}}]},
 "Rel":{"type":"relation","relation":[{"id":"2b0f7c11-4a10-8001-9000-00000000a0f1"}],"has_more":true},
 "New":{"type":"hologram","hologram":{"x":1}},
 "T":{"type":"title","title":[{"plain_text":"Row"}]}}
""")


def text(content):
    return [{"type": "text", "text": {"content": content}, "plain_text": content}]


def titled(pieces):
    return {"properties": {"Name": {"id": "title", "type": "title", "title": pieces}}}


def value_of(kind, value, **more):
    """Return the one property as it is rendered, None when it is left out."""
    return plain_properties({"properties": {"P": {"id": "x", "type": kind, kind: value, **more}}}).get("P")


def test_the_title_is_found_by_its_type_and_joined_from_all_its_pieces():
    assert title_of(C01) == "출시 계획 2026-10-01 x^2 🚀"


def test_the_title_is_not_repeated_among_the_properties():
    assert plain_properties(C01) == {"Name": "decoy one", "title": "decoy two"}


@pytest.mark.parametrize(
    ("pieces", "title"),
    [
        pytest.param([], "Untitled", id="no piece"),
        pytest.param(text("   "), "Untitled", id="blanks"),
        pytest.param(text("\u200b\ufeff"), "Untitled", id="invisible characters"),
        pytest.param(text("\u202egnp.tropper"), "\u202egnp.tropper", id="direction is the renderer's care"),
        pytest.param(text("가" * 2000), "가" * 2000, id="2,000 characters stay whole"),
        pytest.param(text("  two  words "), "two  words", id="outer blanks go"),
        pytest.param(text("[Draft] Q3 [/archive] plan"), "[Draft] Q3 [/archive] plan", id="square brackets"),
        pytest.param(text(normalize("NFD", "학점")), "학점", id="decomposed Hangul is composed"),
        pytest.param(text("half \ud83d"), "half \ufffd", id="half a character"),
        pytest.param([{"type": "equation", "equation": {"expression": "E=mc^2"}}], "E=mc^2", id="a bare equation"),
        pytest.param([{"plain_text": "", "text": {"content": "kept"}}], "kept", id="an empty plain_text"),
        pytest.param([None, 3, {"plain_text": None}, {"text": None}, {"plain_text": "x"}], "x", id="broken pieces"),
        pytest.param({}, "Untitled", id="a schema's title"),
        pytest.param(None, "Untitled", id="null"),
        pytest.param("text", "Untitled", id="a string"),
    ],
)
def test_a_title_is_never_blank(pieces, title):
    assert title_of(titled(pieces)) == title


@pytest.mark.parametrize(
    "page",
    [
        {},
        {"object": "page", "id": PAGE},
        {"properties": None},
        {"properties": []},
        {
            "properties": {
                "A": None,
                "B": "title",
                "C": {"type": None},
                "D": {"type": ["title"]},
                "E": {"type": "title"},
            }
        },
    ],
    ids=["empty", "partial", "null", "list", "broken properties"],
)
def test_a_page_without_usable_properties_is_untitled_and_has_none(page):
    assert title_of(page) == "Untitled"
    assert plain_properties(page) == {}


def test_every_kind_of_property_reads_as_its_user_would_say_it():
    assert plain_properties({"properties": C03}) == {
        "Stage": "진행 중",
        "Est": 0,
        "Done": False,
        "Code": "3",
        "Task": "TASK-42",
        "F2": False,
        "F3": "2026-04-28T09:00:00.000+09:00",
        "R2": ("Item 1", 42),
        "When": "2026-04-28/2026-04-30",
        "Who": (PERSON, "Kim Example"),
        "By": "7f000000-0000-8000-8000-000000000003",
        "Where": "Seoul",
        "Verif": "unverified",
        "Files": ("plan.pdf",),
        "Rel": (PAGE, "…"),
    }
    assert title_of({"properties": C03}) == "Row"


def test_zero_and_false_stay_themselves():
    plain = plain_properties({"properties": C03})

    assert type(plain["Est"]) is int
    assert plain["Done"] is False
    assert plain["F2"] is False


def test_properties_keep_the_order_of_the_page():
    plain = plain_properties({"properties": dict(reversed(C03.items()))})

    assert list(plain)[:3] == ["Rel", "Files", "Verif"]


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        ("rich_text", text("온보딩 [초안]"), "온보딩 [초안]"),
        ("rich_text", [*text("two "), *text("pieces")], "two pieces"),
        ("rich_text", text(" line one\nline two "), "line one\nline two"),
        ("url", "https://example.com/a", "https://example.com/a"),
        ("email", "kim@example.com", "kim@example.com"),
        ("phone_number", "+82 2 000 0000", "+82 2 000 0000"),
        ("number", 3.5, 3.5),
        ("number", -1, -1),
        ("checkbox", True, True),
        ("select", {"id": "1", "name": "높음"}, "높음"),
        ("multi_select", [{"name": "AI"}, {"name": "한국어"}], ("AI", "한국어")),
        ("multi_select", [{"name": "AI"}, {"name": " "}, None, {}], ("AI",)),
        ("date", {"start": "2026-04-28", "end": None}, "2026-04-28"),
        ("date", {"start": "2026-04-28T09:00:00.000+09:00"}, "2026-04-28T09:00:00.000+09:00"),
        ("people", [{"object": "group", "id": PERSON, "name": "Team"}], ("Team",)),
        ("people", [{"id": PERSON, "name": "\u200b"}], (PERSON,)),
        ("files", [{"name": "a b.png"}, {"name": None}, {"external": {"url": "https://example.com/x"}}], ("a b.png",)),
        ("files", [{"name": "https://example.com/d/plan.pdf?sig=1#p", "type": "external"}], ("plan.pdf",)),
        ("relation", [{"id": PAGE.replace("-", "").upper()}], (PAGE,)),
        ("created_time", "2026-06-27T17:01:00.000Z", "2026-06-27T17:01:00.000Z"),
        ("last_edited_time", "2026-06-27T17:01:00.000Z", "2026-06-27T17:01:00.000Z"),
        ("created_by", {"id": PERSON, "name": "Kim Example"}, "Kim Example"),
        ("last_edited_by", {"id": PERSON}, PERSON),
        ("unique_id", {"prefix": "", "number": 0}, "0"),
        ("verification", {"state": "verified"}, "verified"),
        ("place", {"lat": 37.5, "lon": 127.0, "name": "City Hall", "address": "Seoul"}, "City Hall"),
        ("place", {"lat": 37.5, "lon": 127.0, "name": None, "address": None}, "37.5, 127.0"),
        ("place", {"lat": 0, "lon": 0}, "0, 0"),
        ("formula", {"type": "string", "string": "✅"}, "✅"),
        ("formula", {"type": "number", "number": 0}, 0),
        ("formula", {"type": "boolean", "boolean": True}, True),
        ("formula", {"type": "date", "date": {"start": "2026-01-01", "end": "2026-01-02"}}, "2026-01-01/2026-01-02"),
        ("rollup", {"type": "number", "number": 7, "function": "sum"}, 7),
        ("rollup", {"type": "date", "date": {"start": "1981-11-23"}, "function": "earliest_date"}, "1981-11-23"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_set_property_becomes_plain(kind, value, plain):
    rendered = value_of(kind, value)

    assert rendered == plain
    assert type(rendered) is type(plain)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("rich_text", []),
        ("rich_text", text(" \u200b")),
        ("url", None),
        ("url", ""),
        ("email", {}),
        ("number", None),
        ("number", math.nan),
        ("number", -math.inf),
        ("number", True),
        ("number", "7"),
        ("checkbox", None),
        ("checkbox", 0),
        ("select", None),
        ("select", {"id": "1"}),
        ("select", {"name": None}),
        ("status", []),
        ("multi_select", []),
        ("multi_select", {}),
        ("multi_select", [{"name": ""}]),
        ("date", None),
        ("date", {"start": None, "end": None}),
        ("date", {"start": None, "end": "2026-01-01"}),
        ("date", "2026-01-01"),
        ("people", []),
        ("people", [{}, None]),
        ("files", []),
        ("files", [{"name": "  "}]),
        ("relation", []),
        ("relation", [{"id": None}, {}]),
        ("created_by", None),
        ("created_time", 0),
        ("unique_id", None),
        ("unique_id", {"prefix": "TASK", "number": None}),
        ("unique_id", {"prefix": "TASK", "number": True}),
        ("verification", None),
        ("verification", {"state": None}),
        ("place", None),
        ("place", {"lat": 37.5, "lon": None}),
        ("place", {"lat": math.nan, "lon": 1.0}),
        ("formula", None),
        ("formula", {"type": "unsupported"}),
        ("formula", {"type": "number", "number": math.inf}),
        ("formula", {"type": {"a": 1}}),
        ("rollup", {"type": "array", "array": []}),
        ("rollup", {"type": "array", "array": None}),
        ("rollup", {"type": "unsupported", "unsupported": {}}),
        ("rollup", {"type": "incomplete", "incomplete": {}}),
        ("button", {}),
        ("unsupported", {"x": 1}),
        ("hologram", "text"),
    ],
)
def test_an_unset_or_misshapen_property_is_left_out(kind, value):
    assert value_of(kind, value) is None


def test_a_relation_cut_by_notion_does_not_claim_to_be_complete():
    assert value_of("relation", [{"id": PAGE}], has_more=True) == (PAGE, "…")
    assert value_of("relation", [{"id": PAGE}], has_more=False) == (PAGE,)


def test_a_rollup_is_one_flat_list_in_order_without_what_is_empty():
    inner = {"type": "array", "array": [{"type": "multi_select", "multi_select": [{"name": "b"}, {"name": "c"}]}]}
    array = [
        {"type": "rich_text", "rich_text": text("a")},
        {"type": "rollup", "rollup": inner},
        {"type": "formula", "formula": {"type": "string", "string": None}},
        {"type": "checkbox", "checkbox": False},
        {"type": "relation", "relation": [{"id": PAGE}]},
        {"type": "hologram", "hologram": 1},
        {"type": "number", "number": 0},
        None,
        {"type": "rollup", "rollup": {"type": "number", "number": 5}},
    ]

    assert value_of("rollup", {"type": "array", "array": array}) == ("a", "b", "c", False, PAGE, 0, 5)


def test_rollups_of_rollups_may_nest_as_deep_as_they_like():
    prop = {"type": "number", "number": 1}
    for _ in range(5000):
        prop = {"type": "rollup", "rollup": {"type": "array", "array": [prop]}}

    assert plain_properties({"properties": {"Deep": prop}}) == {"Deep": (1,)}


@pytest.mark.parametrize(
    ("pieces", "joined"),
    [
        (text("온보딩"), "온보딩"),
        ([{"plain_text": "a"}, {"text": {"content": " b"}}, {"equation": {"expression": " c"}}], "a b c"),
        ([], ""),
        (None, ""),
        ("Old", ""),
        ({}, ""),
        ([[], None, {"plain_text": 3}], ""),
    ],
)
def test_rich_text_joins_its_pieces_as_they_stand(pieces, joined):
    assert rich_text(pieces) == joined


KINDS = """title rich_text number select status multi_select date people files checkbox url email phone_number relation
rollup formula created_time last_edited_time created_by last_edited_by unique_id verification button place
string boolean array hologram""".split()

scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=4) | st.sampled_from(KINDS)
keys = st.sampled_from([*KINDS, "type", "name", "id", "start", "end", "plain_text", "state", "lat", "lon", "prefix"])


def containers(inner):
    return st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5)


anything = st.recursive(scalars, containers, max_leaves=20)


@st.composite
def pages(draw):
    named = st.sampled_from(KINDS).flatmap(
        lambda kind: st.fixed_dictionaries({"type": st.just(kind), kind: anything}, optional={"has_more": anything})
    )
    return {"properties": draw(st.dictionaries(st.text(max_size=3), named | anything, max_size=4))}


@given(pages() | st.dictionaries(keys, anything))
def test_whatever_json_arrives_becomes_plain_values_or_nothing(page):
    plain = plain_properties(page)

    assert title_of(page).strip()
    json.dumps(plain, allow_nan=False, ensure_ascii=False).encode()
    for value in plain.values():
        parts = value if isinstance(value, tuple) else (value,)
        assert parts
        assert all(isinstance(part, str | int | float) and part != "" for part in parts)

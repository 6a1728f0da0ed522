"""`--filter` and the query's words as one filter of Notion's own."""

import json
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.errors import UsageError
from notion_search.sources.filters import compile_filter, is_native, join, parse_filter, text_filter
from notion_search.words import inert

PAGE = "2b0f7c11-4a10-8001-9000-00000000a001"
USER = "7f000000-0000-8000-8000-000000000001"


def options(*names):
    return {"options": [{"id": str(number), "name": name} for number, name in enumerate(names)]}


def schema(**kinds):
    """Return the schema of a database with these properties; a pair adds what the kind holds."""
    pairs = {name: kind if isinstance(kind, tuple) else (kind, {}) for name, kind in kinds.items()}
    return {
        name: {"id": f"id%3A{name}", "name": name, "type": kind, kind: held} for name, (kind, held) in pairs.items()
    }


TASKS = schema(
    Name="title",
    Status=("status", options("Not started", "In progress", "Done")),
    Topic=("multi_select", options("AI", "한국어", "Ops")),
    Level=("select", options("높음", "낮음")),
    Done="checkbox",
    Est="number",
    Notes="rich_text",
    Link="url",
    Mail="email",
    Phone="phone_number",
    Task=("unique_id", {"prefix": "TASK"}),
    Code=("unique_id", {"prefix": None}),
    When="date",
    Made="created_time",
    Edited="last_edited_time",
    Who="people",
    By="created_by",
    Editor="last_edited_by",
    Rel="relation",
    Files="files",
    Sum="formula",
    Roll="rollup",
    Verif="verification",
    Go="button",
    Where="place",
    New="hologram",
)


def compiled(shorthand):
    return compile_filter(shorthand, TASKS, "Tasks")


def refusal(call, *arguments):
    """Return what the user is told when the call is refused."""
    with pytest.raises(UsageError) as caught:
        call(*arguments)
    message = str(caught.value)
    assert message.startswith("--filter: ")
    assert inert(message) == message
    return message


def test_an_empty_filter_is_none():
    assert parse_filter("{}") is None
    assert parse_filter(" { } ") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[1]", "expected a JSON object, got a list", id="C07 f: a list"),
        pytest.param("{Status:Done}", "not JSON", id="C07 g: no quotes"),
        pytest.param("", "not JSON", id="nothing"),
        pytest.param('"Done"', "expected a JSON object, got a string", id="a string"),
        pytest.param("null", "expected a JSON object, got null", id="null"),
        pytest.param("true", "expected a JSON object, got true or false", id="a truth"),
        pytest.param("7", "expected a JSON object, got a number", id="a number"),
        pytest.param('{"Status":"Done"} x', "not JSON", id="something behind it"),
        pytest.param('{"A":1,"A":2}', '"A" is given twice', id="a key twice"),
        pytest.param('{"and":[{"property":"A","number":{"equals":1,"equals":2}}]}', '"equals" is given', id="deeper"),
        pytest.param('{"Est":NaN}', "NaN is no JSON number", id="NaN"),
        pytest.param('{"Est":-Infinity}', "-Infinity is no JSON number", id="infinity"),
        pytest.param('{"Est":1e999}', "1e999 is no JSON number", id="a number beyond floats"),
        pytest.param('{"Est":' + "9" * 5000 + "}", "too large", id="five thousand digits"),
        pytest.param('{"A":"\\ud83d"}', "half of a character", id="half a character"),
        pytest.param('{"A":"\udcff"}', "half of a character", id="a stray byte of the command line"),
        pytest.param('{"A":' + "[" * 100_000, "nested too deep", id="absurd depth"),
        pytest.param('{"A":' * 100_000, "nested too deep", id="absurd depth of objects"),
        pytest.param('{"A":[]}', '"A": the list is empty', id="an empty list"),
        pytest.param('{"A":[null]}', "a list of values", id="null in a list"),
        pytest.param('{"A":[[1]]}', "a list of values", id="a list in a list"),
        pytest.param('{"Status":{"equals":"Done"}}', "Notion's own form", id="half native"),
        pytest.param(json.dumps({"A": ["x"] * 100}), "at most 99 values, got 100", id="too many values"),
        pytest.param(json.dumps({"and": [{"A": 1}] * 100}), 'at most 99 conditions in "and"', id="too many conditions"),
        pytest.param('{"and":[{"property":"A","number":{}}],"or":[]}', '"and" stands alone', id="and beside or"),
        pytest.param('{"or":[{"Status":"Done"}]}', 'names one "property"', id="shorthand inside native"),
        pytest.param('{"or":[{"and":"x"}]}', '"and" takes a list', id="a compound without a list"),
        pytest.param('{"property":"A","number":{"equals":1},"Topic":"AI"}', '"A" takes one test', id="native and more"),
        pytest.param(
            '{"timestamp":"due","due":{"equals":"2026-01-01"}}', '"timestamp" is created_time', id="timestamp"
        ),
        pytest.param(
            '{"property":"A","timestamp":"created_time","date":{}}', 'one "property", or one', id="two subjects"
        ),
    ],
)
def test_what_no_database_could_answer_is_refused_before_any_request(text, message):
    assert message in refusal(parse_filter, text)


def test_control_characters_of_a_filter_do_not_reach_the_message():
    assert "\x1b" not in refusal(parse_filter, "{\x1b]0;x\x07")


LEAF = {"property": "A", "number": {"equals": 1}}


@pytest.mark.parametrize(
    ("value", "levels"),
    [
        ({"and": [LEAF]}, 1),
        ({"and": [{"or": [LEAF]}]}, 2),
        ({"or": [{"or": [LEAF]}, LEAF, {"and": [LEAF, LEAF]}]}, 2),
        ({"and": [{"or": [{"and": [LEAF]}]}]}, 3),
        ({"or": [LEAF, {"or": [{"or": []}]}]}, 3),
    ],
)
def test_notion_takes_two_levels(value, levels):
    if levels <= 2:
        assert parse_filter(json.dumps(value)) == value
    else:
        assert "two levels" in refusal(parse_filter, json.dumps(value))


@pytest.mark.parametrize(
    ("value", "native"),
    [
        pytest.param({"Status": "Done", "Topic": "AI"}, False, id="two columns"),
        pytest.param({"property": "Status", "status": {"equals": "Done"}}, True, id="a condition"),
        pytest.param(
            {"property": "Status", "type": "status", "status": {"equals": "x"}}, True, id="its type beside it"
        ),
        pytest.param({"timestamp": "created_time", "created_time": {"this_week": {}}}, True, id="a timestamp"),
        pytest.param({"and": [LEAF]}, True, id="and"),
        pytest.param({"or": []}, True, id="an empty or"),
        pytest.param({"and": "x"}, False, id="a column called and"),
        pytest.param({"or": ["x", "y"]}, False, id="a column called or, two options"),
        pytest.param({"property": "Flat"}, False, id="a column called property"),
        pytest.param({"property": "Flat", "Status": "Done"}, False, id="a column called property, and another"),
        pytest.param({"timestamp": "2026-01-01"}, False, id="a column called timestamp"),
        pytest.param({}, False, id="nothing"),
    ],
)
def test_the_shape_tells_notions_own_form_from_the_short_one(value, native):
    assert is_native(value) is native


def test_columns_may_be_called_as_notions_own_words():
    odd = {"and": {"type": "select", "select": options("x")}, "property": {"type": "rich_text", "rich_text": {}}}

    assert compile_filter({"and": "x", "property": "y"}, odd, "Odd") == {
        "and": [
            {"property": "and", "select": {"equals": "x"}},
            {"property": "property", "rich_text": {"equals": "y"}},
        ]
    }


@pytest.mark.parametrize(
    ("name", "value", "test"),
    [
        ("Name", "온보딩", {"title": {"equals": "온보딩"}}),
        ("Notes", "x", {"rich_text": {"equals": "x"}}),
        ("Link", "https://example.com", {"url": {"equals": "https://example.com"}}),
        ("Mail", "kim@example.com", {"email": {"equals": "kim@example.com"}}),
        ("Phone", "+82", {"phone_number": {"equals": "+82"}}),
        ("Status", "Done", {"status": {"equals": "Done"}}),
        ("Level", "높음", {"select": {"equals": "높음"}}),
        ("Topic", "AI", {"multi_select": {"contains": "AI"}}),
        ("Done", False, {"checkbox": {"equals": False}}),
        ("Est", 0, {"number": {"equals": 0}}),
        ("Est", 2.5, {"number": {"equals": 2.5}}),
        ("Task", 42, {"unique_id": {"equals": 42}}),
        ("Task", "TASK-42", {"unique_id": {"equals": 42}}),
        ("Task", "task-42", {"unique_id": {"equals": 42}}),
        ("Code", "3", {"unique_id": {"equals": 3}}),
        ("When", "2026-04-28", {"date": {"equals": "2026-04-28"}}),
        ("When", "2026-04-28T09:00:00.000+09:00", {"date": {"equals": "2026-04-28T09:00:00.000+09:00"}}),
        ("When", "tomorrow", {"date": {"equals": "tomorrow"}}),
        ("When", "this_week", {"date": {"this_week": {}}}),
        ("Made", "past_month", {"created_time": {"past_month": {}}}),
        ("Edited", "today", {"last_edited_time": {"equals": "today"}}),
        ("Who", "me", {"people": {"contains": "me"}}),
        ("Who", USER.replace("-", ""), {"people": {"contains": USER}}),
        ("By", USER, {"created_by": {"contains": USER}}),
        ("Editor", "me", {"last_edited_by": {"contains": "me"}}),
        ("Rel", PAGE, {"relation": {"contains": PAGE}}),
        ("Rel", f"https://app.notion.com/p/Plan-{PAGE.replace('-', '')}", {"relation": {"contains": PAGE}}),
        ("Files", True, {"files": {"is_not_empty": True}}),
        ("Files", False, {"files": {"is_empty": True}}),
        ("Sum", "Item 1", {"formula": {"string": {"equals": "Item 1"}}}),
        ("Sum", "2026-04-28", {"formula": {"string": {"equals": "2026-04-28"}}}),
        ("Sum", 1, {"formula": {"number": {"equals": 1}}}),
        ("Sum", True, {"formula": {"checkbox": {"equals": True}}}),
        ("Roll", 3, {"rollup": {"number": {"equals": 3}}}),
        ("Roll", "Item 1", {"rollup": {"any": {"rich_text": {"equals": "Item 1"}}}}),
        ("Roll", False, {"rollup": {"any": {"checkbox": {"equals": False}}}}),
        ("Verif", "verified", {"verification": {"status": "verified"}}),
        ("Verif", "unverified", {"verification": {"status": "none"}}),
        ("Status", None, {"status": {"is_empty": True}}),
        ("Topic", None, {"multi_select": {"is_empty": True}}),
        ("Rel", None, {"relation": {"is_empty": True}}),
        ("When", None, {"date": {"is_empty": True}}),
        ("Est", None, {"number": {"is_empty": True}}),
        ("Files", None, {"files": {"is_empty": True}}),
    ],
)
def test_a_short_condition_becomes_the_test_its_property_has(name, value, test):
    assert compiled({name: value}) == {"property": name, **test}


def test_several_short_conditions_must_all_hold():
    assert compiled({"Status": "Done", "Topic": "AI"}) == {
        "and": [
            {"property": "Status", "status": {"equals": "Done"}},
            {"property": "Topic", "multi_select": {"contains": "AI"}},
        ]
    }


def test_a_list_means_any_of_several_states():
    done = {"property": "Status", "status": {"equals": "Done"}}
    doing = {"property": "Status", "status": {"equals": "In progress"}}

    assert compiled({"Status": ["Done", "In progress"]}) == {"or": [done, doing]}
    assert compiled({"Status": ["Done"]}) == done
    assert compiled({"Status": ["Done", "In progress"], "Est": 1}) == {
        "and": [{"or": [done, doing]}, {"property": "Est", "number": {"equals": 1}}]
    }


def test_a_list_means_all_of_several_tags():
    assert compiled({"Topic": ["AI", "Ops"], "Done": True}) == {
        "and": [
            {"property": "Topic", "multi_select": {"contains": "AI"}},
            {"property": "Topic", "multi_select": {"contains": "Ops"}},
            {"property": "Done", "checkbox": {"equals": True}},
        ]
    }


def test_the_databases_own_unicode_form_of_a_name_is_sent():
    column, option = normalize("NFD", "상태"), normalize("NFD", "높음")
    decomposed = {column: {"type": "select", "select": options(option)}}

    assert compile_filter({"상태": "높음"}, decomposed, "DB") == {"property": column, "select": {"equals": option}}


@pytest.mark.parametrize(
    ("shorthand", "parts"),
    [
        pytest.param(
            {"Stauts": "Done"}, ['no property "Stauts" in "Tasks"', 'did you mean "Status"?', '"Topic"'], id="C07 d"
        ),
        pytest.param(
            {"Status": "Dnoe"},
            ['no option "Dnoe" in property "Status" in "Tasks"', '"Done"?', '"In progress"'],
            id="C07 e",
        ),
        pytest.param({"Status": "done"}, ['"Done" differs only by case'], id="an option in another case"),
        pytest.param({"status": "Done"}, ['"Status" differs only by case'], id="a property in another case"),
        pytest.param({"zzz": 1}, ['there is "Name", "Status"', "and 14 more"], id="nothing close"),
        pytest.param({"Topic": ["AI", "Opps"]}, ['no option "Opps"', 'did you mean "Ops"?'], id="one of a list"),
        pytest.param(
            {"Est": "3"}, ['"Est" in "Tasks" is a number property', "expected a number", 'a string "3"'], id="number"
        ),
        pytest.param({"Est": True}, ["expected a number, got true or false"], id="a truth is no number"),
        pytest.param({"Done": 1}, ["expected true or false, got a number"], id="checkbox"),
        pytest.param({"Done": None}, ["expected true or false, got null"], id="a checkbox is never empty"),
        pytest.param({"Sum": None}, ["got null"], id="a formula's emptiness has a type"),
        pytest.param({"Status": 1}, ["the name of an option"], id="status"),
        pytest.param({"Name": 1}, ["expected a string, got a number"], id="title"),
        pytest.param({"When": "soon"}, ["this_week"], id="no date"),
        pytest.param({"When": "2026-02-30"}, ["expected a date"], id="no such day"),
        pytest.param({"When": "20260401"}, ["expected a date"], id="a date without dashes"),
        pytest.param({"When": 2026}, ["expected a date"], id="a year as a number"),
        pytest.param({"Who": "Kim"}, ['a user id or "me"'], id="a user's name"),
        pytest.param({"Rel": "Plan"}, ["the id of a page"], id="a page's name"),
        pytest.param({"Files": "plan.pdf"}, ["true (it has files)"], id="a file's name"),
        pytest.param({"Task": "BUG-42"}, ["behind its prefix"], id="another prefix"),
        pytest.param({"Task": "TASK-x"}, ["behind its prefix"], id="no number"),
        pytest.param({"Task": 1.5}, ["got a number"], id="a fraction of an id"),
        pytest.param({"Verif": "yes"}, ["verified, expired or none"], id="verification"),
        pytest.param({"Go": "x"}, ["is a button property, which cannot be filtered"], id="button"),
        pytest.param({"Where": None}, ["is a place property, which cannot be filtered"], id="place"),
        pytest.param({"New": 1}, ["is a hologram property, which cannot be filtered"], id="a kind nobody knows"),
    ],
)
def test_what_the_database_lacks_is_named_with_what_it_has(shorthand, parts):
    message = refusal(compiled, shorthand)

    assert all(part in message for part in parts), message


def test_names_from_the_database_are_inert_and_short_in_a_message():
    wild = {"\x1b[2J" + "x" * 500: {"type": "number"}, "\u202eevil": {"type": "number"}}

    assert len(refusal(compile_filter, {"A": 1}, wild, "W\x1b]0;x\x07" * 100)) < 300


@pytest.mark.parametrize(
    "wrong", [None, 3, [], {}, {"type": None}, {"type": ["select"]}, {"type": "select", "select": 3}]
)
def test_a_misshapen_schema_is_refused_not_raised(wrong):
    refusal(compile_filter, {"A": "x"}, {"A": wrong}, "DB")
    assert text_filter(["x"], {"A": wrong}) is None


@pytest.mark.parametrize(
    "native",
    [
        pytest.param({"property": "Status", "status": {"equals": "Done"}}, id="C07 b"),
        pytest.param({"property": "id%3AStatus", "status": {"equals": "Done"}}, id="by id"),
        pytest.param({"property": "id:Status", "status": {"equals": "Done"}}, id="by id, unquoted"),
        pytest.param({"property": "Status", "status": {"equals": ["Done", "In progress"]}}, id="a list of options"),
        pytest.param({"property": "Topic", "multi_select": {"does_not_contain": "AI"}}, id="tags"),
        pytest.param({"property": "Est", "number": {"greater_than": 3}}, id="number"),
        pytest.param({"timestamp": "created_time", "created_time": {"this_week": {}}}, id="timestamp"),
        pytest.param({"property": "Go", "button": {"is_empty": True}}, id="what only Notion can refuse"),
        pytest.param({"and": []}, id="an empty and"),
        pytest.param(
            {"or": [{"property": "Est", "number": {"equals": 1}}, {"and": [LEAF | {"property": "Est"}]}]}, id="or"
        ),
    ],
)
def test_notions_own_form_is_carried_unchanged(native):
    assert compile_filter(native, TASKS, "Tasks") is native


@pytest.mark.parametrize(
    ("native", "part"),
    [
        pytest.param({"property": "Stauts", "status": {"equals": "Done"}}, 'did you mean "Status"?', id="property"),
        pytest.param({"property": "Status", "status": {"equals": "Dnoe"}}, 'did you mean "Done"?', id="option"),
        pytest.param(
            {"property": "Level", "select": {"does_not_equal": ["높음", "없음"]}}, 'no option "없음"', id="select"
        ),
        pytest.param(
            {"and": [{"or": [{"property": "Topic", "multi_select": {"contains": "ai"}}]}]}, "by case", id="deep"
        ),
    ],
)
def test_names_inside_notions_own_form_are_checked(native, part):
    assert part in refusal(compile_filter, native, TASKS, "Tasks")


def clause(name, kind, word):
    return {"property": name, kind: {"contains": word}}


def test_words_are_looked_for_in_titles_first_then_in_texts():
    texts_first = schema(Notes="rich_text", 이름="title", Est="number", More="rich_text")

    assert text_filter(["온보딩", "guide", "온보딩", " "], texts_first) == {
        "or": [
            clause("이름", "title", "온보딩"),
            clause("이름", "title", "guide"),
            clause("Notes", "rich_text", "온보딩"),
            clause("Notes", "rich_text", "guide"),
            clause("More", "rich_text", "온보딩"),
            clause("More", "rich_text", "guide"),
        ]
    }


def test_words_make_a_hundred_clauses_at_most_with_every_title_among_them():
    words = [f"word{number}" for number in range(60)]

    clauses = text_filter(words, TASKS)["or"]

    assert len(clauses) == 100
    assert clauses[:60] == [clause("Name", "title", word) for word in words]


@pytest.mark.parametrize(
    ("words", "columns"), [([], TASKS), (["x"], schema(Est="number")), (["x"], {}), (["\u200b"], TASKS)]
)
def test_without_words_or_text_there_is_no_text_filter(words, columns):
    assert text_filter(words, columns) is None


A, B, C, D = ({"property": name, "number": {"equals": 1}} for name in "ABCD")
V, W = clause("Name", "title", "v"), clause("Name", "title", "w")
TEXT = {"or": [V, W]}


@pytest.mark.parametrize(
    ("user", "joined"),
    [
        pytest.param(None, TEXT, id="words alone"),
        pytest.param(A, {"and": [A, TEXT]}, id="one condition"),
        pytest.param({"and": [A, B]}, {"and": [A, B, TEXT]}, id="and"),
        pytest.param({"and": [A, {"or": [B, C]}]}, {"and": [A, {"or": [B, C]}, TEXT]}, id="or inside and"),
        pytest.param({"or": [A, B]}, {"and": [{"or": [A, B]}, TEXT]}, id="or"),
        pytest.param({"or": [A, {"or": [B, C]}]}, {"and": [{"or": [A, B, C]}, TEXT]}, id="or inside or"),
        pytest.param(
            {"or": [{"and": [A, B]}, C]},
            {"or": [{"and": [A, B, V]}, {"and": [C, V]}, {"and": [A, B, W]}, {"and": [C, W]}]},
            id="and inside or",
        ),
    ],
)
def test_join_asks_for_both(user, joined):
    assert join(user, TEXT) == joined


def test_join_without_words_is_the_users_filter():
    user = {"or": [A, {"and": [B, C]}]}

    assert join(user, None) is user
    assert join(None, None) is None


def test_join_drops_the_last_words_where_a_distribution_grows_too_long():
    user = {"or": [{"and": [A, B]}, C, D]}
    words = {"or": [clause("Name", "title", f"w{number}") for number in range(100)]}

    branches = join(user, words)["or"]

    assert len(branches) == 99
    assert {"and": [A, B, words["or"][32]]} in branches
    assert {"and": [A, B, words["or"][33]]} not in branches


def test_join_keeps_the_users_filter_where_no_word_fits():
    user = {"or": [{"or": [A] * 60}, {"or": [B] * 60}]}

    assert join(user, TEXT) is user


names = st.sampled_from("ABCDEFGH")
leaves = st.builds(lambda name: {"property": name, "number": {"equals": 1}}, names)


def compounds(inner, most):
    return st.builds(lambda key, parts: {key: parts}, st.sampled_from(("and", "or")), st.lists(inner, max_size=most))


user_filters = leaves | compounds(leaves | compounds(leaves, 6), 6) | compounds(compounds(leaves, 99), 99)
word_filters = st.lists(st.sampled_from("stuvwxyz"), min_size=1, max_size=8, unique=True).map(
    lambda words: {"or": [{"property": word, "title": {"contains": word}} for word in words]}
)


def levels(value):
    """Return how many compounds stand inside each other at most."""
    inner = [part for key in ("and", "or") for part in value.get(key, ())]
    return (1 if "and" in value or "or" in value else 0) + max(map(levels, inner), default=0)


def longest(value):
    inner = [part for key in ("and", "or") for part in value.get(key, ())]
    return max([len(inner), *map(longest, inner)])


def holds(value, true):
    if "and" in value:
        return all(holds(part, true) for part in value["and"])
    if "or" in value:
        return any(holds(part, true) for part in value["or"])
    return value["property"] in true


@given(user_filters, word_filters)
def test_a_joined_filter_is_one_that_notion_takes(user, text):
    joined = join(user, text)

    assert levels(joined) <= 2
    assert longest(joined) <= 100


@given(user_filters, word_filters, st.sets(st.sampled_from("ABCDEFGHstuvwxyz")))
def test_a_joined_filter_means_both(user, text, true):
    joined = join(user, text)

    if holds(joined, true) and joined is not user:
        assert holds(user, true) and holds(text, true)
    if holds(user, true) and holds({"or": text["or"][:1]}, true):
        assert holds(joined, true)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["Done", "AI", "me"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*TASKS, "and", "or", "property", "timestamp", "number"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(anything | st.dictionaries(st.sampled_from([*TASKS]), anything, min_size=1, max_size=4))
def test_any_json_compiles_to_what_notion_takes_or_is_refused(value):
    try:
        parsed = parse_filter(json.dumps(value))
        ready = parsed and compile_filter(parsed, TASKS, "Tasks")
    except UsageError as error:
        assert inert(str(error)) == str(error)
        return

    assert ready is None or (is_native(ready) and levels(ready) <= 2 and longest(ready) < 100)


@given(st.text())
def test_any_text_is_a_filter_or_refused(text):
    try:
        assert parse_filter(text) is None or isinstance(parse_filter(text), dict)
    except UsageError as error:
        assert str(error).startswith("--filter: ")

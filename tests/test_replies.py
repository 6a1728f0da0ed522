"""The JSON in a model's reply, whatever stands around it."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.replies import find_json

ENTRY = {"index": 1, "score": 90, "why": "fits"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param('["a", "b"]', [["a", "b"]], id="bare"),
        pytest.param('\ufeff\n ["온보딩"] \n', [["온보딩"]], id="blanks around it"),
        pytest.param('```json\n["a"]\n```', [["a"]], id="a fence"),
        pytest.param('Sure! Here you go:\n["a"]\nAnything else?', [["a"]], id="prose"),
        pytest.param('See [1] and [2].\n["a"]', [[1], [2], ["a"]], id="brackets in the prose"),
        pytest.param('Like [draft] and {x}: ["a"]', [["a"]], id="brackets that hold no JSON"),
        pytest.param('{"results": ["a"]}', [{"results": ["a"]}], id="an object"),
        pytest.param('{"a": 1} {"a": 2}', [{"a": 1}, {"a": 2}], id="objects in a row"),
        pytest.param('["a [b] ```c``` {d}"]', [["a [b] ```c``` {d}"]], id="brackets and fences inside a string"),
        pytest.param('["a", "b",]', [["a", "b"]], id="a trailing comma"),
        pytest.param('[{"a": 1,}\n,\n]', [[{"a": 1}]], id="trailing commas at both levels"),
        pytest.param('["a,]", "b,}",]', [["a,]", "b,}"]], id="a comma and a bracket inside a string"),
        pytest.param('["say \\"hi,\\" ]", 1,]', [['say "hi," ]', 1]], id="escaped quotes before a trailing comma"),
        pytest.param("[“a”, “b”]", [["a", "b"]], id="curly quotes"),
        pytest.param("[„a‟, “b”,]", [["a", "b"]], id="curly quotes and a trailing comma"),
        pytest.param('["the “best” one",]', [["the “best” one"]], id="curly quotes inside a string stay"),
        pytest.param('[{"a": 1}, {"a": 2}, {"a', [{"a": 1}, {"a": 2}], id="cut off: the whole objects stay"),
        pytest.param('{"results": [{"a": 1}, {"a"', [{"a": 1}], id="cut off inside an object"),
        pytest.param("[]", [[]], id="empty"),
        pytest.param("", [], id="nothing"),
        pytest.param("I cannot help with that.", [], id="a refusal"),
        pytest.param('"a"', [], id="a string alone"),
        pytest.param("[[[[", [], id="only opened"),
    ],
)
def test_find_json_finds_what_a_reader_would(text, found):
    assert list(find_json(text)) == found


@given(st.text() | st.text(alphabet='[]{}",:\\“”1ae ,\n'))
def test_find_json_takes_any_text(text):
    assert all(isinstance(value, list | dict) for value in find_json(text))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.lists(json_values) | st.dictionaries(st.text(), json_values), st.text(alphabet='ab ."\n가`'), st.text())
def test_find_json_finds_whole_json_first_whatever_surrounds_it(value, before, after):
    assert next(find_json(before + json.dumps(value, ensure_ascii=False) + after)) == value


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 100_000, id="open lists"),
        pytest.param('{"a":' * 100_000, id="open objects"),
        pytest.param('["' * 100_000, id="lists and quotes"),
        pytest.param("[" * 900 + "1," * 100_000, id="a list without end, nested"),
        pytest.param("[1]" * 100_000, id="tiny lists"),
        pytest.param("[" + "," * 100_000 + "]", id="commas"),
        pytest.param("[“" * 50_000 + ",]" * 50_000, id="curly quotes and commas"),
        pytest.param('["' + "\\" * 100_000, id="backslashes"),
        pytest.param("[ , ] " * 50_000, id="lists of one comma"),
    ],
)
def test_find_json_ends_soon_whatever_it_is_given(text):
    started = time.process_time()

    for _ in find_json(text):
        pass

    assert time.process_time() - started < 2

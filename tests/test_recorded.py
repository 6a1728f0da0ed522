"""What Notion really sent, through everything that reads it."""

import gzip
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from notion_search.errors import UsageError
from notion_search.sources.blocks import container, excerpt, opening, texts
from notion_search.sources.filters import compile_filter, is_native, join, parse_filter, text_filter
from notion_search.sources.ids import dashed, parse_database, parse_page
from notion_search.sources.properties import plain_properties, rich_text, title_of

# The recordings belong to others; they are read where they lie and never copied here.
RECORDED = Path(__file__).parents[2] / "shared" / "recorded"

pytestmark = pytest.mark.skipif(
    not RECORDED.is_dir() and "CI" not in os.environ, reason="the recorded answers are not beside this checkout"
)

PRINTED_STRUCTURE = re.compile(r"\bNone\b|^\{\}$|^\[\]$|\{'|\{\"(?:id|type|object)\"")

ALL_TYPES = set(
    """title rich_text number select status multi_select date people files checkbox url email phone_number relation
    rollup formula created_time last_edited_time created_by last_edited_by unique_id button place""".split()
)
# Every recorded value of these is empty; the hand-made ones in test_properties.py stand for them.
ONLY_EMPTY = {"button", "people"}


def answers(name):
    with gzip.open(RECORDED / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def importer_files():
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((RECORDED / "importer").glob("*.json"))]


def everything():
    yield from (answer["response"] for name in ("page", "search", "query") for answer in answers(name))
    yield from importer_files()


def objects(value) -> Iterator[dict]:
    """Yield every JSON object inside the value, outer ones first."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from objects(inner)


def pages():
    for value in everything():
        yield from (found for found in objects(value) if found.get("object") == "page" and "properties" in found)


def title_pieces(page):
    return [prop["title"] for prop in page["properties"].values() if prop["type"] == "title"]


def strings(plain):
    for value in plain.values():
        yield from (part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, str))


def is_set(prop):
    """Whether the recorded value holds anything, judged apart from the code under test."""
    value = prop[prop["type"]]
    if prop["type"] in ("formula", "rollup"):
        value = value.get(value["type"])
    if prop["type"] == "rollup" and isinstance(value, list):
        return any(is_set(inner) for inner in value)
    if isinstance(value, dict):
        return any(value.get(key) is not None for key in ("name", "start", "number", "id", "lat"))
    if isinstance(value, list):
        return any(piece.get("plain_text", piece.get("name", piece.get("id"))) for piece in value)
    return value is not None and value != ""


def test_every_recorded_title_is_found_by_its_type():
    seen = 0
    for page in pages():
        pieces = title_pieces(page)
        assert len(pieces) == 1
        expected = "".join(piece["plain_text"] for piece in pieces[0]).strip() if pieces[0] else "Untitled"
        assert title_of(page) == expected
        seen += 1

    assert seen >= 900


def test_every_recorded_type_is_rendered_exactly_where_it_is_set():
    present, rendered = Counter(), Counter()
    for page in pages():
        plain = plain_properties(page)
        for name, prop in page["properties"].items():
            present[prop["type"]] += 1
            if prop["type"] == "title":
                rendered["title"] += 1
                continue
            assert (name in plain) == (is_set(prop) and prop["type"] != "button"), prop
            rendered[prop["type"]] += name in plain

    for kind, count in sorted(present.items()):
        sys.stdout.write(f"{kind}: {rendered[kind]} of {count} set\n")
    assert set(present) == ALL_TYPES
    assert {kind for kind in present if not rendered[kind]} == ONLY_EMPTY


def test_no_recorded_property_shows_its_structure():
    for page in pages():
        plain = plain_properties(page)
        json.dumps(plain, allow_nan=False)
        assert not [text for text in strings(plain) if PRINTED_STRUCTURE.search(text) or not text.strip()]
        assert not [text for text in strings(plain) if "X-Amz" in text]


def test_a_recorded_relation_of_thirty_says_that_it_is_cut():
    cut = [
        (page, name)
        for page in pages()
        for name, prop in page["properties"].items()
        if prop["type"] == "relation" and prop.get("has_more")
    ]

    assert cut
    assert all(plain_properties(page)[name][-1] == "…" for page, name in cut)


def block_lists():
    yield from (answer["response"]["results"] for answer in answers("blocks") if answer["status"] == 200)
    for value in importer_files():
        for found in objects(value):
            yield from (inner for inner in found.values() if is_block_list(inner))


def is_block_list(value):
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and value[0].get("object") == "block"


def test_every_recorded_block_list_reads_as_short_text():
    lists = list(block_lists())
    for blocks in lists:
        short, long = excerpt(blocks), opening(blocks)
        assert len(short) <= 200
        assert len(long) <= 500
        assert long.startswith(short)
        assert not [text for text in texts(blocks) if PRINTED_STRUCTURE.search(text) or text != " ".join(text.split())]
        assert container(blocks) is None or parse_page(container(blocks))

    assert len(lists) >= 150
    assert sum(bool(excerpt(blocks)) for blocks in lists) >= 50


def test_no_recorded_text_of_a_block_is_lost():
    kinds, lost = Counter(), Counter()
    for block in (block for blocks in block_lists() for block in blocks):
        kinds[block["type"]] += 1
        said = " ".join(" ".join(found["plain_text"] for found in objects(block) if "plain_text" in found).split())
        if said and not list(texts([block])):
            lost[block["type"]] += 1

    for kind, count in sorted(kinds.items()):
        sys.stdout.write(f"{kind}: {count}\n")
    assert not lost


def schemas():
    for answer in answers("data_source"):
        if answer["status"] == 200 and answer["response"].get("properties"):
            yield answer["response"]


def test_every_recorded_schema_takes_words():
    for source in schemas():
        clauses = text_filter(["온보딩", "guide"], source["properties"])["or"]
        titles = [name for name, prop in source["properties"].items() if prop["type"] == "title"]
        assert [clause["property"] for clause in clauses[:2]] == titles * 2
        assert rich_text(source["title"]) == "".join(piece["plain_text"] for piece in source["title"])


def test_every_recorded_property_can_be_asked_for_or_is_said_not_to_be():
    samples = ("x", "2026-04-28", "me", 3, True, None, "2b0f7c11-4a10-8001-9000-00000000a001")
    for source in schemas():
        for name, prop in source["properties"].items():
            options = (prop[prop["type"]] or {}).get("options") or []
            wanted = [option["name"] for option in options[:1]] or samples
            taken = [value for value in wanted if compiles({name: value}, source["properties"])]
            # A select that knows no option yet can only be asked whether it is empty.
            assert bool(taken) == (prop["type"] not in ("button", "place")), prop


def compiles(shorthand, schema):
    try:
        return compile_filter(shorthand, schema, "DB")
    except UsageError:
        return None


def test_every_recorded_filter_that_notion_took_is_taken():
    seen = 0
    for answer in answers("query"):
        recorded = (answer["request"] or {}).get("filter")
        if not recorded or answer["status"] != 200:
            continue
        assert is_native(recorded)
        assert parse_filter(json.dumps(recorded)) == recorded
        assert join(recorded, {"or": [{"property": "title", "title": {"contains": "x"}}]})
        seen += 1

    assert seen >= 100


def test_every_recorded_filter_fits_the_schema_it_was_sent_to():
    seen = 0
    for answer in answers("query"):
        recorded = (answer["request"] or {}).get("filter")
        if not recorded or answer["status"] != 200:
            continue
        asked = dashed(answer["path"].split("/")[2])
        # The recordings add columns as they go; a schema recorded before the filter's column says nothing.
        named = {found["property"] for found in objects(recorded) if "property" in found}
        known = [source["properties"] for source in schemas() if dashed(source["id"]) == asked]
        fitting = [schema for schema in known if named <= set(schema)]
        if fitting:
            assert any(compiles(recorded, schema) is recorded for schema in fitting), recorded
            seen += 1

    assert seen >= 50


def test_every_recorded_address_gives_the_id_of_its_page():
    seen = 0
    for page in pages():
        if "url" in page:
            assert parse_page(page["url"]) == dashed(page["id"])
            seen += 1
    for source in schemas():
        database = parse_database(source["url"])
        assert database and database.id == dashed(source["parent"]["database_id"])

    assert seen >= 500

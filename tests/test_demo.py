"""The sample workspace and the handler that serves it, held against Notion's documented and recorded answers."""

import gzip
import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import httpx
import pytest

from notion_search import demo
from notion_search.demo.handler import Handler, title_of
from notion_search.demo.workspace import Workspace, load, sample
from notion_search.words import terms

from .fakes.notion import FakeNotion, bad_gateway, drip, empty, hang, html, rate_limited, reset, truncated

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT.parent / "shared" / "recorded"
NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
HEADERS = {"Authorization": "Bearer ntn_example", "Notion-Version": "2026-03-11"}

GENERATED = {
    "databases": [
        {
            "title": "Tasks",
            "sources": [
                {
                    "name": "Tasks",
                    "schema": {
                        "이름": "title",
                        "Note": "rich_text",
                        "Stage": {"status": ["Open", "Done"]},
                        "Kind": {"select": ["Bug", "Idea"]},
                        "Tags": {"multi_select": ["x", "y"]},
                        "When": "date",
                        "Size": "number",
                        "Paid": "checkbox",
                        "Mail": "email",
                        "Who": "people",
                        "Links": {"relation": None},
                        "Papers": "files",
                        "No": {"unique_id": "T"},
                        "Text": {"formula": {"result": "string"}},
                        "Sum": {"formula": {"result": "number"}},
                        "Ok": {"formula": {"result": "boolean"}},
                        "Next": {"formula": {"result": "date"}},
                        "Total": {"rollup": {"result": "number", "function": "sum"}},
                        "First": {"rollup": {"result": "date", "function": "earliest_date"}},
                        "All": {"rollup": {"result": "array", "function": "show_original"}},
                        "Seal": "verification",
                        "Made": "created_time",
                        "By": "created_by",
                        "Go": "button",
                    },
                    "rows": [
                        {
                            "by": "Ana",
                            "created": "2026-11-01 10:00",
                            "edited": "2026-11-27 09:00",
                            "values": {
                                "이름": "one",
                                "Note": "Alpha beta",
                                "Stage": "Open",
                                "Kind": "Bug",
                                "Tags": ["x"],
                                "When": "2026-11-27",
                                "Size": 1,
                                "Paid": True,
                                "Mail": "ana.poe@example.com",
                                "Who": ["Ana"],
                                "Links": ["2b0f7c11-4a10-8001-9000-00000000a0f1"],
                                "Papers": ["a.pdf"],
                                "No": 1,
                                "Text": "red",
                                "Sum": 5,
                                "Ok": True,
                                "Next": "2026-12-01",
                                "Total": 10,
                                "First": "2026-11-20",
                                "All": [["number", 1], ["number", 2]],
                                "Seal": "verified",
                            },
                        },
                        {
                            "by": "Ben",
                            "created": "2026-10-01 10:00",
                            "edited": "2026-11-20 09:00",
                            "values": {
                                "이름": "two",
                                "Stage": "Done",
                                "Kind": "Idea",
                                "Tags": ["x", "y"],
                                "When": "2026-11-20T09:30:00.000+09:00",
                                "Size": 2,
                                "No": 2,
                                "Text": "green",
                                "Sum": 0,
                                "Ok": False,
                                "Total": 0,
                                "All": [["number", 2]],
                            },
                        },
                        {"by": "Ben", "created": "2025-12-01 10:00", "edited": "2026-01-02 09:00", "values": {"No": 3}},
                        {"by": "Ben", "archived": True, "values": {"이름": "archived"}},
                        {"by": "Ben", "trash": True, "values": {"이름": "trashed"}},
                    ],
                }
            ],
        }
    ],
    "pages": [
        {
            "title": "Planning",
            "edited": "2026-11-02 10:00",
            "blocks": [f"line {number}" for number in range(5)],
            "pages": [{"title": "Plan", "edited": "2026-11-03 10:00"}],
        }
    ],
}


class Asked:
    """A workspace and the questions put to it."""

    def __init__(self, workspace, now=NOW):
        self.workspace = workspace
        self.handler = Handler(workspace, now=lambda: now)

    def __call__(self, method, path, body=None, params=None, headers=HEADERS):
        content = b"" if body is None else json.dumps(body).encode()
        return self.handler.answer(method, path, params or {}, headers, content)

    def search(self, **body):
        status, answer = self("POST", "/v1/search", body)
        assert status == 200, answer
        return answer

    def titles(self, **body):
        return [title_of(item) for item in self.search(**body)["results"]]

    def rows(self, source=0, **body):
        status, answer = self("POST", f"/v1/data_sources/{self.workspace.data_sources[source]['id']}/query", body)
        assert status == 200, answer
        return [row["properties"]["No"]["unique_id"]["number"] for row in answer["results"]]

    def refusal(self, method, path, body=None, **more):
        status, answer = self(method, path, body, **more)
        assert status >= 400, answer
        assert answer["status"] == status
        assert answer["object"] == "error"
        return status, answer["code"], answer["message"]


@pytest.fixture(scope="module")
def notion():
    return Asked(sample())


@pytest.fixture(scope="module")
def tasks():
    return Asked(load(GENERATED))


# The sample workspace


def test_the_sample_has_about_sixty_pages_in_three_databases_and_on_their_own(notion):
    parents = Counter(page["parent"]["type"] for page in notion.workspace.pages)

    assert 55 <= len(notion.workspace.pages) <= 75
    assert len(notion.workspace.databases) == 3
    assert parents["data_source_id"] >= 40
    assert parents["workspace"] >= 5
    assert parents["page_id"] >= 5


def test_the_sample_is_written_in_korean_and_english(notion):
    titles = [title_of(page) for page in notion.workspace.pages]
    korean = [title for title in titles if re.search("[가-힣]", title)]
    english = [title for title in titles if re.search("[A-Za-z]", title)]

    assert len(korean) >= 20
    assert len(english) >= 20


def test_the_sample_holds_untitled_trashed_archived_and_nested_pages(notion):
    pages = notion.workspace.pages

    assert sum(title_of(page) == "" for page in pages) >= 3
    assert any(page["in_trash"] for page in pages)
    assert any(page["is_archived"] for page in pages)
    assert max(_depth(page, notion.workspace) for page in pages) >= 3


def _depth(page, workspace):
    parent = workspace.pages_by_id.get(page["parent"].get("page_id"))
    return 1 + (_depth(parent, workspace) if parent else 0)


def test_the_sample_has_one_database_of_several_sources(notion):
    assert max(len(database["data_sources"]) for database in notion.workspace.databases) == 2


def test_sample_ids_are_unique_and_look_like_notions(notion):
    workspace = notion.workspace
    blocks = [block for listed in workspace.children.values() for block in listed]
    stands_for_itself = [block for block in blocks if block["type"] not in ("child_page", "child_database")]
    objects = [*workspace.pages, *workspace.data_sources, *workspace.databases, *stands_for_itself]
    ids = [item["id"] for item in objects]

    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", key) for key in ids)


def test_sample_pages_are_edited_in_different_minutes_of_2026(notion):
    edited = [page["last_edited_time"] for page in notion.workspace.pages]

    assert len(set(edited)) == len(edited)
    assert all(re.fullmatch(r"2026-\d\d-\d\dT\d\d:\d\d:00\.000Z", time) for time in edited)
    assert max(edited) < "2026-11-28"


def test_sample_relations_and_parents_point_at_things_that_exist(notion):
    workspace = notion.workspace
    related = [
        item["id"]
        for page in workspace.pages
        for value in page["properties"].values()
        if value["type"] == "relation"
        for item in value["relation"]
    ]

    assert related
    assert set(related) <= set(workspace.pages_by_id)
    assert {page["parent"].get("data_source_id") for page in workspace.pages} - {None} <= set(
        workspace.data_sources_by_id
    )


def test_sample_pages_open_with_every_kind_of_container(notion):
    kinds = {block["type"] for listed in notion.workspace.children.values() for block in listed}
    first = {listed[0]["type"] for listed in notion.workspace.children.values()}

    assert {"toggle", "column_list", "column", "callout", "synced_block", "table", "tab", "child_page"} <= kinds
    assert {"image", "column_list", "callout", "unsupported", "toggle"} <= first


def test_a_search_for_ai_agents_misses_the_two_pages_that_are_about_them(notion):
    found = notion.titles(query="AI agents", filter={"property": "object", "value": "page"})

    assert 4 <= len(found) <= 10
    assert all({"ai", "agent", "agents"} & set(terms(title)) for title in found)
    assert "Multi-agent orchestration" not in found
    assert "에이전트 설계" not in found
    assert "Multi-agent orchestration" in notion.titles(query="multi-agent")
    assert "에이전트 설계" in notion.titles(query="에이전트")


def test_no_title_id_or_query_of_the_demo_stands_in_the_code(notion):
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "notion_search").rglob("*.py"))
    workspace = notion.workspace
    titles = {title_of(page) for page in workspace.pages} - {""}
    ids = {item["id"] for item in (*workspace.pages, *workspace.data_sources, *workspace.databases)}

    assert [text for text in (*titles, *ids, "AI agents") if text in code] == []


def test_importing_the_demo_imports_no_http_library():
    program = "import sys, notion_search.demo; print([name for name in ('httpx', 'json') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)

    assert done.stdout.strip() == "[]"


def test_the_demo_client_answers_without_a_network():
    with demo.client() as client:
        answer = client.post("https://api.notion.com/v1/search", json={"page_size": 1}, headers=HEADERS)

    assert answer.status_code == 200
    assert len(answer.json()["results"]) == 1


# Search


def test_another_workspace_can_take_the_samples_place(tasks):
    assert tasks.titles(query="plan") == ["Plan"]
    assert tasks.titles(query="TASK") == ["Tasks"]


def test_a_workspace_can_be_made_of_raw_objects():
    whole = load(GENERATED)
    raw = Workspace(pages=whole.pages[:1])

    assert Asked(raw).titles() == ["Planning"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("test", ["Tests for everyone"], id="stem"),
        pytest.param("TESTS", ["Tests for everyone"], id="case"),
        pytest.param("nothing everyone", ["Tests for everyone"], id="any-word"),
        pytest.param("회의", ["회의 기록"], id="korean"),
        pytest.param("회의에서", ["회의 기록"], id="korean-particle"),
        pytest.param("agent", [], id="compound-is-one-word"),
        pytest.param("multi-agents", ["Multi-agent"], id="compound-stem"),
        pytest.param("ever", [], id="part-of-a-word"),
        pytest.param("hidden", [], id="body-text"),
        pytest.param("!?", [], id="no-words"),
    ],
)
def test_search_finds_any_word_of_the_title(query, found):
    titles = ["Tests for everyone", "회의 기록", "Multi-agent"]
    asked = Asked(load({"pages": [{"title": title, "blocks": ["hidden"]} for title in titles]}))

    assert asked.titles(query=query) == found


@pytest.mark.parametrize("body", [{}, {"query": ""}, {"query": "   "}], ids=["absent", "empty", "blank"])
def test_a_search_for_nothing_finds_everything_not_in_the_trash(notion, body):
    shared = len(notion.workspace.pages) + len(notion.workspace.data_sources)
    trashed = sum(page["in_trash"] for page in notion.workspace.pages)

    assert len(notion.search(**body)["results"]) == shared - trashed
    assert len(notion.search(**body, filter={"in_trash": True})["results"]) == trashed


def test_search_is_newest_first_unless_asked_otherwise(notion):
    newest = [item["last_edited_time"] for item in notion.search(query="AI agents")["results"]]
    up = {"timestamp": "last_edited_time", "direction": "ascending"}

    assert newest == sorted(newest, reverse=True)
    assert [item["last_edited_time"] for item in notion.search(query="AI agents", sort=up)["results"]] == newest[::-1]


def test_relevance_puts_an_exact_title_first_then_more_words():
    titles = ["red green blue paint", "red green", "green paint", "red"]
    asked = Asked(load({"pages": [{"title": title} for title in titles]}))

    assert asked.titles(query="green paint", sort={"property": "relevance"}) == [
        "green paint",
        "red green blue paint",
        "red green",
    ]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({"query": None}, "body.query should be a string", id="null-query"),
        pytest.param({"database_id": "x"}, "body.database_id should be not present", id="unknown-member"),
        pytest.param({"filter": {"property": "object", "value": "database"}}, "body.filter.value", id="database"),
        pytest.param({"filter": {"property": "Status", "value": "page"}}, "body.filter.property", id="property"),
        pytest.param({"filter": {}}, "body.filter", id="empty-filter"),
        pytest.param({"filter": {"in_trash": "no"}}, "body.filter.in_trash", id="in-trash"),
        pytest.param({"sort": {}}, "body.sort", id="empty-sort"),
        pytest.param({"sort": {"timestamp": "created_time"}}, "body.sort", id="other-timestamp"),
        pytest.param({"sort": {"property": "relevance", "direction": "descending"}}, "body.sort", id="relevance-way"),
        pytest.param({"sort": {"timestamp": "last_edited_time", "direction": "up"}}, "direction", id="direction"),
        pytest.param({"page_size": "10"}, "body.page_size", id="page-size"),
        pytest.param({"start_cursor": None}, "valid uuid", id="null-cursor"),
        pytest.param({"start_cursor": "next"}, "valid uuid", id="cursor-shape"),
        pytest.param({"start_cursor": "2b0f7c11-4a10-8001-9000-00000000a001"}, "start_cursor provided", id="cursor"),
    ],
)
def test_search_refuses_a_body_notion_would_refuse(notion, body, message):
    status, code, text = notion.refusal("POST", "/v1/search", body)

    assert (status, code) == (400, "validation_error")
    assert message in text


@pytest.mark.parametrize(("size", "count"), [(0, 72), (101, 72), (3.9, 3), (-1, 0), (2, 2)])
def test_search_reads_a_page_size_as_notion_does(size, count):
    asked = Asked(load({"pages": [{"title": str(number)} for number in range(72)]}))

    assert len(asked.search(page_size=size)["results"]) == count


def test_search_pages_add_up_to_the_whole(notion):
    whole = [item["id"] for item in notion.search()["results"]]
    body, seen = {"page_size": 30}, []
    while body:
        answer = notion.search(**body)
        seen += [item["id"] for item in answer["results"]]
        body = {"page_size": 30, "start_cursor": answer["next_cursor"]} if answer["has_more"] else None

    assert seen == whole
    assert "request_status" not in answer


# Queries


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        pytest.param({"property": "이름", "title": {"equals": "one"}}, [1], id="title"),
        pytest.param({"property": "이름", "rich_text": {"contains": "O"}}, [1, 2], id="title-as-text"),
        pytest.param({"property": "title", "title": {"is_empty": True}}, [3], id="by-id"),
        pytest.param({"property": "Note", "rich_text": {"contains": "BETA"}}, [1], id="contains-is-case-blind"),
        pytest.param({"property": "Note", "rich_text": {"equals": "alpha beta"}}, [], id="equals-is-exact"),
        pytest.param({"property": "Note", "rich_text": {"does_not_contain": "x"}}, [1, 2, 3], id="not-includes-empty"),
        pytest.param({"property": "Note", "rich_text": {"starts_with": "alpha"}}, [1], id="starts"),
        pytest.param({"property": "Note", "rich_text": {"ends_with": "beta"}}, [1], id="ends"),
        pytest.param({"property": "Mail", "email": {"contains": "Poe"}}, [1], id="email"),
        pytest.param({"property": "Mail", "rich_text": {"is_not_empty": True}}, [1], id="email-as-text"),
        pytest.param({"property": "Stage", "status": {"equals": "Open"}}, [1], id="status"),
        pytest.param({"property": "Stage", "status": {"equals": ["Open", "Done"]}}, [1, 2], id="status-list"),
        pytest.param({"property": "Kind", "select": {"does_not_equal": "Bug"}}, [2, 3], id="select-not"),
        pytest.param({"property": "Tags", "multi_select": {"contains": "y"}}, [2], id="multi-select"),
        pytest.param({"property": "Tags", "multi_select": {"does_not_contain": ["y"]}}, [1, 3], id="multi-select-not"),
        pytest.param({"property": "Size", "number": {"greater_than": 1}}, [2], id="number"),
        pytest.param({"property": "Size", "number": {"does_not_equal": 1}}, [2, 3], id="number-not"),
        pytest.param({"property": "No", "unique_id": {"less_than_or_equal_to": 2}}, [1, 2], id="unique-id"),
        pytest.param({"property": "Paid", "checkbox": {"equals": False}}, [2, 3], id="checkbox"),
        pytest.param({"property": "Who", "people": {"is_empty": True}}, [2, 3], id="people"),
        pytest.param({"property": "By", "created_by": {"contains": "me"}}, [], id="me"),
        pytest.param(
            {"property": "Links", "relation": {"contains": "2b0f7c11-4a10-8001-9000-00000000a0f1"}}, [1], id="relation"
        ),
        pytest.param({"property": "Papers", "files": {"is_not_empty": True}}, [1], id="files"),
        pytest.param({"property": "Seal", "verification": {"status": "verified"}}, [1], id="verification"),
        pytest.param({"property": "Seal", "verification": {"status": "none"}}, [2, 3], id="unverified"),
        pytest.param({"property": "Text", "formula": {"string": {"contains": "RE"}}}, [1, 2], id="formula-string"),
        pytest.param({"property": "Sum", "formula": {"number": {"equals": 0}}}, [2], id="formula-number"),
        pytest.param({"property": "Ok", "formula": {"checkbox": {"equals": True}}}, [1], id="formula-checkbox"),
        pytest.param({"property": "Next", "formula": {"date": {"next_week": {}}}}, [1], id="formula-date"),
        pytest.param({"property": "Total", "rollup": {"number": {"greater_than": 0}}}, [1], id="rollup-number"),
        pytest.param({"property": "First", "rollup": {"date": {"past_week": {}}}}, [1], id="rollup-date"),
        pytest.param({"property": "All", "rollup": {"any": {"number": {"equals": 1}}}}, [1], id="rollup-any"),
        pytest.param({"property": "All", "rollup": {"every": {"number": {"equals": 2}}}}, [2], id="rollup-every"),
        pytest.param({"property": "All", "rollup": {"none": {"number": {"equals": 1}}}}, [2, 3], id="rollup-none"),
        pytest.param({"timestamp": "created_time", "created_time": {"past_month": {}}}, [1], id="timestamp"),
        pytest.param(
            {"timestamp": "last_edited_time", "last_edited_time": {"equals": "2026-11-27T09:00:59Z"}}, [1], id="minute"
        ),
        pytest.param({"property": "Made", "created_time": {"before": "2026-01-01"}}, [3], id="created-time"),
        pytest.param(
            {
                "and": [
                    {"property": "Size", "number": {"less_than": 9}},
                    {"property": "Paid", "checkbox": {"equals": True}},
                ]
            },
            [1],
            id="and",
        ),
        pytest.param(
            {
                "or": [
                    {"property": "No", "unique_id": {"equals": 3}},
                    {"and": [{"property": "Size", "number": {"equals": 2}}]},
                ]
            },
            [2, 3],
            id="two-levels",
        ),
    ],
)
def test_a_filter_is_applied(tasks, condition, rows):
    assert tasks.rows(filter=condition, sorts=[{"property": "No", "direction": "ascending"}]) == rows


@pytest.mark.parametrize(
    ("operators", "rows"),
    [
        ({"equals": "2026-11-27"}, [1]),
        ({"equals": "today"}, [1]),
        ({"before": "today"}, [2]),
        ({"on_or_after": "yesterday"}, [1]),
        ({"before": "tomorrow"}, [1, 2]),
        ({"equals": "one_week_ago"}, [2]),
        ({"on_or_before": "one_week_from_now"}, [1, 2]),
        ({"after": "one_month_ago"}, [1, 2]),
        ({"after": "one_month_from_now"}, []),
        ({"this_week": {}}, [1]),
        ({"past_week": {}}, [1, 2]),
        ({"past_month": {}}, [1, 2]),
        ({"past_year": {}}, [1, 2]),
        ({"next_week": {}}, [1]),
        ({"next_month": {}}, [1]),
        ({"next_year": {}}, [1]),
        ({"is_empty": True}, [3]),
        ({"is_not_empty": True}, [1, 2]),
        ({"equals": "2026-11-20T00:30:30Z"}, [2]),
        ({"after": "2026-11-20T00:31:00Z"}, [1]),
    ],
    ids=json.dumps,
)
def test_a_date_filter_counts_from_now(tasks, operators, rows):
    condition = {"property": "When", "date": operators}

    assert tasks.rows(filter=condition, sorts=[{"property": "No", "direction": "ascending"}]) == rows


def test_days_are_those_of_nows_time_zone():
    workspace = load(GENERATED)
    late = datetime(2026, 11, 27, 23, 0, tzinfo=UTC)
    seoul = late.astimezone(timezone(timedelta(hours=9)))
    today = {"property": "When", "date": {"equals": "today"}}

    assert Asked(workspace, now=late).rows(filter=today) == [1]
    assert Asked(workspace, now=seoul).rows(filter=today) == []


def test_the_same_day_of_a_shorter_month_is_its_last(tasks):
    asked = Asked(tasks.workspace, now=datetime(2026, 12, 31, tzinfo=UTC))
    condition = {"property": "When", "date": {"on_or_after": "one_month_ago"}}

    assert asked.rows(filter=condition) == []


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        pytest.param({}, "body.filter", id="empty"),
        pytest.param([], "body.filter", id="list"),
        pytest.param({"Stage": "Open"}, "body.filter", id="shorthand"),
        pytest.param(
            {"property": "Stauts", "status": {"equals": "x"}},
            "Could not find property with name or id: Stauts",
            id="unknown-property",
        ),
        pytest.param(
            {"property": "Stage", "select": {"equals": "x"}}, "status does not match filter select", id="type"
        ),
        pytest.param({"property": "Note", "title": {"equals": "x"}}, "does not match filter title", id="text-as-title"),
        pytest.param({"property": "Go", "button": {"equals": "x"}}, "does not match", id="button"),
        pytest.param({"property": "Size", "number": {"contains": 1}}, "number.contains", id="operator"),
        pytest.param({"property": "Size", "number": {"equals": "1"}}, "should be a number", id="operand"),
        pytest.param({"property": "Paid", "checkbox": {"is_empty": True}}, "checkbox.is_empty", id="checkbox"),
        pytest.param({"property": "Stage", "status": {"is_empty": False}}, "should be `true`", id="false-emptiness"),
        pytest.param({"property": "When", "date": {"equals": "soon"}}, "ISO 8601", id="date"),
        pytest.param({"property": "When", "date": {"this_week": True}}, "empty object", id="range"),
        pytest.param({"property": "Sum", "formula": {"string": {"equals": "x"}}}, "does not match", id="formula-type"),
        pytest.param({"property": "All", "rollup": {"number": {"equals": 1}}}, "does not match", id="rollup-type"),
        pytest.param({"timestamp": "edited", "edited": {"past_week": {}}}, "timestamp", id="timestamp"),
        pytest.param({"and": [{"or": [{"and": []}]}]}, "should be not present", id="three-levels"),
        pytest.param({"and": {"property": "Size"}}, "should be an array", id="compound"),
    ],
)
def test_a_filter_notion_would_refuse_is_refused(tasks, condition, message):
    path = f"/v1/data_sources/{tasks.workspace.data_sources[0]['id']}/query"
    status, code, text = tasks.refusal("POST", path, {"filter": condition})

    assert (status, code) == (400, "validation_error")
    assert message in text


def test_a_property_is_found_by_its_id_as_sent_or_unquoted(tasks):
    schema = tasks.workspace.data_sources[0]["properties"]
    key = schema["Size"]["id"]

    assert tasks.rows(filter={"property": key, "number": {"equals": 2}}) == [2]


@pytest.mark.parametrize(
    ("sorts", "rows"),
    [
        ([{"property": "Size", "direction": "descending"}], [2, 1, 3]),
        ([{"property": "Stage", "direction": "ascending"}], [2, 1, 3]),
        ([{"timestamp": "created_time", "direction": "ascending"}], [3, 2, 1]),
        ([{"property": "Paid", "direction": "ascending"}, {"property": "No", "direction": "descending"}], [3, 2, 1]),
    ],
    ids=["number", "name", "timestamp", "two-keys"],
)
def test_rows_are_sorted_with_the_empty_last(tasks, sorts, rows):
    assert tasks.rows(sorts=sorts) == rows


def test_archived_rows_are_listed_only_when_asked_for(tasks):
    source = tasks.workspace.data_sources[0]["id"]
    _, answer = tasks("POST", f"/v1/data_sources/{source}/query", {"is_archived": True})

    assert len(tasks.rows()) == 3
    assert [title_of(row) for row in answer["results"]] == ["archived"]


def test_rows_of_another_kind_are_none(tasks):
    assert tasks.rows(result_type="page") == [1, 2, 3]
    assert tasks.rows(result_type="data_source") == []


@pytest.mark.parametrize(
    "body",
    [
        {"page_size": 0},
        {"page_size": 1.5},
        {"page_size": None},
        {"query": "one"},
        {"in_trash": True},
        {"result_type": "row"},
        {"is_archived": "yes"},
        {"sorts": {"property": "No"}},
        {"sorts": [{"direction": "ascending"}]},
        {"sorts": [{"property": "Nope", "direction": "ascending"}]},
        {"start_cursor": "s:2b0f7c11-4a10-8001-9000-00000000a001:2b0f7c11-4a10-8001-9000-00000000a002"},
    ],
    ids=json.dumps,
)
def test_a_query_refuses_a_body_notion_would_refuse(tasks, body):
    path = f"/v1/data_sources/{tasks.workspace.data_sources[0]['id']}/query"

    assert tasks.refusal("POST", path, body)[:2] == (400, "validation_error")


def test_query_cursors_name_a_session_and_a_row(tasks):
    path = f"/v1/data_sources/{tasks.workspace.data_sources[0]['id']}/query"
    _, first = tasks("POST", path, {"page_size": 2})
    _, second = tasks("POST", path, {"page_size": 2, "start_cursor": first["next_cursor"]})

    assert re.fullmatch(r"s:[0-9a-f-]{36}:[0-9a-f-]{36}", first["next_cursor"])
    assert len(first["results"]) == 2
    assert [row["id"] for row in second["results"]] == [first["next_cursor"][-36:]]
    assert (second["has_more"], second["next_cursor"]) == (False, None)


def test_filter_properties_leaves_the_others_out(tasks):
    path = f"/v1/data_sources/{tasks.workspace.data_sources[0]['id']}/query"
    _, answer = tasks("POST", path, {}, params={"filter_properties": ["Size", "title"]})

    assert {name for row in answer["results"] for name in row["properties"]} == {"이름", "Size"}
    assert tasks.refusal("POST", path, {}, params={"filter_properties": ["Nope"]})[0] == 400


# Single objects, blocks, headers


def test_the_two_kinds_of_id_do_not_stand_for_each_other(notion):
    database, source = notion.workspace.databases[0]["id"], notion.workspace.data_sources[0]["id"]
    page = notion.workspace.pages[0]["id"]

    assert notion("GET", f"/v1/databases/{database}")[1]["data_sources"][0]["id"] == source
    assert notion("GET", f"/v1/data_sources/{source}")[1]["parent"]["database_id"] == database
    for path in (
        f"/v1/databases/{source}",
        f"/v1/data_sources/{database}",
        f"/v1/databases/{page}",
        f"/v1/data_sources/{page}",
        f"/v1/pages/{database}",
        f"/v1/pages/{source}",
        f"/v1/blocks/{source}/children",
    ):
        status, code, message = notion.refusal("GET", path)
        assert (status, code) == (404, "object_not_found")
        assert "Make sure the relevant pages and databases are shared with your integration" in message


def test_a_404_names_the_integration(notion):
    _, body = notion("GET", "/v1/pages/2b0f7c11-4a10-8001-9000-00000000a001")

    assert set(body["additional_data"]) == {"integration_id"}


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (str, 200),
        (lambda key: key.replace("-", ""), 200),
        (str.upper, 404),
        (lambda key: key[:-1], 400),
        (lambda key: "z" + key[1:], 400),
        (lambda key: "12345678-1234-1234-1234-123456789abc", 400),
        (lambda key: "00000000-0000-0000-0000-000000000000", 404),
    ],
    ids=["dashed", "bare", "upper-case", "short", "no-hex", "no-variant", "zeros"],
)
def test_an_id_is_read_as_notion_reads_it(notion, change, status):
    page = notion.workspace.pages[0]["id"]

    assert notion("GET", f"/v1/pages/{change(page)}")[0] == status


def test_blocks_come_in_pages(tasks):
    page = tasks.workspace.pages[0]["id"]
    path = f"/v1/blocks/{page}/children"
    _, first = tasks("GET", path, params={"page_size": ["4"]})
    _, rest = tasks("GET", path, params={"start_cursor": [first["next_cursor"]]})

    assert [block["type"] for block in first["results"]] == ["paragraph"] * 4
    assert first["has_more"]
    assert [block["type"] for block in rest["results"]] == ["paragraph", "child_page"]
    assert rest["next_cursor"] is None
    assert tasks.refusal("GET", path, params={"page_size": ["0"]})[0] == 400
    assert tasks.refusal("GET", path, params={"start_cursor": [page]})[0] == 400


def test_children_hang_below_the_block_that_has_them(notion):
    blocks = {block["id"]: block for listed in notion.workspace.children.values() for block in listed}
    parents = [block for block in blocks.values() if block["has_children"]]

    assert parents
    for block in parents:
        assert notion("GET", f"/v1/blocks/{block['id']}/children")[1]["results"]


def test_a_database_has_no_blocks(notion):
    assert notion("GET", f"/v1/blocks/{notion.workspace.databases[0]['id']}/children")[1]["results"] == []


def test_me_is_a_bot(notion):
    status, me = notion("GET", "/v1/users/me")

    assert (status, me["type"]) == (200, "bot")
    assert me["id"]


@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        ({"Notion-Version": "2026-03-11"}, (401, "unauthorized")),
        ({**HEADERS, "Authorization": "ntn_example"}, (401, "unauthorized")),
        ({"Authorization": "Bearer x"}, (400, "missing_version")),
        ({**HEADERS, "Notion-Version": "2026-13-99"}, (400, "missing_version")),
    ],
    ids=["no-token", "no-bearer", "no-version", "unknown-version"],
)
def test_a_request_needs_a_token_and_a_version(notion, headers, answer):
    assert notion.refusal("POST", "/v1/search", {}, headers=headers)[:2] == answer


def test_each_version_has_its_own_members(notion):
    older = {**HEADERS, "notion-version": "2025-09-03"}
    older.pop("Notion-Version")
    path = f"/v1/pages/{notion.workspace.pages[0]['id']}"

    assert "archived" not in notion("GET", path)[1]
    assert notion("GET", path, headers=older)[1]["archived"] is False
    assert notion("POST", "/v1/search", {}, headers=older)[1]["results"][0]["archived"] is False


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/invalid"),
        ("GET", "/v1/search"),
        ("POST", "/v1/databases/x/query"),
        ("GET", "/"),
        ("GET", "/v2/users/me"),
    ],
)
def test_an_unknown_address_is_an_invalid_request_url(notion, method, path):
    assert notion.refusal(method, path) == (400, "invalid_request_url", "Invalid request URL.")


def test_a_body_that_is_no_json_is_invalid_json(notion):
    status, answer = notion.handler.answer("POST", "/v1/search", {}, HEADERS, b'{"query":')

    assert (status, answer["code"]) == (400, "invalid_json")


# Behind a socket


def test_the_fake_keeps_every_request_it_was_sent():
    with FakeNotion() as fake, httpx.Client(base_url=fake.url, headers=HEADERS) as client:
        page = client.post("/v1/search", json={"query": "AI"}).json()["results"][0]["id"]
        client.get(f"/v1/blocks/{page}/children", params={"page_size": 20})

        assert [request.body for request in fake.searches] == [{"query": "AI"}]
        assert [request.params for request in fake.children] == [{"page_size": ["20"]}]
        assert fake.requests[0].arrived < fake.requests[1].arrived
        assert fake.requests[0].headers["authorization"] == "Bearer ntn_example"


def test_the_fake_answers_with_the_faults_it_was_given_and_then_the_truth():
    faults = [rate_limited(2), bad_gateway(), html(), empty(), truncated(), reset(), drip(0.0001)]
    outcomes = []
    with FakeNotion() as fake, httpx.Client(base_url=fake.url, headers=HEADERS) as client:
        fake.fault("search", *faults)
        for _ in range(len(faults) + 1):
            try:
                answer = client.post("/v1/search", json={"page_size": 1})
                outcomes.append(f"{answer.status_code} {len(answer.json()['results'])}")
            except (httpx.TransportError, ValueError, KeyError) as error:
                outcomes.append(type(error).__name__)

    assert outcomes == [
        "KeyError",
        "JSONDecodeError",
        "JSONDecodeError",
        "JSONDecodeError",
        "JSONDecodeError",
        "ReadError",
        "200 1",
        "200 1",
    ]


def test_the_fake_spends_its_budget_and_refills_it():
    with FakeNotion() as fake, httpx.Client(base_url=fake.url, headers=HEADERS) as client:
        fake.budget(2, retry_after=1)
        statuses = [client.get("/v1/users/me").status_code for _ in range(3)]
        refused = client.get("/v1/users/me")
        threading.Event().wait(1.1)
        later = client.get("/v1/users/me")

    assert statuses == [200, 200, 429]
    assert refused.headers["retry-after"] == "1"
    assert later.status_code == 200


def test_closing_the_fake_does_not_wait_for_what_hangs():
    start = datetime.now(UTC)
    with FakeNotion() as fake:
        fake.fault(lambda request: request.method == "GET", hang(), forever=True)
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(f"{fake.url}/v1/users/me", headers=HEADERS, timeout=0.2)

    assert datetime.now(UTC) - start < timedelta(seconds=5)


# Recorded answers


@pytest.fixture(scope="module")
def recorded():
    if not RECORDED.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"recorded answers are missing: {RECORDED}")
        pytest.skip(f"recorded answers are not here: {RECORDED}")
    return lambda name: [json.loads(line) for line in gzip.open(RECORDED / f"{name}.jsonl.gz", "rt", encoding="utf-8")]


def test_every_recorded_search_hit_is_one_the_handler_finds_too(recorded, record_property, capsys):
    searches = [entry for entry in recorded("search") if (entry["request"] or {}).get("query")]
    hits, missed, out_of_order = 0, [], []
    for entry in searches:
        results = entry["response"]["results"]
        found = _found_again(entry, results)
        hits += len(results)
        missed += [(entry["request"]["query"], title_of(item)) for item in results if item["id"] not in found]
        edited = [item["last_edited_time"] for item in results]
        out_of_order += [entry["source"]] if edited != sorted(edited, reverse=True) else []

    figures = {"searches": len(searches), "hits": hits, "missed": len(missed), "not newest first": len(out_of_order)}
    _report("recorded searches", figures, record_property, capsys)

    assert len(searches) > 100
    assert missed == []
    assert out_of_order == []


def _found_again(entry, results):
    workspace = Workspace(
        pages=[item for item in results if item["object"] == "page"],
        data_sources=[item for item in results if item["object"] == "data_source"],
    )
    request, found = entry["request"], set()
    # When these were recorded the trash was still listed among the rest.
    for in_trash in (False, True):
        body = {**request, "filter": {**request.get("filter", {}), "in_trash": in_trash}}
        found |= {item["id"] for item in Asked(workspace).search(**body)["results"]}
    return found


def test_recorded_queries_with_a_filter_return_the_recorded_rows(recorded, record_property, capsys):
    queries = [entry for entry in recorded("query") if entry["status"] == 200]
    schemas = {entry["response"]["id"]: entry["response"]["properties"] for entry in recorded("data_source")}
    universes = defaultdict(dict)
    for entry in queries:
        universes[_universe(entry)].update({row["id"]: row for row in entry["response"]["results"]})
    filtered = [entry for entry in queries if (entry["request"] or {}).get("filter")]
    missed = [entry for entry in filtered if not _answers_alike(entry, universes[_universe(entry)], schemas)]

    figures = {"queries": len(filtered), "same rows": len(filtered) - len(missed)}
    _report("recorded queries", figures, record_property, capsys)
    with capsys.disabled():
        for entry in missed:
            print("  missed:", entry["source"].rpartition("/")[2], json.dumps(entry["request"]["filter"]))  # noqa: T201 -- the figures are the point

    assert len(filtered) == 122
    assert len(filtered) - len(missed) >= 0.8 * len(filtered)


def _universe(entry):
    return entry["source"], entry["path"].partition("?")[0]


def _answers_alike(entry, rows, schemas):
    source = entry["path"].split("/")[2]
    # The schema may be recorded before columns were added; the rows know their own.
    schema = dict(schemas.get(source, {}))
    for row in rows.values():
        schema.update({name: {"id": value["id"], "type": value["type"]} for name, value in row["properties"].items()})
    # A recording ends soon after its last edit.
    edited = [time for row in rows.values() for time in (row["created_time"], row["last_edited_time"])]
    now = datetime.fromisoformat(max(edited)) if edited else NOW
    workspace = Workspace(
        pages=[{**row, "parent": {**row["parent"], "data_source_id": source}} for row in rows.values()],
        data_sources=[{"object": "data_source", "id": source, "properties": schema}],
    )
    status, answer = Asked(workspace, now=now)("POST", f"/v1{entry['path'].partition('?')[0]}", entry["request"])
    if status != 200:
        return False
    return {row["id"] for row in answer["results"]} == {row["id"] for row in entry["response"]["results"]}


def _report(what, figures, record_property, capsys):
    for name, value in figures.items():
        record_property(f"{what}: {name}", value)
    with capsys.disabled():
        print(f"\n{what}: " + ", ".join(f"{value} {name}" for name, value in figures.items()))  # noqa: T201 -- the figures are the point

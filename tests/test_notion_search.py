"""The specification's ten tests, under its names, through the real clients against loopback servers."""

import json
from importlib.resources import files

import jsonschema

from notion_search.demo.workspace import load

from .builders import DATABASE_ID, SOURCE_ID, small_workspace
from .fakes.claude import entries, lines


def test_expand_query_returns_variants(notion, claude, run):
    claude.says("expand", '["multi-agent", "AI 에이전트", "orchestration", "AI agents"]')

    run("AI agents", "--json")

    asked = [request.body["query"] for request in notion.searches]
    assert sorted(asked) == sorted(["AI agents", "multi-agent", "AI 에이전트", "orchestration"])


def test_search_unions_and_dedupes(notion, claude, run):
    claude.says("expand", '["AI list", "AI handbook"]')

    titles = run("AI", "--json").titles

    assert len(notion.searches) == 3
    assert sorted(titles) == ["AI agents handbook", "AI reading list"]


def test_rerank_orders_by_relevance(notion, claude, run):
    claude.says("expand", '["에이전트"]')
    claude.says("rerank", entries((2, 40), (3, 90, "the design"), (1, 10)))

    results = run("AI", "--json").json

    # The specification scores 0.0 to 1.0; our judge answers whole numbers, shown as shares of 1.
    assert [result["relevance"] for result in results] == [0.9, 0.4, 0.1]
    offered = [line.partition("] ")[2].partition(" | ")[0] for line in lines(claude.prompts("rerank")[0])]
    assert [result["title"] for result in results] == [offered[2], offered[1], offered[0]]
    assert results[0]["snippet"] == "the design"


def test_no_rerank_returns_raw(notion, claude, run):
    results = run("AI agents", "--no-expand", "--no-rerank", "--json").json

    # Without a judge at all no model is asked; the order is Notion's own for the one query.
    titles = [result["title"] for result in results]
    assert titles == ["AI agents handbook", "Agent budget", "Agent rollout", "AI reading list"]
    assert {(result["relevance"], result["snippet"]) for result in results} == {(None, None)}
    assert claude.asked == []


def test_no_expand_uses_single_query(notion, claude, run):
    run("AI agents", "--no-expand", "--json")

    assert [request.body["query"] for request in notion.searches] == ["AI agents"]
    assert claude.prompts("expand") == []


def test_json_output_parseable(notion, claude, run):
    results = run("AI agents", "--json")

    # Two keys more than the specification has: source and last_edited.
    schema = json.loads((files("notion_search") / "results.schema.json").read_text())
    jsonschema.validate(results.json, schema)
    assert list(results.json[0]) == schema["items"]["required"]


def test_cache_hit_on_repeat(notion, claude, run, outside):
    first = run("AI agents", "--json")
    asked = len(claude.asked)
    second = run("AI agents", "--json")

    # Variants are kept like rankings, so a repeated query asks the model nothing.
    assert asked == len(claude.asked) == 2
    assert second.json == first.json
    stored = [json.loads(path.read_text()) for path in (outside / "home/.cache/notion-search").glob("*.json")]
    assert sum("results" in entry for entry in stored) == sum("variants" in entry for entry in stored) == 1


def test_cache_miss_on_different_candidates(serve_notion, claude, run):
    serve_notion()
    run("AI agents", "--json")
    serve_notion(load({"pages": [{"title": "AI agents, a third page"}]}))
    run("AI agents", "--json")

    assert len(claude.prompts("rerank")) == 2
    assert len(claude.prompts("expand")) == 1


def test_property_filter_applied(notion, claude, run):
    native = {"property": "Status", "status": {"equals": "Done"}}

    run("agent", "--no-expand", "--no-rerank", "--databases", DATABASE_ID, "--filter", json.dumps(native), "--json")
    run("agent", "--no-expand", "--no-rerank", "--databases", DATABASE_ID, "--filter", '{"Status": "Done"}', "--json")

    # Notion's own filter travels unchanged, beside the words; the shorthand is compiled from the schema.
    verbatim, compiled = (request.body["filter"]["and"][0] for request in notion.queries)
    assert verbatim == native
    assert compiled == native


def test_database_scope_constrains(notion, claude, run):
    titles = run("agent", "--databases", DATABASE_ID, "--no-expand", "--json").titles

    assert notion.searches == []
    assert {request.path for request in notion.queries} == {f"/v1/data_sources/{SOURCE_ID}/query"}
    assert set(titles) <= {row["title"] for row in _rows()}


def _rows():
    return [
        {"title": "".join(p["plain_text"] for p in page["properties"]["이름"]["title"])}
        for page in small_workspace().rows(SOURCE_ID)
    ]

"""Named databases: what their ids stand for, what is asked of them, and which rows are shown."""

import json
from collections import Counter

import pytest

from notion_search.demo.workspace import load

from .builders import DATABASE_ID, SOURCE_ID, notion_list, notion_page, page_id, tasks
from .fakes.claude import by_title, entries, lines
from .fakes.notion import error, hang, kind_of
from .fakes.server import Reply

ALONE = ("--no-expand", "--no-rerank")
D = DATABASE_ID.replace("-", "")
VIEW = "2b0f7c114a108099b00000000000e001"
ROW = "2b0f7c114a108001900000000000a001"
ARCHIVE_ID = "2b0f7c11-4a10-80ff-87aa-000b00000002"
PAGE = page_id(1)
UNKNOWN = "2b0f7c11-4a10-8077-b000-00000000f001"
UNKNOWN_TOO = "2b0f7c11-4a10-8077-b000-00000000f002"


def rows_named(*titles, **values):
    """Rows of `tasks` with these titles."""
    return [{"values": {"이름": title, **values}} for title in titles]


def workspace(*rows, **changes):
    """The database of `tasks` with these rows, or its own, beside a page."""
    return load({"pages": [{"title": "Agent page", "id": PAGE}], "databases": [tasks(rows or None, **changes)]})


def two_sources(archive=({"values": {"Name": "Agent archive"}},), schema=None):
    """A database with the data sources Tasks and Archive."""
    database = tasks()
    archived = {"id": ARCHIVE_ID, "name": "Archive", "schema": schema or {"Name": "title"}, "rows": list(archive)}
    return load({"databases": [{**database, "sources": [*database["sources"], archived]}]})


def of(kind, id_):
    """Pick the requests of a kind for an id."""
    return lambda request: kind_of(request) == kind and id_ in request.path


def sent(notion):
    """How often each path was asked for."""
    return Counter(request.path for request in notion.requests)


def levels(condition):
    """How many compounds stand inside each other."""
    parts = condition.get("and") or condition.get("or") or ()
    return 1 + max(map(levels, parts)) if parts else 0


# Ids: C04 and C05


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(f"https://app.notion.com/p/Reading-list-{D}?source=copy_link", id="a link of the app"),
        pytest.param(f"https://www.notion.so/acme/{D}?v={VIEW}&pvs=4", id="a link with a view"),
        pytest.param(f"https://www.notion.so/acme/{D}?v={VIEW}&p={ROW}&pm=s", id="a link with a row open beside"),
        pytest.param(f"https://acme.notion.site/n8n_tips-{D}", id="a published link"),
        pytest.param(f"https://www.notion.so/commit-da39a3ee5e6b4b0d3255bfef95601890-{D}", id="a hash in the slug"),
        pytest.param(f"www.notion.so/{D}#2b0f7c114a108001900000000000b001", id="a link without a scheme"),
        pytest.param(DATABASE_ID.upper(), id="upper case"),
        pytest.param(f"{D}, {D} ,", id="blanks, a repeat and a comma"),
        pytest.param(f"{DATABASE_ID},https://www.notion.so/{D}", id="two spellings"),
    ],
)
def test_a_database_is_found_however_its_id_is_pasted(notion, run, value):
    ended = run("agent", "--databases", value, "--json", *ALONE)

    assert (ended.code, ended.err) == (0, "")
    assert set(ended.titles) == {"Agent rollout", "Agent budget", "Office move"}
    assert sent(notion)[f"/v1/databases/{DATABASE_ID}"] == 1
    assert sent(notion)[f"/v1/data_sources/{SOURCE_ID}/query"] == 1
    assert not [path for path in sent(notion) if VIEW[-4:] in path or ROW[-4:] in path.partition("/v1/d")[2]]


@pytest.mark.parametrize("value", [f"collection://{SOURCE_ID}", SOURCE_ID, SOURCE_ID.replace("-", "")])
def test_a_data_source_stands_for_itself(notion, run, value):
    ended = run("agent", "--databases", value, "--json", *ALONE)

    assert (ended.code, len(ended.json)) == (0, 3)
    assert sent(notion)[f"/v1/data_sources/{SOURCE_ID}/query"] == 1


def test_an_id_said_to_be_a_data_source_is_not_tried_as_a_database(notion, run):
    run("agent", "--databases", f"collection://{SOURCE_ID}", *ALONE)

    assert notion.of_kind("database") == []


@pytest.mark.parametrize(
    "value",
    ["2b0f7c114a108077b00000000000d00", "abc-def-...", "https://evil.example/" + D, "Tasks", "g" * 32],
    ids=["31 digits", "not an id", "a link elsewhere", "a name", "no hex"],
)
@pytest.mark.parametrize("beside", ["", f"{DATABASE_ID},"], ids=["alone", "beside a good id"])
def test_a_malformed_id_stops_the_run_before_any_request(notion, claude, run, value, beside):
    ended = run("agent", "--databases", beside + value)

    assert (ended.code, ended.out) == (2, "")
    assert value[:30] in ended.err
    assert notion.requests == claude.requests == []


def test_every_malformed_id_is_named(notion, run):
    ended = run("agent", "--databases", f"one,{DATABASE_ID}", "--databases", "two,three")

    assert ended.code == 2
    assert [name for name in ("one", "two", "three") if f"'{name}'" not in ended.err] == []


def test_a_database_stands_for_all_its_data_sources(serve_notion, run):
    notion = serve_notion(two_sources())

    ended = run("agent", "--databases", DATABASE_ID, "--json", *ALONE)

    assert set(ended.titles) == {"Agent rollout", "Agent budget", "Office move", "Agent archive"}
    assert {request.path for request in notion.queries} == {
        f"/v1/data_sources/{SOURCE_ID}/query",
        f"/v1/data_sources/{ARCHIVE_ID}/query",
    }


def test_a_data_source_named_with_its_database_is_queried_once(serve_notion, run):
    notion = serve_notion(two_sources())

    run("agent", "--databases", f"{ARCHIVE_ID},{DATABASE_ID}", "--databases", SOURCE_ID, *ALONE)

    assert sent(notion)[f"/v1/data_sources/{SOURCE_ID}/query"] == 1
    assert sent(notion)[f"/v1/data_sources/{ARCHIVE_ID}/query"] == 1


@pytest.mark.parametrize("kind", ["query", "data_source"])
def test_a_data_source_that_is_not_shared_is_left_out_with_one_notice(serve_notion, claude, run, kind):
    notion = serve_notion(two_sources())
    notion.fault(of(kind, ARCHIVE_ID), error(404, "object_not_found"), forever=True)

    ended = run("agent", "--databases", DATABASE_ID, "--json", "--no-rerank")

    assert ended.code == 0
    assert set(ended.titles) == {"Agent rollout", "Agent budget", "Office move"}
    (notice,) = ended.notices
    assert ARCHIVE_ID in notice


@pytest.mark.parametrize("kind", ["query", "data_source"])
@pytest.mark.parametrize("judged", [True, False], ids=["judged", "unjudged"])
def test_a_data_source_that_hangs_is_left_out_with_one_notice(serve_notion, claude, run, kind, judged):
    notion = serve_notion(two_sources())
    notion.fault(of(kind, ARCHIVE_ID), hang(), forever=True)

    ended = run("agent", "--databases", DATABASE_ID, "--json", "--timeout", "3", *(() if judged else ["--no-rerank"]))

    assert ended.code == 0
    assert {"Agent rollout", "Agent budget", "Office move"} <= set(ended.titles)
    (notice,) = ended.notices
    assert ARCHIVE_ID in notice


def test_a_database_whose_data_sources_all_refuse_ends_the_run(serve_notion, claude, run):
    serve_notion(two_sources()).fault("query", error(404, "object_not_found"), forever=True)

    ended = run("agent", "--databases", DATABASE_ID, "--json")

    assert (ended.code, ended.out) == (4, "")
    assert len(ended.err.splitlines()) == 1
    assert claude.prompts("rerank") == []


def test_a_linked_view_is_explained(notion, claude, run):
    message = "(linked view: no data source this connection can read)"
    notion.fault(of("database", DATABASE_ID), error(400, "validation_error", message), forever=True)

    ended = run("agent", "--databases", DATABASE_ID)

    assert (ended.code, ended.out) == (4, "")
    assert "linked view" in ended.err
    assert "give the original database" in ended.err
    assert claude.requests == []


@pytest.mark.parametrize(
    ("value", "named"),
    [
        pytest.param(UNKNOWN, [UNKNOWN], id="alone"),
        pytest.param(f"{DATABASE_ID},{UNKNOWN}", [UNKNOWN], id="among good ones"),
        pytest.param(f"{UNKNOWN},{SOURCE_ID},{UNKNOWN_TOO}", [UNKNOWN, UNKNOWN_TOO], id="several"),
        pytest.param(f"collection://{UNKNOWN}", [UNKNOWN], id="a data source"),
    ],
)
def test_an_unknown_id_is_an_error_and_never_an_answer(notion, claude, run, value, named):
    ended = run("agent", "--databases", value, "--json")

    assert (ended.code, ended.out) == (4, "")
    (line,) = ended.err.splitlines()
    assert [id_ for id_ in named if id_ not in line] == []
    assert DATABASE_ID not in line
    assert "Connections" in line
    assert notion.searches == notion.queries == []
    assert claude.requests == []


def test_the_id_of_a_page_is_said_to_be_one(serve_notion, claude, run):
    notion = serve_notion(workspace())

    ended = run("agent", "--databases", f"{PAGE},{UNKNOWN}")

    assert ended.code == 4
    assert f"{PAGE} is a page ('Agent page')" in ended.err
    assert UNKNOWN in ended.err
    assert notion.queries == claude.requests == []


@pytest.mark.parametrize("kind", ["database", "data_source"])
def test_an_id_that_cannot_be_looked_up_in_time_ends_the_run(notion, claude, run, kind):
    notion.fault(kind, hang(), forever=True)

    ended = run("agent", "--databases", DATABASE_ID, "--timeout", "0.5")

    assert (ended.code, ended.out) == (4, "")
    assert "in time" in ended.err
    assert claude.requests == []


def test_a_token_notion_does_not_know_is_not_taken_for_an_unknown_id(notion, run):
    notion.fault("database", error(401, "unauthorized", "API token is invalid."))

    ended = run("agent", "--databases", DATABASE_ID, *ALONE)

    assert ended.code == 4
    assert "token" in ended.err
    assert DATABASE_ID not in ended.err


def test_looking_up_a_database_is_tried_again(notion, run):
    notion.fault("database", error(502, "bad_gateway"))

    ended = run("agent", "--databases", DATABASE_ID, "--json", *ALONE)

    assert (ended.code, len(ended.json)) == (0, 3)


# The option itself


def test_without_the_option_everything_is_searched(notion, run):
    run("agent", *ALONE)

    assert len(notion.searches) == 1
    assert notion.queries == notion.of_kind("database") == []


@pytest.mark.parametrize("value", ["", ",", " ", " , ,", "\t"])
def test_a_value_without_an_id_does_not_mean_everything(notion, claude, run, value):
    ended = run("agent", "--databases", value)

    assert (ended.code, ended.out) == (2, "")
    assert "no id given" in ended.err
    assert notion.requests == claude.requests == []


def test_blank_pieces_beside_an_id_do_not_matter(notion, run):
    ended = run("agent", "--databases", "", "--databases", f", {DATABASE_ID} ,", "--json", *ALONE)

    assert (ended.code, len(ended.json)) == (0, 3)


def test_at_most_fifty_ids_are_taken(notion, run):
    ids = [f"2b0f7c11-4a10-8077-b000-00000000{n:04}" for n in range(51)]

    assert run("agent", "--databases", ",".join(ids), *ALONE).code == 2
    assert notion.requests == []
    assert run("agent", "--databases", ",".join(ids[:50]), *ALONE).code == 4


def test_a_filter_needs_a_database(notion, claude, run):
    ended = run("agent", "--filter", '{"Status": "Done"}')

    assert (ended.code, ended.out) == (2, "")
    assert "--databases" in ended.err
    assert notion.requests == claude.requests == []


# Words within a database: C06

MANY = rows_named(
    *(f"Unrelated {n}" for n in range(1, 137)), "신규 온보딩 체크리스트", *(f"Other {n}" for n in range(138, 151))
)


def test_one_row_of_many_is_found_by_its_title(serve_notion, run):
    notion = serve_notion(workspace(*MANY))

    ended = run("온보딩", "--databases", DATABASE_ID, "--json", *ALONE)

    assert ended.titles == ["신규 온보딩 체크리스트"]
    (query,) = notion.queries
    assert {"property": "이름", "title": {"contains": "온보딩"}} in query.body["filter"]["or"]


def test_a_database_is_asked_for_its_newest_pages_a_hundred_at_once(notion, run):
    run("owner", "--databases", DATABASE_ID, *ALONE)

    (query,) = notion.queries
    titled = {"property": "이름", "title": {"contains": "owner"}}
    noted = {"property": "Notes", "rich_text": {"contains": "owner"}}
    assert query.body == {
        "filter": {"or": [titled, noted]},
        "sorts": [{"timestamp": "last_edited_time", "direction": "descending"}],
        "page_size": 100,
        "result_type": "page",
    }


def test_each_variant_asks_a_large_database_for_its_own_words(serve_notion, claude, run):
    notion = serve_notion(workspace(*MANY))
    claude.says("expand", '["Other 140", "없는말"]')

    titles = run("온보딩", "--databases", DATABASE_ID, "--json", "--no-rerank", "-n", "30").titles

    assert {"신규 온보딩 체크리스트", "Other 140"} <= set(titles)
    assert not [title for title in titles if "Unrelated" in title and "140" not in title]
    filters = [json.dumps(query.body["filter"], ensure_ascii=False) for query in notion.queries]
    assert len(filters) == len(set(filters)) == 3


@pytest.mark.parametrize("rows", [MANY, None], ids=["a large database", "a small one"])
def test_rows_no_word_matches_are_no_answer(serve_notion, run, rows):
    serve_notion(workspace(*(rows or ())))

    ended = run("없는말", "--databases", DATABASE_ID, "--json", *ALONE)

    assert (ended.code, ended.json) == (0, [])
    assert any("none with these words" in notice for notice in ended.notices)


def test_rows_no_word_matches_in_a_large_database_do_not_reach_the_judge(serve_notion, claude, run):
    serve_notion(workspace(*MANY))

    ended = run("온보딩", "--databases", DATABASE_ID, "--json", "--no-expand")

    assert ended.titles == ["신규 온보딩 체크리스트"]
    assert len(lines(claude.prompts("rerank")[0])) == 1


def test_words_in_other_text_columns_count(notion, run):
    ended = run("owner", "--databases", DATABASE_ID, "--json", *ALONE)

    assert ended.titles == ["Office move"]


def test_rows_with_more_of_the_words_come_first(serve_notion, run):
    serve_notion(workspace(*rows_named("agent plan", "agent", "plan of the agent", "soup")))

    ended = run("agent plan", "--databases", DATABASE_ID, "--json", *ALONE)

    assert ended.titles == ["plan of the agent", "agent plan", "agent"]


def test_one_large_and_one_small_data_source_are_judged_together(serve_notion, claude, run):
    serve_notion(two_sources(archive=[{"values": {"Name": f"Old {n}"}} for n in range(40)]))

    run("agent", "--databases", DATABASE_ID, "--no-expand")

    offered = [line.partition("] ")[2].partition(" | ")[0] for line in lines(claude.prompts("rerank")[0])]
    assert sorted(offered) == sorted(["Agent rollout", "Agent budget", "Office move", "신규 온보딩 체크리스트"])


@pytest.mark.parametrize(("passing", "judged"), [(30, 30), (31, 1)], ids=["thirty rows", "thirty-one"])
def test_a_small_database_is_judged_whole(serve_notion, claude, run, passing, judged):
    rows = [*rows_named("agent", *(f"Row {n}" for n in range(passing - 1)), Status="Done")]
    notion = serve_notion(workspace(*rows, *rows_named(*(f"Other {n}" for n in range(20)), Status="Open")))

    run("agent", "--databases", DATABASE_ID, "--filter", '{"Status": "Done"}', "--no-expand")

    assert len(lines(claude.prompts("rerank")[0])) == judged
    assert len(notion.queries) == (1 if judged == 30 else 2)


def test_a_small_database_is_asked_once_whatever_the_variants(notion, claude, run):
    claude.says("expand", '["온보딩", "budget", "soup"]')

    run("agent", "--databases", DATABASE_ID)

    (query,) = notion.queries
    assert "filter" not in query.body


def test_the_judge_finds_a_row_no_word_matches(notion, claude, run):
    claude.always("rerank", by_title("신규 온보딩 체크리스트"))

    ended = run("new hires", "--databases", DATABASE_ID, "--json", "--no-expand")

    assert ended.titles[0] == "신규 온보딩 체크리스트"
    assert ended.json[0]["relevance"] > 0


def test_a_row_no_word_matches_and_the_judge_rejects_is_not_shown(notion, claude, run):
    claude.says("rerank", entries((1, 0), (2, 0), (3, 0), (4, 80)))

    ended = run("budget", "--databases", DATABASE_ID, "--json", "--no-expand")

    offered = [line.partition("] ")[2].partition(" | ")[0] for line in lines(claude.prompts("rerank")[0])]
    assert ended.titles == [offered[3], "Agent budget"]


def test_when_judging_fails_only_rows_that_match_are_shown(notion, claude, run):
    claude.says("rerank", "I cannot rank these.")

    ended = run("budget", "--databases", DATABASE_ID, "--json", "--no-expand")

    assert (ended.code, ended.titles) == (0, ["Agent budget"])
    assert ended.json[0]["relevance"] is None
    assert len(ended.notices) == 1


def test_trash_within_a_database_is_not_shown_and_takes_no_place(notion, run):
    trash = [notion_page(n, "agent", in_trash=True) for n in range(100, 130)]
    archived = [notion_page(n, "agent", is_archived=True) for n in range(130, 160)]
    live = [notion_page(n, f"agent {n}") for n in range(30)]
    notion.fault("query", Reply(body=notion_list(*trash, *archived, *live)))

    ended = run("agent", "--databases", DATABASE_ID, "--json", "-n", "30", *ALONE)

    assert sorted(ended.titles) == sorted(f"agent {n}" for n in range(30))


def test_the_limit_applies_within_the_scope(serve_notion, run):
    serve_notion(
        load({"pages": [{"title": "agent", "edited": "2026-11-01 09:00"}] * 120, "databases": [tasks()]}),
    )

    assert run("budget agent", "--databases", DATABASE_ID, "--json", "-n", "1", *ALONE).titles == ["Agent budget"]


# Filters: C07

TYPED = {
    "이름": "title",
    "Status": {"status": ["Open", "Done"]},
    "Topic": {"multi_select": ["AI", "Ops"]},
    "Done": "checkbox",
    "Est": "number",
}


@pytest.fixture
def typed(serve_notion):
    """A database with a column of each kind a filter is likely to name."""
    source = {
        "id": SOURCE_ID,
        "name": "Typed",
        "schema": TYPED,
        "rows": [
            {"values": {"이름": "agent one", "Status": "Done", "Topic": ["AI"], "Done": True, "Est": 3}},
            {"values": {"이름": "agent two", "Status": "Done", "Topic": ["Ops"]}},
            {"values": {"이름": "agent three", "Status": "Open", "Topic": ["AI", "Ops"], "Est": 0}},
            {"values": {"이름": "soup", "Status": "Done", "Topic": ["AI"]}},
        ],
    }
    return serve_notion(load({"databases": [{"id": DATABASE_ID, "title": "Typed", "sources": [source]}]}))


DONE = {"property": "Status", "status": {"equals": "Done"}}
OPEN = {"property": "Status", "status": {"equals": "Open"}}
AI = {"property": "Topic", "multi_select": {"contains": "AI"}}
OPS = {"property": "Topic", "multi_select": {"contains": "Ops"}}
SOME = {"property": "Est", "number": {"greater_than": 1}}
WORDS = {"or": [{"property": "이름", "title": {"contains": "agent"}}]}


@pytest.mark.parametrize(
    ("given", "expected", "titles"),
    [
        pytest.param({"Status": "Done", "Topic": "AI"}, {"and": [DONE, AI, WORDS]}, ["one"], id="shorthand"),
        pytest.param(DONE, {"and": [DONE, WORDS]}, ["one", "two"], id="Notion's own form"),
        pytest.param({"and": [DONE, AI]}, {"and": [DONE, AI, WORDS]}, ["one"], id="Notion's own and"),
        pytest.param({}, WORDS, ["one", "three", "two"], id="an empty object"),
        pytest.param(
            {"Done": False, "Est": 0},
            {
                "and": [
                    {"property": "Done", "checkbox": {"equals": False}},
                    {"property": "Est", "number": {"equals": 0}},
                    WORDS,
                ]
            },
            ["three"],
            id="false and zero",
        ),
        pytest.param(
            {"Status": ["Open", "Done"]}, {"and": [{"or": [OPEN, DONE]}, WORDS]}, ["one", "three", "two"], id="a list"
        ),
        pytest.param({"or": [OPEN, AI]}, {"and": [{"or": [OPEN, AI]}, WORDS]}, ["one", "three"], id="or"),
        pytest.param(
            {"or": [{"and": [DONE, OPS]}, SOME]},
            {"or": [{"and": [DONE, OPS, WORDS["or"][0]]}, {"and": [SOME, WORDS["or"][0]]}]},
            ["one", "two"],
            id="or of and",
        ),
        pytest.param(
            {"and": [{"or": [OPEN, SOME]}, AI]},
            {"and": [{"or": [OPEN, SOME]}, AI, WORDS]},
            ["one", "three"],
            id="and of or",
        ),
        pytest.param(
            {"or": [{"or": [OPEN, SOME]}]}, {"and": [{"or": [OPEN, SOME]}, WORDS]}, ["one", "three"], id="or or"
        ),
    ],
)
def test_a_filter_travels_beside_the_words_two_levels_deep_at_most(typed, run, given, expected, titles):
    ended = run("agent", "--databases", DATABASE_ID, "--filter", json.dumps(given), "--json", *ALONE)

    (query,) = typed.queries
    assert query.body["filter"] == expected
    assert levels(query.body["filter"]) <= 2
    assert sorted(ended.titles) == [f"agent {name}" for name in titles]


@pytest.mark.parametrize("given", [{"or": [{"and": [DONE, AI]}, OPEN]}, {"Status": "Done"}, {}])
def test_the_judge_sees_every_row_that_passes_and_no_other(typed, claude, run, given):
    run("lunch", "--databases", DATABASE_ID, "--filter", json.dumps(given), "--no-expand")

    (query,) = typed.queries
    assert query.body.get("filter", {}) == ({**DONE} if given == {"Status": "Done"} else given)
    offered = {line.partition("] ")[2].partition(" | ")[0] for line in lines(claude.prompts("rerank")[0])}
    passing = (
        {"agent one", "agent two", "soup"} if given == {"Status": "Done"} else {"agent one", "agent three", "soup"}
    )
    assert offered == (passing if given else passing | {"agent two"})


def test_words_are_looked_for_even_beside_a_filter_of_many_alternatives(typed, claude, run):
    many = {"or": [{"or": [{"property": "Est", "number": {"does_not_equal": n}} for n in range(90)]} for _ in range(2)]}

    ended = run("soup", "--databases", DATABASE_ID, "--filter", json.dumps(many), "--json", *ALONE)

    assert (ended.code, ended.titles) == (0, ["soup"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param('{"Stauts": "Done"}', ['"Stauts"', '"Status"', '"Topic"'], id="a property"),
        pytest.param('{"Status": "Dnoe"}', ['"Dnoe"', '"Status"', '"Open"', '"Done"'], id="an option"),
        pytest.param(
            json.dumps({"property": "Stauts", "status": {"equals": "Done"}}), ['"Stauts"'], id="in its own form"
        ),
        pytest.param(
            json.dumps({"and": [DONE, {**AI, "multi_select": {"contains": "IA"}}]}), ['"IA"'], id="deep inside"
        ),
        pytest.param('{"Est": "many"}', ['"Est"', "a number"], id="a value of another kind"),
    ],
)
def test_a_name_the_database_lacks_stops_the_run_before_any_search(typed, claude, run, given, words):
    ended = run("agent", "--databases", DATABASE_ID, "--filter", given)

    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert [word for word in words if word not in line] == []
    assert typed.queries == typed.searches == []
    assert claude.requests == []


@pytest.mark.parametrize(
    "given", ["[1]", "{Status:Done}", "", "3", '{"Status": {"nested": 1}}', '{"and": 3, "or": []}']
)
def test_a_filter_that_is_none_stops_the_run_before_any_request(typed, claude, run, given):
    ended = run("agent", "--databases", DATABASE_ID, "--filter", given)

    assert (ended.code, ended.out) == (2, "")
    assert "--filter" in ended.err
    assert typed.requests == claude.requests == []


def test_a_property_only_one_of_two_databases_has_is_explained(serve_notion, claude, run):
    notion = serve_notion(two_sources(schema={"Name": "title", "Owner": "rich_text"}))

    ended = run("agent", "--databases", DATABASE_ID, "--filter", '{"Status": "Done"}')

    assert ended.code == 2
    assert 'no property "Status" in "Archive"' in ended.err
    assert '"Owner"' in ended.err
    assert notion.queries == claude.requests == []


def test_a_filter_that_leaves_nothing_is_told_from_words_that_match_nothing(typed, run):
    ended = run("agent", "--databases", DATABASE_ID, "--filter", '{"Est": 99}', *ALONE)

    assert (ended.code, ended.out) == (0, "No matches for 'agent'\n")
    assert any("--filter" in notice for notice in ended.notices)

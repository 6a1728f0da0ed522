"""Every variant through the search endpoint, and the one list they become."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.demo.workspace import Workspace, load
from notion_search.search import CANDIDATE_CAP, fuse

from .builders import make_candidate, make_listing, notion_list, notion_page, page_id
from .fakes.claude import Text
from .fakes.notion import error, kind_of, rate_limited
from .fakes.server import Reply

ALONE = ("--no-expand", "--no-rerank")


def found(variant, *numbers, **changes):
    """A listing of these pages in this order."""
    pages = [make_candidate(n, position=at, found_by=(variant,), **changes) for at, n in enumerate(numbers, 1)]
    return make_listing(variant, *pages)


def numbers(candidates):
    return [int(candidate.id[-3:]) for candidate in candidates]


def asking(variant):
    """Pick the searches for a variant."""
    return lambda request: kind_of(request) == "search" and request.body["query"] == variant


@pytest.mark.parametrize(
    ("listings", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([found("a")], [], id="an empty listing"),
        pytest.param([found("a", 3, 1, 2)], [3, 1, 2], id="one variant keeps the order of the source"),
        pytest.param([found("a", 1, 2, 3), found("b")], [1, 2, 3], id="a variant that finds nothing changes nothing"),
        pytest.param([found("a", 1, 2), found("b", 3, 2)], [2, 1, 3], id="what two variants find comes first"),
        pytest.param(
            [found("a", 1, 9, 8), found("b", 2, 7, 8), found("c", 3, 6, 8)], [8, 1, 2, 3, 9, 7, 6], id="three"
        ),
        pytest.param([found("a", 1), found("b", 2)], [1, 2], id="a tie keeps the order of the variants"),
        pytest.param([found("a", 5, 1, 5)], [5, 1], id="a page the source repeats counts once"),
        pytest.param([found("a", 1, 2, 2, 2), found("b", 3)], [1, 3, 2], id="repeating a page does not lift it"),
    ],
)
def test_fuse_puts_what_variants_agree_on_first(listings, expected):
    assert numbers(fuse(listings, "q")) == expected


def test_fuse_puts_an_exact_title_first_when_variants_disagree():
    named = make_candidate(9, title="ai AGENTS", position=40, found_by=("a",))
    listings = [make_listing("a", *found("a", 1, 2).candidates, named), found("b", 2, 1)]

    assert numbers(fuse(listings, "AI  agents")) == [9, 1, 2]


def test_fuse_knows_an_exact_title_in_either_form_of_unicode():
    named = make_candidate(9, title="학점인정", position=40, found_by=("a",))

    assert numbers(fuse([make_listing("a", named), found("b", 1)], "학점인정")) == [9, 1]


def test_fuse_leaves_an_exact_title_where_the_source_has_it_when_there_is_one_variant():
    named = make_candidate(9, title="q", position=2, found_by=("q",))

    assert numbers(fuse([make_listing("q", *found("q", 1).candidates, named)], "q")) == [1, 9]


def test_fuse_puts_rows_no_word_matches_last():
    unmatched = [make_candidate(n, position=n, found_by=()) for n in (1, 2)]
    listings = [make_listing("a", *unmatched), make_listing("b", *unmatched, *found("b", 7).candidates)]

    assert numbers(fuse(listings, "q")) == [7, 1, 2]


def test_fuse_does_not_lift_a_page_for_a_variant_that_does_not_match_it():
    beside = make_candidate(2, position=1, found_by=())

    assert numbers(fuse([found("a", 1, 2), make_listing("b", beside)], "q")) == [1, 2]


def test_fuse_prefers_a_match_to_an_exact_title_no_word_matches():
    unmatched = make_candidate(1, title="q", position=1, found_by=())

    assert numbers(fuse([make_listing("a", unmatched), found("b", 2)], "q")) == [2, 1]


def test_fuse_keeps_the_best_position_and_every_variant_that_found_the_page():
    (page,) = fuse([make_listing("a", *found("a", 1, 2).candidates[1:]), found("b", 2)], "q")

    assert (page.position, page.found_by) == (1, ("a", "b"))


def test_fuse_caps_the_merged_order_not_the_first_listing():
    noisy, telling = found("a", *range(1, 101)), found("b", 777)

    fused = fuse([noisy, telling], "q")

    assert len(fused) == CANDIDATE_CAP
    assert 777 in numbers(fused)
    assert numbers(fuse([noisy], "q", cap=2)) == [1, 2]


listings_of_any_kind = st.lists(
    st.builds(
        lambda variant, places, source: make_listing(
            variant,
            *(
                make_candidate(n, source=source, title=title, position=at, found_by=(variant,) if hit else ())
                for at, (n, title, hit) in enumerate(places, 1)
            ),
            source=source,
        ),
        st.sampled_from("abc"),
        st.lists(st.tuples(st.integers(1, 12), st.sampled_from(["q", "Q", "other"]), st.booleans()), max_size=8),
        st.sampled_from(["notion", "vault"]),
    ),
    max_size=5,
)


@given(listings_of_any_kind, st.integers(1, 40))
def test_fuse_names_no_page_twice_and_invents_none(listings, cap):
    given_pages = {(page.source, page.id) for listing in listings for page in listing.candidates}

    fused = [(page.source, page.id) for page in fuse(listings, "q", cap=cap)]

    assert len(fused) == len(set(fused)) == min(cap, len(given_pages))
    assert set(fused) <= given_pages


def test_a_search_asks_for_pages_by_relevance_a_hundred_at_once(notion, run):
    run("AI agents", *ALONE)

    (search,) = notion.searches
    assert search.body == {
        "query": "AI agents",
        "filter": {"property": "object", "value": "page"},
        "sort": {"property": "relevance"},
        "page_size": 100,
    }


def test_every_request_names_the_version_the_tool_was_written_for(notion, claude, run):
    run("AI agents")

    assert {request.headers["notion-version"] for request in notion.requests} == {"2026-03-11"}


def test_a_sort_the_api_does_not_know_is_left_out_the_second_time(notion, run):
    notion.fault("search", error(400, "validation_error", "body.sort.timestamp should be defined"))

    ended = run("AI agents", "--json", *ALONE)

    first, second = (search.body for search in notion.searches)
    assert first.pop("sort") == {"property": "relevance"}
    assert first == second
    assert (ended.code, ended.notices) == (0, [])
    assert "AI agents handbook" in ended.titles


def test_a_search_the_api_refuses_either_way_is_asked_twice(notion, run):
    notion.fault("search", error(400, "validation_error", "body.query is not to its taste"), forever=True)

    ended = run("AI agents", *ALONE)

    assert len(notion.searches) == 2
    assert (ended.code, ended.out) == (4, "")
    assert "body.query is not to its taste" in ended.err


def test_the_query_is_searched_while_it_is_expanded(notion, claude, run):
    claude.says("expand", Text(text='["multi-agent"]', wait=0.3))

    run("AI agents", "--no-rerank")

    expansion = claude.asked[0].request.arrived
    own, other = notion.searches
    assert own.arrived < expansion + 0.3 <= other.arrived
    assert [own.body["query"], other.body["query"]] == ["AI agents", "multi-agent"]


@pytest.mark.parametrize("echo", ["AI agents", "ai AGENTS", " AI  agents "])
def test_the_query_is_not_searched_twice_when_the_model_repeats_it(notion, claude, run, echo):
    claude.says("expand", f'["{echo}", "multi-agent"]')

    run("AI agents", "--no-rerank")

    assert sorted(search.body["query"] for search in notion.searches) == ["AI agents", "multi-agent"]


def test_a_page_several_variants_find_is_shown_once_at_its_best_place(serve_notion, claude, run):
    pages = [notion_page(n, f"Page {n}") for n in range(1, 101)]
    agreed, only_second = notion_page(5, "Agreed"), notion_page(777, "Seven")
    notion = serve_notion(Workspace([*pages, only_second]))
    notion.fault(asking("V1"), Reply(body=notion_list(*pages[:59], agreed, *pages[60:])))
    shouted = {**agreed, "id": page_id(5).upper()}
    notion.fault(asking("V2"), Reply(body=notion_list(shouted, only_second)))
    claude.says("expand", '["V2"]')

    ids = [result["id"] for result in run("V1", "--no-rerank", "--json", "-n", "30").json]

    assert ids[0] == page_id(5)
    assert ids.count(page_id(5)) == 1
    assert page_id(777) in ids
    assert len(ids) == 30


def test_a_query_in_english_finds_a_korean_title_only_through_its_variants(notion, claude, run):
    claude.says("expand", '["에이전트"]')

    assert "에이전트 설계" not in run("AI agents", "--no-expand", "--json").titles
    assert "에이전트 설계" in run("AI agents", "--json").titles


def test_one_failing_variant_costs_one_notice_and_no_result_of_the_others(notion, claude, run):
    claude.says("expand", '["에이전트", "reading"]')
    notion.fault(asking("reading"), error(403, "restricted_resource", "No."))

    ended = run("AI agents", "--no-rerank", "--json")

    assert ended.code == 0
    assert {"에이전트 설계", "AI agents handbook"} <= set(ended.titles)
    (notice,) = ended.notices
    assert "1 of 3 searches failed" in notice
    assert "403" in notice


def test_the_query_failing_leaves_what_its_variants_found(notion, claude, run):
    claude.says("expand", '["에이전트"]')
    notion.fault(asking("AI agents"), error(403, "restricted_resource"))

    ended = run("AI agents", "--no-rerank", "--json")

    assert (ended.code, ended.titles) == (0, ["에이전트 설계"])
    assert len(ended.notices) == 1


def test_a_token_notion_does_not_know_ends_the_run_whatever_the_variants(notion, claude, run):
    claude.says("expand", '["에이전트"]')
    notion.fault(asking("에이전트"), error(401, "unauthorized", "API token is invalid."))

    ended = run("AI agents", "--json")

    assert (ended.code, ended.out) == (4, "")
    assert claude.prompts("rerank") == []


def test_every_variant_failing_ends_the_run_with_nothing_on_stdout(notion, claude, run):
    claude.says("expand", '["에이전트", "reading"]')
    notion.fault("search", rate_limited(600), forever=True)

    ended = run("AI agents", "--json")

    assert (ended.code, ended.out) == (4, "")
    assert len(ended.err.splitlines()) == 1
    assert claude.prompts("rerank") == []


@pytest.mark.parametrize(
    ("workspace", "expected"),
    [
        pytest.param({"pages": [{"title": "Something else"}]}, "no title has these words", id="nothing matches"),
        pytest.param({}, "no page at all is shared", id="nothing is shared"),
    ],
)
@pytest.mark.parametrize(("options", "out"), [((), "No matches for 'AI [x]'\n"), (("--json",), "[]\n")])
def test_no_match_is_told_from_nothing_shared(serve_notion, run, workspace, expected, options, out):
    notion = serve_notion(load(workspace))

    ended = run("AI [x]", *ALONE, *options)

    assert (ended.code, ended.out) == (0, out)
    (notice,) = ended.notices
    assert expected in notice
    assert [(s.body["query"], s.body["page_size"]) for s in notion.searches] == [("AI [x]", 100), ("", 1)]


def test_without_matches_nothing_is_judged_or_read(notion, claude, run):
    run("zebra")

    assert claude.prompts("rerank") == []
    assert notion.children == []

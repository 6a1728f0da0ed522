"""The first text of each candidate, read and shown."""

import re
import time

import pytest

from notion_search.demo.workspace import Workspace, load

from .builders import SLACK, notion_list, notion_page, page_id
from .fakes.claude import lines
from .fakes.notion import drip, error, hang
from .fakes.server import Reply

ALONE = ("--no-expand", "--no-rerank")
INNER = "2b0f7c11-4a10-8001-9000-00000000b001"
COLUMNS = "2b0f7c11-4a10-8001-9000-00000000b002"
ORIGIN = "2b0f7c11-4a10-8001-9000-00000000b003"
FAMILY = "👨‍👩‍👧‍👦"


def pieces(*texts):
    return [{"type": "text", "text": {"content": text}, "plain_text": text} for text in texts]


def block(kind, *texts, **changes):
    """A block of a kind with this text of its own."""
    return {"object": "block", "type": kind, kind: {"rich_text": pieces(*texts)}, "has_children": False, **changes}


def children_of(id_):
    """Pick the readings of a page or a block."""
    return lambda request: request.path == f"/v1/blocks/{id_}/children"


def reading(number):
    """Pick the readings of a numbered page."""
    return children_of(page_id(number))


@pytest.fixture
def page_of(serve_notion):
    """Serve one page of these blocks as they stand, and blocks within others by the id of the outer one."""

    def serve(*blocks, inside=None):
        notion = serve_notion(Workspace([notion_page(1, "Plan")]))
        for id_, found in {page_id(1): blocks, INNER: (), COLUMNS: (), **(inside or {})}.items():
            notion.fault(children_of(id_), Reply(body=notion_list(*found)), forever=True)
        return notion

    return serve


IMAGE = {"type": "image", "image": {"type": "external", "external": {}, "caption": pieces("A chart")}}
FURNITURE = (
    {"type": "divider", "divider": {}},
    {"type": "unsupported", "unsupported": {"block_type": "button"}},
    {"type": "synced_block", "id": INNER, "synced_block": {"synced_from": None}, "has_children": True},
    {"type": "column_list", "id": COLUMNS, "column_list": {}, "has_children": True},
)
MODERN = (
    {"type": "child_page", "child_page": {"title": "Another page"}, "has_children": True, "id": INNER},
    {"type": "table_of_contents", "table_of_contents": {}},
    {"type": "tab", "tab": {}},
    {"type": "brand_new", "brand_new": {}},
    block("callout", "Read me first"),
)
INLINE = [
    {"type": "mention", "mention": {"type": "user", "user": {}}, "plain_text": "Kim"},
    *pieces(", "),
    {"type": "equation", "equation": {"expression": "E=mc²"}, "plain_text": "E=mc²"},
]
BLANKS = (
    {"type": "paragraph", "paragraph": {"rich_text": []}},
    block("paragraph", "  \u200b "),
    {"type": "paragraph", "paragraph": {"rich_text": INLINE}},
)
LONG = "가" * 197 + FAMILY + "나" * 300


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        pytest.param((IMAGE, *FURNITURE), "", id="a: a caption, furniture and containers with nothing in them"),
        pytest.param(MODERN, "Read me first", id="b: a callout behind kinds without text"),
        pytest.param(BLANKS, "Kim, E=mc²", id="c: a mention and an equation behind blanks"),
        pytest.param([block("heading_1", "Agenda"), block("paragraph", LONG)], "Agenda", id="d: a heading"),
        pytest.param([block("paragraph", LONG)], "가" * 197, id="d: no half of an emoji"),
        pytest.param([], "", id="e: no block"),
        pytest.param([block("paragraph", "[draft] of [/x]")], "[draft] of [/x]", id="square brackets"),
        pytest.param(
            [None, 3, {"type": "paragraph"}, {"type": "paragraph", "paragraph": None}], "", id="broken blocks"
        ),
    ],
)
def test_table_prompt_and_json_agree_on_the_excerpt(page_of, claude, run, blocks, expected):
    """C11: the first text of the page, wherever it stands, and an empty string where there is none."""
    notion = page_of(*blocks)

    as_json = run("plan", "--json", "--no-expand")
    table = run("plan", *ALONE)

    assert (as_json.code, as_json.err, table.err) == (0, "", "")
    assert as_json.json[0]["excerpt"] == expected
    shown = expected if len(expected) < 50 else expected[:45]
    assert lines(claude.prompts("rerank")[0])[0].startswith(f"[1] Plan | {shown}" if shown else "[1] Plan")
    quoted = re.search("“(.*?)”", table.out, re.DOTALL)
    assert "".join(quoted[1].split()) == "".join(expected.split()) if expected else quoted is None
    assert len(notion.children) <= 4  # two runs, each one level down at most


def test_one_level_of_containers_is_looked_into(page_of, run):
    notion = page_of(*FURNITURE, inside={INNER: [block("paragraph", "Within the synced block")]})

    (result,) = run("plan", "--json", *ALONE).json

    assert result["excerpt"] == "Within the synced block"
    assert len(notion.children) == 2


def test_a_caption_does_not_stand_for_text_within_a_container(page_of, run):
    page_of(IMAGE, *FURNITURE, inside={INNER: [block("paragraph", "Within the synced block")]})

    assert run("plan", "--json", *ALONE).json[0]["excerpt"] == "Within the synced block"


SYNCED = {
    "type": "synced_block",
    "id": INNER,
    "has_children": True,
    "synced_block": {"synced_from": {"type": "block_id", "block_id": ORIGIN}},
}


def test_a_synced_copy_is_read_at_its_original(page_of, run):
    page_of(SYNCED, inside={ORIGIN: [block("quote", "Said elsewhere")]})

    assert run("plan", "--json", *ALONE).json[0]["excerpt"] == "Said elsewhere"


def test_an_original_that_is_not_shared_leaves_the_page_read(page_of, run):
    notion = page_of(SYNCED, block("paragraph"))
    notion.fault(children_of(ORIGIN), error(404, "object_not_found"), forever=True)

    ended = run("plan", "--json", *ALONE)

    assert (ended.json[0]["excerpt"], ended.err) == ("", "")


def test_text_is_looked_for_in_twenty_blocks_of_one_request(page_of, run):
    notion = page_of(*[block("paragraph", "")] * 19, block("paragraph", "At last"), block("paragraph", "more"))

    assert run("plan", "--json", *ALONE).json[0]["excerpt"] == "At last"
    (reading_once,) = notion.children
    assert dict(reading_once.params) == {"page_size": ["20"]}


def five_pages(serve_notion):
    return serve_notion(
        load({"pages": [{"id": page_id(n), "title": f"Plan {n}", "blocks": [f"Text {n}"]} for n in range(1, 6)]})
    )


@pytest.mark.parametrize("judged", [True, False], ids=["judged", "unjudged"])
def test_pages_that_cannot_be_read_are_shown_without_an_excerpt(serve_notion, claude, run, judged):
    notion = five_pages(serve_notion)
    notion.fault(reading(2), error(400, "validation_error", "Unsupported block."), forever=True)
    notion.fault(reading(4), error(404, "object_not_found"), forever=True)
    notion.fault(reading(5), hang(), forever=True)
    started = time.monotonic()

    ended = run("plan", "--json", "--no-expand", "--timeout", "3", *(() if judged else ["--no-rerank"]))

    assert time.monotonic() - started < 3 + SLACK
    assert ended.code == 0
    excerpts = {result["title"]: result["excerpt"] for result in ended.json}
    assert excerpts == {"Plan 1": "Text 1", "Plan 2": "", "Plan 3": "Text 3", "Plan 4": "", "Plan 5": ""}
    (notice,) = ended.notices
    assert "3 of 5 pages could not be read" in notice
    assert len(claude.prompts("rerank")) == judged


def test_no_page_that_can_be_read_ends_no_run(serve_notion, run):
    five_pages(serve_notion).fault("children", error(403, "restricted_resource", "No content."), forever=True)

    ended = run("plan", "--json", *ALONE)

    assert ended.code == 0
    assert [result["excerpt"] for result in ended.json] == [""] * 5
    (notice,) = ended.notices
    assert "5 of 5" in notice
    assert "403" in notice


def test_a_body_that_drips_is_given_up(serve_notion, run):
    five_pages(serve_notion).fault(reading(3), drip(0.05), forever=True)
    started = time.monotonic()

    ended = run("plan", "--json", "--timeout", "1.5", *ALONE)

    assert time.monotonic() - started < 1.5 + SLACK
    assert (ended.code, len(ended.json), len(ended.notices)) == (0, 5, 1)


def test_a_reading_that_fails_once_is_tried_again(serve_notion, run):
    five_pages(serve_notion).fault(reading(3), error(500, "internal_server_error"))

    ended = run("plan", "--json", *ALONE)

    assert {result["excerpt"] for result in ended.json} == {f"Text {n}" for n in range(1, 6)}
    assert ended.err == ""


@pytest.mark.parametrize(
    "fault",
    [Reply(body=notion_list(None, 3)), Reply(body={"results": None}), Reply(body={})],
    ids=["no blocks", "no list", "an empty object"],
)
def test_an_answer_without_blocks_is_an_empty_page(serve_notion, run, fault):
    five_pages(serve_notion).fault("children", fault, forever=True)

    ended = run("plan", "--json", *ALONE)

    assert {result["excerpt"] for result in ended.json} == {""}
    assert ended.code == 0


def test_without_a_judge_only_the_pages_shown_are_read(serve_notion, run):
    notion = five_pages(serve_notion)

    run("plan", "-n", "2", *ALONE)

    assert len(notion.children) == 2


def test_a_judge_is_given_the_text_of_every_candidate(serve_notion, claude, run):
    notion = serve_notion(load({"pages": [{"title": f"Plan {n}", "blocks": [f"Text {n}"]} for n in range(40)]}))

    run("plan", "-n", "2", "--no-expand")

    offered = lines(claude.prompts("rerank")[0])
    assert len(offered) == len(notion.children) == 30
    assert all(line.endswith(f"Plan {number} | Text {number}") for line in offered for number in [line.split()[-1]])

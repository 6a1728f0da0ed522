"""Whole pages as plain Markdown: out of Notion's own, out of blocks, over the wire, and kept."""

import gzip
import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from notion_search.demo.handler import Handler
from notion_search.demo.markdown import page_markdown
from notion_search.demo.workspace import Workspace, load, sample
from notion_search.errors import NotFoundError, SourceError, UnauthorizedError
from notion_search.pace import Pacer
from notion_search.remembering import Remembering
from notion_search.sources import notion as notion_source
from notion_search.sources.markdown import CALLS, DEPTH, LIST_CALLS, TEXT_LENGTH, clean, from_blocks
from notion_search.store import PageStore
from notion_search.types import Meter, Page, Run, Scope

from .builders import make_candidate, notion_list, notion_page, page_id
from .conftest import TOKEN
from .fakes.notion import Sent, error, rate_limited
from .fakes.server import Reply

RECORDED = Path(__file__).parents[2] / "shared" / "recorded"
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


# Out of Notion's own Markdown


@pytest.mark.parametrize(
    ("notions", "plain"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param('# 제목 {color="blue"}', "# 제목", id="a colour"),
        pytest.param('## 접기 {toggle="true" color="red_bg"}\n\t안쪽', "## 접기\n\n안쪽", id="a heading that folds"),
        pytest.param('{color="x"} is said here', '{color="x"} is said here', id="attributes in front are text"),
        pytest.param('say \\{color="x"\\}', 'say {color="x"}', id="escaped attributes are text"),
        pytest.param("**굵게** *기울임* ~~줄~~ [link](https://x.example/a_b)", None, id="emphasis and links stay"),
        pytest.param("\\[draft\\] 2 \\* 3 \\< 4 \\\\ \\| \\^", "[draft] 2 * 3 < 4 \\ | ^", id="escapes"),
        pytest.param("\\<callout\\>", "<callout>", id="an escaped tag is text"),
        pytest.param("a < b, List<int> and <b>bold</b>", None, id="what is no tag of Notion's"),
        pytest.param("<pages> <page-break> <callouts>", None, id="what only begins like a tag"),
        pytest.param("<callout color=", None, id="half a tag"),
        pytest.param("`\\*` and `<callout>` and ``a ` \\[``", None, id="code within a line"),
        pytest.param("an open ` tick \\* <br>here", "an open ` tick *\nhere", id="a tick that closes nothing"),
        pytest.param("$`\\frac{a}{b}`$", None, id="a formula within a line"),
        pytest.param('<span color="red">빨강</span> 글', "빨강 글", id="a span"),
        pytest.param("one<br>two", "one\ntwo", id="a break in a paragraph"),
        pytest.param("> one<br>two", "> one\n> two", id="a break in a quote"),
        pytest.param("# one<br>two", "# one two", id="a break in a heading"),
        pytest.param("- one<br>two", "- one\n  two", id="a break in an item"),
        pytest.param("one\ntwo\n<empty-block/>\n---", "one\n\ntwo\n\n---", id="each block by itself"),
        pytest.param("- \n# \n>\n본문", "본문", id="marks without a text"),
        pytest.param("- a\n\t- b\n\t\t1. c\n- [x] d", "- a\n  - b\n    1. c\n- [x] d", id="lists within lists"),
        pytest.param("- a\n\tpara\n\t- b", "- a\n\npara\n\n  - b", id="a paragraph in an item"),
        pytest.param("para\n\t- a\n\t\t- b", "para\n\n- a\n  - b", id="a list under a paragraph"),
        pytest.param('<callout icon="💡">\n\t알림\n\t- a\n</callout>', "알림\n\n- a", id="a callout"),
        pytest.param('::: callout {icon="💡" color="gray_bg"}\n\t알림\n:::', "알림", id="a callout between colons"),
        pytest.param("<details>\n<summary>더</summary>\n\t안\n</details>", "더\n\n안", id="a toggle"),
        pytest.param("<details><summary>더</summary>안</details>", "더\n\n안", id="a toggle in one line"),
        pytest.param(
            "<columns>\n\t<column>\n\t\tL\n\t</column>\n\t<column>\n\t\tR\n\t</column>\n</columns>",
            "L\n\nR",
            id="columns",
        ),
        pytest.param('<page url="https://x.example" color="red">하위</page>', "하위", id="a page"),
        pytest.param(
            'see <mention-page url="https://x.example">계획</mention-page>, <mention-user url="u">Kim</mention-user>',
            "see 계획, Kim",
            id="mentions",
        ),
        pytest.param('on <mention-date start="2026-10-01"/>', "on 2026-10-01", id="a day"),
        pytest.param(
            '<mention-date start="2026-10-01" end="2026-10-05"/>', "2026-10-01 → 2026-10-05", id="from day to day"
        ),
        pytest.param('<mention-date start="2026-10-01">내일</mention-date>', "내일", id="a day with a text"),
        pytest.param('<unknown url="https://x.example" alt="bookmark"/>', "", id="what Notion cannot show"),
        pytest.param("![그림 \\[1\\]](https://x.example/a_(1).png?X-Amz-Signature=1)", "그림 [1]", id="a picture"),
        pytest.param('<pdf src="https://x.example/a.pdf">계약서</pdf>', "계약서", id="a file"),
        pytest.param('<synced_block url="u">\n\t같은 글\n</synced_block>', "같은 글", id="a synced block"),
        pytest.param(
            "<meeting-notes>\n\t회의\n\t<notes>\n\t\t- a\n\t</notes>\n</meeting-notes>", "회의\n\n- a", id="a meeting"
        ),
        pytest.param(
            '<table header-row="true">\n<colgroup>\n<col color="red"/>\n</colgroup>\n\t<tr>\n\t\t<td>이름</td>\n'
            "\t\t<td>a\\|b<br>c</td>\n\t</tr>\n\t<tr><td>1</td><th></th></tr>\n</table>\nafter",
            "| 이름 | a\\|b c |\n| --- | --- |\n| 1 |  |\n\nafter",
            id="a table",
        ),
        pytest.param("<table><tr><td>a</td>", "| a |\n| --- |", id="a table that does not end"),
        pytest.param(
            "```py\n\\* <callout>\t{a}\n\t- x\n\n```\n\\*", "```py\n\\* <callout>\t{a}\n\t- x\n\n```\n\n*", id="code"
        ),
        pytest.param("- a\n\t```\n\t\tx\n\t```\n\t- b", "- a\n\n```\n\tx\n```\n\n  - b", id="code in an item"),
        pytest.param("````\n```\n\\*\n````\n\\*", "````\n```\n\\*\n````\n\n*", id="a fence in a longer fence"),
        pytest.param("```\n\\*", "```\n\\*", id="code that does not end"),
        pytest.param("$$\n\\left\\{ x \\right\\}\n$$\n\\$", "$$\n\\left\\{ x \\right\\}\n$$\n\n$", id="a formula"),
        pytest.param("a\u202eb\x1b[31mc\x00 \ud800d", "ab[31mc d", id="what a terminal would act on"),
        pytest.param("a\r\n```\r\nb\x1b\r\n```", "a\n\n```\nb\n```", id="line ends of another system"),
    ],
)
def test_notions_markdown_becomes_plain(notions, plain):
    assert clean(notions) == (notions if plain is None else plain)


TOKENS = r"""<callout </callout> <td> <table> </tr> <br> <span <mention-date start=" " ![ ]( ) \ ` ``` $$ ::: { }
    {color="x"} - # > 1. <details> [ 가 a | ~~~ */ />""".split()
OTHERS = ["\n", "\t", " ", "\n\t- ", "\u0301", "\x1b", "\ud800", "\r"]
FLAVOUR = st.lists(st.sampled_from(TOKENS + OTHERS), max_size=60).map("".join)


@given(FLAVOUR | st.text())
def test_any_text_is_cleaned(text):
    plain = clean(text)

    plain.encode()
    assert not {char for char in plain if char < " "} - {"\n", "\t"}


CODE_LINE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], include_characters="\t"))


@given(st.lists(CODE_LINE), st.sampled_from(["```", "~~~~", "$$"]))
def test_nothing_in_a_fence_is_changed(lines, fence):
    assume(not any(line.strip().startswith(fence) for line in lines))
    whole = "\n".join([fence, *lines, fence])

    assert clean(whole) == whole


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param("<callout ", id="half a tag"),
        pytest.param('<callout a="<callout b=" c=" ', id="tags in quotes"),
        pytest.param("![a", id="half a picture"),
        pytest.param("![](", id="half an address"),
        pytest.param("\\*", id="escapes"),
        pytest.param("`a``b", id="ticks"),
        pytest.param('{a="b" ', id="attributes"),
        pytest.param("<br>x", id="breaks"),
        pytest.param("<tr><td>a", id="cells"),
        pytest.param("\u0301\u0316", id="marks on one letter"),
        pytest.param("$$\n", id="fences"),
        pytest.param("#", id="hashes"),
    ],
)
def test_a_long_page_of_one_thing_takes_a_moment(piece):
    times = 250_000 // len(piece)
    start = time.process_time()
    clean("\t" * 500 + "- " + piece * times)

    assert time.process_time() - start < 3


def test_ticks_of_every_length_take_a_moment():
    start = time.process_time()
    clean("".join("`" * length + " " for length in range(1, 1500)))

    assert time.process_time() - start < 1


def test_breaks_in_a_deep_item_do_not_multiply_its_depth():
    nested = "\n".join("\t" * depth + "- a" for depth in range(200)) + "<br>x" * 10_000

    assert len(clean(nested)) < 5 * len(nested)


# Out of blocks


def pieces(text):
    return [{"type": "text", "text": {"content": text}, "plain_text": text}]


def block(kind, text=None, *, id_=None, **more):
    """A block of a kind with this text of its own; with an id, it holds others."""
    body = {} if text is None else {"rich_text": pieces(text)}
    return {"object": "block", "id": id_, "type": kind, kind: {**body, **more}, "has_children": id_ is not None}


def inner_id(number):
    return f"2b0f7c11-4a10-8001-9000-00000000b{number:03}"


def row(*cells):
    return {"type": "table_row", "table_row": {"cells": [pieces(cell) for cell in cells]}}


A, B, C = inner_id(1), inner_id(2), inner_id(3)


@pytest.mark.parametrize(
    ("blocks", "inside", "expected"),
    [
        pytest.param([block("heading_1", "목표"), block("heading_4", "[a]")], {}, "# 목표\n\n#### [a]", id="headings"),
        pytest.param([block("paragraph", "a\nb"), block("paragraph", " \u200b")], {}, "a\nb", id="paragraphs"),
        pytest.param(
            [block("bulleted_list_item", "a", id_=A), block("bulleted_list_item", "d")],
            {A: [block("to_do", "b", checked=True, id_=B)], B: [block("numbered_list_item", "c")]},
            "- a\n  - [x] b\n    1. c\n- d",
            id="lists within lists",
        ),
        pytest.param(
            [*map(block, ["numbered_list_item"] * 2, "ab"), block("paragraph", "-"), block("numbered_list_item", "c")],
            {},
            "1. a\n2. b\n\n-\n\n1. c",
            id="numbers begin anew",
        ),
        pytest.param([block("to_do", "할 일", checked=False)], {}, "- [ ] 할 일", id="what is to do"),
        pytest.param([block("quote", "a\nb")], {}, "> a\n> b", id="a quote of two lines"),
        pytest.param([block("callout", "", id_=A)], {A: [block("paragraph", "안")]}, "안", id="a callout"),
        pytest.param([block("toggle", "더", id_=A)], {A: [block("paragraph", "안")]}, "더\n\n안", id="a toggle"),
        pytest.param(
            [block("code", "a\n```\n\tb", language="python", caption=pieces("c"))],
            {},
            "````python\na\n```\n\tb\n````\n\nc",
            id="code with a fence in it",
        ),
        pytest.param([block("equation", expression="a^2")], {}, "$$\na^2\n$$", id="a formula"),
        pytest.param(
            [block("table", id_=A)],
            {A: [row("이름", "a|b"), row("", "[x]\ny")]},
            "| 이름 | a\\|b |\n| --- | --- |\n|  | [x] y |",
            id="a table",
        ),
        pytest.param(
            [block("column_list", id_=A)],
            {
                A: [block("column", id_=B), block("column", id_=C)],
                B: [block("paragraph", "L")],
                C: [block("quote", "R")],
            },
            "L\n\n> R",
            id="columns",
        ),
        pytest.param(
            [{**block("synced_block", synced_from={"block_id": A.replace("-", "")})}],
            {A: [block("paragraph", "원본")]},
            "원본",
            id="a synced copy",
        ),
        pytest.param([block("image", caption=pieces("그림 [1]"))], {}, "그림 [1]", id="a caption"),
        pytest.param([block("file", caption=[], name="plan.pdf")], {}, "plan.pdf", id="a file's name"),
        pytest.param(
            [block("child_page", title="하위", id_=A)], {A: [block("paragraph", "no")]}, "하위", id="a page within"
        ),
        pytest.param([block("divider"), block("unsupported", block_type="form")], {}, "---", id="furniture"),
        pytest.param([None, 3, {"type": []}, {"type": "code", "code": 1}, {"type": "table_row"}], {}, "", id="junk"),
        pytest.param([block("paragraph", "a\u202e\x1b[31mb")], {}, "a[31mb", id="what a terminal would act on"),
    ],
)
def test_blocks_become_markdown(blocks, inside, expected):
    assert from_blocks(blocks, lambda id_: inside.get(id_, [])) == expected


def test_a_circle_of_copies_is_gone_round_once():
    copy = block("synced_block", synced_from={"block_id": A})

    assert from_blocks([copy] * 100, lambda _: [block("paragraph", "once"), *[copy] * 100]) == "once"


def test_blocks_are_followed_four_levels_deep():
    def children(id_):
        number = int(id_[-3:]) + 1
        return [block("bulleted_list_item", str(number), id_=inner_id(number))]

    assert from_blocks(children(inner_id(0)), children) == "- 1\n  - 2\n    - 3\n      - 4"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from("type rich_text plain_text cells caption title table code to_do".split()), inner
        )
    ),
    max_leaves=8,
)


@given(st.lists(ANYTHING), ANYTHING)
def test_any_blocks_become_text(blocks, body):
    kinds = ("code", "table_row", "table", "to_do", "equation", "child_page", "image", "numbered_list_item", "quote")
    listed = [*blocks, *({"type": kind, kind: body, "has_children": True, "id": A} for kind in kinds)]

    from_blocks(listed, lambda _: listed).encode()


WORDS = st.text(st.sampled_from("가나 a1.-+#>*_`~$[](){}|\\<!:^/="), min_size=1, max_size=12).filter(str.strip)
TEXTS = ("paragraph", "heading_2", "bulleted_list_item", "numbered_list_item", "quote", "toggle", "callout")
CODE = st.builds(
    lambda code, language: {"code": code, "language": language},
    st.text(st.sampled_from("a `\t\\<\n"), max_size=12),
    st.sampled_from(["python", "plain text"]),
)
LEAVES = (
    st.builds(lambda kind, text: {kind: text}, st.sampled_from(TEXTS), WORDS)
    | st.builds(lambda text: f"[x] {text}", WORDS.map(str.strip))
    | st.builds(lambda text: {"image": "https://x.example/a_(1).png", "caption": text}, WORDS)
    | st.builds(lambda rows: {"table": rows}, st.lists(st.lists(WORDS, min_size=2, max_size=2), min_size=1, max_size=3))
    | st.just({"equation": "\\left\\{ x \\right\\}"})
    | st.just("divider")
    | CODE
)
TREES = st.lists(
    st.recursive(
        LEAVES,
        lambda inner: (
            st.builds(
                lambda kind, text, children: {kind: text, "children": children},
                st.sampled_from(TEXTS),
                WORDS,
                st.lists(inner, max_size=3),
            )
            | st.builds(lambda column: {"columns": [column, ["R"]]}, st.lists(inner, max_size=2))
        ),
        max_leaves=8,
    ),
    max_size=5,
)


def both_ways(workspace, key):
    """A page's text out of Notion's Markdown and out of its blocks."""
    listed = workspace.children.get(key, ())
    out_of_blocks = from_blocks(listed, lambda id_: workspace.children.get(id_, ()))
    return clean(page_markdown(key, workspace.children)["markdown"]), out_of_blocks


def height(workspace, key):
    return 1 + max((height(workspace, inner["id"]) for inner in workspace.children.get(key, ())), default=0)


@given(TREES)
def test_both_ways_lead_to_the_same_text(blocks):
    workspace = load({"pages": [{"title": "T", "blocks": blocks}]})
    key = workspace.pages[0]["id"]
    assume(height(workspace, key) <= DEPTH + 1)  # the page itself and four levels of blocks
    cleaned, out_of_blocks = both_ways(workspace, key)

    assert cleaned == out_of_blocks


def test_both_ways_lead_to_the_same_text_in_the_sample():
    workspace = sample()
    unlike = [page for page in workspace.pages if len(set(both_ways(workspace, page["id"]))) > 1]

    # Notion's Markdown leaves out bookmarks and embeds, caption and all.
    for page in unlike:
        assert page_markdown(page["id"], workspace.children)["unknown_block_ids"]
    assert len(unlike) <= 1


@pytest.mark.skipif(
    not RECORDED.is_dir() and "CI" not in os.environ, reason="the recorded answers are not beside this checkout"
)
def test_every_recorded_block_list_and_page_becomes_markdown():
    def answers(name):
        with gzip.open(RECORDED / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            return [answer["response"] for answer in map(json.loads, lines) if answer["status"] == 200]

    lists = [answer["results"] for answer in answers("blocks")]
    lists += [
        found for path in (RECORDED / "importer").glob("*.json") for found in _block_lists(json.loads(path.read_text()))
    ]
    texts = [from_blocks(blocks, lambda _: ()) for blocks in lists]

    assert sum(bool(text) for text in texts) >= 50
    assert not [text for text in texts if "None" in text or "{'" in text]
    assert [clean(answer["markdown"]) for answer in answers("markdown")] == [""]


def _block_lists(value):
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if isinstance(value, list) and value and isinstance(value[0], dict) and value[0].get("object") == "block":
        yield value
    for each in inner:
        yield from _block_lists(each)


# Over the wire

MARKDOWN = "/markdown"


@pytest.fixture
def errand():
    deadline = time.monotonic() + 20
    pace = Pacer(wait_scale=0.01)
    return Run(deadline=deadline, pace=pace, notify=lambda _: None, emit=lambda _: None, meter=Meter())


@pytest.fixture
def connected(serve_notion, errand):
    """Serve a workspace, and give its server and the source that asks it."""
    opened = []

    def connect(workspace):
        server = serve_notion(workspace)
        # The environment's proxy settings are no concern of a loopback server.
        http = httpx.Client(trust_env=False)
        opened.append(notion_source.connect(TOKEN, server.url, errand.deadline, whole=False, http=http))
        return server, opened[-1]

    yield connect
    for source in opened:
        source.close()


def is_markdown(request):
    return request.path.endswith(MARKDOWN)


def of_page(*blocks):
    workspace = load({"pages": [{"title": "Plan", "edited": "2026-11-03 09:08", "blocks": list(blocks)}]})
    return workspace, make_candidate(id=workspace.pages[0]["id"], edited="2026-11-03T09:08:00.000Z")


RICH = (
    "# 목표 [1]",
    {"bulleted_list_item": "a < b", "children": ["- 안쪽"]},
    {"callout": "알림", "children": [{"toggle": "더", "children": ["끝"]}]},
    {"table": [["a", "b"], ["1", "2|3"]]},
    {"code": "x\n\ty", "language": "python"},
)
RICH_TEXT = """# 목표 [1]

- a < b
  - 안쪽

알림

더

끝

| a | b |
| --- | --- |
| 1 | 2\\|3 |

```python
x
\ty
```"""


def test_a_page_is_one_call(connected, errand):
    workspace, candidate = of_page(*RICH)
    server, source = connected(workspace)

    assert source.text(candidate, errand) == Page(text=RICH_TEXT)
    assert [request.path for request in server.requests] == [f"/v1/pages/{candidate.id}/markdown"]
    assert errand.meter.counts["notion.markdown"] == 1


def test_a_page_that_notion_cut_says_so(connected, errand):
    workspace, candidate = of_page("a")
    server, source = connected(workspace)
    server.fault(is_markdown, Reply(body={"object": "page_markdown", "markdown": "a\n<unknown/>", "truncated": True}))

    assert source.text(candidate, errand) == Page(text="a", truncated=True)


def test_a_text_ends_at_its_bound_and_says_so(connected, errand):
    workspace, candidate = of_page("a")
    server, source = connected(workspace)
    server.fault(
        is_markdown, Reply(body={"markdown": "가" * (TEXT_LENGTH + 1)}), Reply(body={"markdown": "가" * TEXT_LENGTH})
    )

    assert source.text(candidate, errand) == Page(text="가" * TEXT_LENGTH, truncated=True)
    assert source.text(candidate, errand) == Page(text="가" * TEXT_LENGTH)


REFUSALS = [
    pytest.param(error(403, "restricted_resource"), id="403"),
    pytest.param(error(400, "invalid_request_url"), id="an API that has no such endpoint"),
    pytest.param(error(400, "validation_error"), id="a version that has no such endpoint"),
    pytest.param(error(404, "object_not_found"), id="404"),
    pytest.param(Reply(body={"object": "page_markdown", "markdown": None}), id="no text"),
    pytest.param(Reply(body={"object": "list", "results": []}), id="something else"),
]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_where_the_endpoint_is_refused_the_blocks_are_read(connected, errand, refusal):
    workspace, candidate = of_page(*RICH)
    server, source = connected(workspace)
    server.fault(is_markdown, refusal, forever=True)

    assert source.text(candidate, errand) == Page(text=RICH_TEXT)
    assert len(server.children) == 5  # the page, the item, the callout and the toggle in it, the table
    assert {request.params["page_size"][0] for request in server.children} == {"100"}


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        pytest.param(error(401, "unauthorized"), UnauthorizedError, id="an unknown token"),
        pytest.param(error(503, "service_unavailable"), SourceError, id="no service"),
        pytest.param(rate_limited(reason="public_api_request_blocked"), SourceError, id="a blocked token"),
        pytest.param(Sent(truncated=True), SourceError, id="half an answer"),
    ],
)
def test_where_no_other_way_helps_none_is_tried(connected, errand, fault, kind):
    workspace, candidate = of_page(*RICH)
    server, source = connected(workspace)
    server.fault(is_markdown, fault, forever=True)

    with pytest.raises(kind):
        source.text(candidate, errand)

    assert server.children == []


def test_an_unknown_page_is_not_found(connected, errand):
    _, source = connected(of_page("a")[0])

    with pytest.raises(NotFoundError):
        source.text(make_candidate(), errand)


@pytest.fixture
def by_blocks(connected):
    """Serve one page without the endpoint, its blocks and those within as they stand."""

    def serve(answers):
        server, source = connected(Workspace([notion_page(1, "Plan")]))
        server.fault(is_markdown, error(403, "restricted_resource"), forever=True)
        for id_, answer in answers.items():
            path = f"/v1/blocks/{id_}/children"
            server.fault(lambda request, path=path: request.path == path, *answer, forever=True)
        return server, source

    return serve


def replies(*blocks, cursor=None):
    return Reply(body=notion_list(*blocks, cursor=cursor))


def test_a_long_list_is_read_to_its_end(by_blocks, errand):
    first = replies(block("paragraph", "a"), cursor="c1")
    server, source = by_blocks({page_id(1): (first, replies(block("paragraph", "b")))})

    assert source.text(make_candidate(), errand) == Page(text="a\n\nb")
    assert [request.params.get("start_cursor") for request in server.children] == [None, ["c1"]]


def test_an_endless_list_is_read_five_times(by_blocks, errand):
    server, source = by_blocks({page_id(1): (replies(block("paragraph", "a"), cursor="same"),)})

    assert source.text(make_candidate(), errand) == Page(text="\n\n".join("a" * LIST_CALLS), truncated=True)
    assert len(server.children) == LIST_CALLS == 5


def test_a_wide_page_takes_sixty_calls(by_blocks, errand):
    items = [block("bulleted_list_item", str(number), id_=inner_id(number)) for number in range(100)]
    inside = {inner_id(number): (replies(block("paragraph", "in")),) for number in range(100)}
    server, source = by_blocks({page_id(1): (replies(*items),), **inside})

    found = source.text(make_candidate(), errand)

    assert found.truncated
    assert found.text.count("in") == CALLS - 1
    assert "- 99" in found.text
    assert len(server.children) == CALLS == 60


def test_the_original_of_many_copies_is_read_once(by_blocks, errand):
    copy = block("synced_block", synced_from={"block_id": A})
    server, source = by_blocks({page_id(1): (replies(copy, copy),), A: (replies(block("paragraph", "글"), copy),)})

    assert source.text(make_candidate(), errand) == Page(text="글")
    assert len(server.children) == 2


def test_a_deep_page_takes_four_levels(by_blocks, errand):
    ids = [page_id(1), *map(inner_id, range(9))]
    chain = {id_: (replies(block("toggle", f"t{n}", id_=ids[n + 1])),) for n, id_ in enumerate(ids[:-1])}
    server, source = by_blocks(chain)

    assert source.text(make_candidate(), errand) == Page(text="t0\n\nt1\n\nt2\n\nt3", truncated=True)
    assert len(server.children) == DEPTH == 4


def test_blocks_of_one_level_are_asked_for_at_once(by_blocks, errand):
    items = [block("toggle", str(number), id_=inner_id(number)) for number in range(8)]
    slow = Reply(body=notion_list(block("paragraph", "in")), wait=0.2)
    _, source = by_blocks({page_id(1): (replies(*items),), **{inner_id(number): (slow,) for number in range(8)}})
    start = time.monotonic()

    assert source.text(make_candidate(), errand).text.count("in") == 8
    assert time.monotonic() - start < 1.4


@pytest.mark.parametrize(
    ("fault", "truncated"),
    [
        pytest.param(error(404, "object_not_found"), False, id="the token may not see it"),
        pytest.param(error(503, "service_unavailable"), True, id="no service"),
    ],
)
def test_a_page_without_a_part_of_it_is_a_page(by_blocks, errand, fault, truncated):
    copy = block("synced_block", synced_from={"block_id": A})
    _, source = by_blocks({page_id(1): (replies(copy, block("paragraph", "글")),), A: (fault,)})

    assert source.text(make_candidate(), errand) == Page(text="글", truncated=truncated)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        pytest.param(error(404, "object_not_found"), NotFoundError, id="404"),
        pytest.param(error(403, "restricted_resource"), SourceError, id="403"),
    ],
)
def test_a_page_whose_blocks_are_refused_too_is_an_error(by_blocks, errand, fault, kind):
    _, source = by_blocks({page_id(1): (fault,)})

    with pytest.raises(kind):
        source.text(make_candidate(), errand)


# Kept

READ = {"read": True, "excerpt": "excerpt", "opening": "opening"}
LATER = "2026-11-04T09:08:00.000Z"


@pytest.fixture
def open_store(tmp_path):
    stores = []

    def open_store(_workspace="", **options) -> PageStore:
        stores.append(PageStore(tmp_path / "pages.sqlite", pytest.fail, **{"now": lambda: NOW, **options}))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


@pytest.fixture
def remembering(connected, open_store, errand):
    """Serve a page, and give its server and a source that has searched and so knows its store."""

    def start(workspace):
        server, source = connected(workspace)
        remembering = Remembering(source, open_store)
        remembering.search("plan", Scope(), errand)
        return server, remembering

    return start


def test_a_text_is_read_once_an_edit(remembering, errand):
    workspace, candidate = of_page("a [b]")
    server, source = remembering(workspace)

    assert source.text(candidate, errand) == Page(text="a [b]")
    assert (errand.meter.counts["cache.texts.miss"], errand.meter.counts["cache.texts.hit"]) == (1, 0)
    assert source.text(candidate, errand) == Page(text="a [b]")
    assert (errand.meter.counts["cache.texts.miss"], errand.meter.counts["cache.texts.hit"]) == (1, 1)
    assert len([request for request in server.requests if is_markdown(request)]) == 1

    source.text(make_candidate(id=candidate.id, edited=LATER), errand)

    assert len([request for request in server.requests if is_markdown(request)]) == 2


def test_an_empty_text_is_kept_too(remembering, errand):
    workspace, candidate = of_page()
    server, source = remembering(workspace)

    assert source.text(candidate, errand) == source.text(candidate, errand) == Page(text="")
    assert len([request for request in server.requests if is_markdown(request)]) == 1


def test_a_truncated_text_is_not_kept(remembering, errand):
    workspace, candidate = of_page("a")
    server, source = remembering(workspace)
    server.fault(is_markdown, Reply(body={"markdown": "half", "truncated": True}))

    assert source.text(candidate, errand) == Page(text="half", truncated=True)
    assert source.text(candidate, errand) == Page(text="a")


def test_a_page_whose_text_was_read_first_is_still_read(remembering, errand):
    workspace, candidate = of_page("a", "b")
    server, source = remembering(workspace)
    source.text(candidate, errand)

    assert source.read(candidate, errand).opening == "a b"
    assert source.text(candidate, errand) == Page(text="a\n\nb")
    assert len([request for request in server.requests if is_markdown(request)]) == 1


@pytest.mark.parametrize("order", [("put", "put_text"), ("put_text", "put")])
def test_first_words_and_text_stand_side_by_side(open_store, order):
    store, page = open_store(), make_candidate(**READ)
    keep = {"put": lambda: store.put(page), "put_text": lambda: store.put_text(make_candidate(), "전체 글")}
    for name in order:
        keep[name]()

    assert store.get(make_candidate()) == page
    assert store.text(make_candidate()) == "전체 글"


def test_a_text_alone_is_no_page_that_was_read(open_store):
    store = open_store()
    store.put_text(make_candidate(), "text")

    assert store.text(make_candidate()) == "text"
    assert store.get(make_candidate()) is None


def test_the_text_of_a_page_that_was_read_is_kept_with_its_first_words(open_store):
    store = open_store()
    store.put_text(make_candidate(**READ), "text")

    assert store.get(make_candidate()) == make_candidate(**READ)


def test_a_newer_edit_takes_the_place_of_all_that_was_kept(open_store):
    store = open_store()
    store.put(make_candidate(**READ))
    store.put_text(make_candidate(edited=LATER), "newer")

    assert store.get(make_candidate()) is store.get(make_candidate(edited=LATER)) is None
    assert (store.text(make_candidate()), store.text(make_candidate(edited=LATER))) == (None, "newer")

    store.put(make_candidate(**READ, edited="2026-11-05T09:08:00.000Z"))

    assert store.text(make_candidate(edited="2026-11-05T09:08:00.000Z")) is None


@pytest.mark.parametrize("edited", [None, "yesterday", NOW.isoformat()], ids=["no time", "not a time", "just now"])
def test_a_text_is_kept_once_its_minute_is_over(open_store, edited):
    store = open_store()
    store.put_text(make_candidate(edited=edited), "text")

    assert store.text(make_candidate(edited=edited)) is None


def test_the_texts_read_last_are_kept(open_store):
    clock = [NOW]
    store = open_store(now=lambda: clock[0], text_cap=2)
    for number in range(1, 5):
        clock[0] = NOW.replace(second=number)
        store.put_text(make_candidate(number, **READ), f"text {number}")
    store.close()

    kept = open_store()
    assert [kept.text(make_candidate(number)) for number in range(1, 5)] == [None, None, "text 3", "text 4"]
    assert all(kept.get(make_candidate(number)) for number in range(1, 5))


# The sample workspace's own answer


def ask(workspace, key, **params):
    headers = {"Authorization": "Bearer ntn_example", "Notion-Version": "2026-03-11"}
    return Handler(workspace).answer("GET", f"/v1/pages/{key}/markdown", params, headers, b"")


def test_the_handler_answers_in_notions_flavour():
    workspace, candidate = of_page("a [b] | <c>", *RICH[1:3], {"bookmark": "https://x.example"})
    status, body = ask(workspace, candidate.id)

    assert status == 200
    assert set(body) == {"object", "id", "markdown", "truncated", "unknown_block_ids", "request_id"}
    assert (body["object"], body["id"], body["truncated"]) == ("page_markdown", candidate.id, False)
    unknown = workspace.children[candidate.id][-1]["id"]
    assert body["unknown_block_ids"] == [unknown]
    assert body["markdown"].split("\n") == [
        "a \\[b\\] \\| \\<c\\>",
        "- a \\< b",
        "\t- 안쪽",
        '<callout icon="💡" color="gray_bg">',
        "\t알림",
        "\t<details>",
        "\t<summary>더</summary>",
        "\t\t끝",
        "\t</details>",
        "</callout>",
        f'<unknown url="https://app.notion.com/p/{unknown.replace("-", "")}" alt="bookmark"/>',
    ]


@pytest.mark.parametrize(
    ("key", "params", "answer"),
    [
        pytest.param(page_id(9), {}, (404, "object_not_found"), id="an unknown page"),
        pytest.param("plan", {}, (400, "validation_error"), id="no id"),
        pytest.param(None, {"page_size": ["3"]}, (400, "validation_error"), id="an unknown parameter"),
    ],
)
def test_the_handler_refuses_as_its_other_routes_do(key, params, answer):
    workspace, candidate = of_page("a")
    status, body = ask(workspace, key or candidate.id, **params)

    assert (status, body["code"]) == answer

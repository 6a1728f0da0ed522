"""Notion's blocks as text."""

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.sources.blocks import container, excerpt, opening, texts
from notion_search.words import clean, graphemes

ID = "2b0f7c11-4a10-8001-9000-00000000b001"
ORIGIN = "2b0f7c11-4a10-8001-9000-00000000b002"
FAMILY = "👨‍👩‍👧‍👦"


def pieces(content):
    return [{"type": "text", "text": {"content": content}, "plain_text": content}]


def block(kind, words=None, **more):
    """Return a block whose own text is `words`, beside whatever else its kind holds."""
    body = {} if words is None else {"rich_text": pieces(words)}
    return {"object": "block", "id": ID, "type": kind, kind: {**body, **more}, "has_children": False}


def holding(kind, words=None, **more):
    """Return a block that has children."""
    return {**block(kind, words, **more), "has_children": True}


IMAGE = block("image", type="external", caption=pieces("구성도"))

C11A = [
    IMAGE,
    {"type": "divider", "divider": {}},
    {"type": "unsupported", "unsupported": {"block_type": "button"}},
    {"type": "synced_block", "id": ORIGIN, "synced_block": {"synced_from": None}, "has_children": True},
    {"type": "column_list", "id": ID, "column_list": {}, "has_children": True},
]
C11B = [
    {"type": "child_page", "child_page": {"title": "Another page"}, "has_children": True, "id": ID},
    {"type": "table_of_contents", "table_of_contents": {"color": "default"}},
    {"type": "tab", "tab": {}},
    {"type": "brand_new", "brand_new": {}},
    block("callout", "읽어 주세요", icon={"type": "emoji", "emoji": "💡"}),
]
C11C = [
    {"type": "paragraph", "paragraph": {"rich_text": []}},
    block("paragraph", "  \u200b "),
    {
        "type": "paragraph",
        "paragraph": {
            "rich_text": [
                {"type": "mention", "mention": {"type": "user", "user": {"id": ID}}, "plain_text": "Kim"},
                {"type": "text", "text": {"content": ", "}, "plain_text": ", "},
                {"type": "equation", "equation": {"expression": "E=mc²"}, "plain_text": "E=mc²"},
            ]
        },
    },
]
LONG = "가" * 197 + FAMILY + "나" * 300
C11D = [block("heading_1", "Agenda"), block("paragraph", LONG)]


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        pytest.param(C11A[1:], "", id="a: nothing but containers and furniture"),
        pytest.param(C11A, "", id="a: a caption is not the page's text"),
        pytest.param(C11B, "읽어 주세요", id="b: a callout behind new kinds"),
        pytest.param(C11C, "Kim, E=mc²", id="c: a mention and an equation behind blanks"),
        pytest.param(C11D, "Agenda", id="d: a heading"),
        pytest.param([], "", id="e: no block"),
        pytest.param([IMAGE, block("paragraph", "text")], "text", id="text before a caption"),
        pytest.param([block("paragraph", "one\n two\t three ")], "one two three", id="one line"),
        pytest.param([block("paragraph", "[draft] {x}")], "[draft] {x}", id="brackets"),
        pytest.param([block("paragraph", normalize("NFD", "학점"))], "학점", id="composed Hangul"),
        pytest.param([block("code", "print(1)", caption=pieces("how"), language="python")], "print(1)", id="code"),
        pytest.param([None, 3, "x", [], {"type": None}, {"type": ["a"]}, {"type": "paragraph"}], "", id="no blocks"),
    ],
)
def test_an_excerpt_is_the_first_text_of_the_page(blocks, expected):
    assert excerpt(blocks) == expected


def test_an_excerpt_is_not_cut_inside_an_emoji():
    cut = excerpt(C11D[1:])

    assert cut == "가" * 197
    assert excerpt([block("paragraph", "가" * 100 + FAMILY + "나" * 300)]).startswith("가" * 100 + FAMILY + "나")


def test_an_opening_runs_over_several_blocks_in_one_line():
    assert opening(C11D[:1] + C11C) == "Agenda Kim, E=mc²"
    assert len(opening(C11D)) == 500


@pytest.mark.parametrize(
    "kind",
    """paragraph heading_1 heading_2 heading_3 heading_4 bulleted_list_item numbered_list_item
    quote to_do toggle callout template code""".split(),
)
def test_every_kind_with_rich_text_has_text(kind):
    assert list(texts([block(kind, "온보딩")])) == ["온보딩"]


@pytest.mark.parametrize("kind", "image video audio pdf file bookmark embed".split())
def test_a_caption_is_text(kind):
    assert list(texts([block(kind, caption=pieces("그림 1"))])) == ["그림 1"]
    assert list(texts([block(kind, caption=[])])) == []


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(block("table_row", cells=[pieces("이름"), [], pieces("상태")]), ["이름 | 상태"], id="table row"),
        pytest.param(block("table_row", cells=[[], []]), [], id="empty table row"),
        pytest.param(block("table_row", cells=None), [], id="table row without cells"),
        pytest.param(block("equation", expression="E=mc^2"), ["E=mc^2"], id="equation"),
        pytest.param(block("meeting_notes", title=pieces("주간 회의")), ["주간 회의"], id="meeting notes"),
        pytest.param(block("transcription", title=pieces("Weekly")), ["Weekly"], id="older meeting notes"),
        pytest.param(block("file", caption=[], name="plan.pdf"), ["plan.pdf"], id="file name"),
        pytest.param(block("code", "x = 1", caption=pieces("how")), ["x = 1", "how"], id="code and its caption"),
        pytest.param(block("child_page", title="Another page"), [], id="another page's title"),
        pytest.param(block("child_database", title="A database"), [], id="a database's title"),
        pytest.param(block("link_preview", url="https://example.com"), [], id="an address"),
        pytest.param(block("unsupported", block_type="form"), [], id="unsupported"),
        pytest.param(block("brand_new", "from the future"), [], id="a kind nobody knows"),
    ],
)
def test_text_is_read_where_its_kind_keeps_it(one, expected):
    assert list(texts([one])) == expected


def test_texts_come_in_the_order_of_the_page():
    assert list(texts([block("quote", "a"), IMAGE, block("to_do", "b", checked=True)])) == ["a", "구성도", "b"]


COPY = holding("synced_block", synced_from={"type": "block_id", "block_id": ORIGIN.replace("-", "")})


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        pytest.param([], None, id="no block"),
        pytest.param([block("divider"), block("paragraph", "")], None, id="no children anywhere"),
        pytest.param([block("paragraph", "text"), holding("toggle", "")], None, id="text is there already"),
        pytest.param([holding("toggle", "Details")], None, id="a toggle with text"),
        pytest.param([holding("toggle", "")], ID, id="an empty toggle"),
        pytest.param([holding("callout", "\u200b")], ID, id="a callout of blanks"),
        pytest.param([block("divider"), holding("column")], ID, id="a column"),
        pytest.param([holding("tab")], ID, id="a tab"),
        pytest.param([holding("table", table_width=2)], ID, id="a table"),
        pytest.param([holding("meeting_notes", title=[])], ID, id="nameless meeting notes"),
        pytest.param([holding("brand_new")], ID, id="a kind nobody knows"),
        pytest.param([COPY], ORIGIN, id="a synced copy points at its original"),
        pytest.param([holding("synced_block", synced_from=None)], ID, id="a synced original"),
        pytest.param([holding("column_list")], ID, id="a column list when there is no other"),
        pytest.param(C11A, ORIGIN, id="a column list comes last, a caption is no text"),
        pytest.param(
            [holding("child_page", title="x"), holding("child_database"), holding("unsupported")], None, id="closed"
        ),
        pytest.param([{"type": "toggle", "toggle": {}, "has_children": True}, None, 3], None, id="no id"),
    ],
)
def test_a_container_is_worth_a_call_only_where_no_text_is(blocks, expected):
    assert container(blocks) == expected


KINDS = """paragraph heading_4 to_do code callout table_row equation image file meeting_notes child_page column_list
synced_block table unsupported brand_new""".split()
KEYS = "type rich_text caption cells expression title name plain_text text content synced_from block_id id".split()

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=300) | st.sampled_from(KINDS)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=15,
)
rich = st.lists(st.builds(lambda words: {"plain_text": words}, st.text(max_size=300) | anything), max_size=3)


@st.composite
def blocks_of_any_shape(draw):
    kind = draw(st.sampled_from(KINDS))
    body = draw(st.dictionaries(st.sampled_from(KEYS), rich | anything, max_size=4) | anything)
    return {
        "type": kind,
        "id": draw(st.just(ID) | anything),
        "has_children": draw(st.booleans() | anything),
        kind: body,
    }


@given(st.lists(blocks_of_any_shape() | anything, max_size=6))
def test_whatever_blocks_arrive_give_short_single_lines(blocks):
    short, long, inner = excerpt(blocks), opening(blocks), container(blocks)

    assert len(short) <= 200
    assert len(long) <= 500
    assert long.startswith(short)
    assert inner is None or isinstance(inner, str)
    for line in (short, long, *texts(blocks)):
        assert line == " ".join(line.split())
        line.encode()


@given(st.text(alphabet=f"가a {FAMILY}🇰🇷é\u0301", max_size=600))
def test_an_excerpt_holds_whole_graphemes(words):
    cut = excerpt([block("paragraph", words)])
    whole = list(graphemes(" ".join(clean(words).split())))

    assert all(one == other for one, other in zip(graphemes(cut), whole, strict=False))

"""Ids as people paste them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.errors import UsageError
from notion_search.sources.ids import DATABASE_CAP, DatabaseRef, dashed, parse_database, parse_databases, parse_page
from notion_search.words import inert

HEX = "2b0f7c114a108077b00000000000d001"
DB = "2b0f7c11-4a10-8077-b000-00000000d001"
DS1 = "2b0f7c11-4a10-80ff-87aa-000b00000001"
ROW_HEX = "2b0f7c114a108001900000000000a001"
ROW = "2b0f7c11-4a10-8001-9000-00000000a001"
VIEW_HEX = "2b0f7c114a108099b00000000000e001"
HASH = "da39a3ee5e6b4b0d3255bfef95601890"

DATABASE = (DatabaseRef(id=DB),)


def numbered(number):
    return f"2b0f7c11-4a10-8077-b000-{number:012x}"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(HEX, id="bare"),
        pytest.param(DB, id="dashed"),
        pytest.param(DB.upper(), id="dashed upper case"),
        pytest.param(HEX.upper(), id="bare upper case"),
        pytest.param(f"https://app.notion.com/p/Reading-list-{HEX}?source=copy_link", id="app.notion.com"),
        pytest.param(f"https://www.notion.so/acme/{HEX}?v={VIEW_HEX}&pvs=4", id="with a view"),
        pytest.param(f"https://www.notion.so/acme/{HEX}?v={VIEW_HEX}&p={ROW_HEX}&pm=s", id="with a row in side peek"),
        pytest.param(f"https://acme.notion.site/n8n_tips-{HEX}", id="notion.site with an underscore"),
        pytest.param(f"https://www.notion.so/commit-{HASH}-{HEX}", id="a hash in the slug"),
        pytest.param(f"www.notion.so/{HEX}#{ROW_HEX}", id="no scheme and a block"),
        pytest.param(f"https://www.notion.so/{DB}", id="a dashed id in a link"),
        pytest.param(f"https://www.notion.so/acme/Cafe-{DB.upper()}/", id="a slug, capitals, a last slash"),
        pytest.param(f"HTTPS://WWW.NOTION.SO/{HEX}", id="capitals in scheme and host"),
        pytest.param(f"http://notion.so/{HEX}", id="http and no www"),
        pytest.param(f"https://www.notion.so/face{HEX}", id="hex letters glued to the id"),
        pytest.param(f"https://www.notion.so/%EC%98%A8%EB%B3%B4%EB%94%A9-{HEX}", id="an escaped Korean slug"),
        pytest.param(f"https://www.notion.so/온보딩-{HEX}", id="a Korean slug"),
        pytest.param(f"notion://www.notion.so/acme/{HEX}", id="the app's link"),
        pytest.param(f"notion://{HEX}", id="the app's link without a host"),
        pytest.param(f"\u200b{HEX}\ufeff", id="invisible characters around it"),
        pytest.param(f"{HEX}, {HEX} ,", id="blanks, a repeat and a last comma"),
        pytest.param(f" ,,\t{HEX}\n", id="blank pieces beside it"),
        pytest.param(f"{HEX},{DB.upper()},https://notion.so/{HEX}", id="three spellings of one"),
    ],
)
def test_every_spelling_of_a_database_gives_its_dashed_id_once(value):
    assert parse_databases([value]) == DATABASE


def test_a_collection_link_names_a_data_source():
    assert parse_databases([f"collection://{DS1}"]) == (DatabaseRef(id=DS1, is_data_source=True),)


def test_an_id_spelled_both_ways_is_once_a_data_source_and_keeps_its_place():
    refs = parse_databases([DS1, HEX, f"collection://{DS1}"])

    assert refs == (DatabaseRef(id=DS1, is_data_source=True), DatabaseRef(id=DB))


def test_repeated_options_add_up_in_order():
    assert parse_databases([f"{ROW},{HEX}", DS1]) == tuple(DatabaseRef(id=each) for each in (ROW, DB, DS1))


@pytest.mark.parametrize("values", [[], [""], [","], [" , "], ["", ""], ["\u200b"], ["\t\n"]], ids=repr)
def test_no_id_at_all_never_means_everything(values):
    with pytest.raises(UsageError, match="no id given"):
        parse_databases(values)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(HEX[:-1], id="31 digits"),
        pytest.param(f"{HEX}0", id="33 digits"),
        pytest.param("abc-def-...", id="no id"),
        pytest.param(DB.replace("-", "_"), id="underscores"),
        pytest.param(f"g{HEX[1:]}", id="a letter beyond f"),
        pytest.param(f"https://evil.com/?x=notion.so/{HEX}", id="another host that speaks of Notion"),
        pytest.param(f"https://notion.so.evil.com/{HEX}", id="Notion as a prefix"),
        pytest.param(f"https://evilnotion.so/{HEX}", id="no dot before the suffix"),
        pytest.param(f"https://notion.so@evil.com/{HEX}", id="Notion as a user name"),
        pytest.param(f"evil.com/{HEX}", id="another host without scheme"),
        pytest.param(f"ftp://notion.so/{HEX}", id="another scheme"),
        pytest.param(f"file:///etc/{HEX}", id="a file"),
        pytest.param(f"view://{DB}", id="a view"),
        pytest.param(f"https://www.notion.so/acme?v={VIEW_HEX}", id="only a view in the link"),
        pytest.param(f"https://www.notion.so/acme?p={ROW_HEX}", id="only a row in the link"),
        pytest.param(f"https://www.notion.so/{HEX}/settings", id="the id not last"),
        pytest.param(f"https://www.notion.so/{HEX}-copy", id="a slug behind the id"),
        pytest.param("https://acme.notion.site/handbook", id="a custom slug without id"),
        pytest.param("https://[notion.so", id="a broken address"),
        pytest.param("collection://", id="an empty collection"),
        pytest.param("half\ud83d", id="half a character"),
    ],
)
def test_what_names_no_database_stops_the_run(value):
    with pytest.raises(UsageError, match="not a database id"):
        parse_databases([HEX, value])


def test_every_bad_id_is_named_with_what_would_do():
    with pytest.raises(UsageError) as caught:
        parse_databases([f"abc,{HEX}", "온보딩 abc"])

    message = str(caught.value)
    assert message.startswith("--databases: 'abc', '온보딩': ")
    assert "32-digit id" in message
    assert HEX not in message


@pytest.mark.parametrize("count", [1, 3, 6])
def test_the_message_stays_short_and_inert(count):
    bad = [f"{number}\x1b]0;owned\x07\u202e" + "x" * 500 for number in range(count)]

    with pytest.raises(UsageError) as caught:
        parse_databases(bad)

    message = str(caught.value)
    assert len(message) <= 300
    assert inert(message) == message
    assert all(f"'{number}" in message for number in range(count))


def test_a_heap_of_bad_ids_is_counted_not_listed():
    with pytest.raises(UsageError, match="and 450 more"):
        parse_databases([f"bad{number}" for number in range(500)])


def test_fifty_databases_are_the_most():
    fifty = [numbered(number) for number in range(DATABASE_CAP)]

    assert len(parse_databases([*fifty, fifty[0]])) == 50
    with pytest.raises(UsageError, match="at most 50 ids, got 51"):
        parse_databases([*fifty, numbered(50)])


@pytest.mark.parametrize(
    ("text", "page"),
    [
        pytest.param(ROW_HEX, ROW, id="bare"),
        pytest.param(
            f"https://www.notion.so/acme/{HEX}?v={VIEW_HEX}&p={ROW_HEX}&pm=s", ROW, id="the row before the path"
        ),
        pytest.param(f"https://www.notion.so/acme/{HEX}?v={VIEW_HEX}", DB, id="the path"),
        pytest.param(f"https://www.notion.so/acme/{HEX}?p=nothing", DB, id="a peek that is no id"),
        pytest.param(f"https://evil.com/{HEX}", None, id="another host"),
        pytest.param(f"collection://{DS1}", None, id="a data source is no page"),
        pytest.param("me", None, id="a word"),
    ],
)
def test_a_page_is_the_row_open_in_a_link_first(text, page):
    assert parse_page(text) == page


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEX, DB),
        (HEX.upper(), DB),
        (DB.upper(), DB),
        ("", ""),
        ("not-an-id", "not-an-id"),
        (f"{HEX}\n", f"{HEX}\n"),
        ("ID-" + HEX, "ID-" + HEX),
    ],
)
def test_dashed_spells_ids_one_way_and_leaves_the_rest(text, expected):
    assert dashed(text) == expected


@given(st.text() | st.from_regex(r"(https?://)?[a-z.@\[\]:/]*notion\.so[/?#a-f0-9\-\[\]]*", fullmatch=True))
def test_any_text_is_a_dashed_id_or_none(text):
    ref = parse_database(text)
    page = parse_page(text)

    assert ref is None or dashed(ref.id) == ref.id != ref.id.replace("-", "")
    assert page is None or dashed(page) == page


@given(st.uuids(), st.booleans())
def test_a_ref_reads_back_from_its_own_spelling(uuid, is_data_source):
    ref = DatabaseRef(id=str(uuid), is_data_source=is_data_source)

    assert parse_database(str(ref)) == ref

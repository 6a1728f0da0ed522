"""Copies of one document in several sources are one candidate."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.duplicates import unite

from .builders import make_candidate

WORDS = "one two three four five six seven eight nine ten"


def drive(number=9, **changes):
    fields = {"source": "drive", "title": "Travel policy", "opening": WORDS, "url": f"https://docs.google.com/{number}"}
    return make_candidate(number, **{**fields, **changes})


def notion(**changes):
    return make_candidate(1, **{"title": "Travel policy", "opening": WORDS, **changes})


@pytest.mark.parametrize(
    ("title", "opening"),
    [
        pytest.param("Travel policy", WORDS, id="the same"),
        pytest.param("TRAVEL  Policy.docx", WORDS, id="case, blanks and extension"),
        pytest.param("travel policy.gdoc", f"{WORDS} eleven", id="ten words of eleven"),
    ],
)
def test_a_copy_in_drive_is_one_with_the_page(title, opening):
    page = notion()

    (united,) = unite([page, drive(title=title, opening=opening)])

    assert (united.source, united.id, united.url) == ("notion", page.id, page.url)
    assert united.elsewhere == ("https://docs.google.com/9",)


def test_both_forms_of_hangul_are_one_title():
    title = "출장 규정"

    (united,) = unite([notion(title=title), drive(title=unicodedata.normalize("NFD", title) + ".pdf")])

    assert united.title == title


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"title": "Travel policies"}, id="a near title"),
        pytest.param({"opening": WORDS.replace("nine ten", "x y")}, id="eight words of twelve"),
        pytest.param({"opening": "one two three four five six seven eight"}, id="eight words of ten"),
        pytest.param({"opening": ""}, id="a file that was not read"),
    ],
)
def test_what_only_looks_alike_stays_two(changes):
    assert len(unite([notion(), drive(**changes)])) == 2


def test_two_unread_pages_are_no_copies():
    assert len(unite([notion(opening=""), drive(opening="")])) == 2


def test_two_pages_of_one_source_stay_two():
    assert len(unite([notion(), make_candidate(2, title="Travel policy", opening=WORDS)])) == 2


def test_the_page_takes_the_better_place_and_all_the_variants():
    other = make_candidate(5, opening="else")
    found = drive(position=1, found_by=("a", "b"))

    united = unite([found, other, notion(position=4, found_by=("b", "c"))])

    assert [page.source for page in united] == ["notion", "notion"]
    assert united[0].position == 1
    assert united[0].found_by == ("a", "b", "c")


pages = st.lists(
    st.builds(
        lambda number, source, title, opening: make_candidate(number, source=source, title=title, opening=opening),
        st.integers(1, 99),
        st.sampled_from(["notion", "drive"]),
        st.sampled_from(["Plan", "plan.pdf", "계획"]),
        st.sampled_from(["a b c", "a b c d e f", "", "a b"]),
    ),
    max_size=12,
)


@given(pages)
def test_uniting_invents_nothing_and_loses_no_link(found):
    united = unite(found)

    assert {page.url for page in found} == {url for page in united for url in (page.url, *page.elsewhere)}
    assert [page.id for page in unite(united)] == [page.id for page in united]

"""Words, graphemes and widths: English, Korean and mixed."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search import words

FAMILY = "👨‍👩‍👧"


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        pytest.param("abc", ["a", "b", "c"], id="letters"),
        pytest.param(f"a{FAMILY}b", ["a", FAMILY, "b"], id="joined emoji"),
        pytest.param("👍🏽👍", ["👍🏽", "👍"], id="skin tone"),
        pytest.param("🇰🇷🇺🇸", ["🇰🇷", "🇺🇸"], id="flags"),
        pytest.param("e\u0301x", ["e\u0301", "x"], id="combining mark"),
        pytest.param("❤️!", ["❤️", "!"], id="variation selector"),
        pytest.param(
            unicodedata.normalize("NFD", "한글"), [unicodedata.normalize("NFD", c) for c in "한글"], id="jamo"
        ),
        pytest.param("🏴\U000e0067\U000e007f.", ["🏴\U000e0067\U000e007f", "."], id="tagged flag"),
    ],
)
def test_graphemes_are_what_a_reader_takes_for_one_character(text, clusters):
    assert list(words.graphemes(text)) == clusters


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("한글", 4), ("e\u0301", 1), (FAMILY, 2), ("❤️", 2), ("🇰🇷", 2), ("", 0), ("…“”", 3)],
)
def test_display_width_counts_cells(text, width):
    assert words.display_width(text) == width


@given(st.text(), st.integers(min_value=0, max_value=300))
def test_clip_is_a_beginning_no_longer_than_asked(text, limit):
    kept = words.clip(text, limit)

    assert len(kept) <= limit
    assert text.startswith(kept)


@given(st.text(), st.integers(min_value=1, max_value=60))
def test_fit_takes_no_more_cells_than_there_are(text, width):
    assert words.display_width(words.fit(text, width)) <= width


@given(st.text())
def test_inert_text_is_one_line_without_controls(text):
    kept = words.inert(text)

    assert kept == words.inert(kept)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in kept)


@given(st.text(st.characters(codec=None)))
def test_clean_text_travels_in_utf_8_and_is_composed(text):
    kept = words.clean(text)

    kept.encode()
    assert unicodedata.is_normalized("NFC", kept)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("Multi-agent CI/CD", ("multi-agent", "ci/cd"), id="a compound is one word"),
        pytest.param("다시gen-itgc후정리", ("다시", "gen-itgc", "후정리"), id="Latin glued to Hangul is split"),
        pytest.param("v2.1, don't", ("v2.1", "don't"), id="dots and apostrophes inside"),
        pytest.param("  — !", (), id="no word"),
        pytest.param(unicodedata.normalize("NFD", "온보딩"), ("온보딩",), id="decomposed Hangul"),
        pytest.param("STRASSE straße", ("strasse", "strasse"), id="case-folded"),
    ],
)
def test_terms_split_text_into_folded_words(text, found):
    assert words.terms(text) == found


@pytest.mark.parametrize(
    ("one", "other"),
    [("tests", "test"), ("policies", "policy"), ("boxes", "box"), ("온보딩을", "온보딩"), ("온보딩에서는", "온보딩")],
)
def test_forms_of_a_word_share_a_stem(one, other):
    assert words.stem(one) == words.stem(other)


@pytest.mark.parametrize("word", ["status", "analysis", "class", "회의", "news"[:3], "bus"])
def test_a_word_that_only_looks_inflected_keeps_its_end(word):
    assert words.stem(word) == word


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("the policies for AI agents", ("polic", "ai", "agent"), id="filler goes, endings go"),
        pytest.param("온보딩을 위한 체크리스트", ("온보딩", "체크리스트"), id="particles go"),
        pytest.param("to be or not to be", ("to", "be", "or", "not"), id="nothing but filler stays"),
        pytest.param("agent agents", ("agent",), id="each once"),
        pytest.param("Q3 plan", ("q3", "plan"), id="codes stay"),
    ],
)
def test_keywords_are_what_is_worth_searching_for(text, wanted):
    assert words.keywords(text) == wanted


@given(st.text())
def test_keywords_stand_in_the_folded_text(text):
    assert all(word in words.fold(text) for word in words.keywords(text))

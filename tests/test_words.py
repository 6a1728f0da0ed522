"""Words, graphemes and widths: English, Korean and mixed."""

import time
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


def test_a_long_run_of_marks_is_composed_in_no_time():
    text = "e" + "\u0323\u0301" * 50_000

    start = time.perf_counter()
    kept = words.clean(text)

    assert time.perf_counter() - start < 1
    assert len(kept) <= 1 + words.MARK_CAP
    assert words.fold(text) == words.fold(kept)


# Matching


@pytest.mark.parametrize(
    ("term", "word"),
    [
        ("끝말잇기", "끝말잇기게임을"),
        ("서버", "서버를"),
        ("재시작", "재시작했다"),
        ("合約", "中文合約轉換體驗課問題"),
        ("itgc", "gen-itgc"),
        ("온보딩", "온보딩을"),
        ("온보딩", "온보딩에서"),
        ("온보딩을", "온보딩"),
        ("휴가는", "휴가"),
        ("팀", "팀은"),
        ("policies", "policy"),
        ("pricing", "price"),
        ("planned", "planning"),
        ("agent", "multi-agent"),
        ("ci/cd", "ci/cd"),
        ("email", "e-mail"),
        ("release", "releases"),
    ],
)
def test_a_term_matches_the_word_in_its_other_forms(term, word):
    assert words.matches(term, word)


@pytest.mark.parametrize(
    ("term", "word"),
    [("팀", "팀장"), ("multi-agent", "multi"), ("cd", "cdn"), ("plan", "plant"), ("온보딩", "보딩"), ("string", "str")],
)
def test_a_term_matches_no_other_word(term, word):
    assert not words.matches(term, word)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("다시gen-itgc후정리", ("다시", "gen-itgc", "후정리"), id="Latin glued to Hangul"),
        pytest.param("使用API手册", ("使用", "api", "手册"), id="Latin glued to Han"),
        pytest.param("CI/CD [draft] v2.1", ("ci/cd", "draft", "v2.1"), id="compounds and brackets"),
        pytest.param(unicodedata.normalize("NFD", "학점인정"), ("학점인정",), id="decomposed Hangul"),
        pytest.param("What’s new", ("what's", "new"), id="a curly apostrophe"),
    ],
)
def test_text_is_split_into_folded_words(text, found):
    assert words.terms(text) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("How do we onboard a contractor?", ("onboard", "contractor")),
        ("휴가는 어떻게 신청하나요?", ("휴가는", "신청하나요")),
        ("무엇을 알려줘", ("무엇을", "알려줘")),
        ("plan plan b", ("plan",)),
        ("IT 지원은 어디", ("it", "지원은")),
        ("where is it in US offices", ("us", "offices")),
        ("HOW DO WE DO IT", ("how", "do", "we", "it")),
    ],
    ids=["English", "Korean", "nothing but filler", "each once", "an acronym", "and a word", "all in capitals"],
)
def test_key_terms_are_the_words_that_say_something(query, found):
    assert words.key_terms(query) == found


@given(st.text())
def test_any_text_matches_itself(term):
    assert words.matches(term, term)

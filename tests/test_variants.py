"""Phrasings by rule: core words, synonyms, and a subject without its qualifiers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.local import LocalExpander
from notion_search.variants import broadened, literal, synonym
from notion_search.words import fold, is_filler, matches, stem, terms

GROUPS = (
    ("onboarding", "getting started", "온보딩", "신규 입사자"),
    ("pricing", "cost", "rates", "가격"),
    ("minutes", "meeting notes", "회의록"),
    ("vacation", "time off", "휴가"),
    ("contractor", "freelancer", "외주"),
)


def synonyms(term):
    spelled = [matches_group(term, group) for group in GROUPS]
    return next((others for others in spelled if others), ())


def matches_group(term, group):
    same = [other for other in group if stems(other) == stems(term)]
    return tuple(other for other in group if other not in same) if same else ()


def stems(text):
    return [stem(word) for word in terms(text)]


@pytest.mark.parametrize(
    ("query", "core"),
    [
        pytest.param("how do we onboard a contractor?", "onboard contractor", id="a question"),
        pytest.param("What's the Q3 2025 revenue report", "Q3 2025 revenue report", id="codes as typed"),
        pytest.param("휴가는 어떻게 신청하나요?", "휴가 신청", id="a Korean question"),
        pytest.param("온보딩 자료를 찾아줘", "온보딩 자료", id="a Korean request"),
        pytest.param("2025년 3분기 매출 보고서", "2025년 3분기 매출 보고서", id="Korean times stay whole"),
        pytest.param("AI 도구[베타] 사용법", "AI 도구 베타 사용법", id="brackets"),
        pytest.param("the", "the", id="nothing but filler"),
        pytest.param("how do I reach IT 지원?", "reach IT 지원", id="an acronym"),
        pytest.param(
            "latest draft of the security incident response plan for offices",
            "security incident response plan offices",
            id="qualifiers go first",
        ),
        pytest.param("one two three four five six seven", "one two three four five", id="then the last"),
    ],
)
def test_the_literal_variant_is_the_core_of_the_question(query, core):
    assert literal(query) == core


@pytest.mark.parametrize(
    ("query", "broad"),
    [
        pytest.param("Q3 2025 revenue report", "revenue report", id="quarter and year"),
        pytest.param("2025년 3분기 매출 보고서", "매출 보고서", id="in Korean"),
        pytest.param("latest official travel policy", "travel policy", id="adjectives"),
        pytest.param("v2.1 release notes", "release notes", id="a version"),
        pytest.param("AI agents", None, id="nothing to drop"),
        pytest.param("2025", None, id="nothing would be left"),
    ],
)
def test_the_broadened_variant_drops_qualifiers(query, broad):
    assert broadened(query) == broad


@pytest.mark.parametrize(
    ("query", "other"),
    [
        pytest.param("onboarding", "getting started 온보딩", id="its own language, then the other"),
        pytest.param("what is our pricing", "cost 가격", id="in a question"),
        pytest.param("휴가는 어떻게 신청하나요?", "vacation 신청", id="from Korean, a particle aside"),
        pytest.param("getting started", "onboarding 온보딩", id="a term of two words"),
        pytest.param("latest meeting notes", "minutes 회의록", id="without the qualifier"),
        pytest.param("how do we get contractors getting started", "freelancer onboarding 외주 온보딩", id="two terms"),
        pytest.param("AI agents", None, id="none known"),
    ],
)
def test_the_synonym_variant_says_it_in_other_words(query, other):
    assert synonym(query, synonyms) == other


def test_a_synonym_the_query_already_says_is_none():
    assert synonym("onboarding getting started 온보딩 신규 입사자", synonyms) is None


def test_expanding_by_rule_gives_the_query_first_and_three_others_at_most():
    expand = LocalExpander(synonyms).expand

    assert expand("how do we run Q3 onboarding?", None) == (
        "how do we run Q3 onboarding?",
        "run Q3 onboarding",
        "run getting started 온보딩",
        "run onboarding",
    )
    assert expand("Onboarding", None) == ("Onboarding", "getting started 온보딩")


words = st.sampled_from(
    "how do we the 2025 Q3 latest onboarding pricing meeting notes 휴가는 온보딩 2025년 [x] AI".split()
)


@given(st.one_of(st.lists(words, min_size=1, max_size=12).map(" ".join), st.text(min_size=1)))
def test_variants_are_short_and_add_nothing_that_was_not_implied(query):
    own, *others = LocalExpander(synonyms).expand(query, None)

    assert own == query
    assert len(others) <= 3
    known = {word for group in GROUPS for term in group for word in terms(term)}
    for variant in others:
        assert 1 <= len(variant.split()) <= 5 or not terms(query)
        for word in terms(variant):
            assert word in known or any(matches(word, said) or word in fold(said) for said in terms(query))
    assert any(not is_filler(word) for word in terms(literal(query))) or all(is_filler(w) for w in terms(query))

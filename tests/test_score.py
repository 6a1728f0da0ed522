"""The score by rule: its worked examples, every edge of its bands, and what never lowers it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.score import age, density, edited_ago, recency, score, title_match

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def ago(days):
    return (NOW - timedelta(days=days)).isoformat()


def test_the_first_worked_example_scores_87():
    found = score(
        "contractor onboarding checklist",
        "Contractor onboarding",
        "The checklist for contractor onboarding, week by week.",
        ago(4),
        NOW,
    )

    # The document's figures: all terms and the phrase, two thirds of them in the title, four days.
    assert (density(1, phrase=True), title_match(2 / 3, phrase=False), recency(4)) == (40, 18, 29)
    assert (found.words, found.title, found.recency, found.total) == (40, 18, 29, 87)


def test_the_second_worked_example_scores_43():
    found = score("contractor onboarding checklist", "Onboarding", "What a contractor signs.", ago(182), NOW)

    assert (found.words, found.title, found.recency, found.total) == (23, 11, 9, 43)


@pytest.mark.parametrize(
    ("share", "points"),
    [
        pytest.param(0, 0, id="none"),
        pytest.param(0.001, 5, id="hardly any"),
        pytest.param(0.39999, 14, id="under 40 %"),
        pytest.param(0.4, 15, id="40 %"),
        pytest.param(2 / 3, 23, id="two thirds"),
        pytest.param(0.7, 24, id="70 %"),
        pytest.param(0.70001, 25, id="above 70 %"),
        pytest.param(0.99999, 34, id="nearly all"),
        pytest.param(1, 35, id="all"),
    ],
)
def test_density_keeps_its_bands(share, points):
    assert density(share, phrase=False) == points
    assert density(share, phrase=True) == min(40, points + 5)


@pytest.mark.parametrize(
    ("share", "points"),
    [
        pytest.param(0, 0, id="none"),
        pytest.param(0.001, 3, id="hardly any"),
        pytest.param(0.3, 9, id="30 %"),
        pytest.param(0.30001, 10, id="above 30 %"),
        pytest.param(0.7, 19, id="70 %"),
        pytest.param(0.70001, 20, id="above 70 %"),
        pytest.param(1, 27, id="all, scattered"),
    ],
)
def test_title_match_keeps_its_bands(share, points):
    assert title_match(share, phrase=False) == points


def test_the_whole_phrase_in_the_title_is_worth_thirty():
    assert title_match(1, phrase=True) == 30
    assert title_match(0, phrase=True) == 28


@pytest.mark.parametrize(
    ("days", "points"),
    [(0, 30), (7, 28), (8, 27), (30, 20), (31, 19), (90, 12), (91, 11), (365, 5), (366, 4), (730, 0), (9999, 0)],
)
def test_recency_keeps_its_bands(days, points):
    assert recency(days) == points
    assert score("a b", "", "", ago(days), NOW).recency == points


@pytest.mark.parametrize("edited", [None, "", "yesterday", "2026-13-01T00:00:00Z"])
def test_a_page_without_a_time_has_no_recency(edited):
    assert age(edited, NOW) is None
    assert score("onboarding", "Onboarding", "", edited, NOW).recency == 0
    assert edited_ago(edited, NOW) == "no date"


@pytest.mark.parametrize(
    ("edited", "words"),
    [
        (ago(0), "edited today"),
        (ago(1), "edited 1 day ago"),
        (ago(12), "edited 12 days ago"),
        (ago(-3), "edited today"),
        ("2026-11-29T12:00:00", "edited 1 day ago"),
    ],
    ids=["today", "a day", "days", "to come", "without a zone"],
)
def test_the_age_of_a_page_in_words(edited, words):
    assert edited_ago(edited, NOW) == words


@pytest.mark.parametrize(
    ("query", "title", "opening", "points"),
    [
        pytest.param("release plan", "Release plan", "", 40, id="in the title"),
        pytest.param("release plan", "", "our release plan for spring", 40, id="in the text"),
        pytest.param("plan for the release", "", "plans for a release", 40, id="fillers between them"),
        pytest.param("release plan", "Plan", "release", 35, id="not across title and text"),
        pytest.param("release plan", "", "the plan of every release", 35, id="not backwards"),
        pytest.param("release", "Release", "release", 35, id="one word is no phrase"),
        pytest.param("배포 계획", "", "봄 배포 계획을 세웠다", 40, id="Korean, with a particle"),
        pytest.param("release [draft] plan", "", "release draft plan", 40, id="brackets"),
    ],
)
def test_two_terms_in_a_row_earn_the_bonus(query, title, opening, points):
    assert score(query, title, opening, None, NOW).words == points


def test_an_archived_page_loses_twenty_and_never_falls_below_nothing():
    page = ("onboarding", "Onboarding", "", ago(0), NOW)

    assert score(*page).total - score(*page, archived=True).total == 20
    assert score("x y", "", "", None, NOW, archived=True).total == 0
    assert score(*page, archived=True).parts["archived"] == -20


def test_a_query_of_nothing_but_filler_still_scores_its_words():
    assert score("who is who", "Who is who", "", None, NOW).title == 30


words = st.sampled_from("release plan onboarding 온보딩 회의록 서버를 API multi-agent the of 2026 [draft]".split())
texts = st.lists(words, max_size=8).map(" ".join)


@given(query=texts, title=texts, opening=texts, days=st.integers(0, 900), newer=st.integers(0, 900))
def test_a_newer_date_never_lowers_a_score(query, title, opening, days, newer):
    older, later = sorted((days, newer), reverse=True)

    assert score(query, title, opening, ago(later), NOW).total >= score(query, title, opening, ago(older), NOW).total


@given(query=st.lists(words, min_size=1, max_size=6), title=texts, opening=texts, place=st.integers(0, 5))
def test_a_matching_term_appended_never_lowers_a_score(query, title, opening, place):
    asked, term = " ".join(query), query[place % len(query)]
    before = score(asked, title, opening, None, NOW).total

    assert score(asked, f"{title} {term}", opening, None, NOW).total >= before
    assert score(asked, title, f"{opening} {term}", None, NOW).total >= before


@given(query=st.text(), title=st.text(), opening=st.text(), days=st.integers(-400, 4000))
def test_every_score_keeps_its_bounds(query, title, opening, days):
    found = score(query, title, opening, ago(days), NOW)

    assert 0 <= found.words <= 40
    assert 0 <= found.title <= 30
    assert 0 <= found.recency <= 30
    assert found.total == found.words + found.title + found.recency

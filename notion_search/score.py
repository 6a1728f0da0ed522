"""How well a page answers a query, by rule: its words, its title and its age, each a part of a hundred.

The bands are those of the knowledge retrieval document, the formulas within them those of its reference file
(`references/search-strategies.md` beside it), except that the density of words is linear within its bands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from .fields import is_archived
from .types import Candidate
from .words import is_filler, key_terms, matches, terms

WORDS_CAP = 40
TITLE_CAP = 30
RECENCY_CAP = 30
PHRASE_BONUS = 5
ARCHIVED_PENALTY = 20
# Under this a match is weak: it is shown, and nothing is answered from it.
WEAK = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The three factors, each rounded, and their sum: 0 to 100."""

    words: int
    """0 to 40."""
    title: int
    """0 to 30."""
    recency: int
    """0 to 30."""
    archived: bool = False

    @property
    def total(self) -> int:
        """The sum of the factors, 20 less for an archived page, never below 0."""
        return max(0, self.words + self.title + self.recency - ARCHIVED_PENALTY * self.archived)

    @property
    def parts(self) -> Mapping[str, float]:
        """The factors by name."""
        penalty = {"archived": -ARCHIVED_PENALTY} if self.archived else {}
        return {"title": self.title, "words": self.words, "recency": self.recency, **penalty}


def score(query: str, title: str, opening: str, edited: str | None, now: datetime, *, archived: bool = False) -> Score:
    """Return how well a page of this title, first text and ISO time of its last edit answers the query."""
    wanted = key_terms(query)
    in_title, in_text = (_spoken(text, wanted) for text in (title, opening))
    held = [any(matches(term, word) for word in in_title + in_text) for term in wanted]
    titled = [any(matches(term, word) for word in in_title) for term in wanted]
    # A phrase that would begin in the title and end in the text is none.
    phrase = _longest(wanted, in_title) >= 2 or _longest(wanted, in_text) >= 2
    whole = bool(wanted) and _longest(wanted, in_title) == len(wanted)
    return Score(
        words=density(_share(held), phrase=phrase),
        title=title_match(_share(titled), phrase=whole),
        recency=recency(age(edited, now)),
        archived=archived,
    )


def score_of(query: str, page: Candidate, now: datetime) -> Score:
    """Return how well the page answers the query, by title, opening and what matched beyond it, age and status."""
    return score(
        query, page.title, f"{page.opening}\n{page.passage}", page.edited, now, archived=is_archived(page.properties)
    )


def _spoken(text: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the words of the text without the filler that may stand inside a phrase, unless that is asked for."""
    return tuple(word for word in terms(text) if word in wanted or not is_filler(word))


def density(share: float, *, phrase: bool) -> int:
    """Return 0 to 40 for the share of key terms in title and opening: 35 for all, 25–34, 15–24, 5–14, 0 for none.

    The bands are the document's, "Factor 1"; two or more key terms in a row earn its five points for a phrase.
    """
    if share >= 1:
        points = 35.0
    elif share > 0.7:
        points = 25 + 9 * (share - 0.7) / 0.3
    elif share >= 0.4:
        points = 15 + 9 * (share - 0.4) / 0.3
    else:
        points = 5 + 9 * share / 0.4 if share > 0 else 0.0
    return min(WORDS_CAP, _rounded(points) + PHRASE_BONUS * phrase)


def title_match(share: float, *, phrase: bool) -> int:
    """Return 0 to 30 for the share of key terms in the title; `phrase`: it holds all of them in a row.

    The reference file's formulas within the bands of "Factor 2".
    """
    if phrase:
        return _rounded(28 + min(2 * share, 2))
    if share > 0.7:
        return _rounded(20 + 23 * (share - 0.7))
    if share > 0.3:
        return _rounded(10 + 22.5 * (share - 0.3))
    return _rounded(3 + 20 * share) if share > 0 else 0


def recency(days: int | None) -> int:
    """Return 30 for a page edited today, falling to 0 at two years; 0 for a page without a time.

    The reference file's formulas within the bands of "Factor 3".
    """
    if days is None:
        return 0
    if days <= 7:
        return _rounded(28 + 2 * (7 - days) / 7)
    if days <= 30:
        return _rounded(20 + 7 * (30 - days) / 23)
    if days <= 90:
        return _rounded(12 + 7 * (90 - days) / 60)
    if days <= 365:
        return _rounded(5 + 6 * (365 - days) / 275)
    return _rounded(max(0.0, 4 - 4 * (days - 365) / 365))


def age(edited: str | None, now: datetime) -> int | None:
    """Return the whole days since the ISO time, 0 for one to come, None where there is none that can be read."""
    try:
        then = datetime.fromisoformat(edited or "")
    except ValueError:
        return None
    return max(0, (now - (then if then.tzinfo else then.replace(tzinfo=now.tzinfo))).days)


def edited_ago(edited: str | None, now: datetime) -> str:
    """Return the age of a page in words: "edited 12 days ago"."""
    days = age(edited, now)
    if days is None:
        return "no date"
    return "edited today" if days == 0 else "edited 1 day ago" if days == 1 else f"edited {days} days ago"


def _share(held: Sequence[bool]) -> float:
    return sum(held) / len(held) if held else 0.0


def _longest(wanted: Sequence[str], words: Sequence[str]) -> int:
    """Return the length of the longest run of the wanted terms that stands in the words in a row, in order."""
    longest = 0
    before = [0] * (len(wanted) + 1)
    for word in words:
        now = [0] * (len(wanted) + 1)
        for place, term in enumerate(wanted, 1):
            if matches(term, word):
                now[place] = before[place - 1] + 1
        longest = max(longest, *now)
        before = now
    return longest


def _rounded(points: float) -> int:
    # Half up, where Python's own rounding goes to the even number and so would not always rise with its input.
    return int(points + 0.5)

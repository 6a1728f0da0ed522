"""Expand and judge by rule: no model, and the same answer every time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .score import TITLE_CAP, WEAK, WORDS_CAP, Score, edited_ago, score_of
from .types import Candidate, Notice, Result, Run
from .variants import Synonyms, broadened, literal, synonym
from .words import fold


@dataclass(frozen=True, slots=True)
class LocalExpander:
    """Expands by rule: core words, synonyms, and the subject without its qualifiers."""

    synonyms: Synonyms

    def expand(self, query: str, run: Run) -> tuple[str, ...]:
        """Return the query first, then what the rules make of it: at most three phrasings of at most five words."""
        made = (query, literal(query), synonym(query, self.synonyms), broadened(query))
        return tuple({fold(variant): variant for variant in reversed(made) if variant}.values())[::-1]


@dataclass(frozen=True, slots=True)
class LocalJudge:
    """Judges by words, title and age; relevance is the score in hundredths."""

    now: datetime

    @property
    def floor(self) -> float:
        """Show whatever is not judged to be nothing."""
        return 0.0

    def judge(self, query: str, candidates: Sequence[Candidate], run: Run) -> tuple[Result, ...]:
        """Return every candidate once: an exact title first, then by score, equal ones in the order of the search."""
        scored = [(candidate, score_of(query, candidate, self.now)) for candidate in candidates]
        scored.sort(key=lambda pair: (fold(pair[0].title) != fold(query), -pair[1].total))
        if scored and max(found.total for _, found in scored) < WEAK:
            text = "no page has many of these words: what is shown matches weakly, or by a synonym"
            run.notify(Notice(stage="rerank", text=text))
        return tuple(
            Result(
                candidate=candidate,
                relevance=found.total / 100,
                snippet=self._snippet(found, candidate),
                parts=found.parts,
            )
            for candidate, found in scored
        )

    def _snippet(self, found: Score, candidate: Candidate) -> str:
        archived = " · archived" if found.archived else ""
        edited = edited_ago(candidate.edited, self.now)
        return f"title {found.title}/{TITLE_CAP} · words {found.words}/{WORDS_CAP} · {edited}{archived}"

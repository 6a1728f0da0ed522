"""One candidate for what several sources hold: a document kept in Drive and in Notion is one document."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from .types import Candidate
from .words import fold, terms

# The document's measure: the words two openings share, of all their words (Jaccard).
OVERLAP = 0.8
# The source whose copy stays, before every other.
HOME = "notion"

_EXTENSION = re.compile(r"\.(?:gdoc|gsheet|docx?|xlsx?|csv|tsv|pdf|txt|md|markdown|rtf|odt|ods)$")


def unite(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates without copies from other sources, in order; the one that stays names their links.

    Copies have the same id, or the same title, case and extension aside, and openings that share more than 0.8 of their
    words. Of two the one in Notion stays, in the better place of both; two of one source are two documents.
    """
    kept: list[Candidate] = []
    for candidate in candidates:
        copies = [other for other in kept if _is_copy(candidate, other)]
        if copies:
            place = kept.index(copies[0])
            kept = [other for other in kept if other not in copies]
            kept.insert(place, reduce(_united, (*copies, candidate)))
        else:
            kept.append(candidate)
    return tuple(kept)


def _is_copy(one: Candidate, other: Candidate) -> bool:
    if one.source == other.source:
        return False
    if one.id == other.id:  # a page, and what was exported of it
        return True
    if _title(one) != _title(other):
        return False
    words, others = set(terms(one.opening)), set(terms(other.opening))
    return bool(words | others) and len(words & others) / len(words | others) > OVERLAP


def _title(candidate: Candidate) -> str:
    return _EXTENSION.sub("", fold(candidate.title)).strip()


def _united(first: Candidate, second: Candidate) -> Candidate:
    home, copy = (second, first) if second.source == HOME else (first, second)
    copies = (*([copy.url] if copy.id != home.id else []), *copy.elsewhere)
    if copy.passage and not home.passage:
        home = replace(home, excerpt=copy.excerpt, passage=copy.passage)
    return replace(
        home,
        position=min(home.position, copy.position),
        found_by=tuple(dict.fromkeys((*first.found_by, *second.found_by))),
        elsewhere=tuple(dict.fromkeys((*home.elsewhere, *copies))),
    )

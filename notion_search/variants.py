"""Other phrasings of a query, by rule: its core words, their synonyms, and the same without its qualifiers."""

import re
from collections.abc import Callable, Iterator, Sequence

from .words import acronyms, fold, is_filler, matches, stem, terms

# The document's bound: "Longer queries reduce recall".
LONGEST = 5  # words

Synonyms = Callable[[str], Sequence[str]]
"""The terms that say the same as a folded term of one or more words."""

# What narrows a subject without being one: times, states of a document, and adjectives of size and standing.
_QUALIFIERS = frozenset(
    """latest newest new recent current currently updated old older previous last next this official final draft
    preliminary initial revised internal external quarterly monthly weekly annual annually yearly daily biweekly full
    complete detailed brief short quick main important key general overall good best better big small simple basic
    advanced global local north south east west january february march april june july august september october
    november december jan feb mar apr jun jul aug sep sept oct nov dec today yesterday tomorrow week month quarter year
    최신 최근 현재 이전 지난 다음 이번 올해 작년 내년 금년 전년 상반기 하반기 분기 분기별 월별 주간 월간 연간 매월 매주
    공식 최종 초안 임시 신규 기존 전체 상세 간단 주요 중요 일반 새 새로운 오래된 오늘 어제 내일""".split()
)
# "2025년", "3분기", "Q3", "v2.1", "2025-11-03".
_UNITS = ("년", "년도", "월", "일", "분기", "주", "주차", "차")
_TIME = re.compile(rf"q[1-4]|h[12]|fy\d{{2,4}}|v?\d+(?:[-/.]\d+)*(?:{'|'.join(_UNITS)})?")


def literal(query: str) -> str:
    """Return the query's core words as they were typed, question words and filler left out, five at most.

    A query of nothing but filler is itself. Of more than five words the qualifiers go first, then the last ones.
    """
    words = _core(query)
    if len(words) > LONGEST:
        words = [word for word in words if not _is_qualifier(word)] or words
    return " ".join(words[:LONGEST]) or query


def broadened(query: str) -> str | None:
    """Return the core words without quarters, years and adjectives, or None where that leaves all or none of them."""
    words = _core(query)
    kept = [word for word in words if not _is_qualifier(word)]
    return " ".join(kept[:LONGEST]) if kept and len(kept) < len(words) else None


def synonym(query: str, synonyms: Synonyms) -> str | None:
    """Return the core words with synonyms in the place of those that have some, five words at most, or None.

    The longest terms are looked for first. A term brings its first synonym of its own language, and while there is
    room the first of the other.
    """
    pieces = list(_pieces(_core(query), synonyms))
    if not any(found for _, found in pieces):
        return None
    # "new hire" has a synonym; "new" alone only narrows.
    pieces = [(piece, found) for piece, found in pieces if found or not _is_qualifier(piece)]
    chosen = [found[0] if found else piece for piece, found in pieces]
    room = LONGEST - len(" ".join(chosen).split())
    for (piece, found), own in zip(pieces, tuple(chosen), strict=True):
        other = next((text for text in found if text.isascii() != piece.isascii() and text != own), "")
        if other and own.isascii() == piece.isascii() and len(other.split()) <= room:
            chosen.append(other)
            room -= len(other.split())
    return " ".join(" ".join(dict.fromkeys(chosen)).split()[:LONGEST])


def _core(query: str) -> list[str]:
    """Return the words that say something, each once: as typed, Korean ones without what follows the noun."""
    words: list[str] = []
    for word in terms(query):
        if words and words[-1].isdigit() and word in _UNITS:
            words[-1] += word  # "2025년" is written as one
        else:
            words.append(word)
    named = acronyms(query)
    wanted = dict.fromkeys(word for word in words if word in named or not is_filler(word))
    return [_typed(stem(word) if "\uac00" <= word[0] <= "\ud7a3" else word, query) for word in wanted]


def _typed(word: str, query: str) -> str:
    place = query.casefold().find(word)
    typed = query[place : place + len(word)] if place >= 0 else word
    return typed if fold(typed) == word else word


def _is_qualifier(word: str) -> bool:
    folded = fold(word)
    return folded in _QUALIFIERS or bool(_TIME.fullmatch(folded))


def _pieces(words: Sequence[str], synonyms: Synonyms) -> Iterator[tuple[str, list[str]]]:
    """Yield the words, those with synonyms together as one, and the synonyms that add a word, own language first."""
    said = [fold(word) for word in words]
    start = 0
    while start < len(words):
        for end in range(min(len(words), start + LONGEST), start, -1):
            piece = " ".join(words[start:end])
            found = [text for text in synonyms(piece) if _adds(text, said)]
            if found or end == start + 1:
                break
        own = piece.isascii()
        yield piece, sorted(found, key=lambda text: text.isascii() != own)
        start = end


def _adds(text: str, said: Sequence[str]) -> bool:
    return not all(any(matches(term, word) for word in said) for term in terms(text))

"""A page's text as passages: short enough to be about one thing, cut where the text itself pauses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .prose import lines_of, plain_line, sentence_ends
from .words import clean, clip, fold, has_text, inert, matches, terms

LENGTH = 500  # characters; what a sentence encoder still tells apart, and what a reader takes in at a glance
# A heading begins a new passage once there is this much: a page of one-line sections is no page of one-line passages.
LEAST = 200
EXCERPT_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of a page's text, as one inert line."""

    text: str
    """About 500 characters: at most 700, where headings come first."""
    heading: str = ""
    """The headings it stands under, outermost first, as one line."""
    block: str = ""
    """The id of the block it begins with, where the source knows it."""


def cut(markdown: str, *, title: str = "") -> tuple[Passage, ...]:
    """Return the text as passages of about 500 characters, in order; none of a text in which nothing can be seen.

    A passage ends with a paragraph, else a sentence, else a word; a heading stays with what follows it. A heading that
    says no more than the title is left out.
    """
    passages: list[Passage] = []
    headings: list[tuple[int, str]] = []
    gathered: list[_Piece] = []
    for level, paragraph in _paragraphs(markdown):
        if level and fold(paragraph) == fold(title):
            continue
        if level:
            headings = [*((depth, text) for depth, text in headings if depth < level), (level, paragraph)]
        under = " > ".join(text for _, text in headings)
        for text in _short(paragraph):
            size = len(" ".join(piece.text for piece in gathered))
            if size + 1 + len(text) > LENGTH or (level and size >= LEAST):
                gathered = _closed(gathered, passages)
            gathered.append(_Piece(text=text, under=under, level=level))
    _closed(gathered, passages, last=True)
    return tuple(passages)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    text: str
    under: str
    level: int


def _closed(gathered: list[_Piece], passages: list[Passage], *, last: bool = False) -> list[_Piece]:
    """Add a passage of the pieces and return those that belong to the next one: headings at the end."""
    end = len(gathered)
    while not last and end and gathered[end - 1].level:
        end -= 1
    own = gathered[:end]
    text = " ".join(piece.text for piece in own)
    if has_text(text):
        passages.append(Passage(text=text, heading=own[0].under))
    kept = gathered[end:]
    # A tower of headings with nothing below them is a passage of its own.
    if len(" ".join(piece.text for piece in kept)) > LEAST:
        return _closed(kept, passages, last=True)
    return [] if last else kept


def _paragraphs(markdown: str) -> Iterator[tuple[int, str]]:
    """Yield each paragraph, list item, row or line of code as one inert line, with its level if it is a heading."""
    gathered: list[str] = []
    for line in lines_of(markdown):
        said = inert(clean(plain_line(line)))
        if gathered and (not said or line.kind not in ("text", "code")):
            yield 0, " ".join(gathered)
            gathered = []
        if said and line.level:
            yield line.level, said
        elif said:
            gathered.append(said)
    if gathered:
        yield 0, " ".join(gathered)


def _short(paragraph: str) -> Iterator[str]:
    """Yield the paragraph in pieces of at most 500 characters, cut after sentences where there are any."""
    start = 0
    if len(paragraph) > LENGTH:
        ends = [0, *sentence_ends(paragraph), len(paragraph)]
        for end, following in pairwise([*ends, len(paragraph) + LENGTH]):
            if end > start and following - start > LENGTH:
                yield from _pieces(paragraph[start:end].strip())
                start = end
    if start < len(paragraph):
        yield paragraph[start:].strip()


def _pieces(text: str) -> Iterator[str]:
    while len(text) > LENGTH:
        blank = text.rfind(" ", LENGTH // 2, LENGTH + 1)
        kept = clip(text[: LENGTH + 1], LENGTH) if blank < 0 else text[:blank]
        yield kept
        text = text[len(kept) or LENGTH :].lstrip()
    if text:
        yield text


def around(text: str, wanted: Sequence[str], limit: int = EXCERPT_LENGTH) -> str:
    """Return at most `limit` characters of the passage, centred on the words wanted, "…" where it was cut."""
    if len(text) <= limit:
        return text
    first, last = _span(text, wanted, limit)
    start = max(0, min((first + last - limit) // 2, len(text) - limit + 1))
    if start:
        blank = text.find(" ", start, first)
        start = blank + 1 if blank >= 0 else start
    room = limit - bool(start)
    kept = text[start:]
    if len(kept) > room:
        kept = clip(kept[:room], room - 1)
        blank = kept.rfind(" ", max(last - start, room // 2))
        kept = (kept[:blank] if blank > 0 else kept).rstrip() + "…"
    return "…" + kept if start else kept


def _span(text: str, wanted: Sequence[str], limit: int) -> tuple[int, int]:
    """Return where the most of the wanted words stand within `limit` characters: the first start, the last end."""
    places: list[tuple[int, int, str]] = []
    end = 0
    folded = text.casefold() if len(text.casefold()) == len(text) else text
    for word in dict.fromkeys(terms(text)) if wanted else ():
        term = next((term for term in wanted if matches(term, word)), None)
        start = folded.find(word) if term else -1
        while term and start >= 0 and len(places) < limit:
            places.append((start, start + len(word), term))
            start = folded.find(word, start + len(word))
    best, chosen = 0, (0, 0)
    places.sort()
    for number, (start, _, _) in enumerate(places):
        near = [place for place in places[number:] if place[1] - start <= limit]
        held = len({term for _, _, term in near})
        if held > best:
            best, end = held, max((stop for _, stop, _ in near), default=start)
            chosen = (start, end)
    return chosen

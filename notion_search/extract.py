"""What of a page's text is worth showing: its most relevant section, and its first meaningful sentence."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from .prose import Line, bare, lines_of, plain, plain_line, sentence_ends
from .words import clip, fold, has_text, inert, matches, terms

SECTION_LENGTH = 3000
PREVIEW_LENGTH = 150
# A first sentence shorter than this says too little alone.
SHORT = 40

Span = tuple[int, int]


def section(markdown: str, query_terms: Sequence[str]) -> str:
    """Return the part of the page the terms ask for, formatted as there, at most 3,000 characters.

    It is the section whose heading holds most of the terms, else the paragraph that does, with those around it.
    """
    lines = lines_of(markdown)
    start, end = _under_heading(lines, query_terms) or _around_paragraph(markdown, lines, query_terms)
    return _cut(markdown[start:end])


def marked(section: str, *, title: str, source: str, edited: str | None) -> str:
    """Return the section under a line that says whose it is; no title can pass for a second such line."""
    date = (edited or "")[:10]
    known = date if re.fullmatch(r"\d{4}-\d\d-\d\d", date, re.ASCII) else "unknown"
    return f"[Source: {_unforged(title)} | {_unforged(source)} | Last edited: {known}]\n\n{section}"


def preview(markdown: str, *, limit: int = PREVIEW_LENGTH) -> str:
    """Return the page's first meaningful sentence as one inert line, "..." where it was cut; "" without any text."""
    lines = lines_of(markdown)
    prose = (sentence for sentence in _sentences(_blocks(_after_fields(lines))) if terms(sentence))
    said = _opening(prose, limit) or _opening(_sentences(map(plain_line, lines)), limit)
    if len(said) <= limit:
        return said
    return f"{_at_word(said, limit - 3)}..." if limit > 3 else clip(said, limit)


# The section.

_HEADING_LEVELS = range(1, 5)


def _under_heading(lines: Sequence[Line], query_terms: Sequence[str]) -> Span | None:
    headings = [place for place, line in enumerate(lines) if line.level in _HEADING_LEVELS]
    best, held = _best([plain_line(lines[place]) for place in headings], query_terms)
    if not held:
        return None
    first = headings[best]
    after = (place for place in headings[best + 1 :] if lines[place].level <= lines[first].level)
    own = lines[first : next(after, len(lines))]
    return own[0].start, next(line.end for line in reversed(own) if line.kind != "blank")


def _best(texts: Sequence[str], query_terms: Sequence[str]) -> tuple[int, int]:
    """Return the place of the text that holds most of the terms, the first of equals, and how many it holds."""
    words = [frozenset(terms(text)) for text in texts]
    vocabulary = frozenset[str]().union(*words)
    asked = dict.fromkeys(filter(None, map(fold, query_terms)))
    forms = [{word for word in vocabulary if matches(term, word)} for term in asked]
    counts = [sum(not form.isdisjoint(held) for form in forms) for held in words]
    best = max(range(len(counts)), key=counts.__getitem__, default=0)
    return best, counts[best] if counts else 0


def _around_paragraph(markdown: str, lines: Sequence[Line], query_terms: Sequence[str]) -> Span:
    spans = [span for group in _paragraphs(lines) for span in _small(group)]
    if not spans:
        return 0, 0
    best, _ = _best([plain(markdown[start:end]) for start, end in spans], query_terms)
    heads = {line.start for line in lines if line.level}
    # What stands before the heading that the paragraph is under belongs to another section.
    own = max((place for place in range(best + 1) if spans[place][0] in heads), default=0)
    return _grown(spans[own:], best - own)


def _paragraphs(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the lines that are not blank, parted where lines are and around fences; a heading stays with what follows.

    A page in which no line is blank, as Notion writes them, is one paragraph here; `_small` takes it apart.
    """
    groups: list[list[Line]] = []
    apart = True
    for line in lines:
        if line.kind != "blank":
            last = groups[-1][-1].kind if groups else "closes"
            parted = apart or last == "closes" or line.kind in ("heading", "opens")
            if parted and last not in ("heading", "underline"):
                groups.append([])
            groups[-1].append(line)
        apart = line.kind == "blank"
    return groups


def _small(group: Sequence[Line]) -> list[Span]:
    """Return the paragraph as one span; one too long for a section as its lines, such a line as its sentences."""
    whole = (group[0].start, group[-1].end)
    if whole[1] - whole[0] <= SECTION_LENGTH:
        return [whole]
    spans: list[Span] = []
    for line in group:
        if line.kind in ("code", "closes"):
            spans[-1] = (spans[-1][0], line.end)
        elif line.kind == "opens" or len(line.text) <= SECTION_LENGTH:
            spans.append((line.start, line.end))
        else:
            ends = (line.start, *(line.start + end for end in sentence_ends(line.text)), line.end)
            spans += pairwise(ends)
    return spans


def _grown(spans: Sequence[Span], best: int) -> Span:
    """Return the span with its neighbours, alternately following and preceding, while they fit."""

    def fits(first: int, last: int) -> bool:
        return first >= 0 and last < len(spans) and spans[last][1] - spans[first][0] <= SECTION_LENGTH

    first = last = best
    if len(spans) > 3 and fits(best - 1, best):
        first -= 1  # where there is room for one neighbour, it is what leads up to the paragraph
    after = before = True
    while after or before:
        after = after and fits(first, last + 1)
        last += after
        before = before and fits(first - 1, last)
        first -= before
    return spans[first][0], spans[last][1]


# Where text is cut.


def _cut(text: str) -> str:
    """Return as much of the text as a section holds, to the end of a sentence or paragraph, else of a word."""
    if len(text) <= SECTION_LENGTH:
        return text
    lines = lines_of(text[: 2 * SECTION_LENGTH])
    ends = [(end, closing) for end, closing in _ends(lines) if end + len(closing) <= SECTION_LENGTH]
    if ends:
        end, closing = max(ends)
        return text[:end] + closing
    closing = _closing(_line_at(SECTION_LENGTH, lines))
    kept = _at_word(text, SECTION_LENGTH - len(closing))
    last = _line_at(len(kept), lines)
    if last.kind == "opens" and last.start > 0:
        return text[: last.start].rstrip()
    return kept + closing if last.fence else kept


def _ends(lines: Sequence[Line]) -> Iterator[tuple[int, str]]:
    """Yield where the text may end, and what closes the fence open there; never after a heading alone."""
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        if line.kind == "code":
            yield line.end, _closing(line)
        elif line.kind in ("text", "item"):
            yield from ((line.start + end, "") for end in sentence_ends(line.text))
            if following is None or following.kind != "text":
                yield line.end, ""
        elif line.kind not in ("blank", "heading", "underline", "opens"):
            yield line.end, ""


def _line_at(place: int, lines: Sequence[Line]) -> Line:
    return next(line for line in reversed(lines) if line.start <= place)


def _closing(line: Line) -> str:
    # No section has room for two lines of a thousand back-ticks; such a fence stays open.
    return f"\n{line.fence}" if 0 < len(line.fence) < SECTION_LENGTH // 3 else ""


def _at_word(text: str, limit: int) -> str:
    """Return the beginning of a longer text, up to the last word's end; inside a word where that would lose half."""
    kept = clip(text[: limit + 1], limit)
    words = kept.rsplit(maxsplit=1)
    if text[len(kept)].isspace() or len(words) < 2 or 2 * len(words[0]) < limit:
        return kept
    return words[0]


def _unforged(text: str) -> str:
    return inert(text).translate({ord("["): "(", ord("]"): ")", ord("|"): "/"}) or "unknown"


# The preview.

# Such as "Owner: Kim", in bold or not.
_FIELD = re.compile(r"\w[\w .()/&-]{0,29}[:：](?:\s|\Z)")


def _after_fields(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines after the list of fields at the top of the page; one such line alone is a sentence."""
    fields = 0
    for place, line in enumerate(lines):
        prose = line.kind in ("text", "item")
        if prose and _is_field(bare(line.text)):
            fields += 1
        elif prose or (fields and line.kind == "heading"):
            return lines[place:] if fields > 1 else lines
    return lines


def _is_field(said: str) -> bool:
    return _FIELD.match(said) is not None and not any(end == len(said) for end in sentence_ends(said))


def _blocks(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the paragraphs and list items, each as one line."""
    block: list[str] = []
    for line in lines:
        said = bare(line.text) if line.kind in ("text", "item") else ""
        if block and (line.kind != "text" or not said):
            yield " ".join(block)
            block = []
        if said:
            block.append(said)
    yield " ".join(block)


def _sentences(blocks: Iterable[str]) -> Iterator[str]:
    """Yield the sentences as inert lines, those in which nothing can be seen left out."""
    for block in blocks:
        ends = [0, *sentence_ends(block), len(block)]
        yield from filter(has_text, (inert(block[start:end]) for start, end in pairwise(ends)))


def _opening(sentences: Iterator[str], limit: int) -> str:
    said = next(sentences, "")
    while len(said) < SHORT and (following := next(sentences, "")):
        longer = inert(f"{said} {following}")
        if len(longer) > limit:
            break
        said = longer
    return said

"""What of a page's text is worth showing: its most relevant section, its first sentence, its words without Markdown."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

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
    lines = _lines(markdown)
    start, end = _under_heading(lines, query_terms) or _around_paragraph(markdown, lines, query_terms)
    return _cut(markdown[start:end])


def marked(section: str, *, title: str, source: str, edited: str | None) -> str:
    """Return the section under a line that says whose it is; no title can pass for a second such line."""
    date = (edited or "")[:10]
    known = date if re.fullmatch(r"\d{4}-\d\d-\d\d", date, re.ASCII) else "unknown"
    return f"[Source: {_unforged(title)} | {_unforged(source)} | Last edited: {known}]\n\n{section}"


def preview(markdown: str, *, limit: int = PREVIEW_LENGTH) -> str:
    """Return the page's first meaningful sentence as one inert line, "..." where it was cut; "" without any text."""
    lines = _lines(markdown)
    prose = (sentence for sentence in _sentences(_blocks(_after_fields(lines))) if terms(sentence))
    said = _opening(prose, limit) or _opening(_sentences(map(_plain, lines)), limit)
    if len(said) <= limit:
        return said
    return f"{_at_word(said, limit - 3)}..." if limit > 3 else clip(said, limit)


def plain(markdown: str) -> str:
    """Return the text without its Markdown, line for line; code stays as it is."""
    return "\n".join(map(_plain, _lines(markdown)))


# The page as lines, each of a kind.

Kind = Literal[
    "blank", "heading", "underline", "opens", "code", "closes", "front", "rule", "table", "aside", "reference", "item",
    "text",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    kind: Kind
    text: str
    start: int
    level: int = 0
    """1 to 6 of a heading."""
    fence: str = ""
    """The marks that close the fence it belongs to."""

    @property
    def end(self) -> int:
        """Where its text ends, before the line break."""
        return self.start + len(self.text)


# Headings and fences are those of https://spec.commonmark.org/0.31.2/, except that tabs may come first: they are how
# Notion indents what stands in a toggle, a callout or a column.
_LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\r|\n|\Z)")
_HEADING = re.compile(r"\t*+ {0,3}(#{1,6})(?:[ \t]|\Z)")
_FENCE = re.compile(r"(?P<tabs>\t*+) {0,3}(?P<marks>`{3,}+|~{3,}+)(?P<info>.*+)", re.DOTALL)
# A lone hyphen is an empty list item more often than the line under a heading.
_UNDERLINE = re.compile(r"\t*+ {0,3}(?:=++|--++)[ \t]*+\Z")
_FRONT_MATTER = re.compile(r"---[ \t]*+\r?\n(?=[\w-]++:)(?:(?!---|\.\.\.)[^\r\n]++\r?\n)++(?:---|\.\.\.)(?=\s|\Z)")


def _lines(markdown: str) -> list[_Line]:
    lines: list[_Line] = []
    front = _FRONT_MATTER.match(markdown)
    fence = ""
    for match in _LINE.finditer(markdown):
        text, start = match[1], match.start()
        if start == len(markdown):
            break
        mark = _FENCE.match(text)
        if front and start < front.end():
            lines.append(_Line(kind="front", text=text, start=start))
        elif fence:
            closes = mark is not None and _closes(mark, fence)
            lines.append(_Line(kind="closes" if closes else "code", text=text, start=start, fence=fence))
            fence = "" if closes else fence
        elif mark and (mark["marks"][0] == "~" or "`" not in mark["info"]):
            fence = mark["tabs"] + mark["marks"]
            lines.append(_Line(kind="opens", text=text, start=start, fence=fence))
        elif _UNDERLINE.match(text) and _can_be_heading(lines):
            lines[-1] = replace(lines[-1], kind="heading", level=1 if "=" in text else 2)
            lines.append(_Line(kind="underline", text=text, start=start))
        else:
            heading = _HEADING.match(text)
            kind = "heading" if heading else _kind(text)
            lines.append(_Line(kind=kind, text=text, start=start, level=len(heading[1]) if heading else 0))
    return lines


def _closes(mark: re.Match[str], fence: str) -> bool:
    marks = fence.lstrip("\t")
    return len(mark["tabs"]) <= len(fence) - len(marks) and mark["marks"].startswith(marks) and not mark["info"].strip()


def _can_be_heading(lines: Sequence[_Line]) -> bool:
    """Whether the last line is a paragraph of its own; under a whole sentence hyphens are a divider in Notion."""
    if not lines or lines[-1].kind != "text" or (len(lines) > 1 and lines[-2].kind == "text"):
        return False
    said = _bare(lines[-1].text)
    return has_text(said) and not said.endswith((".", "。"))


_TABLE = re.compile(r"\||</?(?:table|thead|tbody|tr|td|th|colgroup|col)\b", re.IGNORECASE)
# What they hold is a caption or another page's title, not what the page says.
_ASIDE = re.compile(r"</?(?:img|image|video|audio|file|pdf|page|database|unknown)\b", re.IGNORECASE)
_REFERENCE = re.compile(r"\[[^\[\]]++\]:[ \t]*+<?(?:https?:|data:|mailto:|[./#])")
_ITEM = re.compile(r">|(?:[-*+]|\d{1,9}[.)])(?:\s|\Z)")


def _kind(text: str) -> Kind:
    words = text.strip()
    compact = "".join(words.split())
    if not words:
        return "blank"
    if len(compact) > 2 and compact[0] in "-*_=" and len(set(compact)) == 1:
        return "rule"
    if _TABLE.match(words) or _is_delimiter(words):
        return "table"
    if _REFERENCE.match(words):
        return "reference"
    if _ASIDE.match(words) or ("![" in words and not has_text(_bare(_IMAGE.sub("", words)))):
        return "aside"
    return "item" if _ITEM.match(words) else "text"


def _is_delimiter(row: str) -> bool:
    return {"|", "-"} <= set(row) <= set("|-: \t")


# The section.

_HEADING_LEVELS = range(1, 5)


def _under_heading(lines: Sequence[_Line], query_terms: Sequence[str]) -> Span | None:
    headings = [place for place, line in enumerate(lines) if line.level in _HEADING_LEVELS]
    best, held = _best([_plain(lines[place]) for place in headings], query_terms)
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


def _around_paragraph(markdown: str, lines: Sequence[_Line], query_terms: Sequence[str]) -> Span:
    spans = [span for group in _paragraphs(lines) for span in _small(group)]
    if not spans:
        return 0, 0
    best, _ = _best([plain(markdown[start:end]) for start, end in spans], query_terms)
    return _grown(spans, best)


def _paragraphs(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Return the lines that are not blank, parted where lines are and around fences; a heading stays with what follows.

    A page in which no line is blank, as Notion writes them, is one paragraph here; `_small` takes it apart.
    """
    groups: list[list[_Line]] = []
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


def _small(group: Sequence[_Line]) -> list[Span]:
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
            ends = (line.start, *(line.start + end for end in _sentence_ends(line.text)), line.end)
            spans += [(start, end) for start, end in pairwise(ends) if start < end]
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
    lines = _lines(text[: 2 * SECTION_LENGTH])
    ends = [(end, closing) for end, closing in _ends(lines) if end + len(closing) <= SECTION_LENGTH]
    if ends:
        end, closing = max(ends)
        return text[:end] + closing
    last = next(line for line in reversed(lines) if line.start <= SECTION_LENGTH)
    # No section has room for two lines of a thousand backticks each; such a fence stays open.
    closing = f"\n{last.fence}" if 0 < len(last.fence) < SECTION_LENGTH // 3 else ""
    kept = _at_word(text, SECTION_LENGTH - len(closing))
    return kept + closing if len(kept) > last.start else kept


def _ends(lines: Sequence[_Line]) -> Iterator[tuple[int, str]]:
    """Yield where the text may end, and what closes the fence open there; never after a heading alone."""
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        if line.kind == "code":
            yield line.end, f"\n{line.fence}"
        elif line.kind in ("text", "item"):
            yield from ((line.start + end, "") for end in _sentence_ends(line.text))
            if following is None or following.kind != "text":
                yield line.end, ""
        elif line.kind not in ("blank", "heading", "underline", "opens"):
            yield line.end, ""


_STOP = re.compile(r"(?<![.!?…。！？])([.!?…。！？]++)[)\]\"'”’」』》*_~`]*+")
# A dot after these ends no sentence; nor after an initial, or the number of a list item.
_ABBREVIATION = re.compile(
    r"(?<![^\W\d_])(?:(?i:e\.g|i\.e|etc|vs|cf|approx|ca|figs?|vol|pp?|eds?|mrs?|ms|dr|prof|st|jr|sr|inc|ltd|corp|dept"
    r"|a\.m|p\.m)|[A-Z])\Z|^[ \t>]*+\d{1,9}\Z"
)


def _sentence_ends(text: str) -> Iterator[int]:
    """Yield the place after each sentence's last mark and the quotes and brackets it closes."""
    for match in _STOP.finditer(text):
        start, end = match.span()
        if end == len(text) or text[end].isspace():
            if match[1] != "." or not _ABBREVIATION.search(text, max(0, start - 12), start):
                yield end
        elif match[1][-1] in "。！？" or (
            text[max(0, start - 1) : start] in ("다", "요") and "가" <= text[end] <= "힣"
        ):
            yield end  # the one needs no blank after it, the other is often written without


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


def _after_fields(lines: Sequence[_Line]) -> Sequence[_Line]:
    """Return the lines after the list of fields at the top of the page; one such line alone is a sentence."""
    fields = 0
    for place, line in enumerate(lines):
        prose = line.kind in ("text", "item")
        if prose and _is_field(_bare(line.text)):
            fields += 1
        elif prose or (fields and line.kind == "heading"):
            return lines[place:] if fields > 1 else lines
    return () if fields > 1 else lines


def _is_field(said: str) -> bool:
    return _FIELD.match(said) is not None and not any(end == len(said) for end in _sentence_ends(said))


def _blocks(lines: Sequence[_Line]) -> Iterator[str]:
    """Yield the paragraphs and list items, each as one line."""
    block: list[str] = []
    for line in lines:
        said = _bare(line.text) if line.kind in ("text", "item") else ""
        if block and (line.kind != "text" or not said):
            yield " ".join(block)
            block = []
        if said:
            block.append(said)
    yield " ".join(block)


def _sentences(blocks: Iterable[str]) -> Iterator[str]:
    """Yield the sentences as inert lines, those in which nothing can be seen left out."""
    for block in blocks:
        ends = [0, *_sentence_ends(block), len(block)]
        yield from filter(has_text, (inert(block[start:end]) for start, end in pairwise(ends)))


def _opening(sentences: Iterator[str], limit: int) -> str:
    said = next(sentences, "")
    while len(said) < SHORT and (following := next(sentences, "")):
        longer = inert(f"{said} {following}")
        if len(longer) > limit:
            break
        said = longer
    return said


# Markdown away. Escaped characters and those of code are moved out of its reach, to characters no text uses.

_PUNCTUATION = {code: 0x10F000 + code for code in range(0x21, 0x7F) if not chr(code).isalnum()}
_RESTORED = {moved: code for code, moved in _PUNCTUATION.items()}
_LITERAL = re.compile(r"\\([!-/:-@\[-`{-~])|(?<!`)(?P<marks>`++)(?P<code>[^`]++)(?P=marks)(?!`)")

# None of these looks further than the next mark of its own kind: no text takes longer than its length.
_BEFORE = re.compile(
    r"\s*+(?:>\s*+)*+(?:(?:[-*+]|\d{1,9}[.)])(?:\s++|\Z)(?:\[[ xX]\](?:\s++|\Z))?+)?+(#{1,6}(?:\s++|\Z))?"
)
_IMAGE = re.compile(r"!\[[^\[\]]*+\](?:\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)|\[[^\[\]]*+\])")
_LINK = re.compile(
    r"!?\[((?:[^\[\]]|\[[^\[\]]*+\])*+)\]\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)|!\[([^\[\]]*+)\]\[[^\[\]]*+\]"
)
_AUTOLINK = re.compile(r"<((?:https?:|mailto:)[^<>\s]++|[^<>\s@]++@[^<>\s]++)>")
_BREAK = re.compile(r"<br\s*+/?>", re.IGNORECASE)
_TAG = re.compile(r"<!--(?:(?!<!--).)*?-->|</?[A-Za-z][\w-]*+(?:\s[^<>]*+|/)?>")
_ATTRIBUTES = re.compile(r"\{(?:[\w-]++=\"[^\"{}]*+\"\s*+)++\}")
_EMPHASIS = re.compile(
    r"(?<!\*)(\*{1,3})(?=[^\s*])([^*]++)(?<=\S)\1(?!\*)|(?<![\w_])(_{1,3})(?=[^\s_])([^_]++)(?<=\S)\3(?![\w_])"
    r"|~~([^~]++)~~"
)


def _plain(line: _Line) -> str:
    if line.kind == "code":
        return line.text
    if line.kind in ("opens", "closes", "underline", "rule", "reference"):
        return ""
    if line.kind == "front" and line.text.strip() in ("---", "..."):
        return ""
    if line.kind == "table":
        return "" if _is_delimiter(line.text.strip()) else _bare(line.text).strip("| \t")
    return _bare(line.text)


def _bare(text: str) -> str:
    """Return a line of text without its Markdown."""
    text = _LITERAL.sub(lambda found: (found[1] or found["code"]).translate(_PUNCTUATION), text)
    text = _TAG.sub("", _AUTOLINK.sub(r"\1", _BREAK.sub(" ", text)))
    text = _ATTRIBUTES.sub("", text)
    before = _BEFORE.match(text)
    if before:
        text = text[before.end() :].rstrip()
        text = text.rstrip("#").rstrip() if before[1] and re.search(r"(?:^|\s)#++\Z", text) else text
    for _ in range(2):  # an image in a link
        text = _LINK.sub(lambda found: found[1] or found[2] or "", text)
    for _ in range(3):  # bold in italics in what was struck out
        text = _EMPHASIS.sub(lambda found: found[2] or found[4] or found[5], text)
    return text.translate(_RESTORED).strip()

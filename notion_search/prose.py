"""Markdown as lines, each of a kind, and as words without its marks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .words import has_text


def plain(markdown: str) -> str:
    """Return the text without its Markdown, line for line; code stays as it is."""
    return "\n".join(map(plain_line, lines_of(markdown)))


# The page as lines, each of a kind.

Kind = Literal[
    "blank", "heading", "underline", "opens", "code", "closes", "front", "rule", "table", "aside", "reference", "item",
    "text",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a page: what it is, and where it stands."""

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
_FRONT_MATTER = re.compile(r"---[ \t]*+\r?\n(?=[\w-]++:)(?:(?!---|\.\.\.)[^\r\n]++\r?\n)+(?:---|\.\.\.)(?=\s|\Z)")


def lines_of(markdown: str) -> list[Line]:
    """Return the lines of the page; what stands in a code fence is code, whatever it looks like."""
    lines: list[Line] = []
    front = _FRONT_MATTER.match(markdown)
    fence = ""
    for match in _LINE.finditer(markdown):
        text, start = match[1], match.start()
        if start == len(markdown):
            break
        mark = _FENCE.match(text)
        if front and start < front.end():
            lines.append(Line(kind="front", text=text, start=start))
        elif fence:
            closes = mark is not None and _closes(mark, fence)
            lines.append(Line(kind="closes" if closes else "code", text=text, start=start, fence=fence))
            fence = "" if closes else fence
        elif mark and (mark["marks"][0] == "~" or "`" not in mark["info"]):
            fence = mark["tabs"] + mark["marks"]
            lines.append(Line(kind="opens", text=text, start=start, fence=fence))
        elif _UNDERLINE.match(text) and _can_be_heading(lines):
            lines[-1] = replace(lines[-1], kind="heading", level=1 if "=" in text else 2)
            lines.append(Line(kind="underline", text=text, start=start))
        else:
            heading = _HEADING.match(text)
            kind = "heading" if heading else _kind(text)
            lines.append(Line(kind=kind, text=text, start=start, level=len(heading[1]) if heading else 0))
    return lines


def _closes(mark: re.Match[str], fence: str) -> bool:
    marks = fence.lstrip("\t")
    return len(mark["tabs"]) <= len(fence) - len(marks) and mark["marks"].startswith(marks) and not mark["info"].strip()


def _can_be_heading(lines: Sequence[Line]) -> bool:
    """Whether the last line is a paragraph of its own; under a whole sentence hyphens are a divider in Notion."""
    if not lines or lines[-1].kind != "text" or (len(lines) > 1 and lines[-2].kind == "text"):
        return False
    said = bare(lines[-1].text)
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
    if _ASIDE.match(words) or ("![" in words and not has_text(bare(_IMAGE.sub("", words)))):
        return "aside"
    return "item" if _ITEM.match(words) else "text"


def _is_delimiter(row: str) -> bool:
    return {"|", "-"} <= set(row) <= set("|-: \t")


# Markdown away. Escaped characters and those of code are moved out of its reach, to characters no text uses.

_PUNCTUATION = {code: 0x10F000 + code for code in range(0x21, 0x7F) if not chr(code).isalnum()}
_RESTORED = {moved: code for code, moved in _PUNCTUATION.items()}
_LITERAL = re.compile(r"\\([!-/:-@\[-`{-~])|(?<!`)(?P<marks>`++)(?P<code>[^`]++)(?P=marks)(?!`)")

# What every mark has in it, or a line begins with.
_MARKED = re.compile(r"[\\`<{\[*_~]|\A\s*+[>+#\d-]|#\s*+\Z")
# None of these looks further than the next mark of its own kind: no text takes longer than its length. No group is
# possessive, which Python before 3.11.5 matches wrongly: https://github.com/python/cpython/issues/106052
_BEFORE = re.compile(
    r"\s*+(?:>\s*+)*(?:(?:[-*+]|\d{1,9}[.)])(?:\s++|\Z)(?:\[[ xX]\](?:\s++|\Z))?)?(#{1,6}(?:\s++|\Z))?"
)
_IMAGE = re.compile(r"!\[[^\[\]]*+\](?:\([^()]*+(?:\([^()]*+\)[^()]*+)*\)|\[[^\[\]]*+\])")
_LINK = re.compile(
    r"!?\[((?:[^\[\]]|\[[^\[\]]*+\])*)\]\([^()]*+(?:\([^()]*+\)[^()]*+)*\)|!\[([^\[\]]*+)\]\[[^\[\]]*+\]"
)
_AUTOLINK = re.compile(r"<((?:https?:|mailto:)[^<>\s]++|[^<>\s@]++@[^<>\s]++)>")
_BREAK = re.compile(r"<br\s*+/?>", re.IGNORECASE)
_TAG = re.compile(r"<!--(?:(?!<!--).)*?-->|</?[A-Za-z][\w-]*+(?:\s[^<>]*+|/)?>")
_ATTRIBUTES = re.compile(r"\{(?:[\w-]++=\"[^\"{}]*+\"\s*+)+\}")
_EMPHASIS = re.compile(
    r"(?<!\*)(\*{1,3})(?=[^\s*])([^*]++)(?<=\S)\1(?!\*)|(?<![\w_])(_{1,3})(?=[^\s_])([^_]++)(?<=\S)\3(?![\w_])"
    r"|~~([^~]++)~~"
)


def plain_line(line: Line) -> str:
    """Return the line without its Markdown; code stays as it is."""
    if line.kind == "code":
        return line.text
    if line.kind in ("opens", "closes", "underline", "rule", "reference"):
        return ""
    if line.kind == "front" and line.text.strip() in ("---", "..."):
        return ""
    if line.kind == "table":
        return "" if _is_delimiter(line.text.strip()) else bare(line.text).strip("| \t")
    return bare(line.text)


def bare(text: str) -> str:
    """Return a line of text without its Markdown."""
    if not _MARKED.search(text):  # as most lines are: a tenth of the time
        return text.strip()
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


# Where sentences end.

_STOP = re.compile(r"(?<![.!?…。！？])([.!?…。！？]++)[)\]\"'”’」』》*_~`]*+")
# A dot after these ends no sentence; nor after an initial, or the number of a list item.
_ABBREVIATION = re.compile(
    r"(?<![^\W\d_])(?:(?i:e\.g|i\.e|etc|vs|cf|approx|ca|figs?|vol|pp?|eds?|mrs?|ms|dr|prof|st|jr|sr|inc|ltd|corp|dept"
    r"|a\.m|p\.m)|[A-Z])\Z|^[ \t>]*+\d{1,9}\Z"
)


def sentence_ends(text: str) -> Iterator[int]:
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

"""Whole pages as plain Markdown, out of Notion's own flavour of it or out of blocks."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import category

from ..types import Page
from ..words import clean as composed
from ..words import clip, has_text, inert
from .blocks import caption, children_of, kind_of, own_text
from .properties import rich_text

TEXT_LENGTH = 100_000
# Bounds of reading a page block by block; Notion's own Markdown takes one call for all of it.
DEPTH = 4
CALLS = 60
LIST_CALLS = 5  # pages of a hundred blocks each

# Deeper items stand as deep as this: a line of many breaks must not grow with its depth.
_DEEPEST = 8

Block = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A hundred blocks to be asked for."""

    id: str
    cursor: str | None = None
    depth: int = 1
    call: int = 1

    @property
    def is_first(self) -> bool:
        """Whether without these there is nothing to show of the page."""
        return self.depth == 1 and self.call == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """What was answered: blocks, and the cursor of those that follow."""

    found: Sequence[Block] = ()
    cursor: str | None = None


Ask = Callable[[Sequence[Wanted]], Sequence[Blocks | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One block of Markdown, without the blank lines around it."""

    text: str
    is_item: bool = False


def page(text: str, *, truncated: bool) -> Page:
    """Return the text as a page of at most 100,000 characters, marked truncated when that cut it."""
    return Page(text=clip(text, TEXT_LENGTH), truncated=truncated or len(text) > TEXT_LENGTH)


# Out of Notion's own Markdown: https://developers.notion.com/guides/data-apis/enhanced-markdown


def clean(markdown: str) -> str:
    """Return Notion's Markdown without its tags, attributes, tabs and escapes; code and formulas keep theirs."""
    return _joined(_cleaned(markdown))


def _cleaned(markdown: str) -> Iterator[_Part]:
    lines = iter(markdown.split("\n"))
    items: list[int] = []  # how far the list items around the line are indented
    rows: list[list[str]] = []
    for line in lines:
        body = line.strip()
        if not body:
            continue
        depth = _depth(line)
        while items and items[-1] >= depth:
            items.pop()
        if _FENCE.fullmatch(body):
            yield _Part(text=_literal(body, lines, line.count("\t", 0, line.index(body))))
            continue
        if _CALLOUT.fullmatch(body):
            continue
        mark, body = _marked(body)
        level = len(items)
        if _is_item(mark):
            items.append(depth)
        for tag, text in _segments(_without_attributes(body)):
            if tag in ("td", "th"):
                rows = rows or [[]]
                rows[-1].append(text)
                continue
            if tag == "tr":
                rows.append([])
            elif tag.endswith("table"):
                yield from _table(rows)
                rows = []
            yield from _written(mark, text, level)
            mark = ""
    yield from _table(rows)


# A fence of code may name its language; a formula stands between lines of two dollars.
_FENCE = re.compile(r"`{3,}[^`]*|~{3,}.*|\$\$")
_CALLOUT = re.compile(r":{3,}(?:\s*callout\b.*)?")
_MARK = re.compile(r"(#{1,6}|>|[-*+](?:\s+\[[ xX]\])?|\d{1,9}[.)])(?:\s+|$)")
_ATTRIBUTES = re.compile(r'\{(?:\s*+[\w-]++="[^"]*+")+\s*+\}')


def _depth(line: str) -> int:
    indent = line[: len(line) - len(line.lstrip())]
    return indent.count("\t") + indent.count(" ") // 2


def _literal(opening: str, lines: Iterator[str], tabs: int) -> str:
    """Return the lines to the end of the fence as they are, without the tabs the whole of it is indented by."""
    fence = re.split(r"[^`~$]", opening, maxsplit=1)[0]
    kept = [_printable(opening)]
    for line in lines:
        inner = line.removesuffix("\r")
        indent = min(tabs, len(inner) - len(inner.lstrip("\t")))
        kept.append(_printable(inner[indent:]))
        end = inner[indent:].strip(" ")
        if end.startswith(fence) and not end.strip(fence[0]):
            break
    return "\n".join(kept)


def _printable(line: str) -> str:
    return line if line.isprintable() else "".join(c for c in line if c == "\t" or category(c) not in ("Cc", "Cs"))


def _marked(body: str) -> tuple[str, str]:
    """Return what makes the line a heading, a quote or an item, and the rest of it."""
    mark = _MARK.match(body)
    return (mark[1], body[mark.end() :]) if mark else ("", body)


def _is_item(mark: str) -> bool:
    return bool(mark) and mark[0] not in "#>"


def _without_attributes(body: str) -> str:
    text, brace, last = body.rpartition("{")
    return text if _ATTRIBUTES.fullmatch(brace + last) else body


# These stand around blocks, so that what follows one is a block of its own; the others are part of a text.
_AROUND = """callout details summary columns column synced_block synced_block_reference table colgroup tr td th
    meeting-notes notes transcript tabs tab""".split()
_WITHIN = """page database data-source data_source empty-block col span unknown table_of_contents audio video file pdf
    image embed bookmark br citation custom_emoji mention-[a-z-]++""".split()

# Each alternative is left at the first character that does not fit, never to be tried in another way: a page of
# half-written tags costs no more than one of text.
_TOKEN = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)"
    r"|!\[(?P<caption>(?:[^\[\]\\]|\\.)*)\]\((?:[^()\s]|\([^()\s]*+\))*\)"
    rf"|<(?P<end>/?)(?P<tag>{'|'.join(_AROUND + _WITHIN)})"
    r'(?:\s++[\w:-]++(?:="[^"]*+")?)*\s*+(?P<empty>/?)>'
)
_TICKS = re.compile("`+")
_DATES = re.compile(r'\b(?:start|end)="([^"]*)"')


def _segments(body: str) -> Iterator[tuple[str, str]]:
    """Yield the tags around blocks, each with the text that follows it; what stands before any comes first."""
    tag, position = "", 0
    text: list[str] = []
    # Where the last run of so many backticks is: no search for the end of code that has none.
    runs = {len(run[0]): run.start() for run in _TICKS.finditer(body)}
    while token := _TOKEN.search(body, position):
        text.append(body[position : token.start()])
        position = token.end()
        if token["ticks"]:
            position = _end_of_code(body, token["ticks"], position, runs)
            text.append(body[token.start() : position])
        elif token["tag"] in _AROUND:
            yield tag, "".join(text)
            tag, text = token["end"] + token["tag"], []
        else:
            text.append(_meaning(token))
    yield tag, "".join(text) + body[position:]


def _end_of_code(body: str, ticks: str, position: int, runs: Mapping[int, int]) -> int:
    if runs.get(len(ticks), -1) < position:
        return position
    end = re.compile(f"(?<!`){ticks}(?!`)").search(body, position)
    return end.end() if end else position


def _meaning(token: re.Match[str]) -> str:
    """Return what an escape, a picture or a tag within a text stands for in plain Markdown."""
    if token["escaped"]:
        return token["escaped"]
    if token["caption"]:
        return "".join(text for _, text in _segments(token["caption"]))
    if token["tag"] == "br":
        return "\n"
    # A date is the one tag whose text is in its attributes.
    return " → ".join(_DATES.findall(token[0])) if token["tag"] == "mention-date" and token["empty"] else ""


# Out of blocks


def from_blocks(blocks: Sequence[Block], children: Callable[[str], Sequence[Block]]) -> str:
    """Return the blocks as Markdown with those inside them, four levels deep at most.

    `children` gives the blocks inside an id; it is asked about each id once, so that no circle of copies can turn.
    """
    entered: set[str] = set()

    def inside(block: Block) -> Sequence[Block]:
        id_ = children_of(block)
        if id_ is None or id_ in entered:
            return ()
        entered.add(id_)
        return children(id_)

    return _joined(_rendered(blocks, inside, depth=1, level=0))


def _rendered(
    blocks: Sequence[Block], inside: Callable[[Block], Sequence[Block]], *, depth: int, level: int
) -> Iterator[_Part]:
    number = 0
    for block in blocks:
        kind = kind_of(block)
        body = block.get(kind) if isinstance(block, Mapping) else None
        if not isinstance(body, Mapping):
            continue
        number = number + 1 if kind == "numbered_list_item" else 0
        inner = inside(block) if depth < DEPTH else ()
        if kind == "table":
            yield from _table([_cells(row) for row in inner])
            continue
        mark = _mark(kind, body, number)
        yield from _own(kind, body, mark, level)
        yield from _written("", caption(kind, body), level)
        yield from _rendered(inner, inside, depth=depth + 1, level=level + _is_item(mark))


_MARKS = {f"heading_{size}": "#" * size for size in (1, 2, 3, 4)} | {"quote": ">", "bulleted_list_item": "-"}


def _mark(kind: str, body: Mapping[str, object], number: int) -> str:
    if kind == "to_do":
        return "- [x]" if body.get("checked") is True else "- [ ]"
    return f"{number}." if number else _MARKS.get(kind, "")


def _own(kind: str, body: Mapping[str, object], mark: str, level: int) -> Iterator[_Part]:
    text = own_text(kind, body)
    if kind == "code":
        fence = max(["``", *_TICKS.findall(text)], key=len) + "`"
        language = inert(rich_text([{"plain_text": body.get("language")}])).replace("`", "")
        yield _Part(text="\n".join([fence + language, *map(_printable, text.split("\n")), fence]))
    elif kind == "equation" and has_text(text):
        yield _Part(text="\n".join(["$$", *map(_printable, text.split("\n")), "$$"]))
    elif kind == "divider":
        yield _Part(text="---")
    elif kind in ("child_page", "child_database"):
        yield from _written("", rich_text([{"plain_text": body.get("title")}]), level)
    else:
        yield from _written(mark, text, level)


def _cells(row: Block) -> list[str]:
    body = row.get("table_row")
    cells = body.get("cells") if isinstance(body, Mapping) else None
    return [rich_text(cell) for cell in cells] if isinstance(cells, list) else []


def read_blocks(page_id: str, ask: Ask) -> Page:
    """Return the text of a page, asked for level by level; `ask` answers many at once, None for what it cannot have.

    At most 60 calls, 5 a list, 4 levels: a page that holds more is truncated.
    """
    lists: dict[str, list[Block]] = {page_id: []}
    waiting, left, whole = [Wanted(id=page_id)], CALLS, True
    while waiting and left:
        asked, waiting = waiting[:left], waiting[left:]
        left -= len(asked)
        for wanted, answer in zip(asked, ask(asked), strict=True):
            if answer is None:
                whole = False
                continue
            lists[wanted.id].extend(answer.found)
            following = [*_next(wanted, answer), *_inner(wanted, answer, lists)]
            lists.update({next_.id: [] for next_ in following if next_.id not in lists})
            allowed = [next_ for next_ in following if next_.call <= LIST_CALLS and next_.depth <= DEPTH]
            whole = whole and len(allowed) == len(following)
            waiting += allowed
    text = from_blocks(lists[page_id], lambda id_: lists.get(id_, ()))
    return page(text, truncated=not whole or bool(waiting))


def _next(wanted: Wanted, answer: Blocks) -> Iterator[Wanted]:
    if answer.cursor:
        yield Wanted(id=wanted.id, cursor=answer.cursor, depth=wanted.depth, call=wanted.call + 1)


def _inner(wanted: Wanted, answer: Blocks, known: Mapping[str, object]) -> Iterator[Wanted]:
    ids = dict.fromkeys(id_ for block in answer.found if (id_ := children_of(block)))
    yield from (Wanted(id=id_, depth=wanted.depth + 1) for id_ in ids if id_ not in known)


# Both ways


def _written(mark: str, text: str, level: int) -> Iterator[_Part]:
    """Yield the text as a heading, a quote, an item or a paragraph; nothing when nothing of it can be seen."""
    # Composing takes time squared in the marks on one letter, and `inert` leaves few of those.
    lines = [composed(line) for line in map(inert, text.split("\n")) if has_text(line)]
    if not lines:
        return
    if mark.startswith("#"):
        yield _Part(text=f"{mark} {' '.join(lines)}")
    elif mark == ">":
        yield _Part(text="\n".join(f"> {line}" for line in lines))
    elif mark:
        indent = "  " * min(level, _DEEPEST)
        yield _Part(text=f"{indent}{mark} " + f"\n{indent}  ".join(lines), is_item=True)
    else:
        yield _Part(text="\n".join(lines))


def _table(rows: Sequence[Sequence[str]]) -> Iterator[_Part]:
    lines = ["| " + " | ".join(composed(inert(cell)).replace("|", r"\|") for cell in row) + " |" for row in rows if row]
    if lines:
        width = next(len(row) for row in rows if row)
        yield _Part(text="\n".join([lines[0], "| " + " | ".join(["---"] * width) + " |", *lines[1:]]))


def _joined(parts: Iterator[_Part]) -> str:
    """Return the parts with a blank line between them, but none within a list."""
    text: list[str] = []
    after_item = False
    for part in parts:
        text += ["\n" if part.is_item and after_item else "\n\n"] if text else []
        text.append(part.text)
        after_item = part.is_item
    return "".join(text)

"""A file of a vault or an export as the notes it holds; nothing here reads or writes."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from pathlib import PurePosixPath

from ..prose import bare, lines_of
from ..types import Plain
from ..words import clean, clip, fold, has_text, inert
from .contents import decoded
from .ids import dashed, parse_page
from .obsidian import links_as_text, unmarked
from .properties import UNTITLED

NOTE_CAP = 300_000  # characters; a novel has more, a note has not
HEADER_CAP = 20_000  # characters; a longer header is no header
HEADER_DEPTH = 10  # lists in lists; properties have no more than `- [[link]]` needs, and parsing takes depth squared
TITLE_CAP = 300  # characters
VALUE_CAP = 2_000  # characters; what Notion allows in one piece of text
TAG_CAP = 50
ROW_CAP = 10_000
COLUMN_CAP = 100
EXPORTED_CAP = 50  # properties

# Navigation holds structure, not knowledge; templates hold nothing yet.
NAVIGATION = frozenset({"templates", "template", "atlas", "maps", "mocs"})
FOREIGN = frozenset({"node_modules", "__macosx"})
# These stand at the top of the vault.
SYSTEM_NOTES = frozenset({"home.md", "start here.md", "workflow guide.md", "tag conventions.md"})

_SUFFIXES = ("md", "markdown", "csv")
_NUMBERING = re.compile(r"[\d\s-]++")
_MAP = re.compile(r"(?<![A-Za-z0-9])MOCs?(?![A-Za-z0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One note, or one row of a table, as plain values."""

    id: str
    """The path inside the vault, composed and inert; of a row followed by `#` and its number, from 1."""
    title: str
    """Never empty."""
    text: str
    """Markdown without front matter and without Obsidian's own marks; may be empty."""
    properties: Mapping[str, Plain] = field(default_factory=dict)
    notion_id: str | None = None
    """The dashed id of the Notion page it was exported from."""


def is_skipped(path: str) -> bool:
    """Whether the file's path alone says that it holds no note."""
    folder, _, name = path.rpartition("/")
    return is_passed_over(folder) or is_no_note(name, top=not folder)


def is_no_note(name: str, *, top: bool) -> bool:
    """Whether the file's name says that it holds no note, in a folder that is not passed over or at the vault's top."""
    if name.endswith(".md") and name[0] != "." and not top and "MOC" not in name:  # as most are, of ten thousand
        return False
    stem, suffix = _split(name)
    return (
        suffix not in _SUFFIXES
        or name.startswith(".")
        or (top and fold(name) in SYSTEM_NOTES)
        or (suffix == "csv" and fold(stem).endswith("_all"))  # the same database again, in Notion's exports
        or ("MOC" in stem and _MAP.search(stem) is not None)
    )


@lru_cache(maxsize=1000)
def is_passed_over(folder: str) -> bool:
    """Whether nothing of the folder is read: one of its parts is hidden, a program's, or holds templates or maps."""
    return any(
        (part.startswith(".") and part != ".")
        or fold(part) in FOREIGN
        or fold(_NUMBERING.sub("", part, count=1)) in NAVIGATION
        for part in folder.split("/")
    )


def notes(path: str, data: bytes, warn: Callable[[str], None]) -> tuple[Note, ...]:
    """Return the notes of a file, whatever its bytes: of Markdown one or none, of a table one for each row."""
    place = _line(path)
    stem, suffix = _split(PurePosixPath(path).name)
    if suffix not in _SUFFIXES or not _line(stem):
        return ()
    if not _is_unicode(data):
        warn(f"{place}: not UTF-8; read as best it can be")
    text = decoded(data).replace("\0", "")
    if suffix == "csv":
        return tuple(_rows(place, text, warn))
    note = _note(place, _line(stem), clean(text[:NOTE_CAP].replace("\r\n", "\n").replace("\r", "\n"))[:NOTE_CAP])
    return (note,) if note else ()


def _split(name: str) -> tuple[str, str]:
    stem, dot, suffix = name.rpartition(".")
    return (stem, suffix.lower()) if dot else (name, "")


def _is_unicode(data: bytes) -> bool:
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        data.decode("utf-16" if marked else "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _line(text: str) -> str:
    """Return the text as one inert line, composed."""
    line = inert(clean(text))
    # Where an invisible character stood between a letter and its mark, they meet only now.
    return line if line.isascii() else inert(clean(line))


# Markdown

_EXPORTED = re.compile(r"(?:\A|\s)([0-9a-f]{32})\Z", re.IGNORECASE)
_EXPORTED_START = re.compile(r"\n*+# [^\n]*+\n[ \t]*+\n")
_EXPORTED_PROPERTY = re.compile(r"([^:\n]{1,60}):(?:[ \t]++(.*+))?")
_DRAWING = re.compile(r"^(?:#{1,6}[ \t]++Drawing|%%)[ \t]*+$", re.MULTILINE)
# Pictures and drawings as letters; no word of any language is as long.
_ENCODED = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{201,}+")


def _note(place: str, stem: str, text: str) -> Note | None:
    header, body = _parted(text)
    exported = _EXPORTED.search(stem)
    properties = dict(header)
    if any(value is True or value == "true" for value in _taken(properties, "istemplate")):
        return None
    is_drawing = "excalidraw-plugin" in header
    if is_drawing:
        body = _DRAWING.split(body, maxsplit=1)[0]
    rows: dict[str, Plain] = {}
    if exported:
        stem = stem[: exported.start()]
        rows, body = _exported_properties(body)
    body, inline_tags = unmarked(_ENCODED.sub("", body))
    body = body.strip()[:NOTE_CAP] if has_text(body) else ""
    titles = [str(value) for value in _taken(properties, "title", kinds=(str, int, float))]
    if tags := _tags(_taken(properties, "tags", "tag"), inline_tags):
        properties["tags"] = tags
    if not (body or header or tags or rows):
        return None
    named = (parse_page(value) for key in ("notion-id", "notion_id") if isinstance(value := header.get(key), str))
    return Note(
        id=place,
        title=_title(chain(titles, () if is_drawing else _headings(body), (stem,))),
        text=body,
        properties={**properties, **rows},
        notion_id=dashed(exported[1]) if exported else next(filter(None, named), None),
    )


def _title(titles: Iterator[str]) -> str:
    shown = (clip(_line(title), TITLE_CAP) for title in titles)
    return next(filter(has_text, shown), UNTITLED)


def _headings(text: str) -> Iterator[str]:
    for line in lines_of(text):
        if line.kind == "heading":
            yield bare(line.text[:VALUE_CAP])


def _taken(
    properties: dict[str, Plain], *names: str, kinds: tuple[type, ...] = (str, int, float, bool, tuple)
) -> list[Plain]:
    """Return the values of these names, whatever their case, and take them out of the properties."""
    return [
        properties.pop(name)
        for name, value in tuple(properties.items())
        if fold(name) in names and type(value) in kinds
    ]


def _tags(values: Sequence[Plain], inline_tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of front matter, then those of the text, each once whatever its case."""
    tags: dict[str, str] = {}
    for value in values:
        for part in value if isinstance(value, tuple) else re.split(r"[,\s]+", str(value)):
            tag = str(part).strip("#/ ")
            if has_text(tag):
                tags.setdefault(fold(tag), tag)
    for tag in inline_tags:
        tags.setdefault(fold(tag), tag)
    return tuple(tags.values())[:TAG_CAP]


def _exported_properties(text: str) -> tuple[dict[str, Plain], str]:
    """Return the properties Notion writes between a row's title and its text, and the text without them."""
    start = _EXPORTED_START.match(text)
    if not start:
        return {}, text
    block = re.split(r"\n[ \t]*(?:\n|\Z)", text[start.end() :], maxsplit=1)[0]
    lines = block.split("\n")
    found = [match for line in lines if (match := _EXPORTED_PROPERTY.fullmatch(line))]
    if len(found) < len(lines):  # a paragraph that happens to hold a colon
        return {}, text
    found = found[:EXPORTED_CAP]
    pairs = ((_line(match[1]), _line((match[2] or "")[:VALUE_CAP])) for match in found)
    length = sum(len(match[0]) + 1 for match in found)
    return {key: value for key, value in pairs if key and has_text(value)}, start[0] + text[start.end() + length :]


# Front matter. Its values are taken from the parser's events: nothing is built that YAML could make grow, and a date,
# a time or an unusual number stays as it is written.

_HEADER = re.compile(r"---[ \t]*+\n((?:.*+\n)*?)(?:---|\.\.\.)[ \t]*+(?:\n|\Z)")
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})


def _parted(text: str) -> tuple[dict[str, Plain], str]:
    """Return the front matter and what follows; a header that does not parse is text like any other."""
    found = _HEADER.match(text)
    header = _header(found[1]) if found and len(found[1]) <= HEADER_CAP else None
    return (header, text[found.end() :]) if found and header is not None else ({}, text)


def _header(text: str) -> dict[str, Plain] | None:
    import yaml  # slow to import, and not every vault has front matter

    if not text.strip():
        return {}
    top: list[object] = []
    stack = [top]
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or len(stack) > HEADER_DEPTH:
                return None
            if isinstance(event, yaml.ScalarEvent):
                stack[-1].append(_scalar(event.value) if event.implicit[0] else event.value)
            elif isinstance(event, yaml.CollectionStartEvent):
                stack.append([])
            elif isinstance(event, yaml.CollectionEndEvent):
                whole = stack.pop()
                stack[-1].append(dict(_named(whole)) if isinstance(event, yaml.MappingEndEvent) else whole)
    # ValueError and OverflowError: the parser written in Python hands any escaped number to chr().
    except (yaml.YAMLError, ValueError, OverflowError):
        return None
    return top[0] if len(top) == 1 and isinstance(top[0], dict) else None


def _scalar(text: str) -> str | int | float | bool | None:
    if _NUMBER.fullmatch(text):
        number = float(text) if "." in text else int(text)
        return number if str(number) == text else text  # "007" and "1.10" are names
    return None if text in _NOTHING else _BOOLEANS.get(text, text)


def _named(whole: Sequence[object]) -> Iterator[tuple[str, Plain]]:
    """Yield the pairs of a mapping, whose keys and values alternate; raises ValueError for `{{placeholders}}`."""
    for key, value in zip(whole[::2], whole[1::2], strict=True):
        if isinstance(key, list | dict):
            raise ValueError("a key that is no name")
        name, plain = _line(str(key)), _plain(value)
        if name and plain is not None:
            yield name, plain


def _plain(value: object) -> Plain | None:
    if not isinstance(value, list):
        return _item(value)
    items = tuple(item for item in map(_item, value) if item is not None)
    # A link that is not in quotes is a list in a list.
    return items[0] if items and len(value) == 1 and isinstance(value[0], list) else items or None


def _item(value: object) -> str | int | float | bool | None:
    if isinstance(value, list):
        value = ", ".join(str(item) for item in map(_item, value) if item is not None)
    if isinstance(value, str):
        line = _line(links_as_text(value[:VALUE_CAP]))
        return line if has_text(line) else None
    return value if isinstance(value, int | float) else None


# Tables


def _rows(place: str, text: str, warn: Callable[[str], None]) -> Iterator[Note]:
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        names = _column_names(next(reader, []))
        for number, row in enumerate(islice(reader, ROW_CAP), start=1):
            cells = [_line(cell[:VALUE_CAP]) if cell else "" for cell in row[:COLUMN_CAP]]
            if any(map(has_text, cells)):
                values = zip(names[1:], cells[1:], strict=False)
                yield Note(
                    id=f"{place}#{number}",
                    title=_title(iter(cells[:1])),
                    text="",
                    properties={name: cell for name, cell in values if has_text(cell)},
                )
    except csv.Error:  # such as a quotation mark that is never closed
        warn(f"{place}: broken; read as far as it goes")


def _column_names(cells: Sequence[str]) -> list[str]:
    """Return a name for each column, none of them twice."""
    names: list[str] = []
    for number in range(1, COLUMN_CAP + 1):
        name = _line(cells[number - 1][:VALUE_CAP]) if number <= len(cells) else ""
        name = name if has_text(name) else f"Column {number}"
        while name in names:
            name = f"{name} {number}"
        names.append(name)
    return names

"""Notion's blocks as text: the words that belong to the page itself."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from ..words import clip, has_text
from .ids import dashed
from .properties import rich_text

EXCERPT_LENGTH = 200
OPENING_LENGTH = 500

# Their children are other pages' words, or cannot be asked for.
_CLOSED = ("child_page", "child_database", "link_to_page", "unsupported")


def texts(blocks: Iterable[object]) -> Iterator[str]:
    """Yield each block's own text and caption in order, as one line each, blank ones left out."""
    for kind, body in _known(blocks):
        yield from _lines(own_text(kind, body), caption(kind, body))


def excerpt(blocks: Iterable[object]) -> str:
    """Return the first text, at most 200 characters; a caption says what a picture shows, not what the page says."""
    return clip(next(_own_texts(blocks), ""), EXCERPT_LENGTH)


def opening(blocks: Iterable[object]) -> str:
    """Return the first texts in one line, at most 500 characters; it begins as the excerpt does."""
    return clip(" ".join(_own_texts(blocks)), OPENING_LENGTH)


def container(blocks: Iterable[object]) -> str | None:
    """Return the id whose children may hold text when these blocks have none of their own, else None."""
    listed = list(blocks)
    if any(_own_texts(listed)):
        return None
    # The children of a column list are columns: one level down, still no text.
    ordered = sorted(listed, key=lambda block: kind_of(block) == "column_list")
    return next((block_id for block in ordered if (block_id := children_of(block))), None)


def _own_texts(blocks: Iterable[object]) -> Iterator[str]:
    for kind, body in _known(blocks):
        yield from _lines(own_text(kind, body))


def _lines(*found: str) -> Iterator[str]:
    yield from (" ".join(text.split()) for text in found if has_text(text))


def _known(blocks: Iterable[object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    for block in blocks:
        kind = kind_of(block)
        body = block.get(kind) if isinstance(block, Mapping) else None
        if isinstance(body, Mapping):
            yield kind, body


def kind_of(block: object) -> str:
    """Return the type of the block, empty for anything that names none."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    return kind if isinstance(kind, str) else ""


def own_text(kind: str, body: Mapping[str, object]) -> str:
    """Return the text that a block of this kind holds itself, as it stands."""
    return _OWN[kind](body) if kind in _OWN else ""


def caption(kind: str, body: Mapping[str, object]) -> str:
    """Return what a block of this kind says under its picture, file or code; a file's name where it says nothing."""
    if kind not in _CAPTIONED:
        return ""
    return rich_text(body.get("caption")) or rich_text([{"plain_text": body.get("name")}])


def _rich(body: Mapping[str, object]) -> str:
    return rich_text(body.get("rich_text"))


def _cells(body: Mapping[str, object]) -> str:
    cells = body.get("cells")
    found = [rich_text(cell) for cell in cells] if isinstance(cells, list) else []
    return " | ".join(text for text in found if has_text(text))


def _expression(body: Mapping[str, object]) -> str:
    return rich_text([{"equation": body}])


def _titled(body: Mapping[str, object]) -> str:
    return rich_text(body.get("title"))


# A child page's title is missing on purpose: it names another page.
_OWN: Mapping[str, Callable[[Mapping[str, object]], str]] = {
    **dict.fromkeys(("paragraph", "heading_1", "heading_2", "heading_3", "heading_4"), _rich),
    **dict.fromkeys(("bulleted_list_item", "numbered_list_item", "to_do", "quote"), _rich),
    **dict.fromkeys(("toggle", "callout", "template", "code"), _rich),
    "table_row": _cells,
    "equation": _expression,
    "meeting_notes": _titled,
    "transcription": _titled,  # what meeting_notes was called before 2026-03-11
}

_CAPTIONED = ("image", "video", "audio", "pdf", "file", "bookmark", "embed", "code")


def children_of(block: object) -> str | None:
    """Return the id whose children belong to the block, None without any; a synced copy's are the original's."""
    if not isinstance(block, Mapping) or kind_of(block) in _CLOSED:
        return None
    # A synced copy holds nothing itself; its text is with the original.
    synced = block.get("synced_block")
    origin = synced.get("synced_from") if isinstance(synced, Mapping) else None
    if isinstance(origin, Mapping) and isinstance(origin.get("block_id"), str):
        return dashed(str(origin["block_id"]))
    block_id = block.get("id")
    return dashed(block_id) if block.get("has_children") is True and isinstance(block_id, str) else None

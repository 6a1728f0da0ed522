"""Notion's answers as values: listings, live pages, candidates, and the words looked for in rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..types import Candidate
from ..words import fold, inert, keywords
from .ids import dashed
from .properties import plain_properties, rich_text, title_of

SOURCE = "notion"


def results(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the objects of a listing, whatever else stands in it."""
    listed = answer.get("results")
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def cursor(answer: Mapping[str, Any]) -> str | None:
    """Return where the next page of a listing begins, None after the last."""
    following = answer.get("next_cursor")
    return following if answer.get("has_more") and isinstance(following, str) else None


def live_pages(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the pages of a listing that are in no trash and no archive."""
    return [raw for raw in results(answer) if is_live(raw, "page")]


def is_live(raw: Mapping[str, Any], kind: str) -> bool:
    """Whether this is a page, or what else is asked for, outside trash and archive."""
    # `archived` left the API, `is_archived` came.
    gone = any(raw.get(flag) for flag in ("in_trash", "archived", "is_archived"))
    return raw.get("object") == kind and isinstance(raw.get("id"), str) and not gone


def candidates(
    pages: Sequence[Mapping[str, Any]], found_by: Callable[[Mapping[str, Any]], tuple[str, ...]]
) -> tuple[Candidate, ...]:
    """Return the pages as candidates, in their order; `found_by` gives the variants whose words found each."""
    return tuple(_candidate(page, position, found_by(page)) for position, page in enumerate(pages, 1))


def _candidate(raw: Mapping[str, Any], position: int, found_by: tuple[str, ...]) -> Candidate:
    edited = raw.get("last_edited_time")
    return Candidate(
        source=SOURCE,
        id=dashed(raw["id"]),
        url=_url(raw),
        title=title_of(raw),
        edited=edited if isinstance(edited, str) else None,
        position=position,
        found_by=found_by,
        properties=plain_properties(raw),
        kind="database_entry" if _is_row(raw) else "page",
    )


def _is_row(raw: Mapping[str, Any]) -> bool:
    parent = raw.get("parent")
    return isinstance(parent, dict) and parent.get("type") in ("data_source_id", "database_id")


def _url(raw: Mapping[str, Any]) -> str:
    url = raw.get("url")
    if isinstance(url, str) and url.startswith(("https://", "http://")) and inert(url) == url and " " not in url:
        return url
    return f"https://www.notion.so/{raw['id'].replace('-', '')}"


def edited(row: Mapping[str, Any]) -> str:
    """Return the time of the object's last edit, as Notion writes it, for sorting."""
    return str(row.get("last_edited_time") or "")


def wanted(variant: str) -> tuple[str, ...]:
    """Return the words of a variant as they stand inside their other forms."""
    # A variant without a single word, such as "!!", is looked for as it stands.
    return keywords(variant) or ((fold(variant),) if variant else ())


def held(row: Mapping[str, Any], words: Sequence[str]) -> int:
    """Return how many of the words stand in the row's title or texts, as the filters sent to Notion look for them."""
    held = fold(" ".join(_row_texts(row)))
    return sum(word in held for word in words)


def _row_texts(row: Mapping[str, Any]) -> Iterator[str]:
    properties = row.get("properties")
    for value in properties.values() if isinstance(properties, dict) else ():
        kind = value.get("type") if isinstance(value, dict) else None
        if kind in ("title", "rich_text"):
            yield rich_text(value.get(kind))

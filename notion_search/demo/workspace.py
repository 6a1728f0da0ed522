"""A workspace as the Notion API spells it, and the compact notation it can be written in.

    {"databases": [{"title": "Tasks", "sources": [{"name": "Tasks",
        "schema": {"Name": "title", "Status": {"status": ["Open", "Done"]}},
        "rows": [{"values": {"Name": "Launch", "Status": "Open"}, "blocks": ["# Why", "- because"]}]}]}],
     "pages": [{"title": "Start", "blocks": ["Hello.", {"toggle": "More", "children": ["Hidden."]}], "pages": []}]}

Everything but titles and schemas may be left out: ids, times ("2026-11-03 09:08"), people and parents are made up
then, the same ones every time.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from importlib.resources import files
from typing import Any
from urllib.parse import quote

Json = dict[str, Any]

_FIRST_TIME = datetime(2026, 1, 5, 9, 0)
_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@:?;<>\\`"
_COLORS = ("default", "gray", "brown", "orange", "yellow", "green", "blue", "purple", "pink", "red")

# What a line of text begins with, and the block it then is; the longest marks first.
_MARKS = {
    "#### ": "heading_4",
    "### ": "heading_3",
    "## ": "heading_2",
    "# ": "heading_1",
    "- ": "bulleted_list_item",
    "1. ": "numbered_list_item",
    "> ": "quote",
    "[ ] ": "to_do",
    "[x] ": "to_do",
}
_BARE_BLOCKS = ("divider", "breadcrumb", "table_of_contents", "unsupported")


@dataclass(frozen=True)
class Workspace:
    """Notion objects as the API sends them: what one token can see."""

    pages: Sequence[Json] = ()
    data_sources: Sequence[Json] = ()
    databases: Sequence[Json] = ()
    children: Mapping[str, Sequence[Json]] = field(default_factory=dict)
    """Blocks by the id of the page or block they stand in."""

    @cached_property
    def pages_by_id(self) -> dict[str, Json]:
        """Pages, trashed ones included."""
        return {page["id"]: page for page in self.pages}

    @cached_property
    def data_sources_by_id(self) -> dict[str, Json]:
        """Data sources."""
        return {source["id"]: source for source in self.data_sources}

    @cached_property
    def databases_by_id(self) -> dict[str, Json]:
        """Databases."""
        return {database["id"]: database for database in self.databases}

    @cached_property
    def block_ids(self) -> frozenset[str]:
        """Whatever may have children: pages, databases and blocks."""
        blocks = (block["id"] for listed in self.children.values() for block in listed)
        return frozenset((*self.pages_by_id, *self.databases_by_id, *self.children, *blocks))

    def rows(self, source_id: str) -> list[Json]:
        """Return the rows of a data source, in their own order."""
        return [page for page in self.pages if page["parent"].get("data_source_id") == source_id]


def sample() -> Workspace:
    """Return the built-in sample workspace."""
    return load(json.loads((files(__package__) / "workspace.json").read_text(encoding="utf-8")))


def load(data: Mapping[str, Any]) -> Workspace:
    """Return the workspace written in the compact notation."""
    return _Loader(data.get("people", {})).workspace(data)


class _Loader:
    """Collects the objects of one workspace."""

    def __init__(self, people: Mapping[str, str]) -> None:
        self._people = dict(people)
        self._pages: list[Json] = []
        self._sources: list[Json] = []
        self._databases: list[Json] = []
        self._children: dict[str, list[Json]] = {}
        self._made = 0

    def workspace(self, data: Mapping[str, Any]) -> Workspace:
        for page in data.get("pages", ()):
            self._page(page, {"type": "workspace", "workspace": True})
        for database in data.get("databases", ()):
            self._database(database)
        return Workspace(self._pages, self._sources, self._databases, self._children)

    def _page(self, given: Json, parent: Json) -> None:
        page = self._page_object(given, parent, given.get("title", ""))
        page["properties"] = {"title": {"id": "title", "type": "title", "title": _rich(given.get("title", ""))}}
        for inner in given.get("pages", ()):
            key = inner.get("id") or self._new_id("page")
            self._add_block(page["id"], page, "child_page", {"title": _plain(inner.get("title", ""))}, key=key)
            self._page({**inner, "id": key}, {"type": "page_id", "page_id": page["id"]})
            self._children[page["id"]][-1]["has_children"] = key in self._children

    def _database(self, given: Json) -> None:
        key = given.get("id") or self._new_id("database")
        created = self._time(given.get("created"))
        parent = (
            {"type": "page_id", "page_id": given["parent"]}
            if "parent" in given
            else {"type": "workspace", "workspace": True}
        )
        database = {
            "object": "database",
            "id": key,
            "title": _rich(given["title"]),
            "description": [],
            "parent": parent,
            "is_inline": False,
            "in_trash": False,
            "is_locked": False,
            # Unlike a page's, a database's times carry their fractions.
            "created_time": created.replace(".000Z", ".607+00:00"),
            "last_edited_time": self._time(given.get("edited")).replace(".000Z", ".112+00:00"),
            "data_sources": [],
            "icon": _icon(given.get("icon")),
            "cover": None,
            "url": _url(given["title"], key),
            "public_url": None,
        }
        self._databases.append(database)
        for source in given["sources"]:
            self._source(source, database)
        if "parent" in given:
            self._add_block(given["parent"], database, "child_database", {"title": _plain(given["title"])}, key=key)

    def _source(self, given: Json, database: Json) -> None:
        key = given.get("id") or self._new_id("source")
        name = given.get("name", _text_of(database["title"]))
        database["data_sources"].append({"id": key, "name": name})
        schema = {column: _column(key, column, spec) for column, spec in given["schema"].items()}
        source = {
            "object": "data_source",
            "id": key,
            "cover": None,
            "icon": database["icon"],
            **self._stamps(given),
            "title": _rich(name),
            "description": [],
            "is_inline": False,
            "properties": schema,
            "parent": {"type": "database_id", "database_id": database["id"]},
            "database_parent": database["parent"],
            "url": database["url"],
            "public_url": None,
            "in_trash": False,
        }
        self._sources.append(source)
        parent = {"type": "data_source_id", "data_source_id": key, "database_id": database["id"]}
        for row in given.get("rows", ()):
            self._row(row, parent, schema, _results(given["schema"]))

    def _row(self, given: Json, parent: Json, schema: Json, results: Mapping[str, str]) -> None:
        values = given.get("values", {})
        title = next((values.get(name, "") for name, column in schema.items() if column["type"] == "title"), "")
        page = self._page_object(given, parent, title)
        page["properties"] = {
            name: self._property(column, values.get(name), page, results.get(name, ""))
            for name, column in schema.items()
        }

    def _page_object(self, given: Json, parent: Json, title: object) -> Json:
        key = given.get("id") or self._new_id("page")
        page = {
            "object": "page",
            "id": key,
            **self._stamps(given),
            "cover": None,
            "icon": _icon(given.get("icon")),
            "parent": parent,
            "in_trash": given.get("trash", False),
            "is_archived": given.get("archived", False),
            "is_locked": False,
            "properties": {},
            "url": _url(title, key),
            "public_url": None,
        }
        self._pages.append(page)
        self._blocks(key, "page_id", given.get("blocks", ()), page)
        return page

    def _stamps(self, given: Json) -> Json:
        created = self._time(given.get("created"))
        by = self._person(given["by"]) if "by" in given else {"object": "user", "id": _id("user:maker")}
        author = {"object": "user", "id": by["id"]}
        return {
            "created_time": created,
            "last_edited_time": self._time(given["edited"]) if "edited" in given else created,
            "created_by": author,
            "last_edited_by": author,
        }

    def _time(self, given: str | None) -> str:
        """Return the time as a page carries it; one minute after the last made up, when none is given."""
        if given is None:
            self._made += 1
            given = (_FIRST_TIME + timedelta(minutes=self._made)).strftime("%Y-%m-%d %H:%M")
        return given.replace(" ", "T") + ":00.000Z"

    def _new_id(self, kind: str) -> str:
        self._made += 1
        return _id(f"{kind}:{self._made}")

    def _person(self, name: str) -> Json:
        key = self._people.setdefault(name, _id(f"user:{name}"))
        return {"object": "user", "id": key, "name": name, "avatar_url": None, "type": "person", "person": {}}

    def _property(self, column: Json, value: Any, page: Json, result: str) -> Json:  # noqa: ANN401 -- any JSON value
        kind = column["type"]
        if kind == "formula":
            content = _result(result, value)
        elif kind == "rollup":
            content = {**_result(result, value), "function": column[kind]["function"]}
        else:
            content = self._filled(kind, column, value, page)
        more = {"has_more": False} if kind == "relation" else {}
        return {"id": column["id"], "type": kind, kind: content, **more}

    def _filled(self, kind: str, column: Json, value: Any, page: Json) -> Any:  # noqa: ANN401 -- any JSON value
        match kind:
            case "title" | "rich_text":
                return _rich(value or "")
            case "select" | "status":
                return value and _option(column, value)
            case "multi_select":
                return [_option(column, name) for name in value or ()]
            case "date":
                return value and _date(value)
            case "people":
                return [self._person(name) for name in value or ()]
            case "relation":
                return [{"id": key} for key in value or ()]
            case "files":
                return [
                    {"name": name, "type": "external", "external": {"url": f"https://files.example/{quote(name)}"}}
                    for name in value or ()
                ]
            case "checkbox":
                return bool(value)
            case "unique_id":
                return {"prefix": column[kind]["prefix"], "number": value}
            case "verification":
                return {"state": value or "unverified", "verified_by": None, "date": None}
            case "button":
                return {}
            case "created_time" | "last_edited_time" | "created_by" | "last_edited_by":
                return page[kind]
        return value

    def _blocks(self, parent: str, kind: str, given: Sequence[Any], page: Json) -> None:
        for block in given:
            for name, content, children in _spelled(block):
                self._add_block(parent, page, name, content, kind=kind, children=children)

    def _add_block(
        self,
        parent: str,
        page: Json,
        name: str,
        content: Json,
        *,
        kind: str = "page_id",
        children: Sequence[Any] = (),
        key: str | None = None,
    ) -> None:
        siblings = self._children.setdefault(parent, [])
        key = key or _id(f"{parent}/{len(siblings)}")
        author = page.get("created_by") or {"object": "user", "id": _id("user:maker")}
        siblings.append(
            {
                "object": "block",
                "id": key,
                "parent": {"type": kind, kind: parent},
                "created_time": page["created_time"],
                "last_edited_time": page["last_edited_time"],
                "created_by": author,
                "last_edited_by": author,
                "has_children": bool(children),
                "in_trash": False,
                "type": name,
                name: content,
            }
        )
        self._blocks(key, "block_id", children, page)


def _id(seed: str) -> str:
    """Return an id as Notion makes them: a uuid, but not of version 4."""
    digits = hashlib.sha256(seed.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-8{digits[12:15]}-a{digits[15:18]}-{digits[18:30]}"


def _rich(text: object) -> list[Json]:
    """Return rich text: one piece a string, several from a list."""
    pieces = text if isinstance(text, list) else [text] if text else []
    return [
        {
            "type": "text",
            "text": {"content": piece, "link": None},
            "annotations": {
                "bold": False,
                "italic": False,
                "strikethrough": False,
                "underline": False,
                "code": False,
                "color": "default",
            },
            "plain_text": piece,
            "href": None,
        }
        for piece in pieces
    ]


def _text_of(pieces: Sequence[Json]) -> str:
    return "".join(piece["plain_text"] for piece in pieces)


def _plain(title: object) -> str:
    return _text_of(_rich(title))


def _url(title: object, key: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", _plain(title))
    return "https://app.notion.com/p/" + "-".join((*words, key.replace("-", "")))


def _icon(emoji: str | None) -> Json | None:
    return {"type": "emoji", "emoji": emoji} if emoji else None


def _column(source: str, name: str, spec: str | Json) -> Json:
    """Return one column of a schema from `"number"`, `{"select": [options]}` or `{"formula": {...}}`."""
    kind, detail = (spec, None) if isinstance(spec, str) else next(iter(spec.items()))
    digits = hashlib.sha256(f"{source}/{name}".encode()).digest()
    key = (
        "title" if kind == "title" else quote("".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digits[:4]), safe="")
    )
    return {"id": key, "name": name, "description": None, "type": kind, kind: _detail(kind, detail, key)}


def _detail(kind: str, detail: Any, key: str) -> Json:  # noqa: ANN401 -- any JSON value
    if kind in ("select", "multi_select", "status"):
        return {"options": [_new_option(key, index, name) for index, name in enumerate(detail or ())]}
    if kind == "number":
        return {"format": detail or "number"}
    if kind == "unique_id":
        return {"prefix": detail}
    if kind == "relation":
        return {"data_source_id": detail, "type": "single_property", "single_property": {}}
    return {name: value for name, value in (detail or {}).items() if name != "result"}


def _results(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return what each formula and rollup comes to; Notion's own schema does not say it."""
    details = {name: next(iter(spec.values())) for name, spec in schema.items() if isinstance(spec, dict)}
    return {name: detail["result"] for name, detail in details.items() if isinstance(detail, dict)}


def _new_option(column: str, index: int, name: str) -> Json:
    color = _COLORS[index % len(_COLORS)]
    return {"id": _id(f"option:{column}/{name}"), "name": name, "color": color, "description": None}


def _option(column: Json, name: str) -> Json:
    for option in column[column["type"]]["options"]:
        if option["name"] == name:
            return {key: option[key] for key in ("id", "name", "color")}
    raise ValueError(f"{column['name']} has no option {name!r}")


def _date(given: str) -> Json:
    start, _, end = given.partition("/")
    return {"start": start, "end": end or None, "time_zone": None}


def _result(kind: str, value: Any) -> Json:  # noqa: ANN401 -- any JSON value
    """Return what a formula or a rollup came to; the items of a list are written `[type, value]`."""
    if kind == "date":
        return {"type": kind, kind: value and _date(value)}
    if kind != "array":
        return {"type": kind, kind: value}
    return {"type": kind, kind: [_rolled(*item) for item in value or ()]}


def _rolled(kind: str, value: Any) -> Json:  # noqa: ANN401 -- any JSON value
    if kind in ("title", "rich_text"):
        return {"type": kind, kind: _rich(value)}
    if kind in ("select", "status"):
        return {"type": kind, kind: {"id": _id(f"option:{value}"), "name": value, "color": "default"}}
    return {"type": kind, kind: _date(value) if kind == "date" else value}


def _spelled(block: str | Json) -> Iterator[tuple[str, Json, Sequence[Any]]]:
    """Yield type, content and children of a block written as a marked line or as an object."""
    if isinstance(block, str):
        yield _line(block)
        return
    children = block.get("children", ())
    name, value = next(iter(block.items()))
    match name:
        case "columns":
            yield "column_list", {}, [{"column": {}, "children": column} for column in value]
        case "tabs":
            yield "tab", {}, [{"paragraph": label, "children": inner} for label, inner in value.items()]
        case "table":
            width = len(value[0])
            content = {"table_width": width, "has_column_header": True, "has_row_header": False}
            yield "table", content, [{"table_row": row} for row in value]
        case "table_row":
            yield name, {"cells": [_rich(cell) for cell in value]}, ()
        case "column" | "synced_block":
            yield name, {"synced_from": None} if name == "synced_block" else {}, children
        case "image" | "video" | "file" | "pdf" | "audio":
            picture = {"caption": _rich(block.get("caption")), "type": "external", "external": {"url": value}}
            yield name, picture, ()
        case "bookmark" | "embed":
            yield name, {"caption": _rich(block.get("caption")), "url": value}, ()
        case "equation":
            yield name, {"expression": value}, ()
        case "code":
            yield name, {"caption": [], "rich_text": _rich(value), "language": block.get("language", "plain text")}, ()
        case "callout":
            yield (
                name,
                {"rich_text": _rich(value), "icon": _icon(block.get("icon", "💡")), "color": "gray_background"},
                children,
            )
        case _:
            yield name, {"rich_text": _rich(value), "color": "default"}, children


def _line(text: str) -> tuple[str, Json, Sequence[Any]]:
    if text in _BARE_BLOCKS:
        return text, {"block_type": "form"} if text == "unsupported" else {}, ()
    for mark, name in _MARKS.items():
        if text.startswith(mark):
            content: Json = {"rich_text": _rich(text[len(mark) :]), "color": "default"}
            if name == "to_do":
                content["checked"] = mark == "[x] "
            return name, content, ()
    return "paragraph", {"rich_text": _rich(text), "color": "default"}, ()

"""Answers the Notion endpoints a search needs, over one workspace, as the real API does; no socket, no state."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from ..words import fold, singular, stem, terms
from .filters import FilterError, find_property, matcher
from .markdown import page_markdown
from .workspace import Json, Workspace

CURRENT_VERSION = "2026-03-11"
VERSIONS = ("2025-09-03", CURRENT_VERSION)

BOT_ID = "7f3a90c2-8e51-8d40-a6b7-0027c19e5f08"
INTEGRATION_ID = "7f3a90c2-8e51-8011-9c2d-00374be81d66"
INTEGRATION_NAME = "Sample integration"

MAX_PAGE_SIZE = 100

_DASHED = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_BARE = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)
# As Notion checks it: a version, a variant, or nothing but zeros.
_UUID = re.compile(r"0{8}-0{4}-0{4}-0{4}-0{12}|.{8}-.{4}-[1-8].{3}-[89ab].{3}-.{12}", re.IGNORECASE)

Params = Mapping[str, Sequence[str]]
Answer = tuple[int, Json]


class RefusalError(Exception):
    """An answer of status 400 and above."""

    def __init__(self, status: int, code: str, message: str, **additional: str) -> None:
        """Keep what the body says."""
        super().__init__(message)
        self.status, self.code, self.message, self.additional = status, code, message, additional

    def body(self) -> Json:
        """Return the body Notion sends with it."""
        body = {"object": "error", "status": self.status, "code": self.code, "message": self.message}
        if self.additional:
            body["additional_data"] = self.additional
        return {**body, "request_id": str(uuid4())}


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Handler:
    """The endpoints over one workspace; safe to use from many threads."""

    def __init__(self, workspace: Workspace, now: Callable[[], datetime] = _utc_now) -> None:
        """Relative dates in filters count from `now`, in its time zone."""
        self._now = now
        self._workspace = workspace

    def answer(self, method: str, path: str, params: Params, headers: Mapping[str, str], body: bytes) -> Answer:
        """Return the status and the JSON body Notion would answer with."""
        try:
            version = _checked_headers({name.lower(): value for name, value in headers.items()})
            content = _content(body)
            answer = self._route(method, path, params, content)
        except RefusalError as refusal:
            return refusal.status, refusal.body()
        except FilterError as error:
            return 400, RefusalError(400, "validation_error", str(error)).body()
        return 200, {**_dressed(answer, version), "request_id": str(uuid4())}

    def _route(self, method: str, path: str, params: Params, body: Json) -> Json:
        match method, path.strip("/").split("/"):
            case "POST", ["v1", "search"]:
                return self._search(body, params)
            case "GET", ["v1", "databases", key]:
                return self._found(self._workspace.databases_by_id, key, "database")
            case "GET", ["v1", "data_sources", key]:
                return self._found(self._workspace.data_sources_by_id, key, "database", "data_source")
            case "POST", ["v1", "data_sources", key, "query"]:
                return self._query(
                    self._found(self._workspace.data_sources_by_id, key, "database", "data_source"), body, params
                )
            case "GET", ["v1", "pages", key]:
                return _narrowed(self._found(self._workspace.pages_by_id, key, "page"), params)
            case "GET", ["v1", "pages", key, "markdown"]:
                return self._markdown(key, params)
            case "GET", ["v1", "blocks", key, "children"]:
                return self._children(key, params)
            case "GET", ["v1", "users", "me"]:
                return {
                    "object": "user",
                    "id": BOT_ID,
                    "name": INTEGRATION_NAME,
                    "avatar_url": None,
                    "type": "bot",
                    "bot": {},
                }
        raise RefusalError(400, "invalid_request_url", "Invalid request URL.")

    def _found(self, known: Mapping[str, Json], key: str, kind: str, name: str = "") -> Json:
        wanted = _uuid(key, f"path.{name or kind}_id", "path")
        if wanted not in known:
            raise _not_found(kind, wanted)
        return known[wanted]

    def _search(self, body: Json, params: Params) -> Json:
        _only(body, ("query", "filter", "sort", "start_cursor", "page_size"))
        query = _query_text(body)
        wanted = _search_filter(body)
        order = _search_sort(body)
        size = _search_size(body)
        found = [
            item
            for item in (*self._workspace.pages, *self._workspace.data_sources)
            if bool(item.get("in_trash")) is wanted.get("in_trash", False)
            and wanted.get("value", item["object"]) == item["object"]
            and title_matches(query, title_of(item))
        ]
        ordered = _in_order(found, query, order)
        start = _search_start(body, ordered)
        return _listing(ordered, start, size, str, params)

    def _query(self, source: Json, body: Json, params: Params) -> Json:
        _only(body, ("filter", "sorts", "start_cursor", "page_size", "result_type", "is_archived"))
        size = _query_size(body)
        archived = _flag(body, "is_archived")
        kinds = [_one_of(body, "result_type", ("page", "data_source"), "page")] if "result_type" in body else None
        matches = self._row_test(source, body)
        rows = [
            row
            for row in self._workspace.rows(source["id"])
            if not row.get("in_trash")
            and bool(row.get("is_archived")) is archived
            and (kinds is None or row["object"] in kinds)
        ]
        ordered = _sorted_rows([row for row in rows if matches(row)], body, source["properties"])
        session = uuid5(NAMESPACE_URL, source["id"])
        start = _query_start(body, ordered, f"s:{session}:")
        return _listing(ordered, start, size, lambda key: f"s:{session}:{key}", params, source["properties"])

    def _row_test(self, source: Json, body: Json) -> Callable[[Json], bool]:
        if "filter" not in body:
            return lambda _: True
        return matcher(body["filter"], source["properties"], now=self._now(), me=BOT_ID)

    def _markdown(self, key: str, params: Params) -> Json:
        page = self._found(self._workspace.pages_by_id, key, "page")
        _known_params(params, ("include_transcript",))
        return page_markdown(page["id"], self._workspace.children)

    def _children(self, key: str, params: Params) -> Json:
        parent = _uuid(key, "path.block_id", "path")
        if parent not in self._workspace.block_ids:
            raise _not_found("block", parent)
        _known_params(params, ("page_size", "start_cursor"))
        blocks = self._workspace.children.get(parent, ())
        start = _children_start(params, blocks)
        page = _listing(blocks, start, _children_size(params), str, {})
        page.pop("page_or_data_source")
        return {**page, "type": "block", "block": {}}


def _checked_headers(headers: Mapping[str, str]) -> str:
    if not re.fullmatch(r"Bearer \S+", headers.get("authorization", "")):
        raise RefusalError(401, "unauthorized", "API token is invalid.")
    version = headers.get("notion-version")
    if version not in VERSIONS:
        given = f"instead was `{json.dumps(version)}`" if version else "instead was `undefined`"
        known = " or ".join(f'`"{name}"`' for name in VERSIONS)
        raise RefusalError(
            400, "missing_version", f"Notion-Version header failed validation: should be {known}, {given}."
        )
    return version


def _content(body: bytes) -> Json:
    if not body.strip():
        return {}
    try:
        content = json.loads(body)
    except ValueError as error:
        raise RefusalError(400, "invalid_json", "Error parsing JSON body.") from error
    if not isinstance(content, dict):
        raise _invalid("body should be an object")
    return content


def _dressed(answer: Json, version: str) -> Json:
    """Return the answer with the members of this version: `archived` left with 2026-03-11."""
    dressed = {key: value for key, value in answer.items() if key != "archived"}
    if version != CURRENT_VERSION and "in_trash" in dressed:
        dressed["archived"] = dressed["in_trash"]
    if answer["object"] == "list":
        dressed["results"] = [_dressed(item, version) for item in answer["results"]]
    return dressed


def title_of(item: Json) -> str:
    """Return the plain title of a page or a data source; empty when it has none."""
    pieces = item.get("title")
    if item["object"] == "page":
        pieces = next((value["title"] for value in item["properties"].values() if value["type"] == "title"), [])
    return "".join(piece.get("plain_text") or piece.get("text", {}).get("content", "") for piece in pieces or ())


def title_matches(query: str, title: str) -> bool:
    """Whether any word of the query is a word of the title, stems compared; a query without words finds everything."""
    return not query.strip() or bool(_stems(query) & _stems(title))


@lru_cache(maxsize=10_000)
def _stems(text: str) -> frozenset[str]:
    # Recordings show Notion to take plurals for their singulars; of other endings they show nothing.
    return frozenset(singular(term) if term.isascii() else stem(term) for term in terms(text))


def _query_text(body: Json) -> str:
    query = body.get("query", "")
    if not isinstance(query, str):
        raise _invalid(f"body.query should be a string or `undefined`, instead was `{json.dumps(query)}`")
    return query


def _search_filter(body: Json) -> Json:
    wanted = body.get("filter", {})
    if not isinstance(wanted, dict) or ("filter" in body and not wanted):
        raise _invalid(f"body.filter should be an object, instead was `{json.dumps(wanted)}`")
    _only(wanted, ("property", "value", "in_trash"), "body.filter")
    if ("property" in wanted) != ("value" in wanted) or wanted.get("property", "object") != "object":
        raise _invalid('body.filter.property should be `"object"`, with a value')
    _one_of(wanted, "value", ("page", "data_source"), "page", "body.filter")
    _flag(wanted, "in_trash", "body.filter")
    return wanted


def _search_sort(body: Json) -> Json:
    sort = body.get("sort", {"timestamp": "last_edited_time"})
    if sort == {"property": "relevance"}:
        return {"property": "relevance"}
    if not isinstance(sort, dict) or sort.get("timestamp") != "last_edited_time":
        raise _invalid(f'body.sort.timestamp should be `"last_edited_time"`, instead was `{json.dumps(sort)}`')
    _only(sort, ("timestamp", "direction"), "body.sort")
    _one_of(sort, "direction", ("ascending", "descending"), "descending", "body.sort")
    return sort


def _in_order(found: Sequence[Json], query: str, order: Json) -> list[Json]:
    newest = sorted(found, key=lambda item: item["last_edited_time"], reverse=order.get("direction") != "ascending")
    if "property" not in order:
        return newest
    wanted, whole = _stems(query), fold(query)
    return sorted(newest, key=lambda item: (fold(title_of(item)) != whole, -len(wanted & _stems(title_of(item)))))


def _search_size(body: Json) -> int:
    size = body.get("page_size", MAX_PAGE_SIZE)
    if not isinstance(size, int | float) or isinstance(size, bool):
        raise _invalid(f"body.page_size should be a number or `undefined`, instead was `{json.dumps(size)}`")
    size = int(size)
    return max(size, 0) if size and size <= MAX_PAGE_SIZE else MAX_PAGE_SIZE


def _search_start(body: Json, ordered: Sequence[Json]) -> int:
    cursor = body.get("start_cursor")
    if cursor is None and "start_cursor" not in body:
        return 0
    wanted = _uuid(cursor, "body.start_cursor", "body")
    return _place(wanted, ordered, wanted)


def _query_size(body: Json) -> int:
    size = body.get("page_size", MAX_PAGE_SIZE)
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise _invalid(f"body.page_size should be an integer from 1, instead was `{json.dumps(size)}`")
    return min(size, MAX_PAGE_SIZE)


def _query_start(body: Json, ordered: Sequence[Json], prefix: str) -> int:
    if "start_cursor" not in body:
        return 0
    cursor = body["start_cursor"]
    if not isinstance(cursor, str):
        raise _invalid(f"body.start_cursor should be a string or `undefined`, instead was `{json.dumps(cursor)}`")
    return _place(cursor.removeprefix(prefix), ordered, cursor)


def _sorted_rows(rows: list[Json], body: Json, schema: Json) -> list[Json]:
    sorts = body.get("sorts", [])
    if not isinstance(sorts, list):
        raise _invalid(f"body.sorts should be an array or `undefined`, instead was `{json.dumps(sorts)}`")
    for sort in reversed(sorts):
        if not isinstance(sort, dict):
            raise _invalid(f"body.sorts should hold objects, instead held `{json.dumps(sort)}`")
        descending = _one_of(sort, "direction", ("ascending", "descending"), "ascending", "body.sorts") == "descending"
        key = _sort_key(sort, schema)
        filled = [row for row in rows if key(row) is not None]
        empty = [row for row in rows if key(row) is None]
        rows = sorted(filled, key=key, reverse=descending) + empty
    return rows


def _sort_key(sort: Json, schema: Json) -> Callable[[Json], Any]:
    stamp = sort.get("timestamp")
    if stamp in ("created_time", "last_edited_time"):
        return lambda row: row[stamp]
    if "property" not in sort:
        raise _invalid("body.sorts should name a property or a timestamp")
    name, _ = find_property(sort["property"], schema)
    return lambda row: _comparable(row["properties"][name])


def _comparable(value: Json) -> Any:  # noqa: ANN401 -- a property may hold anything JSON can
    inner = value.get(value["type"])
    if isinstance(inner, dict):
        if "type" in inner:
            return _comparable(inner)
        return inner.get("name") or inner.get("start") or inner.get("number") or inner.get("id")
    if isinstance(inner, list):
        return ", ".join(str(item.get("plain_text") or item.get("name") or item.get("id")) for item in inner) or None
    return inner


def _children_size(params: Params) -> int:
    text = params.get("page_size", [str(MAX_PAGE_SIZE)])[-1]
    if not text.isdecimal() or int(text) < 1:
        raise _invalid(f"query.page_size should be an integer from 1, instead was `{json.dumps(text)}`", "query")
    return min(int(text), MAX_PAGE_SIZE)


def _children_start(params: Params, blocks: Sequence[Json]) -> int:
    if "start_cursor" not in params:
        return 0
    wanted = _uuid(params["start_cursor"][-1], "query.start_cursor", "query")
    return _place(wanted, blocks, wanted)


def _place(key: str, ordered: Sequence[Json], cursor: str) -> int:
    for index, item in enumerate(ordered):
        if item["id"] == key:
            return index
    raise RefusalError(400, "validation_error", f"The start_cursor provided is invalid: {cursor}")


def _listing(
    ordered: Sequence[Json],
    start: int,
    size: int,
    cursor: Callable[[str], str],
    params: Params,
    schema: Json | None = None,
) -> Json:
    for name in params.get("filter_properties", ()) if schema else ():
        find_property(name, schema or {})
    stop = start + size
    more = stop < len(ordered)
    return {
        "object": "list",
        "results": [_narrowed(item, params) for item in ordered[start:stop]],
        "next_cursor": cursor(ordered[stop]["id"]) if more else None,
        "has_more": more,
        "type": "page_or_data_source",
        "page_or_data_source": {},
    }


def _narrowed(item: Json, params: Params) -> Json:
    """Return a page with only the properties that `filter_properties` names, by name or id."""
    names = params.get("filter_properties")
    if not names or item["object"] != "page":
        return item
    kept = {name: value for name, value in item["properties"].items() if name in names or value["id"] in names}
    return {**item, "properties": kept}


def _known_params(params: Params, known: Sequence[str]) -> None:
    unknown = [name for name in params if name not in known]
    if unknown:
        raise _invalid(f"query.{unknown[0]} should be not present", "query")


def _only(members: Json, known: Sequence[str], where: str = "body") -> None:
    for name, value in members.items():
        if name not in known:
            raise _invalid(f"{where}.{name} should be not present, instead was `{json.dumps(value)}`")


def _one_of(members: Json, name: str, choices: Sequence[str], default: str, where: str = "body") -> str:
    value = members.get(name, default)
    if value not in choices:
        known = " or ".join(f'`"{choice}"`' for choice in choices)
        raise _invalid(f"{where}.{name} should be {known}, instead was `{json.dumps(value)}`")
    return str(value)


def _flag(members: Json, name: str, where: str = "body") -> bool:
    value = members.get(name, False)
    if not isinstance(value, bool):
        raise _invalid(f"{where}.{name} should be a boolean or `undefined`, instead was `{json.dumps(value)}`")
    return value


def _uuid(text: object, where: str, part: str) -> str:
    """Return a dashed id as it stands, a bare one dashed; upper case stays, and so is found nowhere."""
    if isinstance(text, str) and _BARE.fullmatch(text):
        text = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    if isinstance(text, str) and _DASHED.fullmatch(text) and _UUID.fullmatch(text):
        return text
    raise _invalid(f"{where} should be a valid uuid, instead was `{json.dumps(text)}`", part)


def _invalid(what: str, part: str = "body") -> RefusalError:
    return RefusalError(400, "validation_error", f"{part} failed validation: {what}.")


def _not_found(kind: str, key: str) -> RefusalError:
    message = (
        f"Could not find {kind} with ID: {key}. Make sure the relevant pages and databases are shared "
        f'with your integration "{INTEGRATION_NAME}".'
    )
    return RefusalError(404, "object_not_found", message, integration_id=INTEGRATION_ID)

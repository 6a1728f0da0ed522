"""Pages of a Notion workspace, through its public API; Notion's shapes and errors stop here."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import httpx
from notion_client import Client
from notion_client.errors import HTTPResponseError, NotionClientErrorBase, RequestTimeoutError

from ..errors import NotFoundError, SourceError, UnauthorizedError
from ..pace import TryAgainError
from ..types import Candidate, Failure, Listing, Notice, Pending, Run, Scope
from ..words import clip, fold, inert, keywords
from . import blocks, filters
from .ids import DatabaseRef, dashed, parse_database
from .properties import plain_properties, rich_text, title_of

NOTION_VERSION = "2026-03-11"
# Notion answers in well under a second, a slow data source in a few.
LIMIT = 10.0  # seconds a call
PAGE_SIZE = 100
# A variant that matches nothing on a page may match on the next; after three it is not worth the wait.
REQUEST_CAP = 3
# So few rows are judged whole: the judge can find the one no word matches.
SMALL = 30
READ_SIZE = 20  # blocks; a page that says nothing in twenty says nothing in an excerpt


def connect(token: str, url: str, deadline: float, *, whole: bool, http: httpx.Client | None = None) -> "NotionSource":
    """Return the workspace this token sees; `whole` takes small databases whole, for a judge to sort out.

    `deadline` is the run's, in monotonic seconds: no answer is read beyond it.
    """
    http = http or httpx.Client()
    timed = _Timed(deadline)
    http.event_hooks = {"request": [timed.request], "response": [timed.response]}
    logger = logging.getLogger("notion_client")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    # Retries and pauses are pace's.
    client = Client(client=http, auth=token, base_url=url, notion_version=NOTION_VERSION, logger=logger, retry=False)
    return NotionSource(client, whole=whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DataSource:
    """One table of rows, and the user's filter in its own terms."""

    id: str
    title: str
    schema: Mapping[str, object]
    filter: Mapping[str, object] | None


class NotionSource:
    """A Source over one Notion workspace."""

    name = "notion"

    def __init__(self, client: Client, *, whole: bool) -> None:
        """Search with this client; `whole` takes small databases whole."""
        self._client = client
        self._whole = whole
        self._lock = threading.RLock()  # what a check leaves out is told while it holds the lock
        self._resolved: tuple[_DataSource, ...] | None = None
        self._small: dict[str, tuple[threading.Lock, list[Sequence[Mapping[str, Any]] | None]]] = {}
        self._told: set[str] = set()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def check(self, scope: Scope, run: Run) -> None:
        """Look up the databases the user named, once a run; raises for an unknown id or a filter that does not fit."""
        with self._lock:
            if scope.databases and self._resolved is None:
                self._resolved = self._resolve(scope, run)

    def search(self, variant: str, scope: Scope, run: Run) -> Listing:
        """Return the pages the variant finds: Notion's order; in databases, rows with most of its words first.

        An empty variant asks for any one page.
        """
        if scope.databases:
            self.check(scope, run)
            return self._search_databases(variant, run)
        return self._search_workspace(variant, run)

    def read(self, candidate: Candidate, run: Run) -> Candidate:
        """Return the candidate with excerpt and opening filled in, from containers one level down."""
        found = self._children(candidate.id, run)
        inside = blocks.container(found)
        if inside and not blocks.excerpt(found):
            found = [*found, *self._children(inside, run)]
        return replace(candidate, read=True, excerpt=blocks.excerpt(found), opening=blocks.opening(found))

    def _children(self, block_id: str, run: Run) -> Sequence[Mapping[str, Any]]:
        list_children = partial(self._client.blocks.children.list, block_id, page_size=READ_SIZE)
        return _results(self._send("children", list_children, run))

    # The whole workspace

    def _search_workspace(self, variant: str, run: Run) -> Listing:
        def ask(**paging: object) -> Mapping[str, Any]:
            return self._send("search", partial(self._client.search, **body, **paging), run)

        body: dict[str, Any] = {
            "query": variant,
            "filter": {"property": "object", "value": "page"},
            "sort": {"property": "relevance"},
            "page_size": PAGE_SIZE if variant else 1,
        }
        requests = REQUEST_CAP
        try:
            first = ask()
        except _RefusedError:
            # Sorting by relevance is young; an API that does not know it still searches.
            del body["sort"]
            requests -= 1
            first = ask()
        pages, complete = self._pages(first, ask, requests - 1, run)
        found = _candidates(pages, lambda page: (variant,) if variant else ())
        return Listing(source=self.name, variant=variant, candidates=found, complete=complete)

    def _pages(
        self, first: Mapping[str, Any], ask: Callable[..., Mapping[str, Any]], further: int, run: Run
    ) -> tuple[list[Mapping[str, Any]], bool]:
        """Return the pages of the first answer, and of further ones only while there was none."""
        answer, seen = first, set[str]()
        found = [page for page in _results(answer) if _is_live_page(page)]
        while not found and further and (cursor := _cursor(answer)) and cursor not in seen:
            seen.add(cursor)
            further -= 1
            try:
                answer = ask(start_cursor=cursor)
            except SourceError as error:
                run.notify(Notice(stage="search", text=f"a further page of results could not be had ({error})"))
                return found, False
            found = [page for page in _results(answer) if _is_live_page(page)]
        return found, not _cursor(answer)

    # Named databases

    def _search_databases(self, variant: str, run: Run) -> Listing:
        sources = self._resolved or ()
        outcomes = run.pace.gather([partial(self._rows, source, variant, run) for source in sources], run)
        answered = [outcome for outcome in outcomes if not isinstance(outcome, Failure | Pending)]
        for source, outcome in zip(sources, outcomes, strict=True):
            if isinstance(outcome, Failure | Pending):
                self._leave_out(source.id, source.title, outcome, run)
        if not answered:
            raise _first_error(outcomes)
        words = _wanted(variant)
        matches = {row["id"]: _matches(row, words) for rows, _ in answered for row in rows}
        # A data source has no relevance of its own: more of the variant's words first, then the newest.
        rows = sorted((row for rows, _ in answered for row in rows), key=_edited, reverse=True)
        rows.sort(key=lambda row: -matches[row["id"]])
        found = _candidates(rows, lambda row: (variant,) if matches[row["id"]] else ())
        return Listing(
            source=self.name, variant=variant, candidates=found, complete=all(complete for _, complete in answered)
        )

    def _rows(self, source: _DataSource, variant: str, run: Run) -> tuple[Sequence[Mapping[str, Any]], bool]:
        if self._whole and variant and (rows := self._whole_rows(source, run)) is not None:
            return rows, True
        wanted = filters.text_filter(_wanted(variant), source.schema) if variant else None

        def ask(**paging: object) -> Mapping[str, Any]:
            return self._query(source, filters.join(source.filter, wanted), PAGE_SIZE if variant else 1, run, **paging)

        return self._pages(ask(), ask, REQUEST_CAP - 1, run)

    def _whole_rows(self, source: _DataSource, run: Run) -> Sequence[Mapping[str, Any]] | None:
        """Return all rows of a small data source, asked for once a run, or None for a larger one."""
        with self._lock:
            lock, known = self._small.setdefault(source.id, (threading.Lock(), []))
        with lock:
            if not known:
                answer = self._query(source, source.filter, SMALL + 1, run)
                rows = [row for row in _results(answer) if _is_live_page(row)]
                known.append(rows if len(rows) <= SMALL and not answer.get("has_more") else None)
            return known[0]

    def _query(
        self, source: _DataSource, condition: Mapping[str, object] | None, size: int, run: Run, **paging: object
    ) -> Mapping[str, Any]:
        body: dict[str, Any] = {
            "sorts": [{"timestamp": "last_edited_time", "direction": "descending"}],
            "page_size": size,
            "result_type": "page",
            **paging,
        }
        if condition:
            body["filter"] = condition
        return self._send("query", partial(self._client.data_sources.query, source.id, **body), run)

    # What the user's ids stand for

    def _resolve(self, scope: Scope, run: Run) -> tuple[_DataSource, ...]:
        refs = [ref for text in scope.databases if (ref := parse_database(text))]
        outcomes = run.pace.gather([partial(self._data_source_ids, ref, run) for ref in refs], run)
        unknown = [str(o.error) for o in outcomes if isinstance(o, Failure) and isinstance(o.error, _UnknownError)]
        if unknown:
            raise NotFoundError("--databases: " + "; ".join(unknown))
        for outcome in outcomes:
            if isinstance(outcome, Failure | Pending):
                raise _first_error([outcome])
        ids = dict.fromkeys(id_ for outcome in outcomes if isinstance(outcome, tuple) for id_ in outcome)
        return self._described(tuple(ids), scope, run)

    def _data_source_ids(self, ref: DatabaseRef, run: Run) -> tuple[str, ...]:
        """Return the data sources an id stands for; raises NotFoundError saying what the id is instead."""
        kinds = ("data_source", "database") if ref.is_data_source else ("database", "data_source")
        for kind in kinds:
            with suppress(NotFoundError):
                found = self._retrieve(kind, ref.id, run)
                sources = found.get("data_sources", []) if kind == "database" else [found]
                return tuple(dashed(source["id"]) for source in sources if isinstance(source.get("id"), str))
        with suppress(SourceError):
            page = self._send("page", partial(self._client.pages.retrieve, ref.id), run)
            raise _UnknownError(f"{ref.id} is a page ({inert(title_of(page))}): give the database it is in")
        raise _UnknownError(
            f"{ref.id} is unknown to Notion or not shared with this token: check the id, and in Notion open the "
            "database, ••• > Connections, and add the integration"
        )

    def _described(self, ids: Sequence[str], scope: Scope, run: Run) -> tuple[_DataSource, ...]:
        outcomes = run.pace.gather([partial(self._describe, id_, scope, run) for id_ in ids], run)
        described = tuple(outcome for outcome in outcomes if isinstance(outcome, _DataSource))
        if not described:
            raise (
                _first_error(outcomes)
                if outcomes
                else NotFoundError("--databases: the database holds no rows to search")
            )
        for id_, outcome in zip(ids, outcomes, strict=True):
            if isinstance(outcome, Failure) and not isinstance(outcome.error, SourceError):
                raise outcome.error  # a filter that does not fit one of them
            if isinstance(outcome, Failure | Pending):
                self._leave_out(id_, id_, outcome, run)
        return described

    def _describe(self, id_: str, scope: Scope, run: Run) -> _DataSource:
        raw = self._retrieve("data_source", id_, run)
        schema = raw.get("properties")
        schema = schema if isinstance(schema, dict) else {}
        title = inert(rich_text(raw.get("title"))) or id_
        given = scope.property_filter
        condition = filters.compile_filter(given, schema, title) if given else None
        return _DataSource(id=id_, title=title, schema=schema, filter=condition)

    def _retrieve(self, kind: str, id_: str, run: Run) -> Mapping[str, Any]:
        endpoint = self._client.databases if kind == "database" else self._client.data_sources
        try:
            return self._send(kind, partial(endpoint.retrieve, id_), run)
        except _RefusedError as error:
            if kind == "database":
                hint = f"--databases: {id_} cannot be read ({error}); for a linked view, give the original database"
                raise SourceError(hint) from error
            raise

    def _leave_out(self, id_: str, title: str, outcome: Failure | Pending, run: Run) -> None:
        with self._lock:
            if id_ in self._told:
                return
            self._told.add(id_)
        text = f"the data source {clip(title, 80)} ({id_}) was left out: {_first_error([outcome])}"
        run.notify(Notice(stage="search", text=text))

    def _send(self, kind: str, request: Callable[[], Any], run: Run) -> Mapping[str, Any]:
        def counted() -> Mapping[str, Any]:
            run.meter.count(f"notion.{kind}")
            try:
                answer = request()
            except (NotionClientErrorBase, httpx.HTTPError, ValueError) as error:
                raise _translate(error) from error
            if not isinstance(answer, dict):
                raise SourceError("Notion's answer was not in the form its API promises")
            return answer

        try:
            return run.pace.send(counted, run, service="notion")
        except TimeoutError:
            raise SourceError("Notion did not answer in time") from None


class _RefusedError(SourceError):
    """Notion understood the request and will not answer it (400)."""


class _UnknownError(NotFoundError):
    """An id the user named stands for no database."""


def _first_error(outcomes: Sequence[object]) -> Exception:
    for outcome in outcomes:
        if isinstance(outcome, Failure) and not isinstance(outcome.error, TimeoutError):
            return outcome.error
    return SourceError("Notion did not answer in time")


def _results(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    results = answer.get("results")
    return [item for item in results if isinstance(item, dict)] if isinstance(results, list) else []


def _cursor(answer: Mapping[str, Any]) -> str | None:
    cursor = answer.get("next_cursor")
    return cursor if answer.get("has_more") and isinstance(cursor, str) else None


def _is_live_page(raw: Mapping[str, Any]) -> bool:
    """Whether this is a page outside trash and archive; `archived` left the API, `is_archived` came."""
    gone = any(raw.get(flag) for flag in ("in_trash", "archived", "is_archived"))
    return raw.get("object") == "page" and isinstance(raw.get("id"), str) and not gone


def _candidates(
    pages: Sequence[Mapping[str, Any]], found_by: Callable[[Mapping[str, Any]], tuple[str, ...]]
) -> tuple[Candidate, ...]:
    return tuple(_candidate(page, position, found_by(page)) for position, page in enumerate(pages, 1))


def _candidate(raw: Mapping[str, Any], position: int, found_by: tuple[str, ...]) -> Candidate:
    edited = raw.get("last_edited_time")
    return Candidate(
        source=NotionSource.name,
        id=dashed(raw["id"]),
        url=_url(raw),
        title=title_of(raw),
        edited=edited if isinstance(edited, str) else None,
        position=position,
        found_by=found_by,
        properties=plain_properties(raw),
    )


def _url(raw: Mapping[str, Any]) -> str:
    url = raw.get("url")
    if isinstance(url, str) and url.startswith(("https://", "http://")) and inert(url) == url and " " not in url:
        return url
    return f"https://www.notion.so/{raw['id'].replace('-', '')}"


def _edited(row: Mapping[str, Any]) -> str:
    return str(row.get("last_edited_time") or "")


def _wanted(variant: str) -> tuple[str, ...]:
    # A variant without a single word, such as "!!", is looked for as it stands.
    return keywords(variant) or ((fold(variant),) if variant else ())


def _matches(row: Mapping[str, Any], words: Sequence[str]) -> int:
    """Return how many of the words stand in the row's title or texts, as the filters sent to Notion look for them."""
    held = fold(" ".join(_row_texts(row)))
    return sum(word in held for word in words)


def _row_texts(row: Mapping[str, Any]) -> Iterator[str]:
    properties = row.get("properties")
    for value in properties.values() if isinstance(properties, dict) else ():
        kind = value.get("type") if isinstance(value, dict) else None
        if kind in ("title", "rich_text"):
            yield rich_text(value.get(kind))


def _translate(error: Exception) -> Exception:
    """Return Notion's or the network's error as one of ours, or as one worth trying again."""
    if isinstance(error, RequestTimeoutError | httpx.TimeoutException):
        return TryAgainError(SourceError("Notion did not answer in time"))
    if isinstance(error, HTTPResponseError):
        return _refusal(error)
    if isinstance(error, httpx.TransportError):
        # The library's own text can quote a header, and so the token.
        return TryAgainError(SourceError("Notion could not be reached: the connection failed"))
    if isinstance(error, ValueError):
        return TryAgainError(SourceError("Notion is unavailable: its answer was not JSON"))
    return SourceError("Notion could not be asked")


def _refusal(error: HTTPResponseError) -> Exception:
    status, (message, details) = error.status, _said(error.body)
    quoted = f": {message}" if message else ""
    if status == 401:
        return UnauthorizedError(
            "Notion does not know this token (401): make one at https://www.notion.so/profile/integrations "
            "and set NOTION_TOKEN"
        )
    if status == 403:
        return SourceError(f"Notion refused (403{quoted}): give the integration the capability to read content")
    if status == 404:
        return NotFoundError(f"Notion has no such object, or does not share it with this token (404{quoted})")
    if status in (429, 529):
        return _busy(status, error, details)
    if status == 409 or status >= 500:
        return TryAgainError(SourceError(f"Notion is unavailable ({status}{quoted})"), after=_retry_after(error))
    if status == 400:
        return _RefusedError(f"Notion refused the request (400{quoted})")
    return SourceError(f"Notion refused the request ({status}{quoted})")


def _busy(status: int, error: HTTPResponseError, details: Mapping[str, Any]) -> Exception:
    after = _retry_after(error)
    if details.get("rate_limit_reason") == "public_api_request_blocked":
        return SourceError(f"Notion blocked this token's requests ({status}); it does not lift with waiting")
    wait = f" and asks to wait {after:.0f} s" if after else ""
    kind = "limits the rate of calls" if status == 429 else "is overloaded"
    return TryAgainError(SourceError(f"Notion {kind} ({status}){wait}"), after=after, busy=True)


def _said(body: object) -> tuple[str, Mapping[str, Any]]:
    """Return the message of an error body and its additional data; nothing of a gateway's HTML."""
    try:
        value = json.loads(body) if isinstance(body, str) else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return "", {}
    message, details = value.get("message"), value.get("additional_data")
    return (
        clip(inert(message), 200) if isinstance(message, str) else "",
        details if isinstance(details, dict) else {},
    )


def _retry_after(error: HTTPResponseError) -> float | None:
    """Return the seconds the Retry-After header asks for, given as a number or a date; None without one."""
    text = error.headers.get("retry-after", "")
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


class _Timed:
    """Hooks that end every request at its limit or the run's deadline, a body dripping byte by byte included."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline

    def request(self, request: httpx.Request) -> None:
        left = max(0.001, min(LIMIT, self._deadline - time.monotonic()))
        request.extensions["timeout"] = httpx.Timeout(left).as_dict()
        request.extensions["end"] = time.monotonic() + left

    def response(self, response: httpx.Response) -> None:
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _Ending(response.stream, response.request.extensions["end"])


class _Ending(httpx.SyncByteStream):
    """A body that is read until a moment and no longer; httpx limits each read, never their sum."""

    def __init__(self, stream: httpx.SyncByteStream, end: float) -> None:
        self._stream = stream
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            if time.monotonic() > self._end:
                raise httpx.ReadTimeout("the answer was still arriving at the end of its time")
            yield chunk

    def close(self) -> None:
        self._stream.close()

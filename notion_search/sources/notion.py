"""Pages of a Notion workspace, through its public API; Notion's shapes and errors stop here."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import httpx
from notion_client import Client
from notion_client.errors import HTTPResponseError, NotionClientErrorBase, RequestTimeoutError

from ..errors import NotFoundError, SourceError
from ..pace import TryAgainError
from ..tls import certificates
from ..types import Candidate, Failure, Listing, Notice, Page, Pending, Run, Scope
from ..words import clip, key_terms, matches, terms
from . import blocks, filters, markdown, shapes
from .databases import DataSource, data_source, first_error, resolve
from .ids import dashed
from .refusals import RefusedError, refusal
from .timed import Timed

NOTION_VERSION = "2026-03-11"
PAGE_SIZE = 100
# A variant that matches nothing on a page may match on the next; after three it is not worth the wait.
REQUEST_CAP = 3
# So few rows are judged whole: the judge can find the one no word matches.
SMALL = 30
# Where a search found little, this many databases are looked into, and so many rows of theirs are taken at least.
DATABASE_CAP = 3
NEWEST = 5
READ_SIZE = 20  # blocks; a page that says nothing in twenty says nothing in an excerpt
# Shares of the time left: one data source that hangs takes neither the search nor the other rows with it.
LOOKUP_SHARE = 0.5
ROWS_SHARE = 0.9


def connect(token: str, url: str, deadline: float, *, whole: bool, http: httpx.Client | None = None) -> "NotionSource":
    """Return the workspace this token sees; `whole` takes small databases whole, for a judge to sort out.

    `deadline` is the run's, in monotonic seconds: no answer is read beyond it.
    """
    http = http or httpx.Client(verify=certificates(url))
    timed = Timed(deadline)
    http.event_hooks = {"request": [timed.request], "response": [timed.response]}
    logger = logging.getLogger("notion_client")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    # Retries and pauses are pace's.
    client = Client(client=http, auth=token, base_url=url, notion_version=NOTION_VERSION, logger=logger, retry=False)
    return NotionSource(client, whole=whole)


class NotionSource:
    """A Source over one Notion workspace."""

    name = shapes.SOURCE
    read_cap: int | None = None

    def __init__(self, client: Client, *, whole: bool) -> None:
        """Search with this client; `whole` takes small databases whole."""
        self._client = client
        self._whole = whole
        self._lock = threading.RLock()  # what a check leaves out is told while it holds the lock
        self._resolved: tuple[DataSource, ...] | None = None
        self._small: dict[str, tuple[threading.Lock, list[Sequence[Mapping[str, Any]] | None]]] = {}
        self._told: set[str] = set()
        self._door = threading.Lock()
        self._calls = 0
        self._closed = False

    def close(self) -> None:
        """Close the connections, or leave that to the last call the run gave up on."""
        with self._door:
            self._closed = True
            unused = not self._calls
        if unused:
            self._client.close()

    def workspace(self, run: Run) -> str:
        """Return the id of the bot the token belongs to: another one in every workspace."""
        bot = self._send("me", self._client.users.me, run).get("id")
        if not isinstance(bot, str):
            raise SourceError("Notion did not say which bot the token belongs to")
        return bot

    def check(self, scope: Scope, run: Run) -> None:
        """Look up the databases the user named, once a run; raises for an unknown id or a filter that does not fit."""
        with self._lock:
            if scope.databases and self._resolved is None:
                self._resolved = resolve(scope, self._retrieve, self._leave_out, run.within(LOOKUP_SHARE))

    def search(self, variant: str, scope: Scope, run: Run) -> Listing:
        """Return the pages the variant finds: Notion's order; in databases, rows with most of its words first.

        An empty variant asks for any one page.
        """
        if scope.databases:
            self.check(scope, run)
            return self._search_databases(variant, self._resolved or (), run)
        return self._search_workspace(variant, run)

    def widen(self, variants: Sequence[str], run: Run) -> tuple[Listing, ...]:
        """Return the rows the variants find in databases whose title has the query's words, else their newest rows."""
        databases = self._databases_called(variants[0], run)
        if not databases:
            return ()
        searches = [partial(self._search_databases, variant, databases, run) for variant in variants]
        found = [outcome for outcome in run.pace.gather(searches, run) if isinstance(outcome, Listing)]
        if any(page.found_by for listing in found for page in listing.candidates):
            return tuple(found)
        newest = [partial(self._query, database, None, NEWEST, run) for database in databases]
        answers = [answer for answer in run.pace.gather(newest, run) if isinstance(answer, dict)]
        rows = sorted((row for answer in answers for row in shapes.live_pages(answer)), key=shapes.edited, reverse=True)
        newest_rows = shapes.candidates(rows, lambda _: (variants[0],))
        return (Listing(source=self.name, variant=variants[0], candidates=newest_rows),)

    def _databases_called(self, query: str, run: Run) -> tuple[DataSource, ...]:
        """Return the few data sources whose title holds a word of the query, best first by Notion's order."""
        body = {"query": query, "filter": {"property": "object", "value": "data_source"}, "page_size": SMALL}
        answer = self._send("databases", partial(self._client.search, **body), run)
        live = [raw for raw in shapes.results(answer) if shapes.is_live(raw, "data_source")]
        named = [data_source(raw, dashed(raw["id"])) for raw in live]
        wanted = key_terms(query)
        return tuple(
            found for found in named if any(matches(term, word) for term in wanted for word in terms(found.title))
        )[:DATABASE_CAP]

    def read(self, candidate: Candidate, run: Run) -> Candidate:
        """Return the candidate with excerpt and opening filled in, from containers one level down."""
        found = self._children(candidate.id, run)
        if inside := blocks.container(found):
            # The original of a synced copy may not be shared; the page itself is read all the same.
            with suppress(NotFoundError):
                found = [*found, *self._children(inside, run)]
        return replace(candidate, read=True, excerpt=blocks.excerpt(found), opening=blocks.opening(found))

    def _children(self, block_id: str, run: Run) -> Sequence[Mapping[str, Any]]:
        list_children = partial(self._client.blocks.children.list, block_id, page_size=READ_SIZE)
        return shapes.results(self._send("children", list_children, run))

    def text(self, candidate: Candidate, run: Run) -> Page:
        """Return the page as Markdown, at most 100,000 characters: Notion's own, or made of its blocks."""
        try:
            answer = self._send("markdown", partial(self._client.pages.retrieve_markdown, candidate.id), run)
        except SourceError as error:
            if not _is_refused(error):
                raise
            answer = {}
        found = answer.get("markdown")
        if isinstance(found, str):
            return markdown.page(markdown.clean(found), truncated=bool(answer.get("truncated")))
        return markdown.read_blocks(candidate.id, partial(self._ask_for_blocks, run=run))

    def _ask_for_blocks(self, asked: Sequence[markdown.Wanted], run: Run) -> Sequence[markdown.Blocks | None]:
        outcomes = run.pace.gather([partial(self._blocks, wanted, run) for wanted in asked], run)
        if asked[0].is_first and not isinstance(outcomes[0], markdown.Blocks):
            raise first_error(outcomes)
        return [outcome if isinstance(outcome, markdown.Blocks) else None for outcome in outcomes]

    def _blocks(self, wanted: markdown.Wanted, run: Run) -> markdown.Blocks:
        paging = {"start_cursor": wanted.cursor} if wanted.cursor else {}
        list_children = partial(self._client.blocks.children.list, wanted.id, page_size=PAGE_SIZE, **paging)
        try:
            answer = self._send("children", list_children, run)
        except NotFoundError:
            if wanted.is_first:
                raise
            return markdown.Blocks()  # the original of a synced copy may not be shared
        return markdown.Blocks(found=shapes.results(answer), cursor=shapes.cursor(answer))

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
        except RefusedError:
            # Sorting by relevance is young; an API that does not know it still searches.
            del body["sort"]
            requests -= 1
            first = ask()
        pages, complete = self._pages(first, ask, requests - 1, run)
        found = shapes.candidates(pages, lambda page: (variant,) if variant else ())
        return Listing(source=self.name, variant=variant, candidates=found, complete=complete)

    def _pages(
        self, first: Mapping[str, Any], ask: Callable[..., Mapping[str, Any]], further: int, run: Run
    ) -> tuple[list[Mapping[str, Any]], bool]:
        """Return the pages of the first answer, and of further ones only while there was none."""
        answer, seen = first, set[str]()
        found = shapes.live_pages(answer)
        while not found and further and (cursor := shapes.cursor(answer)) and cursor not in seen:
            seen.add(cursor)
            further -= 1
            try:
                answer = ask(start_cursor=cursor)
            except SourceError as error:
                run.notify(Notice(stage="search", text=f"a further page of results could not be had ({error})"))
                return found, False
            found = shapes.live_pages(answer)
        return found, not shapes.cursor(answer)

    # Named databases

    def _search_databases(self, variant: str, sources: Sequence[DataSource], run: Run) -> Listing:
        stage = run.within(ROWS_SHARE)
        outcomes = run.pace.gather([partial(self._rows, source, variant, stage) for source in sources], stage)
        answered = [outcome for outcome in outcomes if isinstance(outcome, _Rows)]
        if not answered:
            raise first_error(outcomes)
        for source, outcome in zip(sources, outcomes, strict=True):
            if isinstance(outcome, Failure | Pending):
                self._leave_out(source.id, source.title, outcome, run)
        # A data source has no relevance of its own: more of the variant's words first, then the newest.
        words = shapes.wanted(variant)
        held = {row["id"]: shapes.held(row, words) for rows in answered for row in rows.rows}
        hits = {row["id"] for rows in answered for row in rows.rows if variant and (rows.matched or held[row["id"]])}
        rows = sorted((row for rows in answered for row in rows.rows), key=shapes.edited, reverse=True)
        rows.sort(key=lambda row: (row["id"] not in hits, -held[row["id"]]))
        found = shapes.candidates(rows, lambda row: (variant,) if row["id"] in hits else ())
        complete = all(rows.complete for rows in answered)
        return Listing(source=self.name, variant=variant, candidates=found, complete=complete)

    def _rows(self, source: DataSource, variant: str, run: Run) -> "_Rows":
        if self._whole and variant and (rows := self._whole_rows(source, run)) is not None:
            return _Rows(rows=rows, complete=True, matched=False)
        wanted = filters.text_filter(shapes.wanted(variant), source.schema) if variant else None
        if variant and wanted is None:  # nothing in this table can hold a word
            return _Rows(rows=(), complete=True, matched=True)

        condition = filters.join(source.filter, wanted)

        def ask(**paging: object) -> Mapping[str, Any]:
            return self._query(source, condition, PAGE_SIZE if variant else 1, run, **paging)

        rows, complete = self._pages(ask(), ask, REQUEST_CAP - 1, run)
        # A filter too long to take the words beside it leaves looking for them to us.
        return _Rows(rows=rows, complete=complete, matched=condition is not source.filter)

    def _whole_rows(self, source: DataSource, run: Run) -> Sequence[Mapping[str, Any]] | None:
        """Return all rows of a small data source, asked for once a run, or None for a larger one."""
        with self._lock:
            lock, known = self._small.setdefault(source.id, (threading.Lock(), []))
        with lock:
            if not known:
                answer = self._query(source, source.filter, SMALL + 1, run)
                rows = shapes.live_pages(answer)
                known.append(rows if len(rows) <= SMALL and not answer.get("has_more") else None)
            return known[0]

    def _query(
        self, source: DataSource, condition: Mapping[str, object] | None, size: int, run: Run, **paging: object
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

    def _retrieve(self, kind: str, id_: str, run: Run) -> Mapping[str, Any]:
        endpoints: dict[str, Callable[..., Any]] = {
            "database": self._client.databases.retrieve,
            "data_source": self._client.data_sources.retrieve,
            "page": self._client.pages.retrieve,
        }
        return self._send(kind, partial(endpoints[kind], id_), run)

    def _leave_out(self, id_: str, title: str, outcome: Failure | Pending, run: Run) -> None:
        with self._lock:
            if id_ in self._told:
                return
            self._told.add(id_)
        text = f"the data source {clip(title, 80)} ({id_}) was left out: {first_error([outcome])}"
        run.notify(Notice(stage="search", text=text))

    def _send(self, kind: str, request: Callable[[], Any], run: Run) -> Mapping[str, Any]:
        def counted() -> Mapping[str, Any]:
            try:
                with self._opened():
                    run.meter.count(f"notion.{kind}")
                    answer = request()
            except (NotionClientErrorBase, httpx.HTTPError, ValueError, RecursionError) as error:
                raise _translate(error) from error
            if not isinstance(answer, dict):
                raise SourceError("Notion's answer was not in the form its API promises")
            return answer

        try:
            return run.pace.send(counted, run, service="notion")
        except TimeoutError:
            raise SourceError("Notion did not answer in time") from None

    @contextmanager
    def _opened(self) -> Iterator[None]:
        # A pool that is closed while a call connects forgets that connection, which then stays open.
        with self._door:
            if self._closed:
                raise SourceError("the run is over")
            self._calls += 1
        try:
            yield
        finally:
            with self._door:
                self._calls -= 1
                last = self._closed and not self._calls
            if last:
                self._client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """What one data source answered."""

    rows: Sequence[Mapping[str, Any]]
    complete: bool
    matched: bool
    """Whether Notion itself looked for the words; False when all rows were taken."""


def _is_refused(error: SourceError) -> bool:
    """Whether Notion refused this way of asking for a page, so that another may be answered."""
    return isinstance(error.__cause__, HTTPResponseError) and error.__cause__.status in (400, 403, 404)


def _translate(error: Exception) -> Exception:
    """Return Notion's or the network's error as one of ours, or as one worth trying again."""
    if isinstance(error, RequestTimeoutError | httpx.TimeoutException):
        return TryAgainError(SourceError("Notion did not answer in time"), late=True)
    if isinstance(error, HTTPResponseError):
        return refusal(error.status, error.headers, error.body)
    if isinstance(error, httpx.TransportError):
        # The library's own text can quote a header, and so the token.
        return TryAgainError(SourceError("Notion could not be reached: the connection failed"))
    if isinstance(error, ValueError | RecursionError):
        return TryAgainError(SourceError("Notion is unavailable: its answer was not JSON"))
    return SourceError("Notion could not be asked")

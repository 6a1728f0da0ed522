"""The in-memory Notion API behind a loopback socket, with faults, latency and a rate limit."""

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from notion_search.demo.handler import Handler
from notion_search.demo.workspace import Workspace, sample

from .server import Reply, Request, Server

FOREVER = 10_000.0

Which = str | Callable[[Request], bool]


def error(status: int, code: str, message: str = "Something went wrong.", **headers: str) -> Reply:
    """An error as Notion words it; header names are written with underscores."""
    body = {"object": "error", "status": status, "code": code, "message": message, "request_id": "00-fault"}
    return Reply(status=status, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def rate_limited(retry_after: int | str | None = None, reason: str = "public_api_request_rate_limit") -> Reply:
    """A 429; `None` leaves the header out."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    extra = {"rate_limit_reason": reason, **({"retry_after": str(retry_after)} if headers else {})}
    body = {**error(429, "rate_limited", "You have been rate limited.").body, "additional_data": extra}
    return Reply(status=429, body=body, headers=headers)


def overloaded(retry_after: int | None = None) -> Reply:
    """A 529, whose code the official clients may not know."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return replace(error(529, "service_overload", "Notion is overloaded."), headers=headers)


def bad_gateway() -> Reply:
    """A 502 in HTML, from the edge rather than from Notion."""
    return Reply(status=502, body="<html><body><h1>502 Bad Gateway</h1></body></html>")


def html() -> Reply:
    """A 200 that is a web page."""
    return Reply(body="<!doctype html><html><body>Please sign in</body></html>", headers={"Content-Type": "text/html"})


def empty() -> Reply:
    """A 200 without a body."""
    return Reply(body=b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The true answer, sent in a bad way."""

    wait: float = 0.0
    reset: bool = False
    truncated: bool = False
    drip: float = 0.0

    def applied(self, reply: Reply) -> Reply:
        """The answer as this fault sends it."""
        body, kind = reply.encoded()
        half = len(body) // 2
        if self.truncated:
            reply = replace(reply, body=body[:half], headers={**reply.headers, "Content-Type": kind})
        return replace(reply, wait=self.wait, cut=half if self.reset else None, drip=self.drip)


def hang(seconds: float = FOREVER) -> Sent:
    """Nothing for so long, then the true answer."""
    return Sent(wait=seconds)


latency = hang


def reset() -> Sent:
    """The connection breaks in the middle of the body."""
    return Sent(reset=True)


def truncated() -> Sent:
    """Half of the JSON, and a length that agrees."""
    return Sent(truncated=True)


def drip(seconds: float) -> Sent:
    """One byte every so many seconds."""
    return Sent(drip=seconds)


Fault = Reply | Sent


class _Rule:
    """Faults queued for one kind of request."""

    def __init__(self, which: Which, faults: tuple[Fault, ...], *, forever: bool) -> None:
        self._which = which
        self._queue = deque(faults)
        self._forever = forever

    def take(self, request: Request) -> Fault | None:
        hit = self._which == kind_of(request) if isinstance(self._which, str) else self._which(request)
        if not hit or not self._queue:
            return None
        if self._forever and len(self._queue) == 1:
            return self._queue[0]  # the last fault stays
        return self._queue.popleft()


class _Budget:
    """So many calls, then a pause."""

    def __init__(self, calls: int, retry_after: int) -> None:
        self._calls = calls
        self._retry_after = retry_after
        self._left = calls
        self._refill: float | None = None

    def refusal(self, now: float) -> Reply | None:
        if self._refill is not None and now >= self._refill:
            self._left, self._refill = self._calls, None
        if self._left:
            self._left -= 1
            return None
        if self._refill is None:
            self._refill = now + self._retry_after
        return rate_limited(self._retry_after)


def kind_of(request: Request) -> str:
    """The request's short name; "" for another.

    search for pages, databases for a search of those, database, data_source, query, page, markdown, children, me.
    """
    match request.method, request.path.strip("/").split("/"):
        case "POST", ["v1", "search"]:
            return "databases" if '"data_source"' in json.dumps(request.body.get("filter")) else "search"
        case "GET", ["v1", "databases", _]:
            return "database"
        case "GET", ["v1", "data_sources", _]:
            return "data_source"
        case "POST", ["v1", "data_sources", _, "query"]:
            return "query"
        case "GET", ["v1", "pages", _]:
            return "page"
        case "GET", ["v1", "pages", _, "markdown"]:
            return "markdown"
        case "GET", ["v1", "blocks", _, "children"]:
            return "children"
        case "GET", ["v1", "users", "me"]:
            return "me"
    return ""


class FakeNotion(Server):
    """Notion at `url`, for a workspace; `latency` seconds before every answer."""

    def __init__(self, workspace: Workspace | None = None, latency: float = 0.0, now=lambda: datetime.now(UTC)) -> None:
        self._handler = Handler(workspace or sample(), now=now)
        self._latency = latency
        self._state = threading.Lock()
        self._rules: list[_Rule] = []
        self._budget: _Budget | None = None
        super().__init__(self._answer)

    @property
    def searches(self) -> list[Request]:
        """Searches, in order of arrival."""
        return self.of_kind("search")

    @property
    def queries(self) -> list[Request]:
        """Data source queries, in order of arrival."""
        return self.of_kind("query")

    @property
    def children(self) -> list[Request]:
        """Readings of blocks, in order of arrival."""
        return self.of_kind("children")

    def of_kind(self, kind: str) -> list[Request]:
        """Requests of one kind, in order of arrival."""
        return [request for request in self.requests if kind_of(request) == kind]

    def fault(self, which: Which, *faults: Fault, forever: bool = False) -> None:
        """Answer the next requests of a kind, or those a predicate picks, with these; `forever` keeps the last."""
        with self._state:
            self._rules.append(_Rule(which, faults, forever=forever))

    def budget(self, calls: int, retry_after: int) -> None:
        """Allow so many calls, then answer 429 until `retry_after` seconds have passed, and so on."""
        with self._state:
            self._budget = _Budget(calls, retry_after)

    def _answer(self, request: Request) -> Reply:
        with self._state:
            refusal = self._budget.refusal(time.monotonic()) if self._budget else None
            fault = None if refusal else next(filter(None, (rule.take(request) for rule in self._rules)), None)
        reply = refusal or (fault if isinstance(fault, Reply) else self._true_answer(request))
        reply = fault.applied(reply) if isinstance(fault, Sent) else reply
        return replace(reply, wait=reply.wait + self._latency)

    def _true_answer(self, request: Request) -> Reply:
        status, body = self._handler.answer(
            request.method, request.path, request.params, request.headers, request.content
        )
        return Reply(status=status, body=body, headers={"x-notion-request-id": body["request_id"]})

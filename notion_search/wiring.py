"""Which edges the options and the environment ask for, joined to one walk."""

import time
from argparse import Namespace
from collections.abc import Callable
from contextlib import ExitStack
from hashlib import sha256
from typing import TYPE_CHECKING

from . import pipeline
from .cache import FileCache, NoCache
from .defaults import CANDIDATE_CAP
from .errors import SetupError
from .expand import ClaudeExpander
from .pace import SLOTS, Pacer
from .rerank import ClaudeJudge
from .settings import Settings
from .sources import notion
from .store import PageStore, Remembering
from .types import Answer, Cache, Event, Meter, Notice, Query, Run

if TYPE_CHECKING:
    from . import llm

# Thirty candidates take two rounds of sixteen calls; with these read during expansion, one.
READ_AHEAD = CANDIDATE_CAP - SLOTS


def answer(
    query: Query,
    options: Namespace,
    settings: Settings,
    *,
    notify: Callable[[Notice], None],
    emit: Callable[[Event], None],
) -> tuple[Answer, Meter]:
    """Return the answer and the counts of the run; whatever was opened for it is closed."""
    deadline = time.monotonic() + options.timeout
    with ExitStack() as closing:
        run = Run(
            deadline=deadline,
            pace=Pacer(budgets={notion.NotionSource.name: settings.calls_per_minute}, wait_scale=settings.wait_scale),
            notify=notify,
            emit=emit,
            meter=Meter(),
        )
        token = "demo" if options.demo else settings.notion_token()
        claude = _claude(options, settings, run)
        if claude:
            closing.callback(claude.close)
        source = _notion(token, options, settings, deadline, whole=claude is not None and not options.no_rerank)
        closing.callback(source.close)
        # Before anything is asked of Claude: a mistyped id ends the run here.
        source.check(query.scope, run)
        said = _once(run.notify)
        cache = _cache(options, settings, said)
        ahead = READ_AHEAD if claude and not (options.no_expand or options.no_rerank) else 0
        pages = _remembering(source, options, settings, said, ahead)
        closing.callback(pages.close)
        expander = ClaudeExpander(claude, cache) if claude and not options.no_expand else None
        judge = ClaudeJudge(claude, cache, show=query.limit) if claude and not options.no_rerank else None
        found = pipeline.run(query, sources=(pages,), expander=expander, judge=judge, run=run)
    return found, run.meter


def _claude(options: Namespace, settings: Settings, run: Run) -> "llm.Doors | None":
    if options.no_expand and options.no_rerank:
        return None
    # A run without Claude does not wait for what speaks to it.
    from . import llm

    settings.check_claude()
    try:
        return llm.connect(options.model or settings.model, settings.environ)
    except SetupError as error:
        if not options.demo:
            raise
        run.notify(Notice(stage="llm", text=f"{error}; showing the order of the search"))
        return None


def _notion(token: str, options: Namespace, settings: Settings, deadline: float, *, whole: bool) -> notion.NotionSource:
    if not options.demo:
        return notion.connect(token, settings.notion_url, deadline, whole=whole)
    from . import demo

    return notion.connect(token, "https://demo.invalid", deadline, whole=whole, http=demo.client())


def _once(notify: Callable[[Notice], None]) -> Callable[[Notice], None]:
    """Return a notify that passes on the first notice alone: cache and store share a folder and its faults."""
    said: list[Notice] = []

    def first(notice: Notice) -> None:
        said.append(notice)
        if len(said) == 1:
            notify(notice)

    return first


def _cache(options: Namespace, settings: Settings, notify: Callable[[Notice], None]) -> Cache:
    if options.no_cache or settings.cache_folder is None:
        return NoCache()
    return FileCache(settings.cache_folder, notify)


def _remembering(
    source: notion.NotionSource, options: Namespace, settings: Settings, notify: Callable[[Notice], None], ahead: int
) -> notion.NotionSource | Remembering:
    """Return the source with its store of pages read before, where there is a place to keep one."""
    folder = settings.cache_folder
    if options.demo or options.no_cache or folder is None:
        return source

    def open_store(workspace: str) -> PageStore:
        return PageStore(folder / f"pages-{sha256(workspace.encode()).hexdigest()[:32]}.sqlite", notify)

    return Remembering(source, open_store, ahead=ahead)

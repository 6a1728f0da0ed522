"""Which edges the options and the environment ask for, joined to one walk."""

import time
from argparse import Namespace
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from . import pipeline
from .cache import FileCache, NoCache
from .clock import utc_now
from .defaults import CANDIDATE_CAP
from .errors import SetupError
from .expand import ClaudeExpander
from .pace import SLOTS, Pacer
from .remembering import Remembering
from .rerank import ClaudeJudge
from .settings import Settings
from .store import PageStore
from .types import Answer, Answerer, Cache, Event, Expander, Judge, Meter, Notice, Query, Run, Source
from .variants import Synonyms

if TYPE_CHECKING:
    from . import llm
    from .sources.drive import DriveSource
    from .sources.notion import NotionSource
    from .synonyms import Synonyms as Table

# What only some runs ask for is imported in the function that makes it: a plain run does not wait for it.

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
    names = ("notion",) if options.demo or query.scope.databases else options.sources or settings.sources
    with ExitStack() as closing:
        run = Run(
            deadline=deadline,
            pace=Pacer(budgets={"notion": settings.calls_per_minute}, wait_scale=settings.wait_scale),
            notify=notify,
            emit=emit,
            meter=Meter(),
        )
        token = "demo" if options.demo else settings.notion_token() if "notion" in names else None
        claude = _claude(options, settings, run)
        if claude:
            closing.callback(claude.close)
        said = _once(run.notify)
        cache = _cache(options, settings, said)
        synonyms = _synonyms(settings, run)
        expander = _expander(options, claude, cache, synonyms)
        judge = _judge(options, claude, cache, query.limit)
        sources: list[Source] = []
        if token is not None:
            source = _notion(token, options, settings, deadline, whole=judge is not None)
            closing.callback(source.close)
            # Before anything is asked of Claude: a mistyped id ends the run here.
            source.check(query.scope, run)
            ahead = READ_AHEAD if claude and expander and judge else 0
            sources.append(_remembering(source, options, settings, said, closing, ahead=ahead))
        if "drive" in names:
            drive = _drive(settings)
            closing.callback(drive.close)
            sources.append(_remembering(drive, options, settings, said, closing))
        found = pipeline.run(
            query,
            sources=sources,
            expander=expander,
            judge=judge,
            answerer=_answerer(options, claude),
            synonyms=synonyms,
            run=run,
        )
    return found, run.meter


def _claude(options: Namespace, settings: Settings, run: Run) -> "llm.Doors | None":
    if not options.answer and (options.local or (options.no_expand and options.no_rerank)):
        return None
    # A run without Claude does not wait for what speaks to it.
    from . import llm

    settings.check_claude()
    try:
        return llm.connect(options.model or settings.model, settings.environ)
    except SetupError as error:
        if not options.demo:
            raise
        without = "no answer is written" if options.answer else "showing the order of the search"
        run.notify(Notice(stage="llm", text=f"{error}; {without}"))
        return None


def _synonyms(settings: Settings, run: Run) -> Synonyms:
    """Return the look-up of synonyms, which reads its files when it is first asked: most runs never do."""

    @lru_cache(maxsize=1)
    def table() -> "Table":
        from .synonyms import load

        return load(settings.config_folder, run.notify)

    return lambda term: table().of(term)


def _expander(options: Namespace, claude: "llm.Doors | None", cache: Cache, synonyms: Synonyms) -> Expander | None:
    if options.no_expand:
        return None
    if options.local:
        from .local import LocalExpander

        return LocalExpander(synonyms)
    return ClaudeExpander(claude, cache) if claude else None


def _judge(options: Namespace, claude: "llm.Doors | None", cache: Cache, show: int) -> Judge | None:
    if options.no_rerank:
        return None
    if options.local:
        from .local import LocalJudge

        return LocalJudge(utc_now())
    return ClaudeJudge(claude, cache, show=show) if claude else None


def _answerer(options: Namespace, claude: "llm.Doors | None") -> Answerer | None:
    if not (options.answer and claude):
        return None
    from .answer import ClaudeAnswerer

    return ClaudeAnswerer(claude, utc_now())


def _notion(token: str, options: Namespace, settings: Settings, deadline: float, *, whole: bool) -> "NotionSource":
    # A run over Drive alone does not wait for Notion's client.
    from .sources import notion

    if not options.demo:
        return notion.connect(token, settings.notion_url, deadline, whole=whole)
    from . import demo

    return notion.connect(token, "https://demo.invalid", deadline, whole=whole, http=demo.client())


def _drive(settings: Settings) -> "DriveSource":
    from .sources import drive

    return drive.connect(settings.environ)


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
    source: "NotionSource | DriveSource",
    options: Namespace,
    settings: Settings,
    notify: Callable[[Notice], None],
    closing: ExitStack,
    *,
    ahead: int = 0,
) -> Source:
    """Return the source with its store of pages read before, where there is a place to keep one."""
    folder = settings.cache_folder
    if options.demo or options.no_cache or folder is None:
        return source

    def open_store(workspace: str) -> PageStore:
        return PageStore(folder / f"pages-{sha256(workspace.encode()).hexdigest()[:32]}.sqlite", notify)

    remembering = Remembering(source, open_store, ahead=ahead)
    closing.callback(remembering.close)
    return remembering

"""Which edges the options and the environment ask for, joined to one walk."""

import os
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from . import pipeline
from .cache import FileCache, NoCache
from .clock import utc_now
from .defaults import CANDIDATE_CAP
from .errors import SetupError, UsageError
from .expand import ClaudeExpander
from .pace import SLOTS, Pacer
from .remembering import Remembering
from .rerank import ClaudeJudge
from .settings import Settings
from .store import PageStore
from .types import Answer, Answerer, Cache, Event, Expander, Judge, Meter, Notice, Query, Run, Source
from .variants import Synonyms
from .words import clean

if TYPE_CHECKING:
    from . import llm
    from .sources.drive import DriveSource
    from .sources.notion import NotionSource
    from .sources.shelf import Shelf, State
    from .sources.vault import VaultSource
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
    vaults = tuple(options.vault or settings.vaults)
    names = _names(query, options, settings, vaults)
    alone = names == ("vault",)
    with ExitStack() as closing:
        run = Run(
            deadline=deadline,
            pace=Pacer(budgets={"notion": settings.calls_per_minute}, wait_scale=settings.wait_scale),
            notify=notify,
            emit=emit,
            meter=Meter(),
        )
        token = "demo" if options.demo else settings.notion_token() if "notion" in names else None
        claude = _claude(options, settings, run, needed=not alone or options.answer)
        if claude:
            closing.callback(claude.close)
        said = _once(run.notify)
        cache = _cache(options, settings, said)
        synonyms = _synonyms(settings, run)
        expander = _expander(options, claude, cache, synonyms)
        judge = _judge(options, claude, cache, query.limit)
        sources: list[Source] = []
        vault = _vault(vaults, options, settings, run.notify) if "vault" in names else None
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
        if vault:
            closing.callback(vault.close)
            sources.append(vault)
            if alone and not claude:
                expander, judge = None, None if options.no_rerank else vault
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


def states(
    options: Namespace, settings: Settings, *, notify: Callable[[Notice], None]
) -> "list[tuple[str, str | None, State]]":
    """Return what the index of each vault holds, with its path and the embedder; nothing is searched or read anew."""
    vaults = tuple(options.vault or settings.vaults)
    if not vaults:
        raise UsageError("--status: name a vault too (--vault PATH): only notes have an index")
    from .embed import installed

    embedder = installed()
    with ExitStack() as closing:
        found = []
        for shelf in _shelves(vaults, settings, notify):
            closing.callback(shelf.close)
            found.append((str(shelf.root), embedder, shelf.state(embedder)))
    return found


def _names(query: Query, options: Namespace, settings: Settings, vaults: Sequence[Path]) -> tuple[str, ...]:
    """Return the places to search; notes alone where there are notes and no token, and no place is named."""
    if options.demo or query.scope.databases:
        names: tuple[str, ...] = ("notion",)
    elif named := options.sources or settings.sources:
        added = ("vault",) if options.vault and "vault" not in named else ()
        names = (*named, *added)
    else:
        notion = ("notion",) if settings.has_token() or not vaults else ()
        names = (*notion, *(("vault",) if vaults else ()))
    if "vault" in names and not vaults:
        raise UsageError("--sources: vault: say where the notes are, with --vault PATH or NOTION_SEARCH_VAULT")
    if query.scope.property_filter and not query.scope.databases and names != ("vault",):
        raise UsageError(
            "--filter: name the database too (--databases ID): Notion filters rows of databases only; notes are "
            "filtered where they are searched alone (--sources vault)"
        )
    return names


def _vault(
    vaults: Sequence[Path], options: Namespace, settings: Settings, notify: Callable[[Notice], None]
) -> "VaultSource":
    from .embed import SentenceEncoder, installed
    from .sources.vault import VaultSource

    name, folder = installed(), None if options.no_cache else settings.cache_folder
    encoder = SentenceEncoder(name, folder) if name else None
    return VaultSource(_shelves(vaults, settings, notify, kept=not options.no_cache), encoder)


def _shelves(
    vaults: Sequence[Path], settings: Settings, notify: Callable[[Notice], None], *, kept: bool = True
) -> "list[Shelf]":
    """Return a shelf for each vault; the ids of several begin with the vault's name."""
    from .sources.shelf import Shelf

    folder = settings.cache_folder if kept else None
    names = [vault.stem if vault.is_file() else vault.name for vault in vaults]
    shelves = []
    for place, (vault, name) in enumerate(zip(vaults, names, strict=True)):
        same = names[:place].count(name)
        label = f"{name} {same + 1}/" if same else f"{name}/"
        key = sha256(os.fsencode(vault) + b"\0" + (label.encode("utf-8", "replace") if len(vaults) > 1 else b""))
        store = folder / f"vault-{key.hexdigest()[:32]}.sqlite" if folder else None
        shelves.append(Shelf(vault, store, notify, label=clean(label) if len(vaults) > 1 else ""))
    return shelves


def _claude(options: Namespace, settings: Settings, run: Run, *, needed: bool) -> "llm.Doors | None":
    if not options.answer and (options.local or (options.no_expand and options.no_rerank)):
        return None
    # A run without Claude does not wait for what speaks to it.
    from . import llm

    try:
        settings.check_claude()
        return llm.connect(options.model or settings.model, settings.environ)
    except SetupError as error:
        if not needed:
            return None
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

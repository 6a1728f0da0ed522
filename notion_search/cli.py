"""The command: arguments, wiring, exit code; the only file that prints."""

import argparse
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from hashlib import sha256
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, NoReturn

from . import __version__, llm, pipeline
from .cache import FileCache, NoCache
from .errors import ExitCode, NotionSearchError, SetupError, UsageError
from .expand import ClaudeExpander
from .pace import Pacer
from .render import Progress, explain, render_json, render_table
from .rerank import ClaudeJudge
from .search import CANDIDATE_CAP
from .settings import MODEL, Settings, is_model, secrets
from .sources.filters import parse_filter
from .sources.ids import parse_databases
from .store import PageStore, Remembering
from .types import Answer, Cache, Meter, Notice, Query, Run, Scope
from .words import clean, has_text, inert

if TYPE_CHECKING:
    from .sources.notion import NotionSource

LONGEST_QUERY = 2000  # characters
LONGEST_RUN = 3600  # seconds
PIPE_WIDTH = 100  # cells, where there is no terminal to ask
LEAK = 7  # characters of a credential in a row that no output may show


class _Parser(argparse.ArgumentParser):
    """A parser whose every refusal is one line, like all errors of the tool."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print and exit for."""
        raise UsageError(f"{message} (see notion-search --help)")


class _Help(argparse.HelpFormatter):
    """Options spelled `--limit, -n N` in every version of Python; 3.13 changed it."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        names = ", ".join(action.option_strings)
        return f"{names} {self._format_args(action, self._get_default_metavar_for_optional(action))}"


def entry() -> NoReturn:
    """Run the command of this process and end with its exit code; a crash shows no credential."""
    sys.excepthook = _redacting_hook(secrets(os.environ))
    sys.exit(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Answer the command line and return the exit code."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    except NotionSearchError as error:
        _say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except _TerminatedError:
        return ExitCode.TERMINATED


class _TerminatedError(BaseException):
    """SIGTERM arrived; what is open is closed on the way out."""


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise _TerminatedError


def _main(argv: Sequence[str]) -> int:
    options = _options(argv)
    query = _query(options, reads_stdin=options.query == ["-"] and "--" not in argv)
    settings = Settings.read(os.environ)
    answer, meter = _answer(query, options, settings)
    if options.explain:
        for line in explain(answer, meter, options.model or settings.model):
            _say(line)
    return _write(partial(_rendered, answer, query, options))


def _options(argv: Sequence[str]) -> argparse.Namespace:
    # argparse forgets what stood behind `--` once options stand between words, so the words behind are kept from it.
    end = list(argv).index("--") if "--" in argv else len(argv)
    options = build_parser().parse_intermixed_args(argv[:end])
    options.query = [*options.query, *argv[end + 1 :]]
    return options


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Parser(
        prog="notion-search",
        usage="notion-search [options] QUERY...",
        description="Find pages in Notion by meaning: Claude widens the query, Notion is searched, Claude ranks.",
        epilog="Exit codes: 0 an answer (no matches is one), 1 failure, 2 usage, 3 setup, 4 Notion refused or "
        "cannot be reached, 130 interrupted, 143 terminated. The token is read from NOTION_TOKEN, else "
        "NOTION_API_TOKEN, else NOTION_API_KEY.",
        allow_abbrev=False,
        formatter_class=_Help,
    )
    parser.color = False  # type: ignore[attr-defined,unused-ignore]  # 3.14 would colour the help by itself
    parser.add_argument("query", nargs="*", metavar="QUERY", help="what to look for; - reads it from standard input")
    add = parser.add_argument
    add("--json", action="store_true", help="print a JSON array instead of a table")
    add(
        "--databases",
        "--database",
        action="append",
        metavar="IDS",
        help="search only these databases: ids or links, separated by commas",
    )
    add(
        "--filter",
        type=parse_filter,
        metavar="JSON",
        help='only rows with these properties, as {"Status": "Done"} or a filter of Notion\'s; needs --databases',
    )
    add("--limit", "-n", type=_limit, default=10, metavar="N", help="show at most N results, 1 to 30 (default: 10)")
    add("--no-expand", action="store_true", help="search for the query alone, without other phrasings")
    add("--no-rerank", action="store_true", help="keep the order of the search, without judging")
    add("--no-cache", action="store_true", help="neither read nor write what earlier runs kept")
    add("--model", type=_model, metavar="ID", help=f"the Claude model (default: $NOTION_SEARCH_MODEL or {MODEL})")
    add("--timeout", type=_seconds, default=60.0, metavar="SECONDS", help="time for the whole run (default: 60)")
    add("--explain", action="store_true", help="say on standard error what was asked, found and counted")
    add("--quiet", "-q", action="store_true", help="no notices and no progress")
    add("--color", choices=("auto", "always", "never"), default="auto", help="colour the table (default: auto)")
    add("--demo", action="store_true", help="search a built-in sample workspace; needs no token")
    add("--version", action="version", version=f"notion-search {__version__}")
    return parser


def _limit(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= CANDIDATE_CAP:
        return int(text[:4])
    raise UsageError(f"--limit: expected a whole number from 1 to {CANDIDATE_CAP}, got '{inert(text)[:40]}'")


def _model(text: str) -> str:
    if is_model(text):
        return text
    raise UsageError(f"--model: expected a model's id, such as {MODEL}, got '{inert(text)[:40]}'")


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if 0 < float(text) <= LONGEST_RUN:
            return float(text)
    raise UsageError(f"--timeout: expected seconds above 0, at most {LONGEST_RUN}, got '{inert(text)[:40]}'")


def _query(options: argparse.Namespace, *, reads_stdin: bool) -> Query:
    """Return what is asked; raises UsageError before anything is sent."""
    databases = parse_databases(options.databases) if options.databases is not None else ()
    if options.filter and not databases:
        raise UsageError("--filter: name the database too (--databases ID): Notion filters rows of databases only")
    scope = Scope(databases=tuple(str(ref) for ref in databases), property_filter=options.filter)
    text = _query_text(_stdin() if reads_stdin else " ".join(options.query))
    return Query(text=text, scope=scope, limit=options.limit)


def _query_text(typed: str) -> str:
    text = " ".join(typed.split())
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise UsageError("the query holds bytes that are not text: type it in the terminal's own encoding")
    control = next((char for char in text if char < " " or "\x7f" <= char <= "\x9f"), None)
    if control:
        raise UsageError(f"the query holds a control character (U+{ord(control):04X}): leave it out")
    if not has_text(text):
        raise UsageError(
            'no query: say what to look for, as in notion-search "release plan" (see notion-search --help)'
        )
    if len(text) > LONGEST_QUERY:
        raise UsageError(f"the query has {len(text)} characters; at most {LONGEST_QUERY} are searched for: shorten it")
    return clean(text)


def _stdin() -> str:
    try:
        # A little more than is allowed, so that too long is seen as such and an endless input ends.
        return sys.stdin.read(LONGEST_QUERY * 10)
    except (UnicodeDecodeError, OSError, AttributeError):
        raise UsageError("the query on standard input cannot be read as text") from None


def _answer(query: Query, options: argparse.Namespace, settings: Settings) -> tuple[Answer, Meter]:
    """Wire the edges the options ask for and walk the pipeline over them."""
    deadline = time.monotonic() + options.timeout
    with ExitStack() as closing:
        progress = closing.enter_context(Progress(sys.stderr, drawn=not options.quiet))
        run = Run(
            deadline=deadline,
            pace=Pacer(calls_per_minute=settings.calls_per_minute, wait_scale=settings.wait_scale),
            notify=partial(_notify, progress, quiet=options.quiet),
            emit=progress.event,
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
        pages = _remembering(source, options, settings, said)
        closing.callback(pages.close)
        expander = ClaudeExpander(claude, cache) if claude and not options.no_expand else None
        judge = ClaudeJudge(claude, cache, show=query.limit) if claude and not options.no_rerank else None
        answer = pipeline.run(query, sources=(pages,), expander=expander, judge=judge, run=run)
    return answer, run.meter


def _claude(options: argparse.Namespace, settings: Settings, run: Run) -> llm.Doors | None:
    if options.no_expand and options.no_rerank:
        return None
    settings.check_claude()
    try:
        return llm.connect(options.model or settings.model, settings.environ)
    except SetupError as error:
        if not options.demo:
            raise
        run.notify(Notice(stage="llm", text=f"{error}; showing the order of the search"))
        return None


def _notion(
    token: str, options: argparse.Namespace, settings: Settings, deadline: float, *, whole: bool
) -> "NotionSource":
    # Imported here because the HTTP client takes a tenth of a second, which --help should not cost.
    from .sources import notion

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


def _cache(options: argparse.Namespace, settings: Settings, notify: Callable[[Notice], None]) -> Cache:
    if options.no_cache or settings.cache_folder is None:
        return NoCache()
    return FileCache(settings.cache_folder, notify)


def _remembering(
    source: "NotionSource", options: argparse.Namespace, settings: Settings, notify: Callable[[Notice], None]
) -> "NotionSource | Remembering":
    """Return the source with its store of pages read before, where there is a place to keep one."""
    folder = settings.cache_folder
    if options.demo or options.no_cache or folder is None:
        return source

    def open_store(workspace: str) -> PageStore:
        return PageStore(folder / f"pages-{sha256(workspace.encode()).hexdigest()[:32]}.sqlite", notify)

    return Remembering(source, open_store)


def _rendered(answer: Answer, query: Query, options: argparse.Namespace, *, ascii_only: bool = False) -> str:
    if options.json:
        return render_json(answer.results, ascii_only=ascii_only)
    if not answer.results:
        return f"No matches for '{inert(query.text)}'\n"
    width = shutil.get_terminal_size((PIPE_WIDTH, 24)).columns
    return render_table(answer.results, width=width, color=_wants_color(options.color, os.environ))


def _wants_color(choice: str, environ: Mapping[str, str]) -> bool:
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    return bool(environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and environ.get("TERM") != "dumb")


def _write(rendered: Callable[..., str]) -> int:
    """Write the answer to stdout in whatever encoding it has; a reader that stopped reading is no error."""
    encoding = sys.stdout.encoding or "utf-8"
    text = rendered()
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = rendered(ascii_only=True).encode(encoding, "replace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_stdout()
    except OSError as error:
        _abandon_stdout()
        _say(f"the answer could not be written: {error.strerror}")
        return ExitCode.FAILURE
    return ExitCode.OK


def _abandon_stdout() -> None:
    """Point stdout at nothing, so that Python's own flush at exit does not fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _notify(progress: Progress, notice: Notice, *, quiet: bool) -> None:
    if not quiet:
        with suppress(OSError):
            progress.say(_line(notice.text))


def _say(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(_line(text) + "\n")
        sys.stderr.flush()


def _line(text: str) -> str:
    # What a service says may quote the credential it was sent.
    return f"notion-search: {_redacted(inert(text), secrets(os.environ))}"


def _redacting_hook(
    hidden: Sequence[str],
) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        with suppress(OSError):
            sys.stderr.write(_redacted(text, hidden))

    return show


def _redacted(text: str, hidden: Sequence[str]) -> str:
    """Return the text without any piece of a credential long enough to be recognised."""
    for secret in hidden:
        for start in range(len(secret) - LEAK + 1):
            text = text.replace(secret[start : start + LEAK], "*" * LEAK)
    return text

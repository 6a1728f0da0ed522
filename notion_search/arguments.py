"""The command line: its options, and what they ask for as a query."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from . import __version__
from .defaults import CANDIDATE_CAP, MODEL
from .errors import UsageError

# What --help does not need is imported where it is used: a third of a run's start.
if TYPE_CHECKING:
    from pathlib import Path

    from .types import Query

LONGEST_QUERY = 2000  # characters
LONGEST_RUN = 3600  # seconds
# The document's: sections of the top five results to answer from, of the top ten to list.
EXTRACTED = 5
MOST_EXTRACTED = 10


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


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options of the line; raises UsageError for one that is unknown or has a value it cannot."""
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
        epilog="Exit codes: 0 an answer (no matches is one), 1 failure, 2 usage, 3 setup, 4 no source "
        "answered, 130 interrupted, 143 terminated. The token is read from NOTION_TOKEN, else "
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
        type=_filter,
        metavar="JSON",
        help='only rows with these properties, as {"Status": "Done"} or a filter of Notion\'s; needs --databases, or '
        "a vault alone",
    )
    add("--limit", "-n", type=_limit, default=10, metavar="N", help="show at most N results, 1 to 30 (default: 10)")
    add(
        "--sources",
        type=_sources,
        metavar="NAMES",
        help="where to search: notion, drive, vault, separated by commas (default: $NOTION_SEARCH_SOURCES or notion)",
    )
    add(
        "--vault",
        action="append",
        type=_vault,
        metavar="PATH",
        help="search these notes too: a folder of Markdown, or a Notion export as a folder or zip (default: "
        "$NOTION_SEARCH_VAULT); alone, they need no token and no Claude",
    )
    add("--status", action="store_true", help="say what the index of the vault holds, and search nothing")
    add(
        "--min-relevance",
        type=_relevance,
        metavar="X",
        help="show no result below this relevance, 0 to 1 (default: 0; 0.04 where notes are ranked without Claude)",
    )
    add("--local", action="store_true", help="widen and rank by rule: no Claude, the same answer every time")
    add("--answer", action="store_true", help="answer the query in words, each claim with its page; needs Claude")
    add("--report", action="store_true", help="print one JSON object with scores, previews and sections of pages")
    add(
        "--extract",
        type=_extract,
        metavar="N",
        help=f"give a section of the first N results in the report, 0 to {MOST_EXTRACTED} (default: {EXTRACTED})",
    )
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


def _filter(text: str) -> Mapping[str, object] | None:
    from .sources.filters import parse_filter

    return parse_filter(text)


def _limit(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= CANDIDATE_CAP:
        return int(text[:4])
    raise UsageError(f"--limit: expected a whole number from 1 to {CANDIDATE_CAP}, got {_shown(text)}")


def _extract(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text[:4]) <= MOST_EXTRACTED:
        return int(text[:4])
    raise UsageError(f"--extract: expected a whole number from 0 to {MOST_EXTRACTED}, got {_shown(text)}")


def _sources(text: str) -> tuple[str, ...]:
    from .settings import source_names

    names = source_names(text)
    if names:
        return names
    raise UsageError(f"--sources: expected some of notion, drive, vault, separated by commas, got {_shown(text)}")


def _vault(text: str) -> "Path":
    from .settings import vault

    if path := vault(text):
        return path
    raise UsageError(f"--vault: {_shown(text)} is no folder and no zip archive")


def _relevance(text: str) -> float:
    with suppress(ValueError):
        if 0 <= float(text) <= 1:
            return float(text)
    raise UsageError(f"--min-relevance: expected a number from 0 to 1, got {_shown(text)}")


def _model(text: str) -> str:
    from .settings import is_model

    if is_model(text):
        return text
    raise UsageError(f"--model: expected a model's id, such as {MODEL}, got {_shown(text)}")


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if 0 < float(text) <= LONGEST_RUN:
            return float(text)
    raise UsageError(f"--timeout: expected seconds above 0, at most {LONGEST_RUN}, got {_shown(text)}")


def _shown(text: str) -> str:
    from .words import quoted

    return f"'{quoted(text, 40)}'"


def query(options: argparse.Namespace, *, reads_stdin: bool) -> "Query":
    """Return what is asked; raises UsageError before anything is sent."""
    from .sources.ids import parse_databases
    from .types import Query, Scope

    databases = parse_databases(options.databases) if options.databases is not None else ()
    _check(options)
    if databases and (options.vault or (options.sources and options.sources != ("notion",))):
        raise UsageError(f"--databases: searches Notion alone: leave out {'--vault' if options.vault else '--sources'}")
    scope = Scope(databases=tuple(str(ref) for ref in databases), property_filter=options.filter)
    text = _query_text(_stdin() if reads_stdin else " ".join(options.query))
    extracts = options.report or options.answer
    count = EXTRACTED if options.extract is None else options.extract
    return Query(
        text=text,
        scope=scope,
        limit=options.limit,
        named=frozenset((*(options.sources or ()), *(["vault"] if options.vault else []))),
        least=options.min_relevance,
        extract=count if extracts else None,
    )


def _check(options: argparse.Namespace) -> None:
    """Raise UsageError for options that contradict each other."""
    if options.report and (options.json or options.answer):
        other = "--json" if options.json else "--answer"
        raise UsageError(f"--report: prints a JSON object of its own: leave out {other}")
    if options.extract is not None and not options.report:
        raise UsageError("--extract: says how many sections --report gives: add --report")
    if options.answer and options.local:
        raise UsageError("--answer: Claude writes it, and --local asks Claude nothing: leave out one of them")
    if options.demo and "drive" in (options.sources or ()):
        raise UsageError("--demo: searches the sample workspace alone: leave out --sources")
    if options.demo and options.vault:
        raise UsageError("--demo: searches the sample workspace alone: leave out --vault")


def _query_text(typed: str) -> str:
    from .words import clean, has_text

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

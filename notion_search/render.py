"""Stage 6: results as text, for people or for programs; progress while they are awaited."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TextIO

from .embed import EXTRA
from .fields import key_properties
from .prices import AS_OF, price
from .score import edited_ago
from .strict_json import strict_json
from .types import Answer, AnswerText, Event, Indexed, Judged, Meter, Ranked, Read, Result, Searched
from .words import display_width, fit, graphemes, inert

if TYPE_CHECKING:
    import rich.console

    from .sources.shelf import State

PROPERTY_CAP = 4
INDENT = 4
RELEVANCE_WIDTH = 9  # the width of its heading
RATED_WIDTH = 11  # 0.56 medium
EDITED_WIDTH = 10  # 2026-11-30
SOURCE_WIDTH = 6  # notion, drive; its heading as long
# Below this the date moves to the line of the properties, so that the title keeps half of the width.
NARROW = 60
NARROWEST = 24
CITED_KEYS = ("title", "url", "source", "last_edited")


def render_json(results: Sequence[Result], *, ascii_only: bool = False) -> str:
    """Return the results as one JSON array with a final newline; page text in it is data no terminal acts on."""
    return strict_json([public(result) for result in results], ascii_only=ascii_only)


def public(result: Result) -> Mapping[str, object]:
    """Return the public keys, in their order; keys are only ever added."""
    page = result.candidate
    return {
        "id": page.id,
        "url": page.url,
        "title": page.title,
        "relevance": result.relevance,
        "snippet": result.snippet,
        "excerpt": page.excerpt,
        "properties": page.properties,
        "source": page.source,
        "last_edited": page.edited,
        "confidence": result.confidence,
    }


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line, in one style."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


def render_table(results: Sequence[Result], *, width: int, color: bool) -> str:
    """Return the results as lines of at most `width` cells; a link always stands whole on a line of its own."""
    lines = list(_table(results, max(width, NARROWEST)))
    if color and (painted := _painted(lines)) is not None:
        return painted
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)


def _table(results: Sequence[Result], width: int) -> Iterator[Line]:
    judged = any(result.relevance is not None for result in results)
    mixed = len({result.candidate.source for result in results}) > 1
    rated = f"{'Relevance':<{RATED_WIDTH}}" if any(result.confidence for result in results) else "Relevance"
    heading = _tail(rated if judged else None, "Source" if mixed else None, "Edited", width)
    yield _row(Span(" #", "dim"), "Title", heading, width, "dim")
    for number, result in enumerate(results, 1):
        page = result.candidate
        relevance = None if not judged else "-" if result.relevance is None else f"{result.relevance:.2f}"
        relevance = f"{relevance} {result.confidence:<6}" if relevance and result.confidence else relevance
        tail = _tail(relevance, inert(page.source) if mixed else None, _day(page.edited), width)
        yield _row(Span(f"{number:>2}", "dim"), inert(page.title), tail, width, "bold")
        yield from _details(result, width)


def _tail(relevance: str | None, source: str | None, edited: str, width: int) -> str:
    tail = "" if relevance is None else f"  {relevance:>{RELEVANCE_WIDTH}}"
    tail += "" if source is None else f"  {source:<{SOURCE_WIDTH}}"
    return tail + (f"  {edited:<{EDITED_WIDTH}}" if width >= NARROW else "")


def _row(number: Span, title: str, tail: str, width: int, style: str) -> Line:
    room = width - INDENT - display_width(tail)
    shown = fit(title, room)
    padding = " " * (room - display_width(shown))
    return (number, Span("  "), Span(shown, style), Span(padding + tail, "dim" if style == "dim" else "cyan"))


def _details(result: Result, width: int) -> Iterator[Line]:
    page = result.candidate
    margin = Span(" " * INDENT)
    # The judge's words stand bare, the page's own in quotes.
    words = inert(result.snippet) if result.snippet else f"“{inert(page.excerpt)}”" if page.excerpt else ""
    for line in wrap(words, width - INDENT):
        yield (margin, Span(line))
    shown = [f"{name}: {text}" for name, text in key_properties(page.properties)[:PROPERTY_CAP]]
    if width < NARROW and page.edited:
        shown.append(_day(page.edited))
    for line in wrap(" · ".join(shown), width - INDENT):
        yield (margin, Span(line, "dim"))
    yield (margin, Span(page.url, f"link {page.url}"))
    for url in page.elsewhere:
        yield (margin, Span("also "), Span(url, f"link {url}"))


def _day(edited: str | None) -> str:
    return inert(edited or "")[:EDITED_WIDTH]


def wrap(text: str, width: int) -> Iterator[str]:
    """Yield lines of at most `width` cells, broken at blanks, inside a word only where it is longer than a line."""
    line = ""
    for word in text.split():
        joined = f"{line} {word}" if line else word
        if display_width(joined) <= width:
            line = joined
            continue
        if line:
            yield line
        line = ""
        for cluster in graphemes(word):
            if display_width(line + cluster) > width:
                yield line
                line = ""
            line += cluster
    if line:
        yield line


def render_answer(answer: Answer, now: datetime, *, width: int, color: bool, told: bool = False) -> str:
    """Return the answer in words with its sources, or that there is none and the nearest pages; `told`: no words again.

    Numbers, titles and links are those of the results, never the model's.
    """
    cited = answer.cited
    if cited is None:
        said = "\n\nThe answer was not finished." if told else "No answer in these pages."
        return f"{said} The nearest:\n{render_table(answer.results, width=width, color=color)}"
    said = "\n" if told else "\n".join("\n".join(wrap(line, width)) for line in cited.text.splitlines()) + "\n"
    sources = "".join(_source(place, answer.results[place - 1], now) for place in cited.cited)
    return f"{said}\nSources\n{sources}Confidence: {cited.confidence}\n"


def _source(place: int, result: Result, now: datetime) -> str:
    page = result.candidate
    return f"[{place}] {inert(page.title)} ({inert(page.source)}, {edited_ago(page.edited, now)})\n    {page.url}\n"


def answer_json(answer: Answer, *, ascii_only: bool = False) -> str:
    """Return the answer, its citations, its confidence and the results as one JSON object with a final newline."""
    cited = answer.cited
    citations = [
        {"number": place, **{key: public(answer.results[place - 1])[key] for key in CITED_KEYS}}
        for place in (cited.cited if cited else ())
    ]
    value = {
        "answer": cited.text if cited else None,
        "citations": citations,
        "confidence": cited.confidence if cited else None,
        "results": [public(result) for result in answer.results],
    }
    return strict_json(value, ascii_only=ascii_only)


def _painted(lines: Sequence[Line]) -> str | None:
    """Return the lines in colour, or None where rich is not installed."""
    try:
        from rich.console import Console
        from rich.style import Style
        from rich.text import Text
    except ImportError:
        return None
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", legacy_windows=False)
    for line in lines:
        text = Text()
        for span in line:
            kind, _, link = span.style.partition(" ")
            # The text is appended, never parsed: brackets and colons in a title stay what they are.
            text.append(span.text, Style(color="blue", link=link) if kind == "link" else span.style)
        text.rstrip()
        console.print(text, soft_wrap=True)
    return out.getvalue()


def render_status(states: "Sequence[tuple[str, str | None, State]]", *, as_json: bool, ascii_only: bool = False) -> str:
    """Return what each vault's index holds: its path, the embedder there is, and the index's counts."""
    if as_json:
        listed = [
            {"vault": path, **asdict(state), "embedder": embedder, "updated": state.updated or None}
            for path, embedder, state in states
        ]
        return strict_json(listed, ascii_only=ascii_only)
    lines: list[str] = []
    for path, embedder, state in states:
        lines += (
            inert(path),
            f"  notes      {state.notes:,}",
            f"  passages   {state.passages:,}",
            f"  vectors    {state.vectors:,}",
            f"  embedder   {embedder or 'none: ' + EXTRA + ' installs one'}",
            f"  updated    {state.updated or 'never: the first search indexes it'}",
            f"  size       {state.size / 1_000_000:.1f} MB",
        )
    return "\n".join(lines) + "\n"


def explain(answer: Answer, meter: Meter, model: str) -> Iterator[str]:
    """Yield what the run did, a line a subject, from the counts taken where it happened."""
    facts, counts = answer.facts, meter.counts
    yield "variants: " + " · ".join(inert(variant) for variant in facts.variants)
    several = len(facts.searched) > 1
    found = ", ".join(
        f"{number} for '{inert(variant)}'{f' in {source}' if several else ''}"
        for source, variant, number in facts.listings
    )
    yield f"found: {found}; {facts.candidates} candidates, {facts.read} read, {len(answer.results)} results"
    for place, result in enumerate(answer.results, 1):
        if result.parts:
            parts = " · ".join(f"{name} {value:g}" for name, value in result.parts.items())
            title = fit(inert(result.candidate.title), 40)
            yield f"score {place}: {parts} = {100 * (result.relevance or 0):.0f} '{title}'"
    for service in ("notion", *(source for source in facts.searched if source != "notion"), "claude"):
        calls = {name.partition(".")[2]: n for name, n in sorted(counts.items()) if name.startswith(service + ".")}
        kinds = ", ".join(f"{number} {kind}" for kind, number in calls.items())
        yield f"{service} calls: {sum(calls.values())}" + (f" ({kinds})" if kinds else "")
    caches = {
        name.removeprefix("cache."): number for name, number in sorted(counts.items()) if name.startswith("cache.")
    }
    yield "cache: " + (
        ", ".join(f"{number} {name.replace('.', ' ')}" for name, number in caches.items()) or "not asked"
    )
    dollars = price(model, counts["tokens.in"], counts["tokens.out"])
    cost = "" if dollars is None else f"; about ${dollars:.4f} for {model} at list prices of {AS_OF}"
    yield f"tokens: {counts['tokens.in']} in, {counts['tokens.out']} out{cost}"
    yield "seconds: " + ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in meter.seconds.items())


class Progress:
    """What the user sees of a run under way: lines, and on a terminal a status that is gone at the end."""

    def __init__(self, stream: TextIO, *, drawn: bool) -> None:
        """Write to the stream; `drawn` asks for the status line, where rich and the terminal can draw one."""
        self._stream = stream
        self._console = _console(stream) if drawn else None
        self._status = self._console.status("searching", spinner="dots") if self._console else None

    def event(self, event: Event) -> None:
        """Show how far the run is."""
        if self._status and not isinstance(event, AnswerText | Ranked):
            self._status.update(_stage(event))

    def say(self, line: str) -> None:
        """Print a line without disturbing the status."""
        if self._console:
            self._console.out(line, highlight=False)
        else:
            self._stream.write(line + "\n")
            self._stream.flush()

    def clear(self) -> None:
        """Take the status off the screen, for good."""
        if self._status:
            self._status.stop()
            self._status = None

    def __enter__(self) -> "Progress":
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()


def _stage(event: Event) -> str:
    if isinstance(event, Searched):
        return f"reading {event.candidates} pages"
    if isinstance(event, Read):
        return f"reading pages: {event.done} of {event.total}" if event.done < event.total else "judging"
    if isinstance(event, Indexed):
        return f"indexing {event.what}: {event.done:,} of {event.total:,}"
    return "reading the best pages" if isinstance(event, Judged) else "searching"


def _console(stream: TextIO) -> "rich.console.Console | None":
    # Asked before rich is, which takes as long to import as all the rest of a plain run's own work.
    if not stream.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(file=stream)
    return console if console.is_terminal and not console.is_dumb_terminal else None

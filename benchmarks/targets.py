"""What the tool promises of its speed, its calls and its price, each beside what was measured."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from notion_search.prices import price

from .processes import SEARCH, TOOL, Bench, Timed
from .servers import Latencies
from .work import tokens

# Tokens of each model for a text that is one token to the first.
MODELS = {"claude-haiku-4-5": 1.0, "claude-haiku-5-5": 1.3}
PRICE = 0.0055  # dollars: both calls of the English search, first model
TIGHT = (20, 2)  # calls left to Notion, and the seconds it then says to wait
# While a refusal is on its way back, calls are still being sent that it would have held up.
ON_THE_WIRE = 0.1  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One promise, and whether it is kept."""

    promise: str
    measured: str
    met: bool


def lower_bound(run: Timed, latencies: Latencies) -> float:
    """Return the latencies of the calls that truly need each other, one after another, in seconds.

    Expansion, a search for its variants, an excerpt, the ranking: the rest can be under way beside them.
    """
    answers = (latencies.claude_answers(call.answer) for call in run.of("expand", "rerank"))
    return 2 * latencies.notion + sum(answers)


def middle(runs: Sequence[Timed]) -> float:
    """Return the median of the runs' seconds."""
    return median(run.seconds for run in runs)


def of_time(timed: Mapping[str, Sequence[Timed]], bound: float, latencies: Latencies) -> Iterator[Target]:
    """Yield the targets of time, by medians."""
    cold, notion = middle(timed["cold"]), latencies.notion
    faster = middle(timed["sequential"]) / cold
    yield _at_most("cold: 1.5 × the lower bound", cold, 1.5 * bound)
    yield Target(promise="cold: 3.5 × faster than sequential", measured=f"{faster:.2f} ×", met=faster >= 3.5)
    yield _at_most("program: 1.35 × the lower bound", middle(timed["program"]), 1.35 * bound)
    yield _at_most("warm: 1.5 Notion latencies and 0.3 s", middle(timed["warm"]), 1.5 * notion + 0.3)
    yield _at_most("plain: 2 Notion latencies and 0.35 s", middle(timed["plain"]), 2 * notion + 0.35)
    yield _at_most("help: 0.12 s", middle(timed["help"]), 0.12)


def _at_most(promise: str, seconds: float, limit: float) -> Target:
    return Target(promise=promise, measured=f"{seconds:.3f} of {limit:.3f} s", met=seconds <= limit)


def of_calls(timed: Mapping[str, Sequence[Timed]], edits: Sequence[set[str]]) -> Iterator[Target]:
    """Yield the targets of what was sent, by the servers' logs; `edits` are the pages changed before each run."""
    both = [*timed["cold"], *timed["sequential"]]
    same = len({frozenset(run.pages) for run in both}) == 1 and all(_is_whole(run) for run in both)
    yield _sent("cold and sequential: 5 searches, the same 30 pages", timed["cold"], met=same)
    silent = not any(run.of("children", "expand", "rerank") for run in timed["warm"])
    yield _sent("warm: no excerpt and nothing to Claude", timed["warm"], met=silent)
    exact = all(
        sorted(run.pages) == sorted(pages) and [call.kind for call in run.of("expand", "rerank")] == ["rerank"]
        for run, pages in zip(timed["edited"], edits, strict=True)
    )
    yield _sent("edited: the 2 changed pages read, one ranking", timed["edited"], met=exact)


def _is_whole(run: Timed) -> bool:
    return len(run.of("search")) == 5 and len(run.pages) == len(set(run.pages)) == 30


def _sent(promise: str, runs: Sequence[Timed], *, met: bool) -> Target:
    return Target(promise=promise, measured=" | ".join(dict.fromkeys(map(counted, runs))), met=met)


def counted(run: Timed) -> str:
    """Return how many calls of each kind were sent."""
    return ", ".join(f"{number} {kind}" for kind, number in Counter(call.kind for call in run.log).items()) or "none"


def of_imports(bench: Bench) -> Iterator[Target]:
    """Yield the targets of what is not imported."""
    home = bench.home()
    bench.run(*SEARCH, home=home)
    yield _without("warm", bench.run("-X", "importtime", *SEARCH, home=home), "anthropic")
    yield _without("help", bench.run("-X", "importtime", *TOOL, "--help"), "anthropic", "notion_client", "rich")


def _without(name: str, run: Timed, *unwanted: str) -> Target:
    imported = {line.rpartition("|")[2].strip() for line in run.err.splitlines() if line.startswith("import time:")}
    found = imported & set(unwanted)
    measured = ", ".join(sorted(found)) or f"{len(imported)} others"
    return Target(promise=f"{name}: no import of {', '.join(unwanted)}", measured=measured, met=not found)


def of_budget(bench: Bench) -> Target:
    """Return whether all pages are read though Notion says to wait, and nothing is sent meanwhile."""
    run = bench.run(*SEARCH, budget=TIGHT)
    told = [call.answered for call in run.log if call.status == 429]
    asked = run.of("search", "children", "me")
    early = [call for call in asked if any(since + ON_THE_WIRE < call.arrived < since + TIGHT[1] for since in told)]
    read = len(set(run.pages))
    return Target(
        promise=f"{TIGHT[0]} calls left, Retry-After {TIGHT[1]}: 30 pages, no call in the pause",
        measured=f"{read} pages, {len(told)} refused, {len(early)} in the pause, {run.seconds:.2f} s",
        met=read == 30 and bool(told) and not early,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Both questions of one search to Claude, and their answers."""

    language: str
    model: str
    tokens_in: int
    tokens_out: int
    dollars: float


def costs(runs: Mapping[str, Timed]) -> list[Cost]:
    """Return what the search of each language costs with each model."""
    return [_cost(language, run, model) for language, run in runs.items() for model in MODELS]


def _cost(language: str, run: Timed, model: str) -> Cost:
    asked, answered = (
        round(sum(map(tokens, texts)) * MODELS[model])
        for texts in ([call.prompt for call in run.log], [call.answer for call in run.log])
    )
    dollars = price(model, asked, answered)
    assert dollars is not None
    return Cost(language=language, model=model, tokens_in=asked, tokens_out=answered, dollars=dollars)


def of_cost(cost: Cost) -> Target:
    """Return whether a search is as cheap as promised."""
    promise = f"{cost.language}, {cost.model}: ${PRICE}"
    return Target(promise=promise, measured=f"${cost.dollars:.4f}", met=cost.dollars <= PRICE)

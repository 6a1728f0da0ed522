"""Time whole runs of the tool against loopback servers with injected latencies, and hold them to their targets."""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from . import targets
from .processes import SEARCH, SEQUENTIAL, TOOL, Bench, Timed
from .servers import Latencies, ServerProcess
from .work import KOREAN

# It takes as long every time, and long; the others need more runs against the noise.
SEQUENTIAL_RUNS = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 when a target is missed."""
    options = _options(argv)
    latencies = Latencies(notion=options.notion, claude=options.claude, token=options.token)
    with ServerProcess() as process, tempfile.TemporaryDirectory(prefix="notion-search-bench-") as folder:
        bench = Bench(process.Servers(latencies), latencies, Path(folder))
        reached = _report(bench, options.runs)
    missed = [target for target in reached if not target.met]
    print(f"\n{len(missed)} of {len(reached)} targets missed" if missed else f"\nall {len(reached)} targets met")
    return 1 if missed else 0


def _report(bench: Bench, runs: int) -> list[targets.Target]:
    timed, edits = measure(bench, runs)
    bound = median(targets.lower_bound(run, bench.latencies) for run in timed["cold"])
    korean = bench.run(*TOOL, "--json", KOREAN.query)
    costs = targets.costs({"English": timed["cold"][-1], "Korean": korean})
    reached = [
        *targets.of_time(timed, bound, bench.latencies),
        *targets.of_calls(timed, edits),
        *targets.of_imports(bench),
        targets.of_budget(bench),
        targets.of_cost(costs[0]),
    ]
    one, five, fifteen = os.getloadavg()
    machine = f"{os.cpu_count()} cores, load {one:.1f} {five:.1f} {fifteen:.1f}"
    print(f"{runs} runs each, sequential {len(timed['sequential'])}; {machine}; seconds\n")
    for line in (*_table(timed, bound), "", *_prices(costs), "", *_verdicts(reached)):
        print(line)
    return reached


def measure(bench: Bench, runs: int) -> tuple[dict[str, list[Timed]], list[set[str]]]:
    """Return the runs of every kind, and the pages changed before each run named edited.

    The kinds take turns, so that a busy moment of the machine meets them all.
    """
    like = bench.run(*SEARCH)  # compiles what will be imported, too
    programs = {"program": bench.program(like, instant=False), "instant program": bench.program(like, instant=True)}
    timed: dict[str, list[Timed]] = {}
    edits: list[set[str]] = []
    for number in range(1, runs + 1):
        print(f"round {number} of {runs}", file=sys.stderr, flush=True)
        if number <= SEQUENTIAL_RUNS:
            timed.setdefault("sequential", []).append(bench.run(*SEQUENTIAL))
        for name, run in _round(bench, programs, edits):
            timed.setdefault(name, []).append(run)
    return timed, edits


def _round(bench: Bench, programs: Mapping[str, Path], edits: list[set[str]]) -> Iterator[tuple[str, Timed]]:
    home = bench.home()
    yield "cold", bench.run(*SEARCH, home=home)
    yield "warm", bench.run(*SEARCH, home=home)
    edits.append(bench.servers.edit())
    yield "edited", bench.run(*SEARCH, home=home)
    yield "plain", bench.run(*SEARCH, "--no-expand", "--no-rerank")
    yield "help", bench.run(*TOOL, "--help")
    for name, folder in programs.items():
        yield name, bench.run(*SEARCH, program=folder)
    # What the SDK alone takes on this machine, at this moment.
    yield "import anthropic", bench.run("-c", "import anthropic")


def _table(timed: Mapping[str, Sequence[Timed]], bound: float) -> Iterator[str]:
    yield f"{'':18}{'median':>8}{'fastest':>9}{'slowest':>9}{'bounds':>8}{'faster':>9}{'peak MB':>9}  calls"
    sequential = targets.middle(timed["sequential"])
    for name, runs in timed.items():
        seconds, peak = [run.seconds for run in runs], median(run.peak for run in runs)
        usual = median(seconds)
        yield (
            f"{name:18}{usual:8.2f}{min(seconds):9.2f}{max(seconds):9.2f}{usual / bound:7.2f}×"
            f"{sequential / usual:8.1f}×{peak:9.0f}  {targets.counted(runs[-1])}"
        )
    yield f"{'lower bound':18}{bound:8.2f}"


def _prices(costs: Sequence[targets.Cost]) -> Iterator[str]:
    yield f"{'both questions':18}{'model':18}{'tokens in':>10}{'out':>7}{'dollars':>10}"
    for cost in costs:
        yield f"{cost.language:18}{cost.model:18}{cost.tokens_in:10}{cost.tokens_out:7}{cost.dollars:10.4f}"


def _verdicts(reached: Sequence[targets.Target]) -> Iterator[str]:
    for target in reached:
        yield f"{'met   ' if target.met else 'MISSED'} {target.promise:62} {target.measured}"


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    usual = Latencies()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each kind (default: 5, about four minutes)")
    parser.add_argument("--notion", type=float, default=usual.notion, help="seconds a call to Notion (default: 0.3)")
    parser.add_argument("--claude", type=float, default=usual.claude, help="seconds an answer of Claude (default: 0.8)")
    parser.add_argument("--token", type=float, default=usual.token, help="and seconds a token of it (default: 0.01)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())

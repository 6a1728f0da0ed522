"""Measure how well `--local` finds: its variants and its ranking, over labelled queries and a title search."""

import argparse
import gzip
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import httpx

from notion_search.demo.handler import Handler
from notion_search.demo.transport import Transport
from notion_search.demo.workspace import load
from notion_search.excerpt import excerpt
from notion_search.local import LocalExpander, LocalJudge
from notion_search.pace import Pacer
from notion_search.search import fuse
from notion_search.sources import notion
from notion_search.synonyms import load as load_synonyms
from notion_search.types import Candidate, Meter, Notice, Run, Scope

COLLECTIONS = ("bidocs", "handbook", "kopair", "govqa")
SYSTEMS = ("title search", "and variants", "and the score")
UNDATED = datetime(2026, 1, 1, tzinfo=UTC)  # one time for all pages of a collection that has no times
HOURS = 12  # more than any collection takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One query, and the pages that are right."""

    text: str
    kind: str
    right: frozenset[str]
    exclude: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Means over some queries."""

    ndcg: float
    success: float
    recall: float
    queries: int


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the collections of the folder and print a table of each."""
    options = _options(argv)
    for name in options.collections:
        print(f"{name}", file=sys.stderr, flush=True)
        rankings = measure(options.folder / name)
        for line in _table(name, rankings):
            print(line)
    return 0


def measure(folder: Path) -> list[tuple[Labelled, Mapping[str, Sequence[str]]]]:
    """Return each labelled query of the collection with the ranking of every system, as document ids."""
    documents, queries = _documents(folder), _queries(folder)
    if not documents or not queries:
        raise SystemExit(f"{folder}: no documents or no queries: nothing was measured")
    newest = max(_edited(document) for document in documents)
    pages = [_page(document) for document in documents]
    workspace = load({"pages": pages})
    ids = {page["id"]: document["id"] for page, document in zip(workspace.pages, documents, strict=True)}
    transport = Transport(Handler(workspace))
    deadline = time.monotonic() + HOURS * 3600
    source = notion.connect(
        "demo", "https://demo.invalid", deadline, whole=False, http=httpx.Client(transport=transport)
    )
    run = Run(deadline=deadline, pace=Pacer(), notify=_failed, emit=lambda _: None, meter=Meter())
    walk = _Walk(source=source, run=run, now=newest + timedelta(days=1))
    return [
        (query, {system: [ids[c.id] for c in found] for system, found in walk.rank(query.text)}) for query in queries
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    """The stages of a run without a model, each system one stage longer."""

    source: notion.NotionSource
    run: Run
    now: datetime

    def rank(self, text: str) -> Iterator[tuple[str, Sequence[Candidate]]]:
        own, *others = LocalExpander(load_synonyms(None, _failed).of).expand(text, self.run)
        listings = [self.source.search(variant, Scope(), self.run) for variant in (own, *others)]
        yield SYSTEMS[0], fuse(listings[:1], text)
        fused = fuse(listings, text)
        yield SYSTEMS[1], fused
        read = excerpt(fused, [self.source], self.run)
        yield SYSTEMS[2], [result.candidate for result in LocalJudge(self.now).judge(text, read, self.run)]


def _failed(notice: Notice) -> None:
    if notice.stage != "rerank":  # which says that matches are weak, as many are here
        raise SystemExit(f"a part failed, so nothing is measured: {notice.text}")


def figures(rankings: Sequence[tuple[Labelled, Sequence[str]]]) -> Figures:
    """Return nDCG@10, success@1 and recall@30, each the mean over the queries; every right page counts the same."""
    each = [_figures(query, [page for page in ranking if page not in query.exclude]) for query, ranking in rankings]
    ndcg, success, recall = (sum(values) / len(each) for values in zip(*each, strict=True))
    return Figures(ndcg=ndcg, success=success, recall=recall, queries=len(each))


def _figures(query: Labelled, ranking: Sequence[str]) -> tuple[float, float, float]:
    gain = sum(1 / math.log2(place + 1) for place, page in enumerate(ranking[:10], 1) if page in query.right)
    best = sum(1 / math.log2(place + 1) for place in range(1, min(10, len(query.right)) + 1))
    found = len(query.right.intersection(ranking[:30]))
    return gain / best, float(bool(ranking) and ranking[0] in query.right), found / len(query.right)


def _table(name: str, rankings: Sequence[tuple[Labelled, Mapping[str, Sequence[str]]]]) -> Iterator[str]:
    kinds = defaultdict(list)
    for query, ranked in rankings:
        kinds["all"].append((query, ranked))
        kinds[query.kind].append((query, ranked))
    yield f"{name:12}{'queries':>8}" + "".join(f"{system:>22}" for system in SYSTEMS)
    yield f"{'':20}" + "".join(f"{'nDCG@10  s@1  r@30':>22}" for _ in SYSTEMS)
    for kind, ranked in sorted(kinds.items(), key=lambda item: -len(item[1])):
        cells = [figures([(query, systems[system]) for query, systems in ranked]) for system in SYSTEMS]
        yield f"  {kind:10}{len(ranked):8}" + "".join(f"{c.ndcg:12.3f}{c.success:5.2f}{c.recall:5.2f}" for c in cells)
    yield ""


def _documents(folder: Path) -> list[Mapping[str, str]]:
    return [json.loads(line) for line in _lines(folder / "docs.jsonl.gz", partial(gzip.open, mode="rt"))]


def _queries(folder: Path) -> list[Labelled]:
    right = defaultdict(set)
    for line in _lines(folder / "qrels.tsv", open):
        query, page, grade = line.split("\t")
        if grade.strip().isdigit() and int(grade):
            right[query].add(page)
    asked = [json.loads(line) for line in _lines(folder / "queries.jsonl", open)]
    return [
        Labelled(
            text=query["text"],
            kind=query["kind"],
            right=frozenset(right[query["id"]]),
            exclude=frozenset(query.get("exclude", ())),
        )
        for query in asked
        if right[query["id"]]
    ]


def _lines(path: Path, opened: Callable[..., object]) -> Iterator[str]:
    try:
        with opened(path, encoding="utf-8") as lines:
            yield from (line for line in lines if line.strip())
    except FileNotFoundError:
        raise SystemExit(
            f"{path} is missing. The folder holds one folder a collection ({', '.join(COLLECTIONS)}), each with "
            'docs.jsonl.gz of {"id", "title", "text"}, queries.jsonl of {"id", "text", "kind"} and qrels.tsv of query, '
            "document, grade. The four are made of public documents: of fastapi/fastapi, reactjs/react.dev and its "
            "Korean translation, huggingface/diffusers, cncf/glossary, github/opensource.guide and "
            "toss/frontend-fundamentals; of 18F/handbook; of songys/Question_pair; of IBM/mt-rag-benchmark. Any other "
            "labelled collection in this form can be measured with --collections"
        ) from None


def _edited(document: Mapping[str, str]) -> datetime:
    edited = datetime.fromisoformat(document["last_edited"]) if document.get("last_edited") else UNDATED
    return edited.astimezone(UTC) if edited.tzinfo else edited.replace(tzinfo=UTC)


def _page(document: Mapping[str, str]) -> Mapping[str, object]:
    # The notation takes these for marks of a block; a paragraph is all that is wanted.
    blocks = [{"paragraph": line} for line in document["text"].split("\n") if line.strip()][:20]
    return {"title": document["title"], "edited": f"{_edited(document):%Y-%m-%d %H:%M}", "blocks": blocks}


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("folder", type=Path, help="the labelled collections, one folder each")
    parser.add_argument("--collections", nargs="+", default=COLLECTIONS, metavar="NAME", help="(default: all four)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())

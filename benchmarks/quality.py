"""Measure how well a run without Claude finds, over labelled queries: `--local` by titles, and notes in their text."""

import argparse
import gzip
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import httpx

from benchmarks import notes_quality
from benchmarks.labelled import Labelled, figures
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


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the collections of the folder and print a table of each."""
    options = _options(argv)
    notes: dict[str, notes_quality.Measured] = {}
    for name in options.collections:
        print(f"{name}", file=sys.stderr, flush=True)
        if not options.notes:
            for line in _table(name, measure(options.folder / name)):
                print(line)
        documents, queries = labelled(options.folder / name)
        notes[name] = notes_quality.measure(name, documents, queries, options.store)
    for line in notes_quality.report(notes):
        print(line)
    missed = notes_quality.missed(notes)
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed else 0


def measure(folder: Path) -> list[tuple[Labelled, Mapping[str, Sequence[str]]]]:
    """Return each labelled query of the collection with the ranking of every system, as document ids."""
    documents, queries = labelled(folder)
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


def labelled(folder: Path) -> tuple[list[Mapping[str, str]], list[Labelled]]:
    """Return the documents of a collection and its queries with the pages that are right."""
    documents, queries = _documents(folder), _queries(folder)
    if not documents or not queries:
        raise SystemExit(f"{folder}: no documents or no queries: nothing was measured")
    return documents, queries


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
    parser.add_argument("--notes", action="store_true", help="measure the search of notes alone")
    parser.add_argument("--store", type=Path, help="keep the indexes of notes here, for the next time")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())

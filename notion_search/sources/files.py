"""Files of a vault, wherever they lie: a folder, or an archive inside an archive."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of a vault, not yet read."""

    path: str
    """Where it lies inside the vault, with `/` between the parts, as the vault spells it."""
    size: int
    """Bytes."""
    stamp: str
    """Another whenever the file has changed."""
    edited: str
    """When it was last written, as an ISO time; empty where that is not known."""
    read: Callable[[], bytes]
    """Return the bytes. Raises OSError or ValueError."""

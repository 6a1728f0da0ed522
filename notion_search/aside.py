"""A file written beside its place and moved in: whoever reads it sees the old one or the new, whole."""

import os
import tempfile
from pathlib import Path


def write_aside(path: Path, data: bytes) -> None:
    """Put the file in its place, readable by its owner alone, its folder too. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp makes its file 0600 from the start.
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(beside).replace(path)
    except OSError:
        Path(beside).unlink(missing_ok=True)
        raise

"""Rankings and variants on disk, each a small JSON file kept for a day."""

import contextlib
import json
import shutil
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from .aside import write_aside
from .clock import utc_now
from .types import Notice

DAY = timedelta(hours=24)


class NoCache:
    """Keeps nothing."""

    def get(self, key: str) -> None:
        """Return None."""

    def put(self, key: str, value: Mapping[str, object]) -> None:
        """Do nothing."""


class FileCache:
    """One file a key, written beside its place and moved in, readable by its owner alone."""

    def __init__(
        self,
        folder: Path,
        notify: Callable[[Notice], None],
        now: Callable[[], datetime] = utc_now,
        ttl: timedelta = DAY,
    ) -> None:
        """Use the folder, which is made at the first write; say so once when that is impossible."""
        self._folder = folder
        self._notify = notify
        self._now = now
        self._ttl = ttl
        self._said = False

    def get(self, key: str) -> Mapping[str, object] | None:
        """Return the object stored under the key within the last day, or None; a broken file is deleted."""
        path = self._path(key)
        try:
            value = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError):
            self._discard(path)
            return None
        if not isinstance(value, dict) or not isinstance(value.get("cached_at"), str):
            self._discard(path)
            return None
        return value if self._is_fresh(value["cached_at"]) else None

    def put(self, key: str, value: Mapping[str, object]) -> None:
        """Store the object with the time; a cache that cannot be written costs one notice."""
        text = json.dumps({**value, "cached_at": self._now().isoformat(timespec="seconds")}, ensure_ascii=False)
        try:
            write_aside(self._path(key), text.encode())
        except OSError as error:
            self._say(f"the cache at {self._folder} cannot be written ({error.strerror}); nothing is kept")
        self._prune()

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _is_fresh(self, cached_at: str) -> bool:
        try:
            age = self._now() - datetime.fromisoformat(cached_at)
        except (ValueError, TypeError):  # not a time, or one without a zone
            return False
        return timedelta(0) <= age < self._ttl

    def _discard(self, path: Path) -> None:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            self._say(f"the cache at {self._folder} is damaged and cannot be mended ({error.strerror})")

    def _prune(self) -> None:
        """Delete what is past its day, and what a killed run left half written."""
        oldest = (self._now() - self._ttl).timestamp()
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                if path.suffix in (".json", ".part") and path.is_file() and path.stat().st_mtime < oldest:
                    path.unlink(missing_ok=True)

    def _say(self, text: str) -> None:
        if not self._said:
            self._said = True
            self._notify(Notice(stage="cache", text=text))

"""Notion's ids, as people paste them: bare, dashed or inside a link."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from ..errors import UsageError
from ..words import fit, inert

# Notion's ids are not version-4 UUIDs, so only the shape is checked.
_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# A slug may hold a hash of the same shape; the id is what stands last.
_LAST_ID = re.compile(rf"(?:{_ID.pattern})$", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HOSTS = ("notion.so", "notion.com", "notion.site")

# Every database of a run is resolved before the first search.
DATABASE_CAP = 50

_ACCEPTED = "give a 32-digit id or a link to the database on notion.so, notion.com or notion.site"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseRef:
    """What the user named with `--databases`: a database, or one of its data sources."""

    id: str
    """Dashed, lower case."""
    is_data_source: bool = False
    """True when the spelling says so; False says nothing, for both kinds look alike."""

    def __str__(self) -> str:
        """Return the shortest spelling that parses back to the same value."""
        return f"collection://{self.id}" if self.is_data_source else self.id


def parse_databases(values: Sequence[str]) -> tuple[DatabaseRef, ...]:
    """Return each database named once, in order; raises UsageError naming every value that is no id."""
    pieces = [piece for value in values for piece in re.split(r"[,\s]+", inert(value)) if piece]
    if not pieces:
        raise UsageError(f"--databases: no id given, and an empty value does not mean everything; {_ACCEPTED}")
    found = [(piece, parse_database(piece)) for piece in pieces]
    refs = _once(ref for _, ref in found if ref)
    bad = tuple(dict.fromkeys(piece for piece, ref in found if ref is None))
    if bad:
        raise UsageError(f"--databases: {_quoted(bad)}: not a database id; {_ACCEPTED}")
    if len(refs) > DATABASE_CAP:
        raise UsageError(f"--databases: at most {DATABASE_CAP} ids, got {len(refs)}")
    return refs


def parse_database(text: str) -> DatabaseRef | None:
    """Return the database or data source the text names, or None; a view or a row open beside it does not count."""
    if _ID.fullmatch(text):
        return DatabaseRef(id=dashed(text))
    scheme, _, rest = text.partition("://")
    if scheme.lower() == "collection" and _ID.fullmatch(rest):
        return DatabaseRef(id=dashed(rest), is_data_source=True)
    link = _link(text)
    return DatabaseRef(id=link.path_id) if link and link.path_id else None


def parse_page(text: str) -> str | None:
    """Return the dashed id of the page the text names, or None; a row open beside its database is the page."""
    if _ID.fullmatch(text):
        return dashed(text)
    link = _link(text)
    return (link.peek_id or link.path_id) if link else None


def dashed(text: str) -> str:
    """Return an id dashed and in lower case; any other text unchanged."""
    if not _ID.fullmatch(text):
        return text
    plain = text.replace("-", "").lower()
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))


def _once(refs: Iterable[DatabaseRef]) -> tuple[DatabaseRef, ...]:
    kept: dict[str, DatabaseRef] = {}
    for ref in refs:
        if ref.id not in kept or ref.is_data_source:
            kept[ref.id] = ref
    return tuple(kept.values())


def _quoted(pieces: Sequence[str]) -> str:
    shown = pieces[:DATABASE_CAP]
    width = min(40, max(12, 150 // len(shown)))
    names = ", ".join(f"'{fit(piece, width)}'" for piece in shown)
    return names if len(shown) == len(pieces) else f"{names} and {len(pieces) - len(shown)} more"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    path_id: str | None
    peek_id: str | None
    """The page opened beside what the path names."""


def _link(text: str) -> _Link | None:
    try:
        parts = urlsplit(text if _SCHEME.match(text) else f"https://{text}")
        host = parts.hostname or ""
    except ValueError:  # such as an unclosed bracket
        return None
    if not (parts.scheme == "notion" or (parts.scheme in ("https", "http") and _is_notion(host))):
        return None
    peek = parse_qs(parts.query).get("p", [""])[0]
    return _Link(
        path_id=_last_id(parts.netloc + parts.path),  # the app's own links may have no host
        peek_id=dashed(peek) if _ID.fullmatch(peek) else None,
    )


def _is_notion(host: str) -> bool:
    return any(host == known or host.endswith(f".{known}") for known in _HOSTS)


def _last_id(path: str) -> str | None:
    match = _LAST_ID.search(path.rstrip("/").rpartition("/")[2])
    return dashed(match.group()) if match else None

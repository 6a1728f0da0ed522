"""Files of Google Drive, through the `gws` program; Drive's shapes stop here."""

import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..children import find_program
from ..errors import SourceError
from ..types import Candidate, Listing, Page, Run, Scope
from ..words import clean, clip, has_text, inert
from .contents import capped, decoded, opening_words, pdf_page, table_of
from .gws import HOME_PAGE, Gws, RefusedError, account
from .properties import UNTITLED

PAGE_SIZE = 20
SHORTCUT_CAP = 5  # a listing; each costs a call of its own
SHORTCUT_SHARE = 0.5  # of the time left, so that a shortcut that hangs takes not the whole listing with it
SIZE_CAP = 10_000_000  # bytes; Drive itself exports no more
EXCERPT_LENGTH = 200

DOC = "application/vnd.google-apps.document"
SHEET = "application/vnd.google-apps.spreadsheet"
SHORTCUT = "application/vnd.google-apps.shortcut"
KINDS = {
    DOC: "doc",
    SHEET: "sheet",
    "text/csv": "sheet",
    "application/pdf": "pdf",
    **dict.fromkeys(("text/plain", "text/markdown", "text/x-markdown"), "text"),
}
# A file of Google's own is exported, to the first of these that Drive agrees to; any other is sent as it is.
EXPORTS = {DOC: ("text/markdown", "text/plain"), SHEET: ("text/csv",)}

_FIELDS = "id,name,mimeType,modifiedTime,webViewLink,size"
_ID = re.compile(r"[A-Za-z0-9_-]+")
_LINK = re.compile(r"https://[!-~]+")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9]{2}:[0-9]{2})")
# A document's pictures follow its text, each as one line of base64.
_PICTURE = re.compile(r"^\[image\d+\]: <data:[^>\n]*>?$", re.MULTILINE)


def connect(environ: Mapping[str, str], *, folder: Path | None = None) -> "DriveSource":
    """Return the Drive `gws` is signed in to; where there is no `gws`, it is the first search that says so.

    What is downloaded lies below `folder`, else in the system's place for such files, while it is read.
    """
    path = find_program("gws", environ.get("PATH", ""))
    return DriveSource(Gws(path, environ, folder=folder) if path else None, environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    mime: str
    size: int


class DriveSource:
    """Files of Google Drive, shared drives included; safe to use from many threads."""

    name = "drive"
    read_cap: int | None = 10
    """How many files of a run are worth reading: each is downloaded whole."""

    def __init__(self, program: Gws | None, environ: Mapping[str, str]) -> None:
        """Without a program every search raises SourceError."""
        self._program = program
        self._environ = environ
        self._files: dict[str, _File] = {}
        self._pages: dict[str, Page] = {}
        self._asked: set[str] = set()
        self._lock = threading.Lock()

    def search(self, variant: str, scope: Scope, run: Run) -> Listing:
        """Return the documents, tables, PDFs and texts that hold the variant's words, in Drive's own order."""
        if scope != Scope():  # it names databases of Notion, and no file is in one
            return Listing(source=self.name, variant=variant, candidates=())
        count = PAGE_SIZE if variant.strip() else 1
        params = {
            "q": _query(variant),
            "pageSize": count,
            "fields": f"files({_FIELDS},shortcutDetails)",
            "supportsAllDrives": True,
            "includeItemsFromAllDrives": True,
            "corpora": "allDrives",
        }
        listed = [file for answer in self._gws().ask("list", params, run) for file in _listed(answer)]
        files = self._resolved(listed, run)
        found_by = (variant,) if variant else ()
        found = tuple(_candidate(file, position, found_by) for position, file in enumerate(files, 1))
        return Listing(source=self.name, variant=variant, candidates=found, complete=len(listed) < count)

    def read(self, candidate: Candidate, run: Run) -> Candidate:
        """Return the candidate with the first words of its text; both are empty where it has none."""
        opening = opening_words(self.text(candidate, run).text)
        return replace(candidate, read=True, excerpt=clip(opening, EXCERPT_LENGTH), opening=opening)

    def text(self, candidate: Candidate, run: Run) -> Page:
        """Return the candidate's text, at most 100,000 characters, at no call the second time.

        Raises SourceError for one file more than `read_cap`.
        """
        with self._lock:
            if candidate.id not in self._asked and len(self._asked) == DriveSource.read_cap:
                raise SourceError(f"of Google Drive {DriveSource.read_cap} files a run are read at most")
            self._asked.add(candidate.id)
        page = self._pages.get(candidate.id) or self._fetched(candidate.id, run)
        self._pages[candidate.id] = page
        return page

    def workspace(self, run: Run) -> str:
        """Return a name for the login the files are read with, of which no part is secret. Raises SourceError."""
        return account(self._environ)

    def close(self) -> None:
        """End the calls under way."""
        if self._program:
            self._program.close()

    def _gws(self) -> Gws:
        if self._program is None:
            raise SourceError(f"Google Drive needs the gws program, which is not on PATH: {HOME_PAGE} says how")
        return self._program

    def _resolved(self, listed: Sequence[Mapping[str, object]], run: Run) -> tuple[Mapping[str, object], ...]:
        """Return the files that hold text, each once, a shortcut as the file it points to."""
        direct = {file["id"] for file in listed if _kind(file)}
        targets = dict.fromkeys(target for file in listed if (target := _target(file)) and target not in direct)
        asked = list(targets)[:SHORTCUT_CAP]
        answered = run.pace.gather([partial(self._metadata, target, run) for target in asked], run) if asked else []
        found = {target: answer for target, answer in zip(asked, answered, strict=True) if isinstance(answer, Mapping)}
        files = (found.get(target, {}) if (target := _target(file)) else file for file in listed)
        kept: dict[str, Mapping[str, object]] = {}
        for file in filter(_kind, files):
            kept.setdefault(str(file["id"]), file)
        self._files.update({file_id: _file(file) for file_id, file in kept.items()})
        return tuple(kept.values())

    def _metadata(self, file_id: str, run: Run) -> Mapping[str, object]:
        params = {"fileId": file_id, "fields": f"{_FIELDS},trashed", "supportsAllDrives": True}
        file = self._gws().ask("get", params, run.within(SHORTCUT_SHARE))[0]
        return {} if file.get("trashed") is True else file

    def _fetched(self, file_id: str, run: Run) -> Page:
        file = self._files.get(file_id) or _file(self._metadata(file_id, run))
        kind = KINDS.get(file.mime)
        if kind is None:
            raise SourceError("the file is no longer one that holds text")
        if file.size > SIZE_CAP:
            raise SourceError(f"the file is larger than {SIZE_CAP // 1_000_000} MB")
        data = self._downloaded(file_id, file, run)
        cut = len(data) > SIZE_CAP
        if kind == "pdf":
            if cut:
                raise SourceError(f"the file is larger than {SIZE_CAP // 1_000_000} MB")
            return pdf_page(data, run)
        text = decoded(data[:SIZE_CAP])
        if kind == "sheet":
            table, shortened = table_of(text)
            return capped(table, truncated=cut or shortened)
        return capped(_PICTURE.sub("", text) if file.mime == DOC else text, truncated=cut)

    def _downloaded(self, file_id: str, file: _File, run: Run) -> bytes:
        """Return the file's bytes, one more than the cap of a file that has more."""
        gws = self._gws()
        if file.mime not in EXPORTS:
            params: Mapping[str, object] = {"fileId": file_id, "alt": "media", "supportsAllDrives": True}
            return gws.fetch("get", params, run, limit=SIZE_CAP + 1)
        *preferred, last = EXPORTS[file.mime]
        for mime in preferred:
            with suppress(RefusedError):
                return gws.fetch("export", {"fileId": file_id, "mimeType": mime}, run, limit=SIZE_CAP + 1)
        return gws.fetch("export", {"fileId": file_id, "mimeType": last}, run, limit=SIZE_CAP + 1)


def _query(variant: str) -> str:
    # Backslashes first, or the one that guards a quote would itself be doubled.
    words = clean(variant).replace("\\", "\\\\").replace("'", "\\'")
    return f"fullText contains '{words}' and trashed = false" if variant.strip() else "trashed = false"


def _listed(answer: Mapping[str, object]) -> list[Mapping[str, object]]:
    files = answer.get("files")
    return [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []


def _kind(file: Mapping[str, object]) -> str | None:
    """Return what the file is, None for one that holds no text or cannot be asked for."""
    return KINDS.get(_mime(file.get("mimeType"))) if _is_id(file.get("id")) else None


def _mime(value: object) -> str:
    return value.partition(";")[0].strip().lower() if isinstance(value, str) else ""


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _target(file: Mapping[str, object]) -> str | None:
    """Return the id of the file a shortcut points to, None for one that cannot be shown."""
    details = file.get("shortcutDetails")
    if _mime(file.get("mimeType")) != SHORTCUT or not isinstance(details, dict):
        return None
    target, mime = details.get("targetId"), details.get("targetMimeType")
    return str(target) if _is_id(target) and (mime is None or _mime(mime) in KINDS) else None


def _file(raw: Mapping[str, object]) -> _File:
    size = raw.get("size")  # a string: it may be more than JSON's readers can hold
    digits = size if isinstance(size, str) and size.isascii() and size.isdigit() else "0"
    mime = _mime(raw.get("mimeType"))
    # What Drive counts for a file of its own are the pictures and the history, not the text.
    return _File(mime=mime, size=0 if mime in EXPORTS else int(digits[:20]))


def _candidate(raw: Mapping[str, object], position: int, found_by: tuple[str, ...]) -> Candidate:
    name, link, edited = raw.get("name"), raw.get("webViewLink"), raw.get("modifiedTime")
    title = inert(clean(name)) if isinstance(name, str) else ""
    return Candidate(
        source=DriveSource.name,
        id=str(raw["id"]),
        url=link
        if isinstance(link, str) and _LINK.fullmatch(link)
        else f"https://drive.google.com/open?id={raw['id']}",
        title=title if has_text(title) else UNTITLED,
        edited=edited if isinstance(edited, str) and _TIME.fullmatch(edited) else None,
        position=position,
        found_by=found_by,
        kind=_kind(raw) or "",
    )

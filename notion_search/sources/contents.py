"""Downloaded files as text: whatever their encoding, tables of values, PDFs."""

import codecs
import csv
import io
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

from ..prose import plain
from ..types import Page, Run
from ..words import clean, clip, has_text, inert

TEXT_CAP = 100_000  # characters
TABLE_ROWS = 20
TABLE_COLUMNS = 100
CELL_CAP = 1_000  # characters; a whole row of such cells fills the text
PDF_PAGES = 50
PDF_LIMIT = 4.0  # seconds; fifty pages of a paper take one or two
OPENING_LENGTH = 500
BEGINNING = 4_000  # characters that an opening is looked for in


def decoded(data: bytes) -> str:
    """Return the bytes as text: UTF-8, else UTF-16 by its mark, else Korean Windows (cp949), else Latin-1."""
    utf_16 = ("utf-16",) if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else ()
    for encoding in ("utf-8-sig", *utf_16, "cp949"):
        # Not told that this is the end, a decoder forgives a character cut in two there.
        with suppress(UnicodeDecodeError):
            text: str = codecs.getincrementaldecoder(encoding)().decode(data)
            return text
    return data.decode("latin-1")


def table_of(text: str) -> tuple[str, bool]:
    """Return the first rows of comma-separated values as a Markdown table, and whether there were more."""
    rows: list[list[str]] = []
    whole = False
    # A quotation mark that is never closed makes a field longer than the reader takes.
    with suppress(csv.Error):
        reader = csv.reader(io.StringIO(text, newline=""))
        for row in islice((row for row in reader if any(map(has_text, row[:TABLE_COLUMNS]))), TABLE_ROWS + 2):
            rows.append(row)
        whole = True
    kept = [[cell[:CELL_CAP] for cell in row[:TABLE_COLUMNS]] for row in rows[: TABLE_ROWS + 1]]
    width = max(map(len, kept), default=0)
    lines: list[str] = []
    for row in kept:
        lines.append(_row([*map(_cell, row), *[""] * (width - len(row))]))
        if len(lines) == 1:
            lines.append(_row(["---"] * width))
        if sum(map(len, lines)) > TEXT_CAP:
            break
    return "\n".join(
        lines
    ), kept != rows or not whole  # what is over the cap is cut, and said to be, with any other text


def _cell(text: str) -> str:
    return inert(text).replace("\\", "\\\\").replace("|", "\\|")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def capped(text: str, *, truncated: bool) -> Page:
    """Return the text composed, at most 100,000 characters, with LF between its lines."""
    # Composed after it is cut: composing a document of any length takes its time.
    whole = clean("\n".join(text[: TEXT_CAP + 1].splitlines())).strip()
    return Page(text=whole[:TEXT_CAP], truncated=truncated or len(text) > TEXT_CAP)


def pdf_page(data: bytes, run: Run) -> Page:
    """Return the text of the pages of a PDF that a few seconds suffice for; a scanned or damaged one has none."""
    # In a thread of its own: one page of a hostile file keeps the reader busy for hours, and no run waits for it.
    until = time.monotonic() + min(PDF_LIMIT, run.left() / 2)
    texts: list[str] = []
    more = run.pace.submit(partial(_read_pages, data, until, texts), run).outcome(until)
    return capped("\n\n".join(texts), truncated=more is not False)


def _read_pages(data: bytes, until: float, texts: list[str]) -> bool:
    """Add each page's text as soon as it is read, for whoever waits no longer; return whether there were more pages."""
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)
    pages = 0
    # A damaged or hostile file makes it raise nearly anything.
    with suppress(Exception):
        reader = pypdf.PdfReader(io.BytesIO(data))
        pages = len(reader.pages)
        for page in islice(reader.pages, PDF_PAGES):
            if time.monotonic() > until or sum(map(len, texts)) > TEXT_CAP:
                break
            texts.append(page.extract_text())
    return len(texts) < pages


def opening_words(markdown: str) -> str:
    """Return the first words as one line without Markdown's marks, at most 500 characters."""
    lines = (inert(line) for line in plain(markdown[:BEGINNING]).splitlines())
    return clip(" ".join(line for line in lines if has_text(line)), OPENING_LENGTH)

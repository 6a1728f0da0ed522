"""Terms that say the same at work, from the package's table and the user's own."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .types import Notice
from .words import fold, inert, singular, stem

FILE_NAME = "synonyms.txt"
TERM_CAP = 60  # characters; a longer one is a sentence
LINE_CAP = 5_000
SIZE_CAP = 1_000_000  # bytes

_SEPARATOR = re.compile(r"(?:^| )/(?= |$)")
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
# No character is made of more than four (https://www.unicode.org/faq/normalization.html, "expansion factors"), so a
# longer term is too long in any form; and composing a long run of marks takes the square of its length.
_COMPOSED_FROM = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Synonyms:
    """Groups of terms that stand for each other; the first group that holds a term is the one that counts."""

    groups: tuple[tuple[str, ...], ...] = ()
    _first: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        folded = [(fold(term), group) for group in reversed(self.groups) for term in group]
        plurals = {singular(said): group for said, group in folded if said.endswith("s")}
        object.__setattr__(self, "_first", plurals | dict(folded))

    def of(self, term: str) -> tuple[str, ...]:
        """Return the other terms of the first group that holds the term, as it is or plain; empty when none.

        Case and blanks do not matter, and "vendors" is found where "vendor" stands, "회의록은" where "회의록" does.
        """
        said = fold(term)
        group = self._first.get(said) or self._first.get(_plain(said), ())
        return tuple(other for other in group if _plain(fold(other)) != _plain(said))


def _plain(said: str) -> str:
    # Of an English word only the plural goes: "account" is not accounting, nor is "market" marketing.
    return " ".join(singular(word) if word.isascii() else stem(word) for word in said.split())


def parse(text: str) -> Synonyms:
    """Return the groups of a table, one a line; raises ValueError naming the line that is none."""
    if len(text) > SIZE_CAP or len(text.encode(errors="replace")) > SIZE_CAP:
        raise ValueError(f"larger than {SIZE_CAP:,} bytes")
    lines = [line.strip() for line in text.removesuffix("\n").split("\n")]
    if len(lines) > LINE_CAP:
        raise ValueError(f"line {LINE_CAP + 1}: more than {LINE_CAP:,} lines")
    numbered = [(line, number) for number, line in enumerate(lines, 1) if line and line[0] != "#"]
    return Synonyms(groups=tuple(_group(line, number) for line, number in numbered))


def load(folder: Path | None, notify: Callable[[Notice], None]) -> Synonyms:
    """Return the package's groups, behind those of the user's own file in the folder where there is one.

    A file of no use is told in one notice and left out.
    """
    # Imported here, where it is needed: it takes longer than all the rest of this, and many runs never come here.
    from importlib.resources import files

    own = _own(folder / FILE_NAME, notify) if folder else Synonyms()
    package = parse((files(__package__) / FILE_NAME).read_text(encoding="utf-8"))
    return Synonyms(groups=own.groups + package.groups) if own.groups else package


def _group(line: str, number: int) -> tuple[str, ...]:
    if not line.isprintable() and any(unicodedata.category(char) in _UNSEEN for char in line):
        raise ValueError(f"line {number}: a control or invisible character")
    group = tuple(_composed(term.strip()) for term in _SEPARATOR.split(" ".join(line.split())))
    if "" in group:
        raise ValueError(f"line {number}: a blank term")
    if len(group) < 2:
        raise ValueError(f'line {number}: fewer than two terms; " / " stands between terms')
    if max(map(len, group)) > TERM_CAP:
        raise ValueError(f"line {number}: a term of more than {TERM_CAP} characters")
    return group


def _composed(term: str) -> str:
    if term.isascii() or len(term) > _COMPOSED_FROM * TERM_CAP:
        return term
    return unicodedata.normalize("NFC", term)


def _own(path: Path, notify: Callable[[Notice], None]) -> Synonyms:
    try:
        return parse(_text(path))
    except FileNotFoundError:
        return Synonyms()
    except OSError as error:
        reason = error.strerror or "it cannot be read"
    except ValueError as error:
        reason = str(error)
    notify(Notice(stage="expand", text=f"{inert(str(path))} is left out: {reason}"))
    return Synonyms()


def _text(path: Path) -> str:
    """Return the file's text; raises OSError, or ValueError naming the line that is not UTF-8."""
    # Opening a pipe would wait for its writer.
    if path.exists() and not path.is_file():
        raise ValueError("not a file")
    with path.open("rb") as file:
        data = file.read(SIZE_CAP + 1)
    if len(data) > SIZE_CAP:
        raise ValueError(f"larger than {SIZE_CAP:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {number}: not UTF-8") from None

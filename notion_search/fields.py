"""The few properties of a page worth showing, as text: the same in the prompt and in the table."""

from collections.abc import Mapping

from .types import Plain
from .words import fold, inert

# What a reader would look at first, whatever order the database has.
KEY_PROPERTIES = ("Status", "Topic", "Type")

# How databases say that a page is no longer in use, there being no such mark on a page that can still be found.
STATES = ("status", "state", "상태")
ARCHIVED = ("archived", "archive", "deprecated", "obsolete", "보관", "보관됨", "폐기")

# A longer value is prose; the excerpt has that.
LONGEST = 60  # characters


def key_properties(properties: Mapping[str, Plain]) -> list[tuple[str, str]]:
    """Return the short properties as text: Status, Topic and Type first, the rest in the database's order."""
    known = [name for wanted in KEY_PROPERTIES for name in properties if fold(name) == fold(wanted)]
    names = dict.fromkeys((*known, *properties))
    shown = ((inert(name), _as_text(properties[name])) for name in names)
    return [(name, text) for name, text in shown if text and len(text) <= LONGEST]


def is_archived(properties: Mapping[str, Plain]) -> bool:
    """Whether the page's own status says that it is out of use."""
    return any(fold(name) in STATES and fold(str(value)) in ARCHIVED for name, value in properties.items())


def _as_text(value: Plain) -> str:
    if isinstance(value, tuple):
        return ", ".join(filter(None, (_as_text(item) for item in value)))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return inert(str(value))

"""The few properties of a page worth showing, as text: the same in the prompt and in the table."""

from collections.abc import Mapping

from .types import Plain
from .words import fold, inert

# What a reader would look at first, whatever order the database has.
KEY_PROPERTIES = ("Status", "Topic", "Type")

# A longer value is prose; the excerpt has that.
LONGEST = 60  # characters


def key_properties(properties: Mapping[str, Plain]) -> list[tuple[str, str]]:
    """Return the short properties as text: Status, Topic and Type first, the rest in the database's order."""
    known = [name for wanted in KEY_PROPERTIES for name in properties if fold(name) == fold(wanted)]
    names = dict.fromkeys((*known, *properties))
    shown = ((inert(name), _as_text(properties[name])) for name in names)
    return [(name, text) for name, text in shown if text and len(text) <= LONGEST]


def _as_text(value: Plain) -> str:
    if isinstance(value, tuple):
        return ", ".join(filter(None, (_as_text(item) for item in value)))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return inert(str(value))

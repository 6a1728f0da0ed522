"""The properties of one database, found by the names people type; and how `--filter` is refused."""

import difflib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from ..errors import UsageError
from ..words import fit, fold, has_text, inert

OWN_FORM = 'for other tests use Notion\'s own form, {"property": NAME, TYPE: {...}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A property of one database, as its schema has it."""

    name: str
    kind: str
    options: tuple[str, ...]
    prefix: str
    where: str

    def __str__(self) -> str:
        return f"{shown(self.name)} in {shown(self.where)}"

    def option(self, wanted: str) -> str:
        """Return the option as the schema spells it; raises UsageError for one it lacks."""
        spelled = _spelled(wanted, self.options)
        if spelled is None:
            raise _unknown(f"no option {shown(wanted)} in property {self}", wanted, self.options)
        return spelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """One database's properties, for looking them up."""

    schema: Mapping[str, object]
    where: str

    def named(self, name: str) -> Column:
        """Return the property of this name; raises UsageError when there is none."""
        spelled = _spelled(name, self.schema)
        if spelled is None:
            raise _unknown(f"no property {shown(name)} in {shown(self.where)}", name, self.schema)
        return _column(spelled, self.schema[spelled], self.where)

    def called(self, name_or_id: str) -> Column:
        """Return the property of this name or id, as Notion takes either."""
        ids = {known: name for name, prop in self.schema.items() if (known := _text(prop, "id"))}
        by_id = ids.get(name_or_id) or {unquote(known): name for known, name in ids.items()}.get(unquote(name_or_id))
        return self.named(by_id if by_id and name_or_id not in self.schema else name_or_id)


def _column(name: str, prop: object, where: str) -> Column:
    kind = type_of(prop)
    inner = prop.get(kind) if isinstance(prop, Mapping) else None
    options = inner.get("options") if isinstance(inner, Mapping) else None
    names = [_text(option, "name") for option in options] if isinstance(options, list) else []
    return Column(name=name, kind=kind, options=tuple(names), prefix=_text(inner, "prefix"), where=where)


def type_of(prop: object) -> str:
    """Return the type of a property as a schema has it, empty where it has none."""
    return _text(prop, "type")


def _text(thing: object, key: str) -> str:
    value = thing.get(key) if isinstance(thing, Mapping) else None
    return value if isinstance(value, str) else ""


def _spelled(wanted: str, names: Iterable[str]) -> str | None:
    # The same word may be composed here and decomposed there; the database's spelling is the one that works.
    listed = list(names)
    if wanted in listed:
        return wanted
    composed = unicodedata.normalize("NFC", wanted)
    return next((name for name in listed if unicodedata.normalize("NFC", name) == composed), None)


def _unknown(what: str, wanted: str, names: Iterable[str]) -> UsageError:
    known = [name for name in names if has_text(name)]
    listed = ", ".join(shown(name) for name in known[:12]) or "nothing"
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return refusal(f"{what}{_hint(wanted, known)} there is {listed}{more}")


def _hint(wanted: str, names: Sequence[str]) -> str:
    folded = {fold(name): name for name in names}
    if same := folded.get(fold(wanted)):
        return f"; {shown(same)} differs only by case;"
    close = difflib.get_close_matches(fold(wanted)[:100], folded, n=1)
    return f"; did you mean {shown(folded[close[0]])}?" if close else ";"


def kind_of(value: object) -> str:
    """Return what a JSON value is, in words."""
    if value is None:
        return "null"
    names = {bool: "true or false", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")


def shown(text: str) -> str:
    """Return a name from outside in quotes, inert and short."""
    return f'"{fit(inert(text), 40)}"'


def refusal(text: str) -> UsageError:
    """Return the error for a filter that cannot be used."""
    return UsageError(f"--filter: {text}")

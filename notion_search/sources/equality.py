"""`--filter` over notes: a property has the value, whatever its case, or holds it among others."""

from collections.abc import Callable, Collection, Mapping

from ..errors import UsageError
from ..types import Plain
from ..words import fold, quoted
from .filters import is_native

NAME_LENGTH = 60


def compiled(wanted: Mapping[str, object], known: Collection[str]) -> Callable[[Mapping[str, Plain]], bool]:
    """Return the test of a note's properties; names are compared whatever their case.

    Raises UsageError for Notion's own form, a value no property can have, and a name no note has.
    """
    if is_native(wanted):
        raise UsageError('--filter: notes are filtered by equality alone, as {"status": "done"}')
    names = {fold(name) for name in known}
    for name in wanted:
        if fold(name) not in names:
            listed = ", ".join(sorted(quoted(own, NAME_LENGTH) for own in known)[:10]) or "none"
            raise UsageError(f"--filter: no note has a property '{quoted(name, NAME_LENGTH)}'; there are: {listed}")
    asked = {fold(name): _spellings(name, value) for name, value in wanted.items()}

    def passes(properties: Mapping[str, Plain]) -> bool:
        own = {fold(name): value for name, value in properties.items()}
        return all(_has(own.get(name), values) for name, values in asked.items())

    return passes


def _spellings(name: str, value: object) -> frozenset[str]:
    values = value if isinstance(value, list | tuple) else [value]
    if not values or not all(isinstance(one, str | int | float | bool) for one in values):
        raise UsageError(f"--filter: '{quoted(name, NAME_LENGTH)}': expected a text, a number, true, false or a list")
    return frozenset(map(_spelled, values))


def _has(value: Plain | None, wanted: frozenset[str]) -> bool:
    own = value if isinstance(value, tuple) else () if value is None else (value,)
    return not wanted.isdisjoint(map(_spelled, own))


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    return fold(str(number)).removeprefix("#")

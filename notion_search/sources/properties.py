"""Notion's property objects as plain values; whatever is empty, unknown or misshapen is left out."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

from ..types import Plain
from ..words import clean, has_text
from .ids import dashed

UNTITLED = "Untitled"

# Notion sends 25 pages of a relation at most; what stands for the others must not look like an id.
MORE = "…"

Property = Mapping[str, object]


def title_of(page: Mapping[str, object]) -> str:
    """Return the page's title, never blank: `Untitled` stands for one in which nothing can be seen."""
    # A database row may keep its title under any name; only the type "title" is certain.
    titles = (prop.get("title") for _, prop in _properties(page) if prop.get("type") == "title")
    return next((text for title in titles if (text := _text(rich_text(title)))), UNTITLED)


def plain_properties(page: Mapping[str, object]) -> dict[str, Plain]:
    """Return the properties that are set, in the page's order, without the title."""
    values = ((name, _plain(prop)) for name, prop in _properties(page) if prop.get("type") != "title")
    return {clean(name): value for name, value in values if value is not None}


def rich_text(pieces: object) -> str:
    """Return the pieces joined as they stand, composed (NFC); empty for anything but a list of pieces."""
    return clean("".join(_piece(piece) for piece in _objects(pieces)))


def _piece(piece: Mapping[str, object]) -> str:
    spellings = (
        piece.get("plain_text"),
        _object(piece.get("text")).get("content"),
        _object(piece.get("equation")).get("expression"),
    )
    return next((text for text in spellings if isinstance(text, str) and text), "")


def _properties(page: Mapping[str, object]) -> Iterator[tuple[str, Property]]:
    for name, prop in _object(page.get("properties")).items():
        if isinstance(prop, Mapping):
            yield name, prop


def _plain(prop: Property) -> Plain | None:
    kind = prop.get("type")
    render = _BY_TYPE.get(kind) if isinstance(kind, str) else None
    return render(prop) if render else None


def _words(prop: Property) -> Plain | None:
    return _text(rich_text(prop.get(str(prop["type"]))))


def _string(prop: Property) -> Plain | None:
    return _text(prop.get(str(prop["type"])))


def _number(prop: Property) -> Plain | None:
    number = prop.get("number")
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return number if isinstance(number, int) or math.isfinite(number) else None


def _truth(prop: Property) -> Plain | None:
    truth = prop.get(str(prop["type"]))
    return truth if isinstance(truth, bool) else None


def _option(prop: Property) -> Plain | None:
    return _text(_object(prop.get(str(prop["type"]))).get("name"))


def _options(prop: Property) -> Plain | None:
    return _list(_text(option.get("name")) for option in _objects(prop.get("multi_select")))


def _person(prop: Property) -> Plain | None:
    return _name_or_id(_object(prop.get(str(prop["type"]))))


def _people(prop: Property) -> Plain | None:
    return _list(_name_or_id(person) for person in _objects(prop.get("people")))


def _name_or_id(person: Mapping[str, object]) -> str | None:
    # Without the capability to read users, Notion sends an id and nothing else.
    return _text(person.get("name")) or _text(person.get("id"))


def _files(prop: Property) -> Plain | None:
    return _list(_file_name(file) for file in _objects(prop.get("files")))


def _file_name(file: Mapping[str, object]) -> str | None:
    name = _text(file.get("name"))
    if not name or "://" not in name:
        return name
    # Notion names a linked file by its address, which may carry a signature.
    path = name.partition("?")[0].partition("#")[0]
    return _text(path.rstrip("/").rpartition("/")[2])


def _relation(prop: Property) -> Plain | None:
    ids = [_text(page.get("id")) for page in _objects(prop.get("relation"))]
    return _list([*(dashed(page) for page in ids if page), MORE if prop.get("has_more") is True else None])


def _date(prop: Property) -> Plain | None:
    date = _object(prop.get("date"))
    start, end = _text(date.get("start")), _text(date.get("end"))
    return f"{start}/{end}" if start and end else start


def _unique_id(prop: Property) -> Plain | None:
    unique = _object(prop.get("unique_id"))
    number, prefix = unique.get("number"), _text(unique.get("prefix"))
    if isinstance(number, bool) or not isinstance(number, int):
        return None
    return f"{prefix}-{number}" if prefix else str(number)


def _verification(prop: Property) -> Plain | None:
    return _text(_object(prop.get("verification")).get("state"))


def _place(prop: Property) -> Plain | None:
    place = _object(prop.get("place"))
    where = (_number({"number": place.get(axis)}) for axis in ("lat", "lon"))
    known = [str(degrees) for degrees in where if degrees is not None]
    return _text(place.get("name")) or _text(place.get("address")) or (", ".join(known) if len(known) == 2 else None)


def _computed(prop: Property) -> Plain | None:
    result = _object(prop.get(str(prop["type"])))
    kind = result.get("type")
    render = _BY_RESULT.get(kind) if isinstance(kind, str) else None
    return render(result) if render else None


def _array(result: Property) -> Plain | None:
    values: list[str | int | float | bool] = []
    for prop in _leaves(result):
        value = _plain(prop)
        values.extend(value if isinstance(value, tuple) else () if value is None else (value,))
    return tuple(values) or None


def _leaves(result: Property) -> Iterator[Property]:
    # A rollup of rollups nests; a queue, not recursion, so that no depth can stop the run.
    waiting = deque(_objects(result.get("array")))
    while waiting:
        prop = waiting.popleft()
        inner = _object(prop.get("rollup"))
        if prop.get("type") == "rollup" and inner.get("type") == "array":
            waiting.extendleft(reversed(list(_objects(inner.get("array")))))
        else:
            yield prop


_BY_TYPE: Mapping[str, Callable[[Property], Plain | None]] = {
    "title": _words,
    "rich_text": _words,
    "url": _string,
    "email": _string,
    "phone_number": _string,
    "created_time": _string,
    "last_edited_time": _string,
    "number": _number,
    "checkbox": _truth,
    "select": _option,
    "status": _option,
    "multi_select": _options,
    "people": _people,
    "created_by": _person,
    "last_edited_by": _person,
    "files": _files,
    "relation": _relation,
    "date": _date,
    "unique_id": _unique_id,
    "verification": _verification,
    "place": _place,
    "formula": _computed,
    "rollup": _computed,
}

_BY_RESULT: Mapping[str, Callable[[Property], Plain | None]] = {
    "string": _string,
    "number": _number,
    "boolean": _truth,
    "date": _date,
    "array": _array,
}


def _text(value: object) -> str | None:
    return clean(value).strip() if isinstance(value, str) and has_text(value) else None


def _list(values: Iterable[str | None]) -> Plain | None:
    return tuple(value for value in values if value) or None


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _objects(value: object) -> Iterator[Mapping[str, object]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, Mapping))

"""`--filter` and the query's words as one filter of Notion's own, checked against a database's schema."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..words import fit, has_text
from .columns import OWN_FORM, Column, Database, kind_of, refusal, shown, type_of
from .shorthand import Filter, conditions_for

Schema = Mapping[str, object]

# Notion takes 100 elements in a list; one place is kept for the condition on the query's words.
CLAUSE_CAP = 100
CONDITION_CAP = CLAUSE_CAP - 1

# A compound inside a compound; Notion refuses a third.
LEVEL_CAP = 2

_COMPOUNDS = ("and", "or")
_TIMESTAMPS = ("created_time", "last_edited_time")


def parse_filter(text: str) -> Filter | None:
    """Return what `--filter` asks for, None for nothing; raises UsageError for what no database could answer."""
    value = _loads(text)
    if not isinstance(value, dict):
        raise refusal(f"expected a JSON object, got {kind_of(value)}")
    if is_native(value):
        _check_native(value, level=1)
    else:
        _check_shorthand(value)
    return value or None


def is_native(property_filter: Filter) -> bool:
    """Whether this is Notion's own filter; a column may be called `and` or `property`, so the shape tells."""
    if any(_is_compound(property_filter.get(key)) for key in _COMPOUNDS):
        return True
    named = any(isinstance(property_filter.get(key), str) for key in ("property", "timestamp"))
    return named and any(isinstance(value, Mapping) for value in property_filter.values())


def compile_filter(property_filter: Filter, schema: Schema, where: str) -> Filter:
    """Return Notion's form of the filter, a native one as it is; raises UsageError for a name `where` lacks."""
    place = Database(schema=schema, where=where)
    if not is_native(property_filter):
        conditions = [
            part for name, value in property_filter.items() for part in conditions_for(place.named(name), value)
        ]
        return conditions[0] if len(conditions) == 1 else {"and": conditions}
    for condition in _conditions(property_filter):
        if "property" in condition:
            _check_options(place.called(str(condition["property"])), condition)
    return property_filter


def text_filter(words: Sequence[str], schema: Schema) -> Filter | None:
    """Return the rows that hold any of the words, titles asked first, 100 clauses at most; None without words."""
    wanted = tuple(dict.fromkeys(word for word in words if has_text(word)))
    kinds = {name: kind for name, prop in schema.items() if (kind := type_of(prop)) in ("title", "rich_text")}
    titles_first = sorted(kinds.items(), key=lambda column: column[1] != "title")
    clauses = [{"property": name, kind: {"contains": word}} for name, kind in titles_first for word in wanted]
    return {"or": clauses[:CLAUSE_CAP]} if clauses else None


def join(user: Filter | None, text: Filter | None) -> Filter | None:
    """Return both conditions as one, two levels deep at most; the last words give way where it grows too long."""
    if not user or not text:
        return user or text
    if not _is_compound(user.get("or")):
        return {"and": [*_branches(user, "and"), text]}
    branches = [inner for branch in _branches(user, "or") for inner in _branches(branch, "or")]
    if len(branches) > CLAUSE_CAP:
        return user
    if not any(_is_compound(branch.get("and")) for branch in branches):
        return {"and": [{"or": branches}, text]}
    # There is no third level: (a and b) or c, with words v or w, becomes (a and b and v) or (c and v) or ...
    clauses = _branches(text, "or")[: CLAUSE_CAP // len(branches)]
    return {"or": [{"and": [*_branches(branch, "and"), clause]} for clause in clauses for branch in branches]}


def _loads(text: str) -> object:
    try:
        value: object = json.loads(
            text, object_pairs_hook=_object, parse_constant=_not_finite, parse_float=_finite_float
        )
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise refusal("nested too deep") from error
    except UnicodeError as error:
        raise refusal("holds half of a character, which cannot be sent") from error
    except json.JSONDecodeError as error:
        raise refusal(f"not JSON ({error.msg}, character {error.pos + 1}): {shown(text)}") from error
    except ValueError as error:  # thousands of digits
        raise refusal("holds a number too large to be sent") from error
    return value


def _object(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise refusal(f"{shown(name)} is given twice")
        found[name] = value
    return found


def _not_finite(name: str) -> float:
    raise refusal(f"{name} is no JSON number")


def _finite_float(digits: str) -> float:
    return number if math.isfinite(number := float(digits)) else _not_finite(fit(digits, 20))


def _check_native(property_filter: Filter, *, level: int) -> None:
    key = next((key for key in _COMPOUNDS if key in property_filter), None)
    if key is None:
        _check_condition(property_filter)
        return
    parts = property_filter[key]
    if level > LEVEL_CAP:
        raise refusal("nested deeper than the two levels of and / or that Notion takes")
    if not isinstance(parts, list) or not _is_compound(parts):
        raise refusal(f'"{key}" takes a list of conditions')
    if len(property_filter) > 1:
        raise refusal(f'"{key}" stands alone in its object')
    if len(parts) > CONDITION_CAP:
        raise refusal(f'at most {CONDITION_CAP} conditions in "{key}", got {len(parts)}')
    for part in parts:
        _check_native(part, level=level + 1)


def _check_condition(condition: Filter) -> None:
    subjects = [key for key in ("property", "timestamp") if key in condition]
    tests = [value for key, value in condition.items() if key not in ("property", "timestamp", "type")]
    if len(subjects) != 1 or not isinstance(condition[subjects[0]], str):
        raise refusal('a condition names one "property", or one "timestamp"')
    if "timestamp" in condition and condition["timestamp"] not in _TIMESTAMPS:
        raise refusal(f'"timestamp" is {" or ".join(_TIMESTAMPS)}, not {shown(str(condition["timestamp"]))}')
    if len(tests) != 1 or not isinstance(tests[0], Mapping):
        raise refusal(f"the condition on {shown(str(condition[subjects[0]]))} takes one test, TYPE: {{...}}")


def _check_shorthand(shorthand: Filter) -> None:
    for name, value in shorthand.items():
        values = value if isinstance(value, list) else [value]
        if not values:
            raise refusal(f"{shown(name)}: the list is empty")
        if any(isinstance(part, Mapping | list) or (part is None and part is not value) for part in values):
            raise refusal(f"{shown(name)}: expected a value or a list of values; {OWN_FORM}")
    total = sum(len(value) if isinstance(value, list) else 1 for value in shorthand.values())
    if total > CONDITION_CAP:
        raise refusal(f"at most {CONDITION_CAP} values, got {total}")


def _conditions(property_filter: Filter) -> Iterator[Filter]:
    for key in _COMPOUNDS:
        if _is_compound(property_filter.get(key)):
            for part in _branches(property_filter, key):
                yield from _conditions(part)
            return
    yield property_filter


def _check_options(column: Column, condition: Filter) -> None:
    tests = condition.get(column.kind)
    if column.kind not in ("select", "status", "multi_select") or not isinstance(tests, Mapping):
        return
    for operator in ("equals", "does_not_equal", "contains", "does_not_contain"):
        wanted = tests.get(operator)
        for name in wanted if isinstance(wanted, list) else [wanted]:
            if isinstance(name, str):
                column.option(name)


def _is_compound(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(part, Mapping) for part in value)


def _branches(property_filter: Filter, key: str) -> list[Filter]:
    parts = property_filter.get(key)
    return parts if isinstance(parts, list) and _is_compound(parts) else [property_filter]

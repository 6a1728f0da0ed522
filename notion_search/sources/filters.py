"""`--filter` and the query's words as one filter of Notion's own, checked against a database's schema."""

import difflib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote

from ..errors import UsageError
from ..words import fit, fold, has_text, inert
from .ids import dashed, parse_page

Filter = Mapping[str, object]
Schema = Mapping[str, object]

# Notion takes 100 elements in a list; one place is kept for the condition on the query's words.
CLAUSE_CAP = 100
CONDITION_CAP = CLAUSE_CAP - 1

# A compound inside a compound; Notion refuses a third.
LEVEL_CAP = 2

_COMPOUNDS = ("and", "or")
_TIMESTAMPS = ("created_time", "last_edited_time")
_DAYS = "today tomorrow yesterday one_week_ago one_week_from_now one_month_ago one_month_from_now".split()
_SPANS = "this_week past_week past_month past_year next_week next_month next_year".split()
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+(?:Z|[+-][0-9:]+)?)?")

_OWN_FORM = 'for other tests use Notion\'s own form, {"property": NAME, TYPE: {...}}'


def parse_filter(text: str) -> Filter | None:
    """Return what `--filter` asks for, None for nothing; raises UsageError for what no database could answer."""
    value = _loads(text)
    if not isinstance(value, dict):
        raise _refusal(f"expected a JSON object, got {_kind_of(value)}")
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
    place = _Place(schema=schema, where=where)
    if not is_native(property_filter):
        conditions = [part for name, value in property_filter.items() for part in _compiled(place.named(name), value)]
        return conditions[0] if len(conditions) == 1 else {"and": conditions}
    for condition in _conditions(property_filter):
        if "property" in condition:
            _check_options(place.called(str(condition["property"])), condition)
    return property_filter


def text_filter(words: Sequence[str], schema: Schema) -> Filter | None:
    """Return the rows that hold any of the words, titles asked first, 100 clauses at most; None without words."""
    wanted = tuple(dict.fromkeys(word for word in words if has_text(word)))
    kinds = {name: kind for name, prop in schema.items() if (kind := _type(prop)) in ("title", "rich_text")}
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
        raise _refusal("nested too deep") from error
    except UnicodeError as error:
        raise _refusal("holds half of a character, which cannot be sent") from error
    except json.JSONDecodeError as error:
        raise _refusal(f"not JSON ({error.msg}, character {error.pos + 1}): {fit(inert(text), 60)}") from error
    except ValueError as error:  # thousands of digits
        raise _refusal("holds a number too large to be sent") from error
    return value


def _object(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise _refusal(f"{_shown(name)} is given twice")
        found[name] = value
    return found


def _not_finite(name: str) -> float:
    raise _refusal(f"{name} is no JSON number")


def _finite_float(digits: str) -> float:
    return number if math.isfinite(number := float(digits)) else _not_finite(fit(digits, 20))


def _check_native(property_filter: Filter, *, level: int) -> None:
    key = next((key for key in _COMPOUNDS if key in property_filter), None)
    if key is None:
        _check_condition(property_filter)
        return
    parts = property_filter[key]
    if level > LEVEL_CAP:
        raise _refusal("nested deeper than the two levels of and / or that Notion takes")
    if not isinstance(parts, list) or not _is_compound(parts):
        raise _refusal(f'"{key}" takes a list of conditions')
    if len(property_filter) > 1:
        raise _refusal(f'"{key}" stands alone in its object')
    if len(parts) > CONDITION_CAP:
        raise _refusal(f'at most {CONDITION_CAP} conditions in "{key}", got {len(parts)}')
    for part in parts:
        _check_native(part, level=level + 1)


def _check_condition(condition: Filter) -> None:
    subjects = [key for key in ("property", "timestamp") if key in condition]
    tests = [value for key, value in condition.items() if key not in ("property", "timestamp", "type")]
    if len(subjects) != 1 or not isinstance(condition[subjects[0]], str):
        raise _refusal('a condition names one "property", or one "timestamp"')
    if "timestamp" in condition and condition["timestamp"] not in _TIMESTAMPS:
        raise _refusal(f'"timestamp" is {" or ".join(_TIMESTAMPS)}, not {_shown(str(condition["timestamp"]))}')
    if len(tests) != 1 or not isinstance(tests[0], Mapping):
        raise _refusal(f"the condition on {_shown(str(condition[subjects[0]]))} takes one test, TYPE: {{...}}")


def _check_shorthand(shorthand: Filter) -> None:
    for name, value in shorthand.items():
        values = value if isinstance(value, list) else [value]
        if not values:
            raise _refusal(f"{_shown(name)}: the list is empty")
        if any(isinstance(part, Mapping | list) or (part is None and part is not value) for part in values):
            raise _refusal(f"{_shown(name)}: expected a value or a list of values; {_OWN_FORM}")
    total = sum(len(value) if isinstance(value, list) else 1 for value in shorthand.values())
    if total > CONDITION_CAP:
        raise _refusal(f"at most {CONDITION_CAP} values, got {total}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A property of one database, as its schema has it."""

    name: str
    kind: str
    options: tuple[str, ...]
    prefix: str
    where: str

    def __str__(self) -> str:
        return f"{_shown(self.name)} in {_shown(self.where)}"

    def option(self, wanted: str) -> str:
        """Return the option as the schema spells it; raises UsageError for one it lacks."""
        spelled = _spelled(wanted, self.options)
        if spelled is None:
            raise _unknown(f"no option {_shown(wanted)} in property {self}", wanted, self.options)
        return spelled


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    schema: Schema
    where: str

    def named(self, name: str) -> _Column:
        """Return the property of this name; raises UsageError when there is none."""
        spelled = _spelled(name, self.schema)
        if spelled is None:
            raise _unknown(f"no property {_shown(name)} in {_shown(self.where)}", name, self.schema)
        return _column(spelled, self.schema[spelled], self.where)

    def called(self, name_or_id: str) -> _Column:
        """Return the property of this name or id, as Notion takes either."""
        ids = {known: name for name, prop in self.schema.items() if (known := _text(prop, "id"))}
        by_id = ids.get(name_or_id) or {unquote(known): name for known, name in ids.items()}.get(unquote(name_or_id))
        return self.named(by_id if by_id and name_or_id not in self.schema else name_or_id)


def _column(name: str, prop: object, where: str) -> _Column:
    kind = _type(prop)
    inner = prop.get(kind) if isinstance(prop, Mapping) else None
    options = inner.get("options") if isinstance(inner, Mapping) else None
    names = [_text(option, "name") for option in options] if isinstance(options, list) else []
    return _Column(name=name, kind=kind, options=tuple(names), prefix=_text(inner, "prefix"), where=where)


def _conditions(property_filter: Filter) -> Iterator[Filter]:
    for key in _COMPOUNDS:
        if _is_compound(property_filter.get(key)):
            for part in _branches(property_filter, key):
                yield from _conditions(part)
            return
    yield property_filter


def _check_options(column: _Column, condition: Filter) -> None:
    tests = condition.get(column.kind)
    if column.kind not in ("select", "status", "multi_select") or not isinstance(tests, Mapping):
        return
    for operator in ("equals", "does_not_equal", "contains", "does_not_contain"):
        wanted = tests.get(operator)
        for name in wanted if isinstance(wanted, list) else [wanted]:
            if isinstance(name, str):
                column.option(name)


def _compiled(column: _Column, value: object) -> list[Filter]:
    values = value if isinstance(value, list) else [value]
    each = [_condition(column, wanted) for wanted in values]
    # A page has all the tags asked for, but only ever one of several states.
    return each if len(each) == 1 or column.kind in ("multi_select", "people", "relation") else [{"or": each}]


def _condition(column: _Column, value: object) -> Filter:
    if column.kind not in _BY_TYPE:
        raise _refusal(f"{column} is a {column.kind or 'nameless'} property, which cannot be filtered")
    if value is None and column.kind not in ("checkbox", "formula", "rollup", "verification"):
        return {"property": column.name, column.kind: {"is_empty": True}}
    compile_test, expected = _BY_TYPE[column.kind]
    test = compile_test(column, value)
    if test is None:
        got = _kind_of(value) + (f" {_shown(value)}" if isinstance(value, str) else "")
        raise _refusal(f"{column} is a {column.kind} property: expected {expected}, got {got}; {_OWN_FORM}")
    return {"property": column.name, column.kind: test}


Test = Mapping[str, object]


def _text_test(_: _Column, value: object) -> Test | None:
    return {"equals": value} if isinstance(value, str) else None


def _option_test(column: _Column, value: object) -> Test | None:
    return {"equals": column.option(value)} if isinstance(value, str) else None


def _tag_test(column: _Column, value: object) -> Test | None:
    return {"contains": column.option(value)} if isinstance(value, str) else None


def _number_test(_: _Column, value: object) -> Test | None:
    return {"equals": value} if _is_number(value) else None


def _unique_id_test(column: _Column, value: object) -> Test | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return {"equals": value}
    match = re.fullmatch(r"(?:(.+)-)?([0-9]{1,15})", value) if isinstance(value, str) else None
    if not match or (match[1] is not None and fold(match[1]) != fold(column.prefix)):
        return None
    return {"equals": int(match[2])}


def _checkbox_test(_: _Column, value: object) -> Test | None:
    return {"equals": value} if isinstance(value, bool) else None


def _date_test(_: _Column, value: object) -> Test | None:
    if not isinstance(value, str):
        return None
    if value in _SPANS:
        return {value: {}}
    return {"equals": value} if value in _DAYS or _is_date(value) else None


def _user_test(_: _Column, value: object) -> Test | None:
    if not isinstance(value, str):
        return None
    return {"contains": dashed(value)} if value == "me" or parse_page(value) == dashed(value) else None


def _page_test(_: _Column, value: object) -> Test | None:
    page = parse_page(value) if isinstance(value, str) else None
    return {"contains": page} if page else None


def _files_test(_: _Column, value: object) -> Test | None:
    return {"is_not_empty" if value else "is_empty": True} if isinstance(value, bool) else None


def _formula_test(_: _Column, value: object) -> Test | None:
    # The schema does not tell the result's type; the value's own is the best guess.
    if isinstance(value, bool):
        return {"checkbox": {"equals": value}}
    if isinstance(value, str):
        return {"string": {"equals": value}}
    return {"number": {"equals": value}} if _is_number(value) else None


def _rollup_test(_: _Column, value: object) -> Test | None:
    if isinstance(value, bool):
        return {"any": {"checkbox": {"equals": value}}}
    if isinstance(value, str):
        return {"any": {"rich_text": {"equals": value}}}
    return {"number": {"equals": value}} if _is_number(value) else None


def _verification_test(_: _Column, value: object) -> Test | None:
    states = {"verified": "verified", "expired": "expired", "none": "none", "unverified": "none"}
    return {"status": states[value]} if isinstance(value, str) and value in states else None


_TEXT = (_text_test, "a string")
_DATE = (_date_test, "a date such as 2026-04-28, or a word such as today or this_week")
_USER = (_user_test, 'a user id or "me"')
_VALUE = "a string, a number, true or false"

_BY_TYPE: Mapping[str, tuple[Callable[[_Column, object], Test | None], str]] = {
    **dict.fromkeys(("title", "rich_text", "url", "email", "phone_number"), _TEXT),
    **dict.fromkeys(("date", "created_time", "last_edited_time"), _DATE),
    **dict.fromkeys(("people", "created_by", "last_edited_by"), _USER),
    **dict.fromkeys(("select", "status"), (_option_test, "the name of an option")),
    "multi_select": (_tag_test, "the name of an option"),
    "number": (_number_test, "a number"),
    "unique_id": (_unique_id_test, "its number, alone or behind its prefix"),
    "checkbox": (_checkbox_test, "true or false"),
    "relation": (_page_test, "the id of a page or a link to it"),
    "files": (_files_test, "true (it has files) or false"),
    "formula": (_formula_test, _VALUE),
    "rollup": (_rollup_test, _VALUE),
    "verification": (_verification_test, "verified, expired or none"),
}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_date(value: str) -> bool:
    try:
        return bool(_ISO.fullmatch(value) and datetime.fromisoformat(value))
    except ValueError:
        return False


def _is_compound(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(part, Mapping) for part in value)


def _branches(property_filter: Filter, key: str) -> list[Filter]:
    parts = property_filter.get(key)
    return parts if isinstance(parts, list) and _is_compound(parts) else [property_filter]


def _type(prop: object) -> str:
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
    shown = ", ".join(_shown(name) for name in known[:12]) or "nothing"
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return _refusal(f"{what}{_hint(wanted, known)}; there is {shown}{more}")


def _hint(wanted: str, names: Sequence[str]) -> str:
    folded = {fold(name): name for name in names}
    if same := folded.get(fold(wanted)):
        return f"; {_shown(same)} differs only by case"
    close = difflib.get_close_matches(fold(wanted)[:100], folded, n=1)
    return f"; did you mean {_shown(folded[close[0]])}?" if close else ""


def _kind_of(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")


def _shown(text: str) -> str:
    return f'"{fit(inert(text), 40)}"'


def _refusal(text: str) -> UsageError:
    return UsageError(f"--filter: {text}")

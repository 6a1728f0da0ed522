"""A Notion filter and a schema -> a test of one page: every operator the query endpoint documents, and its refusals."""

from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import unquote

Json = Mapping[str, Any]
Test = Callable[[Any], bool]
PageTest = Callable[[Json], bool]
Found = TypeVar("Found")

# A compound inside a compound is as deep as Notion reads.
MAX_DEPTH = 2

# Besides its own type, the key "rich_text" opens every property that holds plain text.
_TEXT_TYPES = ("title", "rich_text", "url", "email", "phone_number")
_NUMBER_TYPES = ("number", "unique_id")
_CHOICE_TYPES = ("select", "status")
_TIME_TYPES = ("date", "created_time", "last_edited_time")
_ID_TYPES = ("people", "relation", "created_by", "last_edited_by")

# A formula says "boolean" where its filter says "checkbox".
_FORMULA_RESULTS = {"string": "string", "number": "number", "checkbox": "boolean", "date": "date"}


class FilterError(ValueError):
    """A filter Notion would refuse; its text is Notion's message."""


def matcher(condition: object, schema: Json, *, now: datetime, me: str = "") -> PageTest:
    """Return the test that a page of this schema must pass; days are those of `now`'s time zone. Raises FilterError.

    What a formula or rollup comes to is known from the page alone, so the test may raise FilterError too.
    """
    return _condition(condition, "body.filter", _Reader(schema, now, me), depth=0)


def find_property(name: object, schema: Json) -> tuple[str, Json]:
    """Return the property's name and definition, found by its name or id. Raises FilterError."""
    for known, definition in schema.items():
        if name in (known, definition["id"], unquote(definition["id"])):
            return known, definition
    raise FilterError(f"Could not find property with name or id: {name}")


class _Reader:
    """What every operator is read with."""

    def __init__(self, schema: Json, now: datetime, me: str) -> None:
        self.schema = schema
        self.now = now
        self.me = me

    def test(self, key: str, operand: object, where: str) -> Test:
        """Return the test of a value as `_value` gives it."""
        operator, wanted = _only_member(operand, where)
        where = f"{where}.{operator}"
        if operator in ("is_empty", "is_not_empty") and key != "checkbox":
            return _emptiness(operator, wanted, where)
        if key in _TEXT_TYPES or key == "string":
            return _text_test(operator, wanted, where)
        if key in _NUMBER_TYPES:
            return _number_test(operator, wanted, where)
        if key == "checkbox":
            return _checkbox_test(operator, wanted, where)
        if key in _CHOICE_TYPES:
            return _choice_test(operator, wanted, where)
        if key == "multi_select":
            return _list_test(operator, _choices(wanted, where), where)
        if key in _TIME_TYPES:
            return _time_test(operator, wanted, where, self.now)
        if key in _ID_TYPES:
            return _list_test(operator, (self.me if wanted == "me" else _string(wanted, where),), where)
        if key == "verification":
            return _verification_test(operator, wanted, where)
        raise _unknown(where)


def _condition(condition: object, where: str, reader: _Reader, *, depth: int) -> PageTest:
    if not isinstance(condition, Mapping) or not condition:
        raise FilterError(
            f"body failed validation: {where} should be an object with a condition, instead was `{condition}`."
        )
    for word, together in (("and", all), ("or", any)):
        if word in condition:
            return _compound(condition, word, together, where, reader, depth=depth)
    if "timestamp" in condition:
        return _timestamp_condition(condition, where, reader)
    return _property_condition(condition, where, reader)


def _compound(
    condition: Json, word: str, together: Callable[[Any], bool], where: str, reader: _Reader, *, depth: int
) -> PageTest:
    clauses = condition[word]
    if depth == MAX_DEPTH or len(condition) > 1:
        raise FilterError(f"body failed validation: {where}.{word} should be not present, instead was `{clauses}`.")
    if not isinstance(clauses, Sequence) or isinstance(clauses, str):
        raise FilterError(f"body failed validation: {where}.{word} should be an array, instead was `{clauses}`.")
    tests = [
        _condition(clause, f"{where}.{word}[{index}]", reader, depth=depth + 1) for index, clause in enumerate(clauses)
    ]
    return lambda page: not tests or together(test(page) for test in tests)


def _timestamp_condition(condition: Json, where: str, reader: _Reader) -> PageTest:
    stamp = condition["timestamp"]
    if stamp not in ("created_time", "last_edited_time") or set(condition) != {"timestamp", stamp}:
        raise FilterError(
            f"body failed validation: {where}.timestamp should hold its own condition, instead was `{stamp}`."
        )
    test = reader.test(stamp, condition[stamp], f"{where}.{stamp}")
    return lambda page: test(page[stamp])


def _property_condition(condition: Json, where: str, reader: _Reader) -> PageTest:
    # Libraries repeat the property's type beside its condition; Notion reads on.
    keys = [key for key in condition if key not in ("property", "type")]
    if "property" not in condition or len(keys) != 1:
        raise FilterError(
            f"body failed validation: {where} should be a property and one condition, instead had `{keys}`."
        )
    key = keys[0]
    name, definition = find_property(condition["property"], reader.schema)
    _check_key(key, definition["type"])
    where = f"{where}.{key}"
    if key == "formula":
        return _formula_test(name, condition[key], where, reader)
    if key == "rollup":
        return _rollup_test(name, condition[key], where, reader)
    test = reader.test(key, condition[key], where)
    return lambda page: test(_value(page["properties"][name]))


def _check_key(key: str, kind: str) -> None:
    if key == kind and kind not in ("button", "place"):
        return
    if key == "rich_text" and kind in _TEXT_TYPES:
        return
    raise FilterError(
        "The property type in the database does not match the property type of the filter provided: "
        f"database property {kind} does not match filter {key}"
    )


def _formula_test(name: str, operand: object, where: str, reader: _Reader) -> PageTest:
    key, inner = _only_member(operand, where)
    if key not in _FORMULA_RESULTS:
        raise _unknown(f"{where}.{key}")
    test = reader.test(key, inner, f"{where}.{key}")

    def matches(page: Json) -> bool:
        result = page["properties"][name]["formula"]
        if result["type"] == "unsupported":
            return False
        if result["type"] != _FORMULA_RESULTS[key]:
            raise FilterError(f"database property formula of type {result['type']} does not match filter {key}")
        return test(_value(result))

    return matches


def _rollup_test(name: str, operand: object, where: str, reader: _Reader) -> PageTest:
    key, inner = _only_member(operand, where)
    if key in ("number", "date"):
        return _rolled_value_test(name, key, reader.test(key, inner, f"{where}.{key}"))
    if key in ("any", "every", "none"):
        kind, operators = _only_member(inner, f"{where}.{key}")
        return _rolled_list_test(name, key, kind, reader.test(kind, operators, f"{where}.{key}.{kind}"))
    raise _unknown(f"{where}.{key}")


def _rolled_value_test(name: str, key: str, test: Test) -> PageTest:
    def matches(page: Json) -> bool:
        result = page["properties"][name]["rollup"]
        if result["type"] != key:
            raise FilterError(f"database property rollup of type {result['type']} does not match filter {key}")
        return test(_value(result))

    return matches


def _rolled_list_test(name: str, quantifier: str, kind: str, test: Test) -> PageTest:
    def matches(page: Json) -> bool:
        result = page["properties"][name]["rollup"]
        if result["type"] != "array":
            raise FilterError(f"database property rollup of type {result['type']} does not match filter {quantifier}")
        for item in result["array"]:
            _check_key(kind, item["type"])
        verdicts = [test(_value(item)) for item in result["array"]]
        if quantifier == "every":
            return bool(verdicts) and all(verdicts)  # an empty rollup is none of "every", as recorded
        return any(verdicts) if quantifier == "any" else not any(verdicts)

    return matches


def _value(holder: Json) -> Any:  # noqa: ANN401 -- a property may hold anything JSON can
    """Return what a property, a formula or a rolled-up item is compared by; None, "" and () are empty."""
    kind = holder["type"]
    value: Any = holder.get(kind)
    if kind in ("title", "rich_text"):
        return "".join(_piece(piece) for piece in value)
    if kind in _CHOICE_TYPES:
        return value and value["name"]
    if kind == "multi_select":
        return tuple(option["name"] for option in value)
    if kind in ("people", "relation"):
        return tuple(item["id"] for item in value)
    if kind in ("created_by", "last_edited_by"):
        return (value["id"],)
    if kind == "date":
        return value and value["start"]
    if kind == "unique_id":
        return value and value["number"]
    if kind == "verification":
        return value["state"] if value else "unverified"
    return value


def _piece(piece: Json) -> str:
    return str(piece.get("plain_text") or piece.get("text", {}).get("content", ""))


def _emptiness(operator: str, wanted: object, where: str) -> Test:
    if wanted is not True:
        raise FilterError(f"body failed validation: {where} should be `true`, instead was `{wanted}`.")
    return (lambda value: _is_empty(value)) if operator == "is_empty" else (lambda value: not _is_empty(value))


def _is_empty(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, Sequence) and not value)


def _text_test(operator: str, wanted: object, where: str) -> Test:
    word = _string(wanted, where)
    folded = word.casefold()
    tests: dict[str, Test] = {
        "equals": lambda value: value == word,
        "does_not_equal": lambda value: value != word,
        "contains": lambda value: folded in (value or "").casefold(),
        "does_not_contain": lambda value: folded not in (value or "").casefold(),
        "starts_with": lambda value: (value or "").casefold().startswith(folded),
        "ends_with": lambda value: (value or "").casefold().endswith(folded),
    }
    return _pick(tests, operator, where)


def _number_test(operator: str, wanted: object, where: str) -> Test:
    if not isinstance(wanted, int | float) or isinstance(wanted, bool):
        raise FilterError(f"body failed validation: {where} should be a number, instead was `{wanted}`.")
    tests: dict[str, Test] = {
        "equals": lambda value: value == wanted,
        "does_not_equal": lambda value: value != wanted,
        "greater_than": lambda value: value is not None and value > wanted,
        "less_than": lambda value: value is not None and value < wanted,
        "greater_than_or_equal_to": lambda value: value is not None and value >= wanted,
        "less_than_or_equal_to": lambda value: value is not None and value <= wanted,
    }
    return _pick(tests, operator, where)


def _checkbox_test(operator: str, wanted: object, where: str) -> Test:
    if not isinstance(wanted, bool):
        raise FilterError(f"body failed validation: {where} should be a boolean, instead was `{wanted}`.")
    tests: dict[str, Test] = {
        "equals": lambda value: bool(value) is wanted,
        "does_not_equal": lambda value: bool(value) is not wanted,
    }
    return _pick(tests, operator, where)


def _choice_test(operator: str, wanted: object, where: str) -> Test:
    names = _choices(wanted, where)
    tests: dict[str, Test] = {
        "equals": lambda value: value in names,
        "does_not_equal": lambda value: value not in names,
    }
    return _pick(tests, operator, where)


def _list_test(operator: str, wanted: tuple[str, ...], where: str) -> Test:
    tests: dict[str, Test] = {
        "contains": lambda values: any(item in values for item in wanted),
        "does_not_contain": lambda values: not any(item in values for item in wanted),
    }
    return _pick(tests, operator, where)


def _verification_test(operator: str, wanted: object, where: str) -> Test:
    state = _string(wanted, where)
    if state not in ("verified", "expired", "none"):
        raise FilterError(f"body failed validation: {where} should be a verification status, instead was `{state}`.")
    state = "unverified" if state == "none" else state
    tests: dict[str, Test] = {
        "status": lambda value: value == state,
        "does_not_equal": lambda value: value != state,
    }
    return _pick(tests, operator, where)


def _time_test(operator: str, wanted: object, where: str, now: datetime) -> Test:
    bounds = _ranges(now.date()).get(operator)
    if bounds:
        if wanted != {}:
            raise FilterError(f"body failed validation: {where} should be an empty object, instead was `{wanted}`.")
        first, last = bounds
        return lambda value: value is not None and first <= _day(_moment(value), now) <= last
    bound = _bound(wanted, where, now)
    tests: dict[str, Callable[[Any, Any], bool]] = {
        "equals": lambda value, bound: value == bound,
        "before": lambda value, bound: value < bound,
        "after": lambda value, bound: value > bound,
        "on_or_before": lambda value, bound: value <= bound,
        "on_or_after": lambda value, bound: value >= bound,
    }
    compare = _pick(tests, operator, where)
    return lambda value: value is not None and compare(_like(bound, _moment(value), now), bound)


def _ranges(today: date) -> dict[str, tuple[date, date]]:
    """Return the first and the last day of every named range; both belong to it, and so does today."""
    sunday = today - timedelta(days=today.isoweekday() % 7)  # Notion's week begins on Sunday unless set otherwise
    week = timedelta(days=7)
    return {
        "this_week": (sunday, sunday + timedelta(days=6)),
        "past_week": (today - week, today),
        "past_month": (_months_from(today, -1), today),
        "past_year": (_months_from(today, -12), today),
        "next_week": (today, today + week),
        "next_month": (today, _months_from(today, 1)),
        "next_year": (today, _months_from(today, 12)),
    }


def _months_from(day: date, months: int) -> date:
    """Return the same day of another month, or that month's last."""
    years, month = divmod(day.month - 1 + months, 12)
    year = day.year + years
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _bound(wanted: object, where: str, now: datetime) -> date | datetime:
    today = now.date()
    named = {
        "today": today,
        "tomorrow": today + timedelta(days=1),
        "yesterday": today - timedelta(days=1),
        "one_week_ago": today - timedelta(days=7),
        "one_week_from_now": today + timedelta(days=7),
        "one_month_ago": _months_from(today, -1),
        "one_month_from_now": _months_from(today, 1),
    }
    text = _string(wanted, where)
    try:
        return named.get(text) or _moment(text)
    except ValueError as error:
        raise FilterError(
            f"body failed validation: {where} should be a valid ISO 8601 date string, instead was `{text}`."
        ) from error


def _moment(text: str) -> date | datetime:
    """Return a day, or a time to the minute: Notion keeps no seconds."""
    if len(text) == len("2026-01-01"):
        return date.fromisoformat(text)
    moment = datetime.fromisoformat(text).replace(second=0, microsecond=0)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _like(bound: date, moment: date, now: datetime) -> date:
    """Return the moment in the bound's precision, so that the two compare."""
    if isinstance(bound, datetime):
        return moment if isinstance(moment, datetime) else datetime.combine(moment, datetime.min.time(), now.tzinfo)
    return _day(moment, now)


def _day(moment: date, now: datetime) -> date:
    return moment.astimezone(now.tzinfo).date() if isinstance(moment, datetime) else moment


def _only_member(operand: object, where: str) -> tuple[str, Any]:
    if not isinstance(operand, Mapping) or len(operand) != 1:
        raise FilterError(
            f"body failed validation: {where} should be an object with one member, instead was `{operand}`."
        )
    return next(iter(operand.items()))


def _pick(tests: Mapping[str, Found], operator: str, where: str) -> Found:
    if operator not in tests:
        raise _unknown(where)
    return tests[operator]


def _choices(wanted: object, where: str) -> tuple[str, ...]:
    if isinstance(wanted, list) and wanted and all(isinstance(name, str) for name in wanted):
        return tuple(wanted)
    return (_string(wanted, where),)


def _string(wanted: object, where: str) -> str:
    if not isinstance(wanted, str):
        raise FilterError(f"body failed validation: {where} should be a string, instead was `{wanted}`.")
    return wanted


def _unknown(where: str) -> FilterError:
    return FilterError(f"body failed validation: {where} should be not present.")

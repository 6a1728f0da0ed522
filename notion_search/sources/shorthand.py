"""The short form of `--filter`, a name and a value, as a condition of Notion's own for each type of property."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime

from ..words import fold
from .columns import OWN_FORM, Column, kind_of, refusal, shown
from .ids import dashed, parse_page

Filter = Mapping[str, object]
Test = Mapping[str, object]

_DAYS = "today tomorrow yesterday one_week_ago one_week_from_now one_month_ago one_month_from_now".split()
_SPANS = "this_week past_week past_month past_year next_week next_month next_year".split()
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+(?:Z|[+-][0-9:]+)?)?")


def conditions_for(column: Column, value: object) -> list[Filter]:
    """Return the conditions a name and its value stand for; raises UsageError for a value of the wrong type."""
    values = value if isinstance(value, list) else [value]
    each = [_condition(column, wanted) for wanted in values]
    # A page has all the tags asked for, but only ever one of several states.
    return each if len(each) == 1 or column.kind in ("multi_select", "people", "relation") else [{"or": each}]


def _condition(column: Column, value: object) -> Filter:
    if column.kind not in _BY_TYPE:
        raise refusal(f"{column} is a {column.kind or 'nameless'} property, which cannot be filtered")
    if value is None and column.kind not in ("checkbox", "formula", "rollup", "verification"):
        return {"property": column.name, column.kind: {"is_empty": True}}
    compile_test, expected = _BY_TYPE[column.kind]
    test = compile_test(column, value)
    if test is None:
        got = kind_of(value) + (f" {shown(value)}" if isinstance(value, str) else "")
        raise refusal(f"{column} is a {column.kind} property: expected {expected}, got {got}; {OWN_FORM}")
    return {"property": column.name, column.kind: test}


def _text_test(_: Column, value: object) -> Test | None:
    return {"equals": value} if isinstance(value, str) else None


def _option_test(column: Column, value: object) -> Test | None:
    return {"equals": column.option(value)} if isinstance(value, str) else None


def _tag_test(column: Column, value: object) -> Test | None:
    return {"contains": column.option(value)} if isinstance(value, str) else None


def _number_test(_: Column, value: object) -> Test | None:
    return {"equals": value} if _is_number(value) else None


def _unique_id_test(column: Column, value: object) -> Test | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return {"equals": value}
    match = re.fullmatch(r"(?:(.+)-)?([0-9]{1,15})", value) if isinstance(value, str) else None
    if not match or (match[1] is not None and fold(match[1]) != fold(column.prefix)):
        return None
    return {"equals": int(match[2])}


def _checkbox_test(_: Column, value: object) -> Test | None:
    return {"equals": value} if isinstance(value, bool) else None


def _date_test(_: Column, value: object) -> Test | None:
    if not isinstance(value, str):
        return None
    if value in _SPANS:
        return {value: {}}
    return {"equals": value} if value in _DAYS or _is_date(value) else None


def _user_test(_: Column, value: object) -> Test | None:
    if not isinstance(value, str):
        return None
    return {"contains": dashed(value)} if value == "me" or parse_page(value) == dashed(value) else None


def _page_test(_: Column, value: object) -> Test | None:
    page = parse_page(value) if isinstance(value, str) else None
    return {"contains": page} if page else None


def _files_test(_: Column, value: object) -> Test | None:
    return {"is_not_empty" if value else "is_empty": True} if isinstance(value, bool) else None


def _formula_test(_: Column, value: object) -> Test | None:
    # The schema does not tell the result's type; the value's own is the best guess.
    if isinstance(value, bool):
        return {"checkbox": {"equals": value}}
    if isinstance(value, str):
        return {"string": {"equals": value}}
    return {"number": {"equals": value}} if _is_number(value) else None


def _rollup_test(_: Column, value: object) -> Test | None:
    if isinstance(value, bool):
        return {"any": {"checkbox": {"equals": value}}}
    if isinstance(value, str):
        return {"any": {"rich_text": {"equals": value}}}
    return {"number": {"equals": value}} if _is_number(value) else None


def _verification_test(_: Column, value: object) -> Test | None:
    states = {"verified": "verified", "expired": "expired", "none": "none", "unverified": "none"}
    return {"status": states[value]} if isinstance(value, str) and value in states else None


_TEXT = (_text_test, "a string")
_DATE = (_date_test, "a date such as 2026-04-28, or a word such as today or this_week")
_USER = (_user_test, 'a user id or "me"')
_VALUE = "a string, a number, true or false"

_BY_TYPE: Mapping[str, tuple[Callable[[Column, object], Test | None], str]] = {
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

"""The JSON inside a model's reply, however it is wrapped."""

import json
import re
from collections.abc import Iterator

# A reply is short. These bounds keep a hostile one from costing quadratic time.
LONGEST = 100_000  # characters
MOST_STARTS = 2_000

_START = re.compile(r"[\[{]")
_STRAIGHT = str.maketrans("“”„‟", '""""')


def find_json(text: str) -> Iterator[object]:
    """Yield every array and object in the text, in order, outermost first; fences and prose are passed over.

    Curly quotes and trailing commas are mended where strict JSON fails. A truncated array yields the
    whole objects it still holds.
    """
    text = text[:LONGEST]
    position = 0
    for _ in range(MOST_STARTS):
        start = _START.search(text, position)
        if not start:
            return
        decoded = _decode(text, start.start())
        if decoded is None:
            position = start.end()
        else:
            value, position = decoded
            yield value


def _decode(text: str, start: int) -> tuple[object, int] | None:
    for candidate in (text, _without_trailing_commas(text, start), text.translate(_STRAIGHT)):
        try:
            return json.JSONDecoder().raw_decode(candidate, start)
        except (ValueError, RecursionError):
            continue
    return None


def _without_trailing_commas(text: str, start: int) -> str:
    """Return the text with blanks for commas before a closing bracket, so that positions stay."""
    chars = list(text)
    inside, comma = False, -1
    for place in range(start, len(chars)):
        char = chars[place]
        if inside:
            inside = char != '"' or _escaped(chars, place)
        elif char in "]}" and comma >= 0:
            chars[comma] = " "
        elif char == '"':
            inside = True
        if char == "," and not inside:
            comma = place
        elif not char.isspace():
            comma = -1
    return "".join(chars)


def _escaped(chars: list[str], place: int) -> bool:
    slashes = 0
    while chars[place - slashes - 1] == "\\":
        slashes += 1
    return slashes % 2 == 1

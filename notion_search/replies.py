"""The JSON inside a model's reply, however it is wrapped."""

import json
import re
from collections.abc import Iterator

# A reply is short. These bounds keep a hostile one from costing quadratic time.
LONGEST = 100_000  # characters
PATIENCE = 4_000_000  # characters behind brackets that open nothing as they stand

_START = re.compile(r"[\[{]")
_STRAIGHT = str.maketrans("“”„‟", '""""')
# A string, closed or not, is passed over whole: a comma inside it is text.
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*"?)|,(?=\s*[\]}])', re.DOTALL)


def find_json(text: str) -> Iterator[object]:
    """Yield every array and object in the text, in order, outermost first; fences and prose are passed over.

    Curly quotes and trailing commas are mended where strict JSON fails. A truncated array yields the
    whole objects it still holds.
    """
    text = text[:LONGEST]
    position, patience = 0, PATIENCE
    while patience > 0 and (start := _START.search(text, position)):
        position = start.end()
        for reading in _readings(text, start.start()):
            try:
                value, position = json.JSONDecoder().raw_decode(reading, start.start())
            except (ValueError, RecursionError):
                patience -= len(text) - start.start()
            else:
                yield value
                break


def _readings(text: str, start: int) -> Iterator[str]:
    """Yield the text as it is, then mended in ways that leave every character its place."""
    yield text
    yield _without_trailing_commas(text, start)
    straight = text.translate(_STRAIGHT)
    if straight != text:
        yield straight
        yield _without_trailing_commas(straight, start)


def _without_trailing_commas(text: str, start: int) -> str:
    return text[:start] + _TRAILING_COMMA.sub(lambda match: match[1] or " ", text[start:])

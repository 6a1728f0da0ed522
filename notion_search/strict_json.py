"""JSON as text: strict, and without a character that a terminal would act on."""

import json
import re

# Controls that JSON itself leaves bare, and the marks that turn the direction of a terminal's text.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def strict_json(value: object, *, ascii_only: bool = False) -> str:
    """Return the value as indented JSON with a final newline; page text in it is data no terminal acts on."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=2, allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"

"""The scores of a model's reply, in whatever scale it wrote them, as shares of 1."""

import math
import re
from collections.abc import Sequence


def relevances(scores: Sequence[object]) -> list[float | None]:
    """Return the scores as shares of 1; one that cannot be read is None and moves no other.

    Whole numbers count from 0 to 100, as asked. A list with a fraction in it and nothing above 2 counts from 0 to 1.
    """
    numbers = [_number(score) for score in scores]
    bare = [number for number, is_share in filter(None, numbers) if not is_share]
    unit = any(isinstance(number, float) for number in bare) and max(bare) <= 2
    return [None if n is None else _share(n[0] if n[1] or unit else n[0] / 100) for n in numbers]


def _number(score: object) -> tuple[float, bool] | None:
    """Return a score and whether its spelling already makes it a share of 1 ("40%", "95/100")."""
    if isinstance(score, str):
        match = re.fullmatch(r"\s*(-?\d{1,9}(?:\.\d{1,9})?)\s*(%|/\s*(\d{1,9}))?\s*", score)
        if not match:
            return None
        value = float(match[1]) if "." in match[1] else int(match[1])
        if match[2] == "%":
            return value / 100, True
        if match[3]:
            return (value / int(match[3]), True) if int(match[3]) else None
        return value, False
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    try:
        return (score, False) if math.isfinite(score) else None
    except OverflowError:  # an integer too long for a float
        return None


def _share(value: float) -> float:
    return round(min(1.0, max(0.0, value)), 4)

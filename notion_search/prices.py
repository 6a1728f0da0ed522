"""What a run's tokens cost, at list prices."""

import re

# Dollars for a million tokens, in and out, as of this day: the models' overview pages below
# https://platform.claude.com/docs/en/models/. Prompts above 100,000 tokens cost more; none of ours comes near.
AS_OF = "2026-11-30"
_PER_MILLION = {
    "claude-haiku-4-5": (1.00, 5.00),
    "claude-haiku-5-5": (0.10, 0.50),
}


def price(model: str, tokens_in: int, tokens_out: int) -> float | None:
    """Return the price in dollars, or None for a model without a known price; a dated id is its model's."""
    known = _PER_MILLION.get(re.sub(r"-20\d{6}$", "", model))
    return known and (tokens_in * known[0] + tokens_out * known[1]) / 1_000_000

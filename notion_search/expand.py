"""Stage 1: find other words for the query, so that a search of literal titles reaches what is meant."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from .errors import LLMReplyError
from .replies import find_json
from .types import LLM, Cache, Run
from .words import clean, fold, inert, quoted

# Notion is asked once a variant; five keep a run within a burst of its budget.
VARIANT_CAP = 5
# A title search matches single words; anything longer than this is a sentence, or not a variant at all.
VARIANT_LENGTH = 100  # characters
# Four variants take about sixty tokens, twice that in Korean.
MAX_TOKENS = 400
# Part of the cache key: raise it whenever the prompt changes.
PROMPT_VERSION = 1

SYSTEM = (
    "You widen searches of a Notion workspace whose search engine matches single words of page titles, any of them, "
    "literally. You answer with one JSON array of strings and nothing else."
)

PROMPT = """Query: {query}

Give 4 other phrasings under which the right page could be titled.
- 1 to 4 words each: the distinctive words of a title, no filler, no sentence.
- Synonyms, narrower or broader terms, the usual abbreviation or its long form.
- At least one in the other language: Korean for an English query, English for a Korean one, as a translation or the \
usual loanword.
- Names, codes, numbers and dates stay exactly as they are.

Example: "vacation policy" -> ["time off", "PTO", "leave guidelines", "휴가 규정"]

Answer with the JSON array alone."""


@dataclass(frozen=True, slots=True)
class ClaudeExpander:
    """Expands with the model, and remembers its variants for a day."""

    llm: LLM
    cache: Cache

    def expand(self, query: str, run: Run) -> tuple[str, ...]:
        """Return the query first, then other phrasings, five at most. Raises LLMError."""
        return expand(query, self.llm, self.cache, run)


def expand(query: str, llm: LLM, cache: Cache, run: Run) -> tuple[str, ...]:
    """Return the query first, then the model's other phrasings, five at most. Raises LLMError."""
    key = variants_key(query, llm.model)
    stored = cache.get(key)
    if stored and len(variants := _usable(query, stored.get("variants"))) > 1:
        run.meter.count("cache.variants.hit")
        return variants
    run.meter.count("cache.variants.miss")
    reply = llm.ask(expand_prompt(query), system=SYSTEM, schema=None, max_tokens=MAX_TOKENS, run=run)
    variants = parse_variants(reply.text, query)
    if reply.whole and len(variants) > 1:
        cache.put(key, {"query": query, "model": llm.model, "prompt_version": PROMPT_VERSION, "variants": variants})
    return variants


def variants_key(query: str, model: str) -> str:
    """Return the name a query's variants are stored under."""
    return hashlib.sha256("\n".join(("variants", model, str(PROMPT_VERSION), fold(query))).encode()).hexdigest()


def expand_prompt(query: str) -> str:
    """Return what the model is asked; it holds the query and nothing of any page."""
    return PROMPT.format(query=inert(query))


def parse_variants(text: str, query: str) -> tuple[str, ...]:
    """Return the query first, then the strings of the reply's first usable array, each once, five at most.

    Raises LLMReplyError when the reply holds no array with a string in it.
    """
    for value in find_json(text):
        found = value if isinstance(value, list) else _only_list(value)
        if any(isinstance(item, str) for item in found):
            return _first_each((query, *(item for item in found if isinstance(item, str))))
    raise LLMReplyError(f"Claude's other phrasings were not the JSON asked for: {quoted(text, 80) or 'nothing'}")


def _only_list(value: object) -> Sequence[object]:
    lists = [item for item in value.values() if isinstance(item, list)] if isinstance(value, dict) else []
    return lists[0] if len(lists) == 1 else ()


def _usable(query: str, stored: object) -> tuple[str, ...]:
    found = stored if isinstance(stored, list) else []
    return _first_each((query, *(item for item in found if isinstance(item, str))))


def _first_each(texts: Sequence[str]) -> tuple[str, ...]:
    kept = {fold(texts[0]): texts[0]}
    for text in texts[1:]:
        variant = inert(clean(text))
        if variant and len(variant) <= VARIANT_LENGTH:
            kept.setdefault(fold(variant), variant)
    return tuple(kept.values())[:VARIANT_CAP]

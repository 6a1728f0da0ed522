"""Stage 5: quote the results: of the best the section that answers, of all the first meaningful sentence."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from .extract import marked, preview, section
from .types import Failure, Notice, Page, Result, Run, Source
from .words import key_terms

# Reading whole pages may take this share of the time left; the rest is for an answer.
SHARE = 0.5


def quote(
    results: Sequence[Result], query: str, sources: Sequence[Source], run: Run, *, count: int
) -> tuple[Result, ...]:
    """Return the same results in the same order, the first `count` with a section and all with a preview.

    A page that cannot be read whole is quoted from its opening.
    """
    stage = run.within(SHARE)
    homes = {source.name: source for source in sources}
    asked = results[:count]
    outcomes = run.pace.gather(
        [partial(homes[result.candidate.source].text, result.candidate, stage) for result in asked], stage
    )
    pages = [outcome if isinstance(outcome, Page) else None for outcome in outcomes]
    if missing := pages.count(None):
        errors = [outcome.error for outcome in outcomes if isinstance(outcome, Failure)]
        reason = errors[0] if errors and not isinstance(errors[0], TimeoutError) else "time ran out"
        text = f"{missing} of {len(asked)} pages could not be read whole ({reason}); quoting their first words"
        run.notify(Notice(stage="extract", text=text))
    wanted = key_terms(query)
    quoted = [_quoted(result, page, wanted) for result, page in zip(asked, pages, strict=True)]
    return (*quoted, *(_quoted(result, None, wanted, whole=False) for result in results[count:]))


def _quoted(result: Result, page: Page | None, wanted: Sequence[str], *, whole: bool = True) -> Result:
    found = result.candidate
    text = page.text if page and page.text.strip() else found.opening
    first = preview(text)
    if not whole or not text.strip():
        return replace(result, preview=first)
    kept = marked(section(text, wanted), title=found.title, source=found.source, edited=found.edited)
    return replace(result, preview=first, section=kept)

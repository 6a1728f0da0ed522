"""Stage 3: read the first text of each candidate."""

import itertools
from collections.abc import Sequence
from functools import partial

from .types import Candidate, Failure, Notice, Read, Run, Source

# Reading may take half of what time is left; the rest belongs to judging.
SHARE = 0.5


def excerpt(candidates: Sequence[Candidate], sources: Sequence[Source], run: Run) -> tuple[Candidate, ...]:
    """Return the same candidates in the same order, read; one that cannot be read keeps an empty excerpt.

    A source with a `read_cap` is asked for the text of its first so many.
    """
    stage = run.within(SHARE)
    homes = {source.name: source for source in sources}
    unread = [page for source in sources for page in _unread(candidates, source)]
    counter = itertools.count(1)

    def read(candidate: Candidate) -> Candidate:
        done = homes[candidate.source].read(candidate, stage)
        run.emit(Read(done=next(counter), total=len(unread)))
        return done

    outcomes = run.pace.gather([partial(read, candidate) for candidate in unread], stage)
    by_page = {(c.source, c.id): c for c in outcomes if isinstance(c, Candidate)}
    if len(by_page) < len(unread):
        errors = [outcome.error for outcome in outcomes if isinstance(outcome, Failure)]
        reason = errors[0] if errors and not isinstance(errors[0], TimeoutError) else "time ran out"
        text = f"{len(unread) - len(by_page)} of {len(unread)} pages could not be read ({reason}); no excerpt for them"
        run.notify(Notice(stage="excerpt", text=text))
    return tuple(by_page.get((candidate.source, candidate.id), candidate) for candidate in candidates)


def _unread(candidates: Sequence[Candidate], source: Source) -> Sequence[Candidate]:
    own = [candidate for candidate in candidates if candidate.source == source.name]
    return [candidate for candidate in own[: source.read_cap] if not candidate.read]

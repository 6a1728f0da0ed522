"""The one queue for outside calls: slots, shared pauses, retries, a budget per minute, the deadline."""

import itertools
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from .errors import NotionSearchError
from .types import Failure, Handle, Pending, Run

T = TypeVar("T")

# Sixteen calls at once empty thirty excerpts in two rounds and stay far below Notion's budget of a minute.
SLOTS = 16
# Three tries outlast a passing fault. A service that says "later" means it: those refusals get two more.
TRIES = 3
BUSY_TRIES = 5
# What did not even answer in time has had its ten seconds; it is asked once more.
LATE_TRIES = 2
FIRST_WAIT = 0.5  # seconds before the second try; doubled each time
BUDGET_WINDOW = 60.0  # seconds


class TryAgainError(Exception):
    """A request worth sending again; `error` is what it ends with when the tries or the time are used up."""

    def __init__(
        self, error: NotionSearchError, *, after: float | None = None, busy: bool = False, late: bool = False
    ) -> None:
        """`after`: seconds the service asked for; `busy`: every call to it has to wait; `late`: it did not answer."""
        super().__init__(str(error))
        self.tries = BUSY_TRIES if busy else LATE_TRIES if late else TRIES
        self.error = error
        self.after = after
        self.busy = busy


class Pacer:
    """Outside calls of one run, each service with its own slots, pause and budget."""

    def __init__(self, *, budgets: Mapping[str, int] | None = None, wait_scale: float = 1.0) -> None:
        """`budgets`: calls a minute, by service; `wait_scale` below 1 shortens every wait, for tests of bad days."""
        self._budgets = budgets or {}
        self._wait_scale = wait_scale
        self._lanes: dict[str, _Lane] = {}
        self._lock = threading.Lock()

    def gather(self, calls: Sequence[Callable[[], T]], run: Run) -> list[T | Failure | Pending]:
        """Return what each call came to, in order, at the run's deadline at the latest."""
        return [handle.outcome(run.deadline) for handle in [self.submit(call, run) for call in calls]]

    def submit(self, call: Callable[[], T], run: Run) -> Handle[T]:
        """Start a call and return at once."""
        return _Call(call)

    def send(self, request: Callable[[], T], run: Run, *, service: str) -> T:
        """Send one request when its service has a place for it, again after `TryAgainError` while that can help.

        Raises TimeoutError when the deadline comes first, else the error inside the last `TryAgainError`.
        """
        lane = self._lane(service)
        for attempt in itertools.count():
            lane.enter(attempt, run)
            try:
                return request()
            except TryAgainError as refused:
                wait = self._wait(refused, attempt)
                if refused.busy:
                    lane.pause(wait, refused.error)
                if attempt + 1 == refused.tries or (wait >= run.left() and not refused.busy):
                    raise refused.error from refused
                pause = 0.0 if refused.busy else wait  # a busy service's pause is waited for in its lane
            finally:
                lane.leave()
            time.sleep(pause)
        raise AssertionError("the loop above ends by returning or raising")

    def _lane(self, service: str) -> "_Lane":
        with self._lock:
            return self._lanes.setdefault(service, _Lane(self._budgets.get(service)))

    def _wait(self, refused: TryAgainError, attempt: int) -> float:
        if refused.after is not None:
            return refused.after * self._wait_scale
        backoff: float = FIRST_WAIT * 2**attempt * random.uniform(0.75, 1.25)  # noqa: S311 - no secret
        return backoff * self._wait_scale


class _Lane:
    """The queue before one service: requests never sent go first, then the refused ones, oldest first."""

    def __init__(self, calls_per_minute: int | None) -> None:
        self._changed = threading.Condition()
        self._tickets = itertools.count()
        self._waiting: list[tuple[int, int]] = []
        self._in_flight = 0
        self._resume_at = 0.0
        self._refusal: NotionSearchError | None = None
        self._sent: deque[float] = deque(maxlen=calls_per_minute)

    def enter(self, attempt: int, run: Run) -> None:
        """Wait for a place; raises the refusal that closed the lane for longer than the run has."""
        with self._changed:
            ticket = (attempt, next(self._tickets))
            self._waiting.append(ticket)
            try:
                while (wait := self._wait_for(ticket)) != 0:
                    if run.left() == 0 or (wait is not None and wait > run.left()):
                        raise self._refusal or TimeoutError("no time was left to send the request")
                    self._changed.wait(min(run.left(), wait or run.left()))
                self._in_flight += 1
                self._sent.append(time.monotonic())
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()

    def _wait_for(self, ticket: tuple[int, int]) -> float | None:
        """Return 0 for go, seconds to wait, or None for until something changes."""
        now = time.monotonic()
        if self._resume_at > now:
            return self._resume_at - now
        self._refusal = None
        if len(self._sent) == self._sent.maxlen and self._sent[0] + BUDGET_WINDOW > now:
            return self._sent[0] + BUDGET_WINDOW - now
        return 0 if ticket == min(self._waiting) and self._in_flight < SLOTS else None

    def leave(self) -> None:
        with self._changed:
            self._in_flight -= 1
            self._changed.notify_all()

    def pause(self, seconds: float, refusal: NotionSearchError) -> None:
        with self._changed:
            self._resume_at = max(self._resume_at, time.monotonic() + seconds)
            self._refusal = refusal
            self._changed.notify_all()


class _Call(Generic[T]):
    """A call in a thread of its own, which never holds up the end of the process."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._ended = threading.Event()
        self._value: T
        self._error: BaseException | None = None
        # A pool's threads are joined at exit, so one hanging call would hold a finished run; daemons are not.
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        try:
            self._value = self._call()
        except BaseException as error:  # noqa: BLE001 - handed to whoever asks for the outcome
            self._error = error
        self._ended.set()

    def outcome(self, deadline: float) -> T | Failure | Pending:
        """Return what the call came to, waiting for it until the deadline at most; a bug is raised here."""
        if not self._ended.wait(max(0.0, deadline - time.monotonic())):
            return Pending()
        if isinstance(self._error, NotionSearchError | TimeoutError):
            return Failure(self._error)
        if self._error is not None:
            raise self._error
        return self._value

"""The command: from its arguments to its exit code; the only file that prints."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TextIO

from .arguments import parse, query
from .errors import ExitCode, NotionSearchError
from .redaction import redacted, secrets

if TYPE_CHECKING:
    from argparse import Namespace
    from types import FrameType, TracebackType

    from .render import Progress
    from .types import Answer, Event, Notice, Query

PIPE_WIDTH = 100  # cells, where there is no terminal to ask


def entry() -> NoReturn:
    """Run the command of this process and end with its exit code; a crash shows no credential."""
    # A run is over before looking for garbage would pay; it costs a tenth of the imports.
    gc.disable()
    sys.excepthook = _redacting_hook(secrets(os.environ))
    code = main()
    # Disabling does not reach the collection at the interpreter's end: half a second over the SDK's modules.
    gc.freeze()
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Answer the command line and return the exit code."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    except NotionSearchError as error:
        _say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except _TerminatedError:
        return ExitCode.TERMINATED


class _TerminatedError(BaseException):
    """SIGTERM arrived; what is open is closed on the way out."""


def _terminate(number: int, frame: "FrameType | None") -> NoReturn:
    raise _TerminatedError


def _main(argv: Sequence[str]) -> int:
    options = parse(argv)
    # Imported once there is a line to answer, which --help is not: the walk takes most of the time to start.
    from . import wiring
    from .render import Progress, explain
    from .settings import Settings

    settings = Settings.read(os.environ)
    if options.status:
        from .render import render_status

        states = wiring.states(options, settings, notify=partial(_notify_plainly, quiet=options.quiet))
        return _write(partial(render_status, states, as_json=options.json))
    asked = query(options, reads_stdin=options.query == ["-"] and "--" not in argv)
    # Asked before a status stands in for the streams.
    live = options.answer and not options.json and _is_terminal(sys.stdout)
    with Progress(sys.stderr, drawn=not options.quiet) as progress:
        notify = partial(_notify, progress, quiet=options.quiet)
        written = _Written(progress, notify, drawn=live)
        answer, meter = wiring.answer(asked, options, settings, notify=written.notify, emit=written.event)
    if options.explain:
        for line in explain(answer, meter, options.model or settings.model):
            _say(line)
    code = _write(partial(_rendered, answer, asked, options, told=written.anything))
    written.tell_the_rest()
    if written.ranked and not options.quiet and _is_ranked_here(answer):
        _say(written.ranked)
    return code


def _is_ranked_here(answer: "Answer") -> bool:
    """Whether the order is that of a store, not of a judge."""
    return all(result.confidence is not None or result.relevance is None for result in answer.results)


class _Written:
    """The answer as it is written, on a terminal: the status makes room for it, and notices wait for its end."""

    def __init__(self, progress: "Progress", notify: "Callable[[Notice], None]", *, drawn: bool) -> None:
        self.anything = False
        self._progress = progress
        self._notify = notify
        self._drawn = drawn
        self._waiting: list[Notice] = []
        self.ranked = ""

    def event(self, event: "Event") -> None:
        from .types import AnswerText, Ranked

        if isinstance(event, Ranked):
            self.ranked = event.text
        if not isinstance(event, AnswerText):
            self._progress.event(event)
        elif self._drawn:
            self._progress.clear()
            self.anything = True
            with suppress(OSError):
                sys.stdout.write(event.text)
                sys.stdout.flush()

    def notify(self, notice: "Notice") -> None:
        if self.anything:
            self._waiting.append(notice)
        else:
            self._notify(notice)

    def tell_the_rest(self) -> None:
        for notice in self._waiting:
            self._notify(notice)


def _is_terminal(stream: TextIO) -> bool:
    # What a terminal cannot show as it is written is written at the end, in what it can.
    return stream.isatty() and (stream.encoding or "").lower().replace("-", "") == "utf8"


def _rendered(
    answer: "Answer", query: "Query", options: "Namespace", *, told: bool = False, ascii_only: bool = False
) -> str:
    import shutil

    from .clock import utc_now
    from .render import answer_json, render_answer, render_json, render_table
    from .words import inert

    if options.report:
        from .report import render_report

        return render_report(answer, query, utc_now(), ascii_only=ascii_only)
    if options.json and options.answer:
        return answer_json(answer, ascii_only=ascii_only)
    if options.json:
        return render_json(answer.results, ascii_only=ascii_only)
    if not answer.results:
        return f"No matches for '{inert(query.text)}'\n"
    width = shutil.get_terminal_size((PIPE_WIDTH, 24)).columns
    color = _wants_color(options.color, os.environ)
    if options.answer:
        return render_answer(answer, utc_now(), width=width, color=color, told=told)
    return render_table(answer.results, width=width, color=color)


def _wants_color(choice: str, environ: Mapping[str, str]) -> bool:
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    return bool(environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and environ.get("TERM") != "dumb")


def _write(rendered: Callable[..., str]) -> int:
    """Write the answer to stdout in whatever encoding it has; a reader that stopped reading is no error."""
    encoding = sys.stdout.encoding or "utf-8"
    text = rendered()
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = rendered(ascii_only=True).encode(encoding, "replace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon(sys.stdout)
    except OSError as error:
        _abandon(sys.stdout)
        _say(f"the answer could not be written: {error.strerror}")
        return ExitCode.FAILURE
    return ExitCode.OK


def _abandon(stream: TextIO) -> None:
    """Point the stream at nothing, so that Python's own flush at exit does not fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _notify(progress: "Progress", notice: "Notice", *, quiet: bool) -> None:
    if not quiet:
        try:
            progress.say(_line(notice.text))
        except OSError:
            _abandon(sys.stderr)


def _notify_plainly(notice: "Notice", *, quiet: bool) -> None:
    if not quiet:
        _say(notice.text)


def _say(text: str) -> None:
    try:
        sys.stderr.write(_line(text) + "\n")
        sys.stderr.flush()
    except OSError:
        _abandon(sys.stderr)


def _line(text: str) -> str:
    from .words import inert

    # What a service says may quote the credential it was sent.
    return f"notion-search: {redacted(inert(text), secrets(os.environ))}"


def _redacting_hook(
    hidden: Sequence[str],
) -> "Callable[[type[BaseException], BaseException, TracebackType | None], None]":
    def show(kind: type[BaseException], error: BaseException, trace: "TracebackType | None") -> None:
        import traceback

        text = "".join(traceback.format_exception(kind, error, trace))
        with suppress(OSError):
            sys.stderr.write(redacted(text, hidden))

    return show

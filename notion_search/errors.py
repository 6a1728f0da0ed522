"""The ways a run can end without an answer, and the exit code of each.

NotionSearchError           1
├── UsageError              2    the command line asks for something impossible
├── SetupError              3    a token, a package or a program is missing
├── SourceError             4    a source refused or could not be reached
│   ├── NotFoundError            it has no such page or database, or does not share it
│   └── UnauthorizedError        it does not know this token
├── EmbedderError           -    the vectors cannot be made; the store ranks by words
└── LLMError                -    the pipeline goes on without
    ├── LLMUnavailableError      a door to the model is shut; another may be open
    └── LLMReplyError            the reply was not the JSON asked for
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells its caller."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    SETUP = 3
    SOURCE = 4
    INTERRUPTED = 130  # 128 + SIGINT, as shells count
    TERMINATED = 143  # 128 + SIGTERM


class NotionSearchError(Exception):
    """A run that cannot answer; its text is one line that says what, which one, and the way out."""

    exit_code = ExitCode.FAILURE


class UsageError(NotionSearchError):
    """The command line asks for something impossible."""

    exit_code = ExitCode.USAGE


class SetupError(NotionSearchError):
    """A token, a package or a program is missing or unusable."""

    exit_code = ExitCode.SETUP


class SourceError(NotionSearchError):
    """A source refused or could not be reached."""

    exit_code = ExitCode.SOURCE


class NotFoundError(SourceError):
    """The source has no such page or database, or does not share it with this token."""


class UnauthorizedError(SourceError):
    """The source does not know this token."""


class EmbedderError(NotionSearchError):
    """The sentence encoder is installed and cannot be used; the store ranks by words."""


class LLMError(NotionSearchError):
    """The model gave no usable answer; the pipeline goes on without."""


class LLMUnavailableError(LLMError):
    """A door to the model is shut: no credentials, refused ones, or no program."""


class LLMReplyError(LLMError):
    """The reply was not the JSON asked for."""

"""Claude through the `claude` program, run as a text function and nothing more."""

import json
from collections.abc import Callable, Mapping, Sequence

from .children import Children
from .errors import LLMError, LLMReplyError, LLMUnavailableError
from .replies import find_json
from .types import Reply, Run
from .words import quoted

# An answer of either stage takes a few seconds; one silent for half a minute will not come.
LIMIT = 30.0  # seconds a call

# The program is asked for text and given nothing else: no tools, no settings, no memory, no session.
ARGUMENTS = (
    *("--output-format", "json", "--tools", "", "--strict-mcp-config", "--setting-sources", ""),
    *("--disable-slash-commands", "--no-session-persistence", "--max-turns", "1"),
)

# What `claude` needs from the caller's environment to find its login, its network and its locale.
_PASSED = frozenset(
    """PATH HOME USER LOGNAME SHELL TERM TMPDIR TMP TEMP TZ LANG LANGUAGE CLAUDE_CONFIG_DIR CLAUDE_CODE_OAUTH_TOKEN
    NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
    ALL_PROXY all_proxy XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR
    CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX CLOUD_ML_REGION GOOGLE_APPLICATION_CREDENTIALS
    SYSTEMROOT SYSTEMDRIVE COMSPEC PATHEXT WINDIR USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA""".split()
)
_PASSED_PREFIXES = ("LC_", "ANTHROPIC_", "AWS_")


class Program:
    """Claude through the `claude` program, run as a text function and nothing more."""

    name = "the claude program"

    def __init__(self, path: str, model: str, environ: Mapping[str, str]) -> None:
        """Run the program at this path, with what it needs of this environment."""
        self.model = model
        self._path = path
        self._environ = environ
        self._children = Children()

    def ask(
        self,
        prompt: str,
        *,
        system: str,
        schema: Mapping[str, object] | None,
        max_tokens: int,
        run: Run,
        on_text: Callable[[str], None] | None = None,
    ) -> Reply:
        """Return the program's reply, all of it at once; `schema` is left to the prompt.

        The program's own schema option adds a tool and up to three more requests.
        """
        limit = min(LIMIT, run.left())
        arguments = [self._path, "-p", "--model", self.model, *ARGUMENTS, "--system-prompt", system]
        run.meter.count("claude.program")
        environment = _environment(self._environ, limit, max_tokens)
        try:
            with self._children.folder() as empty:
                printed = self._children.run(
                    arguments, empty, environment, limit=limit, stdin=_guarded(prompt).encode()
                )
        except TimeoutError as error:
            raise LLMError(f"the claude program {error}") from None
        except OSError as error:
            raise LLMUnavailableError(f"the claude program cannot be started ({error.strerror})") from error
        reply = _from_program(*printed, self.model)
        if on_text:
            on_text(reply.text)
        return reply

    def close(self) -> None:
        """End every process still running, with the processes it started, and see their folders gone."""
        self._children.close()


def _environment(environ: Mapping[str, str], limit: float, max_tokens: int) -> dict[str, str]:
    passed = {k: v for k, v in environ.items() if k in _PASSED or k.startswith(_PASSED_PREFIXES)}
    return passed | {
        "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",  # or `@path` in a page's text reads that file into the prompt
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(max_tokens),
        "MAX_THINKING_TOKENS": "0",
        "API_TIMEOUT_MS": str(max(1, int(limit * 1000))),
    }


def _guarded(prompt: str) -> str:
    """Return the prompt with no `@` the program could take for a file to read."""
    return prompt.replace("@", "＠")


def _from_program(code: int, out: str, err: str, model: str) -> Reply:
    """Return the reply in what the program printed: one object, an array of events, or bare text."""
    events = [event for value in find_json(out) for event in _events(value)]
    final = next((event for event in reversed(events) if event.get("type") == "result"), None)
    if final is None:
        # A broken envelope is no answer in words: its own lists are not the model's.
        if code or not out.strip() or '"type"' in out:
            raise _program_failure(code, err.strip() or out.strip())
        return Reply(text=out, tokens_in=0, tokens_out=0, model=model, door=Program.name)
    text = final.get("result")
    if final.get("is_error") or code:
        raise _program_failure(code, text if isinstance(text, str) and text else err or str(final.get("subtype")))
    usage = final.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Reply(
        text=_answer_text(final, events),
        tokens_in=sum(
            _number(usage.get(k)) for k in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        ),
        tokens_out=_number(usage.get("output_tokens")),
        model=model,
        door=Program.name,
        whole=final.get("stop_reason") != "max_tokens",
    )


def _events(value: object) -> list[dict[str, object]]:
    values = value if isinstance(value, list) else [value]
    return [event for event in values if isinstance(event, dict) and isinstance(event.get("type"), str)]


def _answer_text(final: Mapping[str, object], events: Sequence[Mapping[str, object]]) -> str:
    if final.get("structured_output") is not None:
        return json.dumps(final["structured_output"], ensure_ascii=False)
    result = final.get("result")
    if isinstance(result, str) and result.strip():
        return result
    spoken = [_spoken(event) for event in events if event["type"] == "assistant"]
    if any(spoken):
        return "".join(spoken)
    raise LLMReplyError("the claude program answered with nothing")


def _spoken(event: Mapping[str, object]) -> str:
    message = event.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    return "".join(str(b.get("text", "")) for b in blocks if isinstance(b, dict) and b.get("type") == "text")


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _program_failure(code: int, said: str) -> LLMError:
    return LLMError(f"the claude program failed (exit {code}): {quoted(said, 200) or 'it said nothing'}")

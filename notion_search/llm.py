"""One door to Claude: the anthropic SDK, else the `claude` program used as a text function."""

import importlib.util
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .children import find_program
from .errors import LLMError, LLMReplyError, LLMUnavailableError, SetupError
from .imports import import_without
from .pace import TryAgainError
from .program import LIMIT, Program
from .tls import certificates
from .types import Notice, Reply, Run
from .words import clip, inert

if TYPE_CHECKING:
    import anthropic

NO_CLIENT = (
    "no Claude client: set ANTHROPIC_API_KEY, or install Claude Code and sign in (`claude`), "
    "or search without one: --local ranks by rule, --no-expand --no-rerank not at all"
)

_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")

# Three quarters of the time to import the SDK: other vendors' clients, tools, and the types of what is not asked for.
# One message needs none of it, as long as it is posted and not sent through `client.messages`, which loads them all.
UNUSED = (
    *(f"lib.{name}" for name in ("aws", "bedrock", "foundry", "google_cloud", "middleware", "streaming", "tools")),
    *("lib.vertex", "types.beta", "types.organization", "types.shared.error_details"),
)


def connect(model: str, environ: Mapping[str, str]) -> "Doors":
    """Return the doors to Claude this machine has, best first; raises SetupError when it has none."""
    doors: list[SDK | Program] = []
    if importlib.util.find_spec("anthropic") and _has_credentials(environ):
        doors.append(SDK(model, environ))
    if path := find_program("claude", environ.get("PATH", "")):
        # Behind the SDK the program is asked once the keys were refused; it would use them before its own login.
        keys = _KEYS if doors else ()
        doors.append(Program(str(path), model, {name: value for name, value in environ.items() if name not in keys}))
    if not doors:
        raise SetupError(NO_CLIENT)
    return Doors(doors)


def _has_credentials(environ: Mapping[str, str]) -> bool:
    """Whether the SDK could find credentials: the places it looks, without its second of import."""
    names = (*_KEYS, "ANTHROPIC_PROFILE", "ANTHROPIC_FEDERATION_RULE_ID")
    if any(environ.get(name, "").strip() for name in names):
        return True
    config, home, roaming = (environ.get(name) for name in ("ANTHROPIC_CONFIG_DIR", "HOME", "APPDATA"))
    folders = [
        config and Path(config),
        home and Path(home, ".config/anthropic"),
        roaming and Path(roaming, "Anthropic"),
    ]
    return any(
        Path(folder, "active_config").exists() or Path(folder, "configs").is_dir() for folder in folders if folder
    )


class Doors:
    """The first door that opens; one that is shut is named once and not tried again."""

    def __init__(self, doors: "Sequence[SDK | Program]") -> None:
        """Try the doors in this order."""
        self._all = tuple(doors)
        self._doors = list(doors)
        self._lock = threading.Lock()
        self.model = self._doors[0].model

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
        """Return the reply of the first door that is not shut; raises LLMError."""
        while True:
            door = self._doors[0]
            try:
                reply = door.ask(prompt, system=system, schema=schema, max_tokens=max_tokens, run=run, on_text=on_text)
            except LLMUnavailableError as error:
                if not self._shut(door, error, run):
                    raise
            else:
                run.meter.count("tokens.in", reply.tokens_in)
                run.meter.count("tokens.out", reply.tokens_out)
                return reply

    def _shut(self, door: "SDK | Program", error: LLMUnavailableError, run: Run) -> bool:
        """Go on to the next door and return whether there is one; two questions may find the same door shut."""
        with self._lock:
            if door is self._doors[-1]:
                return False
            if door is self._doors[0]:
                self._doors.pop(0)
                run.notify(Notice(stage="llm", text=f"{error}; using {self._doors[0].name} instead"))
            return True

    def close(self) -> None:
        """End what is still under way; nothing outlives the run."""
        for door in self._all:
            door.close()


class SDK:
    """Claude through the anthropic package, imported at the first question: it takes half a second."""

    name = "the anthropic SDK"

    def __init__(self, model: str, environ: Mapping[str, str]) -> None:
        """Ask this model, with what the environment says of where and as whom."""
        self.model = model
        self._environ = environ
        self._lock = threading.Lock()
        self._client: anthropic.Anthropic | None = None
        self._closed = False

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
        """Return the model's reply; raises LLMUnavailableError when the SDK or its credentials are of no use."""
        client = self._connect()
        # Valid for Haiku 4.5 and its successors: no sampling parameter, no prefill, thinking off.
        asked: dict[str, Any] = {
            "model": self.model,
            "max_tokens": max_tokens,
            "system": system,
            "messages": [{"role": "user", "content": prompt}],
            "thinking": {"type": "disabled"},
        }
        if schema is not None:
            asked["output_config"] = {"format": {"type": "json_schema", "schema": schema}}

        def request() -> Reply:
            run.meter.count("claude.sdk")
            with self._closing(), _explained():
                return _post(client, asked, min(LIMIT, run.left()), on_text)

        try:
            return run.pace.send(request, run, service="claude")
        except TimeoutError:
            raise LLMError("Claude did not answer in time") from None

    def close(self) -> None:
        """Close the connection, now and again when a question that the run gave up on is through with it."""
        self._closed = True
        if self._client is not None:
            self._client.close()

    @contextmanager
    def _closing(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self._closed:
                self.close()

    def _connect(self) -> "anthropic.Anthropic":
        with self._lock:
            if self._client is None:
                self._client = _sdk_client(self._environ)
            return self._client


def _sdk_client(environ: Mapping[str, str]) -> "anthropic.Anthropic":
    logger = logging.getLogger("anthropic")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    try:
        import_without("anthropic", UNUSED)
    except ImportError as error:
        raise LLMUnavailableError(f"the anthropic SDK cannot be imported ({inert(str(error))})") from error
    import anthropic

    # The SDK reads these too, but would send the blanks around them; it takes one of the first two, the key before.
    key, token, url = (environ.get(name, "").strip() or None for name in (*_KEYS, "ANTHROPIC_BASE_URL"))
    token = None if key else token
    with _explained():
        # Retries are pace's; a redirect would carry the key elsewhere.
        http = anthropic.DefaultHttpxClient(follow_redirects=False, verify=certificates(url or "https:"))
        return anthropic.Anthropic(api_key=key, auth_token=token, base_url=url, max_retries=0, http_client=http)


def _post(
    client: "anthropic.Anthropic", asked: Mapping[str, object], timeout: float, on_text: Callable[[str], None] | None
) -> Reply:
    from anthropic import Stream
    from anthropic.types import Message, RawMessageStreamEvent

    if on_text is None:
        message = client.post("/v1/messages", cast_to=Message, body=asked, options={"timeout": timeout})
        # A successor may think first, so the text is not always the first block.
        text = "".join(block.text for block in message.content or () if block.type == "text")
        return _reply(text, message, message.usage.output_tokens, message.stop_reason)
    events = client.post(
        "/v1/messages",
        cast_to=cast("Any", RawMessageStreamEvent),  # a union, which the signature has no word for
        body={**asked, "stream": True},
        options={"timeout": timeout},
        stream=True,
        stream_cls=Stream[RawMessageStreamEvent],
    )
    return _streamed(events, on_text)


def _streamed(
    events: "anthropic.Stream[anthropic.types.RawMessageStreamEvent]", on_text: Callable[[str], None]
) -> Reply:
    """Return the reply that the events add up to; raises what can be tried again only while no text was passed on."""
    import anthropic

    # The SDK's own transport, whose errors it translates until an answer begins and not after.
    import httpx2

    message, text, tokens_out, stop_reason = None, "", 0, None
    try:
        with events:
            for event in events:
                if event.type == "message_start":
                    message = event.message
                elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                    text += event.delta.text
                    on_text(event.delta.text)
                elif event.type == "message_delta":
                    tokens_out, stop_reason = event.usage.output_tokens, event.delta.stop_reason
    except (anthropic.AnthropicError, httpx2.TransportError, ValueError, AttributeError) as error:
        if text:
            raise LLMReplyError("Claude's answer broke off") from error
        if isinstance(error, httpx2.TimeoutException):
            raise LLMError("Claude did not answer in time") from error
        if isinstance(error, httpx2.TransportError):
            raise TryAgainError(LLMError("Claude could not be reached: the connection failed")) from error
        raise
    if message is None or stop_reason is None:
        raise LLMReplyError("Claude's answer broke off")
    return _reply(text, message, tokens_out, stop_reason)


def _reply(text: str, message: "anthropic.types.Message", tokens_out: int, stop_reason: str | None) -> Reply:
    if not text.strip():
        raise LLMReplyError(f"Claude answered without text (it stopped for {inert(str(stop_reason))})")
    return Reply(
        text=text,
        tokens_in=message.usage.input_tokens,
        tokens_out=tokens_out,
        model=message.model,
        door=SDK.name,
        whole=stop_reason != "max_tokens",
    )


@contextmanager
def _explained() -> Iterator[None]:
    """Turn what the SDK raises into our errors; its own texts can hold the key, so only statuses are quoted."""
    import anthropic

    try:
        yield
    except anthropic.APIStatusError as error:
        raise _refusal(error) from error
    except anthropic.APITimeoutError as error:
        raise LLMError("Claude did not answer in time") from error
    except anthropic.APIConnectionError as error:
        raise TryAgainError(LLMError("Claude could not be reached: the connection failed")) from error
    except (anthropic.AnthropicError, TypeError) as error:
        # Without credentials the SDK raises a plain TypeError at the first call, not an error of its own.
        raise LLMUnavailableError("the anthropic SDK found no usable credentials") from error
    except (ValueError, AttributeError) as error:
        raise LLMReplyError("Claude's answer was not in the form its API promises") from error


def _refusal(error: "anthropic.APIStatusError") -> Exception:
    status = error.status_code
    said = clip(inert(error.api_message or ""), 150)
    text = f"Claude refused ({status}{': ' + said if said else ''})"
    if status in (401, 402, 403) or (status == 400 and "credit" in said.lower()):
        return LLMUnavailableError(f"the anthropic SDK's credentials were refused ({status})")
    if status in (429, 529):
        return TryAgainError(LLMError(text), after=_seconds(error.response.headers.get("retry-after")), busy=True)
    if status in (408, 409) or status >= 500:
        return TryAgainError(LLMError(text))
    return LLMError(text)


def _seconds(retry_after: str | None) -> float | None:
    return float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else None

"""Notion's refusals in our words: what happened, and the way out."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ..errors import NotFoundError, SourceError, UnauthorizedError
from ..pace import TryAgainError
from ..words import clip, inert


class RefusedError(SourceError):
    """Notion understood the request and will not answer it (400)."""


def refusal(status: int, headers: Mapping[str, str], body: object) -> Exception:
    """Return the error an answer of this status is, or one worth trying again; a gateway's HTML is never quoted."""
    message, details = _said(body)
    quoted = f": {message}" if message else ""
    if status == 401:
        return UnauthorizedError(
            "Notion does not know this token (401): make one at https://www.notion.so/profile/integrations "
            "and set NOTION_TOKEN"
        )
    if status == 403:
        return SourceError(f"Notion refused (403{quoted}): give the integration the capability to read content")
    if status == 404:
        return NotFoundError(f"Notion has no such object, or does not share it with this token (404{quoted})")
    if status in (429, 529):
        return _busy(status, _retry_after(headers), details)
    if status == 409 or status >= 500:
        return TryAgainError(SourceError(f"Notion is unavailable ({status}{quoted})"), after=_retry_after(headers))
    if status == 400:
        return RefusedError(f"Notion refused the request (400{quoted})")
    return SourceError(f"Notion refused the request ({status}{quoted})")


def _busy(status: int, after: float | None, details: Mapping[str, object]) -> Exception:
    if details.get("rate_limit_reason") == "public_api_request_blocked":
        return SourceError(f"Notion blocked this token's requests ({status}); it does not lift with waiting")
    wait = f" and asks to wait {after:.0f} s" if after else ""
    kind = "limits the rate of calls" if status == 429 else "is overloaded"
    return TryAgainError(SourceError(f"Notion {kind} ({status}){wait}"), after=after, busy=True)


def _said(body: object) -> tuple[str, Mapping[str, object]]:
    """Return the message of an error body and its additional data; nothing of a gateway's HTML."""
    try:
        value = json.loads(body) if isinstance(body, str) else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return "", {}
    message, details = value.get("message"), value.get("additional_data")
    return (
        clip(inert(message), 200) if isinstance(message, str) else "",
        details if isinstance(details, dict) else {},
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds the Retry-After header asks for, given as a number or a date; None without one."""
    text = headers.get("retry-after", "")
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None

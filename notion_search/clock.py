"""The present, handed to whoever counts time, so that a test can hand another."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the present, in UTC."""
    return datetime.now(UTC)

"""A small sample workspace, and the in-memory Notion API that serves it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx


def client() -> "httpx.Client":
    """Return an HTTP client for which Notion is the built-in sample workspace; nothing leaves the process."""
    # httpx takes a while to import, and a run that is no demo has no use for it here.
    import httpx

    from .handler import Handler
    from .transport import Transport
    from .workspace import sample

    return httpx.Client(transport=Transport(Handler(sample())))

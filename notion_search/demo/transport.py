"""An httpx transport that answers from a workspace instead of a network."""

import httpx

from .handler import Handler


class Transport(httpx.BaseTransport):
    """Hands every request to a handler; safe to use from many threads."""

    def __init__(self, handler: Handler) -> None:
        """Answer every request, whatever its host, through the handler."""
        self._handler = handler

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the handler's answer."""
        params = request.url.params
        status, body = self._handler.answer(
            request.method,
            request.url.path,
            {name: params.get_list(name) for name in params},
            request.headers,
            request.read(),
        )
        return httpx.Response(status, json=body, request=request)

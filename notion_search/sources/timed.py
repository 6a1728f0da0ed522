"""An HTTP request that ends at its limit or at the run's deadline, whichever comes first."""

import time
from collections.abc import Iterator

import httpx

# Notion answers in well under a second, a slow data source in a few.
LIMIT = 10.0  # seconds a call


class Timed:
    """Hooks that end every request at its limit or the run's deadline, a body dripping byte by byte included."""

    def __init__(self, deadline: float) -> None:
        """End no later than the deadline, in monotonic seconds."""
        self._deadline = deadline

    def request(self, request: httpx.Request) -> None:
        """Give the request the time there is."""
        left = max(0.001, min(LIMIT, self._deadline - time.monotonic()))
        request.extensions["timeout"] = httpx.Timeout(left).as_dict()
        request.extensions["end"] = time.monotonic() + left

    def response(self, response: httpx.Response) -> None:
        """Let the body arrive until the request's end."""
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _Ending(response.stream, response.request.extensions["end"])


class _Ending(httpx.SyncByteStream):
    """A body that is read until a moment and no longer; httpx limits each read, never their sum."""

    def __init__(self, stream: httpx.SyncByteStream, end: float) -> None:
        self._stream = stream
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            if time.monotonic() > self._end:
                raise httpx.ReadTimeout("the answer was still arriving at the end of its time")
            yield chunk

    def close(self) -> None:
        self._stream.close()

"""A plain HTTP server in a thread, on 127.0.0.1 and a free port, that keeps every request it was sent."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it arrived."""

    method: str
    path: str
    params: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    """Names in lower case."""
    content: bytes
    arrived: float
    """Monotonic seconds."""

    @property
    def body(self):
        """The parsed JSON body; None when there is none or it is not JSON."""
        try:
            return json.loads(self.content) if self.content else None
        except ValueError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back: a dict or list as JSON, text and bytes as they are, and how it is sent."""

    status: int = 200
    body: object = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    """Seconds before the first byte."""
    cut: int | None = None
    """Bytes of the body after which the connection is reset, though the full length was promised."""
    drip: float = 0.0
    """Seconds before every byte of the body."""

    def encoded(self) -> tuple[bytes, str]:
        """The body's bytes and their content type."""
        if isinstance(self.body, bytes):
            return self.body, "application/octet-stream"
        if isinstance(self.body, str):
            return self.body.encode(), "text/html" if self.body.startswith("<") else "text/plain"
        return json.dumps(self.body).encode(), "application/json; charset=utf-8"


class Server:
    """Serves `answer` until it is closed; use it as a context manager."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.answer = answer
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self._httpd = _Httpd(("127.0.0.1", 0), _Connection)
        self._httpd.owner = self
        self._thread = threading.Thread(target=self._httpd.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The root address, without a slash at its end."""
        return f"http://127.0.0.1:{self._httpd.server_address[1]}"

    @property
    def requests(self) -> list[Request]:
        """Every request so far, in order of arrival."""
        with self._lock:
            return list(self._requests)

    def keep(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)

    def close(self) -> None:
        """Stop at once; whatever still hangs is let go."""
        self.closing.set()
        self._httpd.shutdown()
        self._httpd.close_connections()
        self._httpd.server_close()
        self._thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.close()


class _Httpd(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a hanging handler must not hold up the end of a test
    request_queue_size = 128
    owner: Server

    def __init__(self, *arguments) -> None:
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(*arguments)

    def process_request(self, request, client_address) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """Wake every thread that waits on a connection kept alive."""
        with self._lock:
            waiting = list(self._connections)
        for connection in waiting:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # the client was faster
                continue

    def handle_error(self, request, client_address) -> None:
        """A client that went away is no news."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Httpd

    def _serve(self) -> None:
        arrived = time.monotonic()
        length = int(self.headers.get("Content-Length") or 0)
        split = urlsplit(self.path)
        request = Request(
            method=self.command,
            path=split.path,
            params=parse_qs(split.query, keep_blank_values=True),
            headers={name.lower(): value for name, value in self.headers.items()},
            content=self.rfile.read(length),
            arrived=arrived,
        )
        self.server.owner.keep(request)
        self._send(self.server.owner.answer(request))

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve  # noqa: N815 -- the names http.server calls

    def _send(self, reply: Reply) -> None:
        body, kind = reply.encoded()
        if self._closed_while_waiting(reply.wait):
            return
        self.send_response(reply.status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if reply.cut is not None:
            self._reset(body[: reply.cut])
        elif reply.drip:
            self._drip(body, reply.drip)
        else:
            self.wfile.write(body)

    def _closed_while_waiting(self, seconds: float) -> bool:
        self.close_connection = seconds > 0 and self.server.owner.closing.wait(seconds)
        return self.close_connection

    def _reset(self, beginning: bytes) -> None:
        self.wfile.write(beginning)
        # Lingering for no time turns the close into a reset; the reader's reference would put the close off.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()
        self.connection.close()
        self.close_connection = True

    def _drip(self, body: bytes, seconds: float) -> None:
        for index in range(len(body)):
            if self._closed_while_waiting(seconds):
                return
            self.wfile.write(body[index : index + 1])

    def log_message(self, *_) -> None:
        """Tests read `requests` instead."""

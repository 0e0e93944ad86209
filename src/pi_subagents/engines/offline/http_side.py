"""
Serve the offline model over HTTP: routes, limits, server-sent events, ending connections.

In: connections on loopback.  Out: what wire.py writes, over HTTP/1.1 with chunked streams, so
that a cut stream is visible as one.  Imported by server.py when serving begins.
"""

from __future__ import annotations

import contextlib
import json
import re
import selectors
import socket
import socketserver
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

from pi_subagents.core.offline.script import HttpError
from pi_subagents.engines.offline.conversations import CONVERSATION, DEFAULT_CONVERSATION
from pi_subagents.engines.offline.wire import Completion, error_body, models_body

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pi_subagents.engines.offline.conversations import Conversations

MAX_BODY_BYTES = 64 * 1024 * 1024

# "/v1/..." without a conversation is what a client configured by hand asks for
_ROUTE = re.compile(rf"(?:/(?P<conversation>{CONVERSATION}))?/v1/(?P<what>chat/completions|models)")
_DISCARD_BYTES = 1024 * 1024


class Server(ThreadingHTTPServer):
    """A threading server that knows its connections, so that it can end them."""

    request_queue_size = 128  # many children start in the same moment

    def __init__(self, address: tuple[str, int], conversations: Conversations) -> None:
        self.conversations = conversations
        self.ending = threading.Event()
        self._open: dict[threading.Thread, socket.socket] = {}
        self._open_lock = threading.Lock()
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        """Bind without HTTPServer's name lookup, which can take seconds where DNS is absent."""
        socketserver.TCPServer.server_bind(self)
        host, port = self.server_address[:2]
        self.server_name, self.server_port = str(host), int(port)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection in a thread that end_connections() can find."""
        thread = threading.Thread(
            target=self._serve,
            args=(request, client_address),
            name="offline-model-connection",
            daemon=True,
        )
        with self._open_lock:
            self._open[thread] = request
        try:
            thread.start()
        except RuntimeError:  # no more threads may be started: the client sees its connection end
            with self._open_lock:
                del self._open[thread]
            self.shutdown_request(request)

    def end_connections(self) -> None:
        """Shut every open connection down and wait for its thread; call after shutdown()."""
        self.ending.set()
        with self._open_lock:
            open_now = dict(self._open)
        for connection in open_now.values():
            # wakes reads, writes and pauses alike; the connection's own thread closes it
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in open_now:
            thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about clients that went away; report anything else as the base does."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def _serve(self, request: Any, client_address: Any) -> None:
        try:
            self.process_request_thread(request, client_address)
        finally:
            with self._open_lock:
                del self._open[threading.current_thread()]


class Handler(BaseHTTPRequestHandler):
    """One connection, one request: every answer closes it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # many small chunks: do not wait for acknowledgements

    def do_GET(self) -> None:
        """Answer the two questions that are not completions."""
        route = self._route()
        if self.path == "/healthz":
            self._send_json(200, {"status": "ok"})
        elif route is not None and route["what"] == "models":
            self._send_json(200, models_body())
        else:
            self._refuse(HttpError(404, f"no such address: {self.path}"))

    def do_POST(self) -> None:
        """Answer a chat completion."""
        length = self.headers.get("Content-Length", "")
        if re.fullmatch("[0-9]{1,18}", length) is None:
            self._refuse(HttpError(411, "a Content-Length is needed"))
        elif int(length) > MAX_BODY_BYTES:
            self._refuse(HttpError(413, f"the request is larger than {MAX_BODY_BYTES} bytes"))
            self._discard(int(length))
        else:
            self._complete(self.rfile.read(int(length)))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Print nothing: the terminal belongs to the faces."""

    def _route(self) -> re.Match[str] | None:
        return _ROUTE.fullmatch(self.path.partition("?")[0])

    def _complete(self, raw: bytes) -> None:
        route = self._route()
        if route is None or route["what"] != "chat/completions":
            self._refuse(HttpError(404, f"no such address: {self.path}"))
            return
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError) as error:
            self._refuse(HttpError(400, f"the request is not JSON: {error}"))
            return
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            self._refuse(HttpError(400, "the request must be an object with a list of messages"))
            return
        conversations = cast("Server", self.server).conversations
        conversation = route["conversation"] or DEFAULT_CONVERSATION
        number, turn = conversations.answer(conversation, body)
        if not self._pause(turn.delay_ms):
            return
        if turn.error is not None:
            self._refuse(turn.error)
        elif body.get("stream") is True:
            self._stream(Completion.of(turn, body, number))
        else:
            self._send_json(200, Completion.of(turn, body, number).whole(), cut=turn.cut)

    def _stream(self, completion: Completion) -> None:
        turn = completion.turn
        events: Iterable[Mapping[str, Any]] = completion.chunks()
        if turn.cut:
            every = list(events)
            events = every[: max(1, len(every) // 2)]
        self._send_head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for index, event in enumerate(events):
            if index and not self._pause(turn.chunk_delay_ms):
                return
            self._send_chunk(b"data: " + _encoded(event) + b"\n\n")
        if not turn.cut:  # a cut stream lacks the [DONE] and the chunk that ends a body
            self._send_chunk(b"data: [DONE]\n\n")
            self._send_chunk(b"")

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _send_json(
        self,
        status: int,
        value: Mapping[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
        cut: bool = False,
    ) -> None:
        data = _encoded(value)
        length = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        self._send_head(status, {**length, **(headers or {})})
        self.wfile.write(data[: len(data) // 2] if cut else data)

    def _send_head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()

    def _refuse(self, error: HttpError) -> None:
        wait = error.retry_after_s
        headers = {} if wait is None else {"Retry-After": str(wait)}
        self._send_json(error.status, error_body(error), headers=headers)

    def _pause(self, milliseconds: int) -> bool:
        """Wait; return False at once when the client goes away or the server ends."""
        if milliseconds == 0:
            return True
        with selectors.DefaultSelector() as selector:
            selector.register(self.connection, selectors.EVENT_READ)
            if not selector.select(milliseconds / 1000):
                return True
        if not self.connection.recv(1, socket.MSG_PEEK):
            return False
        # bytes nobody asked for: the socket no longer shows it, only the server's end does
        return not cast("Server", self.server).ending.wait(milliseconds / 1000)

    def _discard(self, length: int) -> None:
        """Read away an unwanted body: closing before would destroy the answer in flight."""
        while length > 0 and (data := self.rfile.read(min(length, _DISCARD_BYTES))):
            length -= len(data)


def _encoded(value: Mapping[str, Any]) -> bytes:
    # ASCII: lone surrogates that a client sent escaped go back escaped
    return json.dumps(value, separators=(",", ":")).encode("ascii")

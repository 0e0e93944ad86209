"""A provider on loopback that remembers one header of every request, and refuses it."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Listener(http.server.ThreadingHTTPServer):
    """Whoever asks is noted and asked not to come again."""

    def __init__(self, header: str) -> None:
        super().__init__(("127.0.0.1", 0), _Refusal)
        self.header = header
        self.seen: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Refusal(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Listener)
        self.server.seen.append(self.headers.get(self.server.header))
        self.send_response(400)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def listening_for(header: str) -> Iterator[Listener]:
    """Serve for as long as the block lasts."""
    with Listener(header) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()

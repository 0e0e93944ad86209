"""
A provider, on loopback, that limits how often it is asked, and reports usage.

In: how many requests it answers at a time, or which ones it refuses, and for how long.  Out: an
address, and what it was asked.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER = [{"role": "assistant", "content": "The answer."}]
LOOK = {"index": 0, "id": "c1", "type": "function"}
CALL = [
    {
        "role": "assistant",
        "tool_calls": [LOOK | {"function": {"name": "bash", "arguments": '{"command": "true"}'}}],
    }
]
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


@dataclass
class LimitingProvider:
    """What it does with its requests; `calls_first`: a conversation begins with a tool call."""

    refuses: Callable[[int, int], bool]  # given the number of the request, and how many are open
    retry_after_s: float
    takes_s: float = 0
    calls_first: bool = False
    asked: list[list[Any]] = field(default_factory=list)  # the messages of each request
    refused: int = 0
    most_at_once: int = 0
    _open: int = 0
    _changing: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                provider.handle(self, body["messages"])

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def models(self) -> dict[str, object]:
        """Return what pi's models.json has of it."""
        url = f"http://127.0.0.1:{self._server.server_port}/v1"
        model = {"id": "limiting"}
        provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "x", "models": [model]}
        return {"providers": {"limiting": provider}}

    def handle(self, handler: BaseHTTPRequestHandler, messages: list[Any]) -> None:
        """Answer one request, or refuse it."""
        with self._changing:
            self.asked.append(messages)
            is_refused = self.refuses(len(self.asked), self._open)
            self.refused += is_refused
            self._open += not is_refused
            self.most_at_once = max(self.most_at_once, self._open)
        if is_refused:
            self._refuse(handler)
            return
        try:
            time.sleep(self.takes_s)  # a model at work; nothing here waits for it
            has_called = any(message["role"] == "tool" for message in messages)
            self._answer(handler, calls=self.calls_first and not has_called)
        finally:
            with self._changing:
                self._open -= 1

    def _refuse(self, handler: BaseHTTPRequestHandler) -> None:
        error = {"message": "Slow down", "type": "rate_limit_error"}
        body = json.dumps({"error": error}).encode()
        handler.send_response(429)
        handler.send_header("retry-after", str(self.retry_after_s))
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _answer(self, handler: BaseHTTPRequestHandler, *, calls: bool) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        for delta in CALL if calls else ANSWER:
            self._chunk(handler, choices=[{"index": 0, "delta": delta, "finish_reason": None}])
        stop = "tool_calls" if calls else "stop"
        self._chunk(handler, choices=[{"index": 0, "delta": {}, "finish_reason": stop}])
        self._chunk(handler, choices=[], usage=USAGE)
        handler.wfile.write(b"data: [DONE]\n\n")

    def _chunk(self, handler: BaseHTTPRequestHandler, **fields: object) -> None:
        chunk = {"id": "x", "object": "chat.completion.chunk", **fields}
        handler.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

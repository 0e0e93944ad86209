"""
The protocol over HTTP on loopback: for whoever has the token, and for no web page.

In: the SDK's server, a listening socket, the token.  Out: requests that have passed the guard:
right Host, no foreign Origin, the token, a body of at most 4 MiB that arrives in time.  Whoever has
shown no token takes nobody's place (`strangers.py`).
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from pi_subagents.core.value import value
from pi_subagents.errors import PortUnavailable
from pi_subagents.faces.mcp_server import messages
from pi_subagents.faces.mcp_server.strangers import GuardedProtocol, Strangers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from pi_subagents.faces.mcp_server.strangers import Client

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
MAX_BODY = 4 * 1024 * 1024
LAST_WORDS_S = 5.0  # for answers that are under way when the server ends
_SILENT = logging.CRITICAL + 1


@value
class Limits:
    """What one client may take of a server that others need too."""

    arrival_s: float = 10.0  # for the body of a request
    connections: int = 512  # of clients that have the token
    strangers: int = 64  # connections on which no valid token was seen yet
    stranger_s: float = 5.0  # for such a one to show it
    sessions: int = 256


LIMITS = Limits()


def listen(port: int) -> socket.socket:
    """Return a socket that listens on loopback; PortUnavailable where another has the port."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise PortUnavailable(port, str(error)) from error
    return listening


async def serve_http(
    server: Server[Any],
    listening: socket.socket,
    token: str,
    ready: Callable[[str], None],
    limits: Limits = LIMITS,
) -> None:
    """Serve until cancelled; requests under way are cancelled then, too."""
    port = listening.getsockname()[1]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        host=LOOPBACK,
        max_request_body_size=MAX_BODY,
        max_sessions=limits.sessions,
    )
    strangers = Strangers(port, most=limits.strangers, patience_s=limits.stranger_s)
    guard = HttpGuard(app, port, token, limits.arrival_s, strangers.has_token)
    config = uvicorn.Config(
        guard,
        http=partial(GuardedProtocol, strangers),  # type: ignore[arg-type]  # makes one
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=limits.connections + limits.strangers,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=1,
    )
    http_server = _Server(config)
    serving = asyncio.create_task(http_server.serve(sockets=[listening]))
    ready(f"http://{LOOPBACK}:{port}{PATH}")
    try:
        await asyncio.shield(serving)
    finally:
        await guard.has_answered(LAST_WORDS_S)
        for name in ("uvicorn", "mcp"):  # streams that are cut now are no faults
            logging.getLogger(name).setLevel(_SILENT)
        http_server.should_exit = True
        await asyncio.wait({serving})


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs it: the children have to be seen to afterwards."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class HttpGuard:
    """Lets through what may talk to the server, with its whole body."""

    def __init__(
        self,
        app: ASGIApp,
        port: int,
        token: str,
        arrival_s: float,
        has_token: Callable[[Client | None], None],
    ) -> None:
        self._app = app
        self._has_token = has_token
        self._arrival_s = arrival_s
        self._posts = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._hosts = {f"{name}:{port}" for name in (LOOPBACK, "localhost", "[::1]")}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(headers)
        if refusal is None:
            self._has_token(scope["client"])
            refusal = _too_large(headers)
        if refusal is None:
            try:
                async with asyncio.timeout(self._arrival_s):
                    arrived = await _whole(receive)
            except TimeoutError:
                refusal = PlainTextResponse(messages.BODY_TOO_SLOW, 408)
            else:
                if arrived is not None:
                    with self._answering(scope["method"]):
                        await self._app(scope, _replaying(arrived, receive), send)
                    return
                refusal = PlainTextResponse(messages.BODY_TOO_LARGE, 413)
        refusal.headers["connection"] = "close"
        await refusal(scope, receive, send)

    async def has_answered(self, patience_s: float) -> None:
        """Wait until nobody waits for an answer; streams that only listen do not count."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._quiet.wait()

    @contextmanager
    def _answering(self, method: str) -> Iterator[None]:
        if method != "POST":
            yield
            return
        self._posts += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._posts -= 1
            if not self._posts:
                self._quiet.set()

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        if headers.get("host") not in self._hosts:
            return PlainTextResponse(messages.WRONG_HOST, 421)
        if headers.get("origin", next(iter(self._origins))) not in self._origins:
            return PlainTextResponse(messages.WRONG_ORIGIN, 403)
        scheme, _, given = headers.get("authorization", "").partition(" ")
        known = hmac.compare_digest(given.strip().encode("latin-1"), self._token)
        if scheme.lower() != "bearer" or not known:
            wanted = {"www-authenticate": "Bearer"}
            return PlainTextResponse(messages.NEEDS_BEARER, 401, wanted)
        return None


def _too_large(headers: Headers) -> PlainTextResponse | None:
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_BODY:
        return PlainTextResponse(messages.BODY_TOO_LARGE, 413)
    return None


async def _whole(receive: Receive) -> list[Message] | None:
    """Return all that a request brings, or None where that is too much."""
    arrived: list[Message] = []
    size = 0
    while True:
        message = await receive()
        arrived.append(message)
        size += len(message.get("body", b""))
        if size > MAX_BODY:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return arrived


def _replaying(arrived: list[Message], receive: Receive) -> Receive:
    waiting = iter(arrived)

    async def next_message() -> Message:
        for message in waiting:
            return message
        return await receive()

    return next_message

"""
Connections on which no valid token has been seen: few, not for long, and never in the way.

In: connections as they come, and word of the token.  Out: nothing; those of other users are cut at
once, those without a token after some seconds, and where there are too many the oldest goes, so
that whoever has a token is always heard.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from pi_subagents.faces.loopback_peer import is_own_peer

if TYPE_CHECKING:
    from collections.abc import Callable

Client = tuple[str, int]


class Strangers:
    """Every client that has not shown the token yet, the longest waiting first."""

    def __init__(
        self,
        port: int,
        *,
        most: int,
        patience_s: float,
        is_own: Callable[[str, int, int], bool] = is_own_peer,
    ) -> None:
        self._port = port
        self._most = most
        self._patience_s = patience_s
        self._is_own = is_own
        self._waiting: dict[Client, asyncio.Transport] = {}

    def came(self, client: Client, transport: asyncio.Transport) -> None:
        """Take a new client."""
        if len(self._waiting) >= self._most:  # before anything that costs more than this
            self._cut(next(iter(self._waiting)))
        self._waiting[client] = transport
        if not self._is_own(*client, self._port):
            self._cut(client)
            return
        asyncio.get_running_loop().call_later(self._patience_s, self._cut, client, transport)

    def has_token(self, client: Client | None) -> None:
        """Take it that a client has shown the token."""
        if client is not None:
            self._waiting.pop(client, None)

    def left(self, client: Client, transport: asyncio.Transport) -> None:
        """Forget a client; its port may be another's by now."""
        if self._waiting.get(client) is transport:
            del self._waiting[client]

    def _cut(self, client: Client, only: asyncio.Transport | None = None) -> None:
        found = self._waiting.get(client)
        if found is not None and only in (None, found):
            del self._waiting[client]
            found.abort()  # what it was sent and does not read keeps nothing open


class GuardedProtocol(H11Protocol):
    """A connection of the server, known to be a stranger's until it has shown the token."""

    def __init__(self, strangers: Strangers, **given: Any) -> None:
        super().__init__(**given)
        self._strangers = strangers

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take it for a stranger."""
        super().connection_made(transport)
        if self.client is not None:
            self._strangers.came(self.client, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        if self.client is not None:
            self._strangers.left(self.client, self.transport)
        super().connection_lost(exc)

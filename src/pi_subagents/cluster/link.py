"""
Connections to the database of a cluster that come back by themselves.

A `Link` is for programs that stay: its calls wait while there is no connection and are asked again
on the next one, which every function of the cluster allows for; what it listens to is looked at
again after each reconnection, since a notification may have been lost.  A `ShortLink` is for one
answer: it fails at once.  Both call functions by name and read nothing else.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from pi_subagents.cluster.failures import is_away, meaning_of, unreachable
from pi_subagents.errors.cluster import ClusterPackageMissing

try:
    import psycopg
    from psycopg import sql
    from psycopg.rows import dict_row
except ImportError as error:  # loaded only where a cluster is used
    raise ClusterPackageMissing("psycopg") from error

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from psycopg.rows import DictRow

    from pi_subagents.cluster.address import ClusterAddress

DatabaseRow = dict[str, Any]
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0


class Link:
    """Two connections at most: one asks, one listens."""

    def __init__(self, address: ClusterAddress, application: str) -> None:
        self.address = address
        self._parameters = address.parameters(application)
        self._asking: psycopg.AsyncConnection[DictRow] | None = None
        self._turn = asyncio.Lock()
        self._away_since: float | None = None
        self._heard: dict[str, Callable[[str], None]] = {}
        self._listener: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, address: ClusterAddress, application: str) -> Link:
        """Return a link that has reached the database once; ClusterUnreachable otherwise."""
        link = cls(address, application)
        try:
            link._asking = await link._connect()
        except psycopg.Error as error:
            raise unreachable(address, error) from None
        return link

    @property
    def away_s(self) -> float:
        """Return for how long calls have been waiting for a connection; 0: there is one."""
        return 0 if self._away_since is None else time.monotonic() - self._away_since

    async def call(self, function: str, *arguments: object) -> list[DatabaseRow]:
        """Ask until there is an answer; raise what the database refuses."""
        query = _query(function, len(arguments))
        pause = FIRST_PAUSE_S
        async with self._turn:
            while True:
                try:
                    if self._asking is None:
                        self._asking = await self._connect()
                    cursor = await self._asking.execute(query, arguments)
                    rows = await cursor.fetchall()
                except psycopg.Error as error:
                    if self._asking is not None and not self._asking.closed and not is_away(error):
                        raise meaning_of(self.address, function, error) from None
                    await self._drop()
                    if self._away_since is None:
                        self._away_since = time.monotonic()
                except asyncio.CancelledError:
                    await self._drop()  # nobody knows what is still to come on it
                    raise
                else:
                    self._away_since = None
                    return rows
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)

    async def listen(self, channel: str, on_news: Callable[[str], None]) -> None:
        """
        Call back with each payload on a channel, and with "" after every (re)connection.

        Returns once the database listens, so that nothing that is sent afterwards is missed.
        """
        self._heard[channel] = on_news
        await self._end_listener()
        began = asyncio.Event()
        self._listener = asyncio.create_task(self._listen(began))
        await began.wait()

    async def close(self) -> None:
        """Leave no connection behind."""
        await self._end_listener()
        await self._drop()

    async def _listen(self, began: asyncio.Event) -> None:
        pause = FIRST_PAUSE_S
        while True:
            with suppress(psycopg.Error):
                async with await self._connect() as connection:
                    for channel in self._heard:
                        await connection.execute(
                            sql.SQL("LISTEN {}").format(sql.Identifier(channel))
                        )
                    began.set()
                    pause = FIRST_PAUSE_S
                    for on_news in self._heard.values():
                        on_news("")
                    async for each in connection.notifies():
                        self._heard[each.channel](each.payload)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _connect(self) -> psycopg.AsyncConnection[DictRow]:
        return await psycopg.AsyncConnection[Any].connect(
            **self._parameters, autocommit=True, row_factory=dict_row
        )

    async def _drop(self) -> None:
        if self._asking is not None:
            asking, self._asking = self._asking, None
            with suppress(psycopg.Error):
                await asking.close()

    async def _end_listener(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
            with suppress(asyncio.CancelledError):
                await self._listener
            self._listener = None


class ShortLink:
    """One connection for one look, without an event loop; to be used with `with`."""

    def __init__(self, address: ClusterAddress, application: str) -> None:
        self.address = address
        try:
            self._connection: psycopg.Connection[DictRow] = psycopg.Connection[Any].connect(
                **address.parameters(application), autocommit=True, row_factory=dict_row
            )
        except psycopg.Error as error:
            raise unreachable(address, error) from None

    def __enter__(self) -> Self:
        """Return the look itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self._connection.close()

    def call(self, function: str, *arguments: object) -> list[DatabaseRow]:
        """Ask once; raise what the database refuses, or that it is away."""
        try:
            return self._connection.execute(_query(function, len(arguments)), arguments).fetchall()
        except psycopg.Error as error:
            if self._connection.closed or is_away(error):
                raise unreachable(self.address, error) from None
            raise meaning_of(self.address, function, error) from None


def _query(function: str, count: int) -> sql.Composed:
    return sql.SQL("SELECT * FROM subagents.{}({})").format(
        sql.Identifier(function), sql.SQL(", ").join([sql.Placeholder()] * count)
    )

"""
The connection of one call to its cluster: news of its runs, a heartbeat, commands.

In: runs that are followed.  Out: for each of them when to look again; and their commands are sent.
While there is no connection everything waits, the user hears of it once, and nothing is concluded.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.cluster.caller import beat, channel_of_call, command, states
from pi_subagents.cluster.link import Link
from pi_subagents.errors import SubagentsError
from pi_subagents.runners import messages

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from pi_subagents.cluster.caller import CommandKind
    from pi_subagents.core.cluster.state import RunState
    from pi_subagents.runners.table import ClusterPlace

APPLICATION = "pi-subagents caller"
TICK_S = 1.0
BEAT_TICKS = 5  # the database waits for six of these before it stops attached runs
SILENT_S = 3.0  # how long the database may be away before anybody hears of it


class News:
    """What there is to look at of one run."""

    def __init__(self) -> None:
        self._came = asyncio.Event()
        self._changed = True
        self.seen: RunState | None = None  # which somebody else has looked up

    def add(self, number: int) -> None:
        """Take a notification: 0 is for a change of its state, or for nobody knows what."""
        self._changed = self._changed or not number
        self._came.set()

    def give(self, state: RunState) -> None:
        """Take a state that was looked up for all runs of the call."""
        self.seen = state
        self._came.set()

    def take_change(self) -> bool:
        """Return whether the run's state is to be looked up, once for each change."""
        changed, self._changed = self._changed, False
        return changed

    async def wait(self) -> None:
        """Wait until there is something to look at."""
        await self._came.wait()
        self._came.clear()


class CallLink:
    """What the runs of one call share; closed once none is left."""

    def __init__(self, place: ClusterPlace, notice: Callable[[str], None]) -> None:
        self._place = place
        self._notice = notice
        self._news: dict[str, News] = {}
        self._opening = asyncio.Lock()
        self._link: Link | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._under_way: set[asyncio.Task[None]] = set()

    @property
    def away_s(self) -> float:
        """For how long the database has not answered; 0 where it does."""
        return 0 if self._link is None else self._link.away_s

    async def open(self) -> Link:
        """Return the connection; ClusterError where there is none."""
        async with self._opening:
            if self._link is None:
                link = await Link.open(self._place.address(), APPLICATION)
                await link.listen(channel_of_call(self._place.call_id), self._on_news)
                self._ticking = asyncio.create_task(self._tick(link))
                self._link = link
        return self._link

    def follow(self, run_id: str) -> News:
        """Return the news of a run, from now on."""
        return self._news.setdefault(run_id, News())

    def leave(self, run_id: str) -> None:
        """Look after a run no more."""
        self._news.pop(run_id, None)

    def order(self, link: Link, run_id: str, kind: CommandKind) -> None:
        """Have a worker do something, as soon as it can hear of it."""

        async def send() -> None:
            with suppress(SubagentsError):  # the run has ended, and is not known any more
                await command(link, run_id, kind)

        self._start(send())

    async def close(self) -> None:
        """Leave no connection and no task behind."""
        left = [*self._under_way, *([self._ticking] if self._ticking else [])]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        link, self._link, self._ticking = self._link, None, None
        if link is not None:
            await link.close()

    def _on_news(self, payload: str) -> None:
        run_id, _, number = payload.partition(" ")
        if not payload:  # the connection is a new one: anything may have happened
            for news in self._news.values():
                news.add(0)
        elif run_id in self._news:
            self._news[run_id].add(int(number) if number.isdecimal() else 0)

    async def _tick(self, link: Link) -> None:
        noticed, ticks = False, 0
        while True:
            away = link.away_s > SILENT_S
            if away != noticed:
                shown = link.address.shown
                words = messages.cluster_is_away if away else messages.cluster_is_back
                self._notice(words(shown))
                noticed = away
            if not ticks % BEAT_TICKS and not away:
                self._start(self._beat(link))
            ticks += 1
            await asyncio.sleep(TICK_S)

    async def _beat(self, link: Link) -> None:
        """Say that the caller is there, and look at all its runs, whatever was announced."""
        with suppress(SubagentsError):
            await beat(link, self._place.call_id)
            for run_id, state in (await states(link, list(self._news))).items():
                if run_id in self._news:
                    self._news[run_id].give(state)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

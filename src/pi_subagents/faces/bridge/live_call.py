"""
Tell the host how the sub-agents of a call stand, while they work.

In: the windows of a delegation, and that something happened.  Out: notifications: what is new in
the windows, at most every 50 ms and only as fast as the host reads; and, since the host repeats it
in its own stream, a summary only when a sub-agent began or ended, at most every 2 s.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from pi_subagents.core.window_delta import WindowDeltas
from pi_subagents.core.window_view import progress_to_json

if TYPE_CHECKING:
    from pi_subagents.core.window import WindowStatus
    from pi_subagents.delegation.windows import Windows
    from pi_subagents.faces.bridge.peer import Host

INTERVAL_S = 0.05
UPDATE_INTERVAL_S = 2.0


class LiveCall:
    """One call while it runs; leaving tells how everything stood at the end."""

    def __init__(self, host: Host, call_id: str) -> None:
        self._host = host
        self._call_id = call_id
        self._deltas = WindowDeltas()
        self._news = asyncio.Event()
        self._statuses: list[WindowStatus] = []
        self._next_update = 0.0
        self._telling: asyncio.Task[None] | None = None
        self.windows: Windows | None = None

    async def __aenter__(self) -> Self:
        self._telling = asyncio.create_task(self._tell())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._telling is not None
        self._telling.cancel()
        with suppress(asyncio.CancelledError):
            await self._telling
        self._say("done")

    def show(self, windows: Windows) -> None:
        """Take the windows, before the first sub-agent starts."""
        self.windows = windows
        self._statuses = ["queued" for _ in windows.now()]
        self._news.set()

    def changed(self) -> None:
        """Take note that something happened."""
        self._news.set()

    async def _tell(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            self._say("running")
            await self._host.drain()
            await asyncio.sleep(INTERVAL_S)

    def _say(self, status: str) -> None:
        """Tell what is new; that it could not be told must not cost the answer."""
        try:
            self._tell_windows(status)
            if status == "running":
                self._update()
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the work goes on
            asyncio.get_running_loop().call_exception_handler(
                {"message": "the windows of a call could not be told", "exception": error}
            )

    def _tell_windows(self, status: str) -> None:
        if self.windows is None:
            return
        deltas = self._deltas.since(self.windows.now())
        if deltas or status == "done":
            told: dict[str, object] = {
                "callId": self._call_id,
                "maxLines": self.windows.max_lines,
                "status": status,
                "windows": deltas,
            }
            self._host.notify("windows", told)

    def _update(self) -> None:
        if self.windows is None:
            return
        windows = self.windows.now()
        statuses = [window.status for window in windows]
        if statuses == self._statuses:
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self._next_update:
            loop.call_at(self._next_update, self._news.set)
            return
        self._statuses = statuses
        self._next_update = loop.time() + UPDATE_INTERVAL_S
        told = progress_to_json(windows, max_lines=self.windows.max_lines)
        self._host.notify("update", {"callId": self._call_id, **told})

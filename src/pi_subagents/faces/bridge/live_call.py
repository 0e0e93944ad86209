"""
Show the host how the sub-agents of a call stand, while they work.

In: the windows of a delegation, and what happens.  Out: notifications, at most every 50 ms and only
as fast as the host reads: what is new in the picture of the windows; and updates, which the host
repeats in its own stream, as far as their allowance goes.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from pi_subagents.view.progress_updates import Allowance
from pi_subagents.view.window_delta import WindowDeltas

if TYPE_CHECKING:
    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.faces.bridge.peer import HostPeer
    from pi_subagents.service.foreground import Windows
    from pi_subagents.view.progress_updates import Updates

INTERVAL_S = 0.05
TICK_S = 0.5  # without any news: headers count seconds, and an update may have room again


class LiveCall:
    """One call while it runs; leaving sends how everything stood at the end."""

    def __init__(self, host: HostPeer, call_id: str, updates: Updates, *, repeated: int) -> None:
        self._host = host
        self._call_id = call_id
        self._updates = updates
        self._repeated = repeated  # bytes that the host adds to each update: the arguments
        self._allowance = Allowance()
        self._deltas: WindowDeltas | None = None
        self._news = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None
        self.windows: Windows | None = None

    async def __aenter__(self) -> Self:
        self._sending = asyncio.create_task(self._keep_sending())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._sending is not None
        self._sending.cancel()
        with suppress(asyncio.CancelledError):
            await self._sending
        self.send()

    def show(self, windows: Windows) -> None:
        """Take the windows, before the first sub-agent starts."""
        self.windows = windows
        self._deltas = WindowDeltas(windows.max_lines)
        self._news.set()

    def changed(self, index: int, what: Event | RunResult) -> None:
        """Take note of what happened in the run of that place."""
        self._updates.note(index, what)
        self._news.set()

    async def _keep_sending(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._news.wait()
            self._news.clear()
            self.send()
            await self._host.drain()
            await asyncio.sleep(INTERVAL_S)

    def send(self) -> None:
        """Send what is new; a failure here must not cost the answer."""
        try:
            if self.windows is not None and self._deltas is not None:
                if parts := self._deltas.since(self.windows.now()):
                    self._host.notify("picture", {"callId": self._call_id, "parts": parts})
                self._send_updates(self.windows)
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the work goes on
            asyncio.get_running_loop().call_exception_handler(
                {"message": "the windows of a call could not be sent", "exception": error}
            )

    def _send_updates(self, shown: Windows) -> None:
        now_s = asyncio.get_running_loop().time()
        while self._allowance.has_room(now_s):
            update = self._updates.next(shown.now(), shown.max_lines)
            if update is None:
                return
            params = {"callId": self._call_id, **update}
            self._allowance.take(self._repeated + len(json.dumps(params)))
            self._host.notify("update", params)
        self._updates.skip()

"""
Tell the host how the sub-agents of a call stand, while they work.

In: the windows of a delegation, and that something happened.  Out: notifications: what is new in
their picture, at most every 50 ms and only as fast as the host reads; and, since the host repeats
it in its own stream, a summary only when a sub-agent began or ended, at most every 2 s.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from pi_subagents.core.window_delta import WindowDeltas
from pi_subagents.core.window_view import progress_to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.window import Window, WindowStatus
    from pi_subagents.delegation.windows import Windows
    from pi_subagents.faces.bridge.peer import Host

INTERVAL_S = 0.05
TICK_S = 0.5  # without any news: headers count seconds, and a summary may be due
UPDATE_INTERVAL_S = 2.0


class LiveCall:
    """One call while it runs; leaving tells how everything stood at the end."""

    def __init__(self, host: Host, call_id: str) -> None:
        self._host = host
        self._call_id = call_id
        self._deltas: WindowDeltas | None = None
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
        self._say(ended=True)

    def show(self, windows: Windows) -> None:
        """Take the windows, before the first sub-agent starts."""
        self.windows = windows
        self._deltas = WindowDeltas(windows.max_lines)
        self._statuses = ["queued" for _ in windows.now()]
        self._news.set()

    def changed(self) -> None:
        """Take note that something happened."""
        self._news.set()

    async def _tell(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._news.wait()
            self._news.clear()
            self._say()
            await self._host.drain()
            await asyncio.sleep(INTERVAL_S)

    def _say(self, *, ended: bool = False) -> None:
        """Tell what is new; that it could not be told must not cost the answer."""
        try:
            if self.windows is not None and self._deltas is not None:
                self._tell_picture(self.windows, self._deltas, ended=ended)
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the work goes on
            asyncio.get_running_loop().call_exception_handler(
                {"message": "the windows of a call could not be told", "exception": error}
            )

    def _tell_picture(self, shown: Windows, deltas: WindowDeltas, *, ended: bool) -> None:
        windows = shown.now()
        told: dict[str, object] = {"callId": self._call_id, "parts": deltas.since(windows)}
        if not ended and self._update_is_due(windows):
            told["update"] = progress_to_json(windows, max_lines=shown.max_lines)
        if told["parts"] or "update" in told:
            self._host.notify("picture", told)

    def _update_is_due(self, windows: Sequence[Window]) -> bool:
        statuses = [window.status for window in windows]
        now = asyncio.get_running_loop().time()
        if statuses == self._statuses or now < self._next_update:
            return False
        self._statuses = statuses
        self._next_update = now + UPDATE_INTERVAL_S
        return True

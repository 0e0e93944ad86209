"""
Answer the calls of a host that may cut them, without losing what they began.

In: a tool's name and parameters, and a way to report progress.  Out: the tool's answer, given in
time: work that takes longer goes on by itself and is told as running.  A call that the host
cancels stops its children; the end of the server stops all that still runs in its name.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pi_subagents import api
from pi_subagents.core import messages as core_messages
from pi_subagents.core.run.progress import LastWords
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.session.retrieval import MAX_WAIT_S, say_how_it_stands, with_words
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.faces.mcp_server.questions import LIMIT_S, patiently
from pi_subagents.service import call as launch
from pi_subagents.service.pool import Pool
from pi_subagents.service.tools.offered import offered_tools
from pi_subagents.view import messages as view_messages
from pi_subagents.view.summary import refusal_to_json
from pi_subagents.view.unfinished import progress_line, unfinished_to_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pi_subagents.faces.mcp_server.questions import Ask
    from pi_subagents.service.call import Options
    from pi_subagents.service.planned_task import Update
    from pi_subagents.service.tools.offer import Offer
    from pi_subagents.service.tools.tool import LiveWork, Tool
    from pi_subagents.service.windows import Windows

    Answer = dict[str, object]
    Report = Callable[[float, str], Awaitable[None]]

_TICK_S = 1.0
_HEARTBEAT_TICKS = 5  # a host may take silence for death
MAX_TEXT = 40_000  # about what a host puts before its model at once


class McpCalls:
    """The calls of one server; what outlives its call is kept until it ends."""

    def __init__(
        self, options: Options, answer_within_s: float | None, tick_s: float = _TICK_S
    ) -> None:
        self._options = options
        self._within_s = answer_within_s
        self._tick_s = tick_s
        self._ending = StopSwitch()
        self._going: dict[asyncio.Task[Answer], StopSwitch] = {}
        self._pool = Pool()

    @cached_property
    def offer(self) -> Offer:
        """What the main models of this server's hosts are told of us, as long as it runs."""
        cwd, env = launch.place_of(self._options)
        return offered_tools(cwd, env, trusted=launch.trusts(self._options, cwd))

    async def answer(
        self,
        tool: Tool[Any],
        parameters: Mapping[str, Any],
        report: Report,
        ask: Ask | None = None,
    ) -> Answer:
        """Return what the tool says, or how its work stands when the time is up."""
        notes: list[str] = []
        # A call that only waits ends with the server, and says what is known then.
        options: Options = {
            **self._options,
            "on_notice": notes.append,
            "stop": self._ending,
            "pool": self._pool,
        }
        if tool.live is not None:
            work = _Work(tool.live, parameters)
            answer = await self._delegate(tool.name, work, options, report, ask)
        else:
            asked = self._bounded(tool, parameters)
            answer = await _safely(tool.name, asked, self._asking(options, ask, self._ending))
            if tool.reading is not None and not answer["isError"]:
                told = tool.reading.tell(asked, answer, MAX_TEXT)
                answer = say_how_it_stands(told, self._within_s or MAX_WAIT_S)
        return with_words(answer, *map(view_messages.note, notes))

    async def close(self) -> None:
        """Stop whatever goes on in the name of this server, and see it end."""
        self._ending.stop()
        for stop in self._going.values():
            stop.stop()
        if self._going:
            await asyncio.wait(self._going)
        await self._pool.close()

    async def _delegate(
        self, tool: str, work: _Work, options: Options, report: Report, ask: Ask | None
    ) -> Answer:
        watched = self._asking(work.watched(options), ask, work.stop)
        task = asyncio.create_task(_safely(tool, work.parameters, watched))
        self._going[task] = work.stop
        task.add_done_callback(self._going.pop)
        reporting = asyncio.create_task(work.report(report, self._tick_s))
        try:
            await self._end_or_deadline(task)
            if not task.done():  # without session ids there is nothing to come back to
                await work.known_or(task)
        except asyncio.CancelledError:
            work.stop.stop()
            raise
        finally:
            reporting.cancel()
        if task.done():
            return task.result()
        assert self._within_s is not None, "without a limit it is waited for"
        can_stop = any(each.effect == "stops" for each in self.offer.tools)
        return work.unfinished(self._within_s, can_stop=can_stop)

    def _asking(self, options: Options, ask: Ask | None, stop: StopSwitch) -> Options:
        """Return the options of a call in which a person can be asked, if there is one."""
        if ask is None:
            return options
        limit_s = min(self._within_s or LIMIT_S, LIMIT_S)
        return {**options, "ask": patiently(ask, stop, limit_s)}

    async def _end_or_deadline(self, task: asyncio.Task[Answer]) -> None:
        await asyncio.wait({task}, timeout=self._within_s)

    def _bounded(self, tool: Tool[Any], parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters with a wait, and a text, that the host can take."""
        asked = dict(parameters)
        if tool.default_wait_s is not None and self._within_s is not None:
            wait = parameters.get("waitSeconds")
            asked |= _bounded_wait(tool.default_wait_s if wait is None else wait, self._within_s)
        return asked if tool.reading is None else tool.reading.ask(asked, MAX_TEXT)


class _Work:
    """One delegation as it goes on."""

    def __init__(self, live: LiveWork, parameters: Mapping[str, Any]) -> None:
        self.stop = StopSwitch()
        self.parameters = parameters
        self._live = live
        self._windows: Windows | None = None
        self._results: dict[int, RunResult] = {}
        self._words = LastWords()
        self._began = time.monotonic()
        self._known = asyncio.Event()

    def watched(self, options: Options) -> Options:
        """Return the options of a call that can be told of while it goes on."""
        return {
            **options,
            "stop": self.stop,
            "on_windows": self._show,
            "on_update": self._changed,
        }

    async def known_or(self, task: asyncio.Task[Answer]) -> None:
        """Wait until the runs are known, or all is over."""
        known = asyncio.create_task(self._known.wait())
        try:
            await asyncio.wait({known, task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            known.cancel()

    def unfinished(self, wait_s: float, *, can_stop: bool) -> Answer:
        """Return how the work stands."""
        assert self._windows is not None
        return unfinished_to_json(
            self._windows.now(),
            self._results,
            self._words.of_each,
            after_s=time.monotonic() - self._began,
            wait_s=wait_s,
            asked=self._live.presets(self.parameters),  # which were taken, or nothing would run
            can_stop=can_stop,
        )

    async def report(self, report: Report, tick_s: float) -> None:
        """Tell the host how the work stands, when that changed and now and then anyway."""
        told, silent = "", 0
        with suppress(TimeoutError):
            await asyncio.wait_for(self._known.wait(), tick_s)
        while True:
            line = progress_line(self._windows.now(), self._words.latest) if self._windows else ""
            silent += 1
            if line != told or silent >= _HEARTBEAT_TICKS:
                told, silent = line, 0
                with suppress(Exception):  # a host that does not listen is no reason to stop
                    await report(time.monotonic() - self._began, line)
            await asyncio.sleep(tick_s)

    def _show(self, windows: Windows) -> None:
        self._windows = windows
        self._known.set()

    def _changed(self, update: Update) -> None:
        if isinstance(update.what, RunResult):
            self._results[update.run.index] = update.what
        else:
            self._words.hear(update.run.index, update.what)


async def _safely(tool: str, parameters: Mapping[str, Any], options: Options) -> Answer:
    """Return the answer; a fault of ours is told as one, and harms no other call."""
    try:
        return await api.call_tool(tool, parameters, **options)
    except Exception as error:  # noqa: BLE001 - the outer edge of this face
        return refusal_to_json(core_messages.internal_error(error))


def _bounded_wait(asked: object, within_s: float) -> dict[str, float]:
    """Return the wait that a call may take; what is no number is refused by the tool itself."""
    if isinstance(asked, bool) or not isinstance(asked, int | float):
        return {}
    return {"waitSeconds": min(asked, within_s)}

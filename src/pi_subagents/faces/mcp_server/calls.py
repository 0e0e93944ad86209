"""
Answer the calls of a host that may cut them, without losing what they began.

In: a tool's name and parameters, and a way to report progress.  Out: the tool's answer, given in
time: work that takes longer goes on by itself and is reported as running.  A call that the host
cancels stops its children; the end of the server stops all that still runs in its name.  A person
who does not answer a question in time is not waited for.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pi_subagents import api
from pi_subagents.core import messages as core_messages
from pi_subagents.core.session.retrieval import MAX_WAIT_S, say_how_it_stands, with_words
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.value import value
from pi_subagents.service import call as launch
from pi_subagents.service.call import Pool
from pi_subagents.service.tools.offer import offered_tools
from pi_subagents.service.work_so_far import WorkSoFar
from pi_subagents.view import messages as view_messages
from pi_subagents.view.answers import refusal_to_json
from pi_subagents.view.failure import reason_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from pi_subagents.service.call import Options
    from pi_subagents.service.foreground import Windows
    from pi_subagents.service.questions.people import PutQuestion
    from pi_subagents.service.tools.offer import Offer
    from pi_subagents.service.tools.tool import LiveWork, Tool

    Answer = dict[str, object]
    Report = Callable[[float, str], Awaitable[None]]

_TICK_S = 1.0
_HEARTBEAT_TICKS = 5  # a host may take silence for death
_QUESTION_S = 40.0  # hosts cut calls after a minute, and have to hear why it was refused
MAX_TEXT = 40_000  # about what a host puts before its model at once


@value
class Person:
    """How the person in front of a host is asked: yes or no, and for a sub-agent."""

    ask: Callable[[str], Awaitable[bool | None]]
    put: Callable[[PutQuestion], Awaitable[str | None]]


class McpCalls:
    """The calls of one server; what outlives its call is kept until it ends."""

    def __init__(
        self, options: Options, answer_within_s: float | None, tick_s: float = _TICK_S
    ) -> None:
        self._options = options
        self._within_s = answer_within_s
        self._tick_s = tick_s
        self._ending = StopSwitch()
        self._running: dict[asyncio.Task[Answer], StopSwitch] = {}
        self._pool = Pool()

    @cached_property
    def offer(self) -> Offer:
        """What the main models of this server's hosts read of us, as long as it runs."""
        cwd, env = launch.place_of(self._options)
        return offered_tools(cwd, env, trusted=launch.trust_of(self._options)(cwd))

    async def answer(
        self,
        tool: Tool[Any],
        parameters: Mapping[str, Any],
        report: Report,
        person: Person | None = None,
    ) -> Answer:
        """Return the tool's answer, or how its work stands when the time is up or it asks."""
        notes: list[str] = []
        # A call that only waits ends with the server, and answers what is known then.
        options: Options = {
            **self._options,
            "on_notice": notes.append,
            "stop": self._ending,
            "pool": self._pool,
        }
        if tool.live is not None:
            work = _Work(tool.live, parameters)
            answer = await self._delegate(tool.name, work, options, report, person)
        else:
            given = self._bounded(tool, parameters)
            answer = await _safely(tool.name, given, self._asking(options, person, self._ending))
            if tool.reading is not None and not answer["isError"]:
                answer = tool.reading.mark_cut(given, answer)
                answer = say_how_it_stands(answer, self._within_s or MAX_WAIT_S, reason_line)
        return with_words(answer, *map(view_messages.note, notes))

    async def close(self) -> None:
        """Stop whatever runs in the name of this server, and see it end."""
        self._ending.stop()
        for stop in self._running.values():
            stop.stop()
        if self._running:
            await asyncio.wait(self._running)
        await self._pool.close()

    async def _delegate(
        self, tool: str, work: _Work, options: Options, report: Report, person: Person | None
    ) -> Answer:
        watched = self._asking(work.watched(options, person), person, work.stop)
        task = asyncio.create_task(_safely(tool, work.parameters, watched))
        self._running[task] = work.stop
        task.add_done_callback(self._running.pop)
        reporting = asyncio.create_task(work.report(report, self._tick_s))
        try:
            await work.asks_or(self._end_or_deadline(task))
            if not task.done():  # without session ids there is nothing to come back to
                await work.known_or(task)
        except asyncio.CancelledError:
            work.stop.stop()
            raise
        finally:
            reporting.cancel()
            work.leave()
        if task.done():
            return task.result()
        can_stop = any(each.effect == "stops" for each in self.offer.tools)
        return work.unfinished(self._within_s or MAX_WAIT_S, can_stop=can_stop)

    def _asking(self, options: Options, person: Person | None, stop: StopSwitch) -> Options:
        """Return the options of a call in which a person can be asked, if there is one."""
        if person is None:
            return options
        limit_s = min(self._within_s or _QUESTION_S, _QUESTION_S)

        async def wait(question: str) -> bool | None:
            asking = asyncio.ensure_future(person.ask(question))

            def cancel(_level: int) -> None:
                asking.cancel()

            unlisten = stop.listen(cancel)
            try:
                await asyncio.wait([asking], timeout=limit_s)
            finally:
                unlisten()
                asking.cancel()
            answered = asking.done() and not asking.cancelled() and asking.exception() is None
            return asking.result() if answered else None

        return {**options, "ask": wait}

    async def _end_or_deadline(self, task: asyncio.Task[Answer]) -> None:
        await asyncio.wait({task}, timeout=self._within_s)

    def _bounded(self, tool: Tool[Any], parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters with a wait, and a text, that the host can take."""
        given = dict(parameters)
        if tool.default_wait_s is not None and self._within_s is not None:
            wait = given.get("waitSeconds")
            wait = tool.default_wait_s if wait is None else wait
            # What is no number is refused by the tool itself.
            if isinstance(wait, int | float) and not isinstance(wait, bool):
                given["waitSeconds"] = min(wait, self._within_s)
        return given if tool.reading is None else tool.reading.narrow(given, MAX_TEXT)


class _Work:
    """One delegation while it runs."""

    def __init__(self, live: LiveWork, parameters: Mapping[str, Any]) -> None:
        self.stop = StopSwitch()
        self.parameters = parameters
        self._live = live
        self._so_far = WorkSoFar()
        self._known = asyncio.Event()
        self._left = asyncio.Event()  # the host has its answer: nobody is in front of it any more
        self.asked = asyncio.Event()  # something that no person answers

    def watched(self, options: Options, person: Person | None) -> Options:
        """Return the options of a call that reports while it runs."""

        async def ask_person(question: PutQuestion) -> str | None:
            said = await self._unless_left(person.put(question)) if person else None
            if said is None:
                self.asked.set()
            return said

        return {
            **options,
            "stop": self.stop,
            "on_windows": self._show,
            "on_update": self._so_far.changed,
            "on_question": ask_person,
        }

    def leave(self) -> None:
        """Let nobody be asked any more: the call is answered."""
        self._left.set()

    async def _unless_left(self, asking: Awaitable[str | None]) -> str | None:
        answer = asyncio.ensure_future(asking)
        left = asyncio.create_task(self._left.wait())
        try:
            await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
            answered = answer.done() and answer.exception() is None
            return answer.result() if answered else None
        finally:
            answer.cancel()
            left.cancel()

    async def asks_or(self, over: Coroutine[Any, Any, None]) -> None:
        """Wait until something is asked that no person answers, or until the wait is over."""
        waits = [asyncio.ensure_future(each) for each in (over, self.asked.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def known_or(self, task: asyncio.Task[Answer]) -> None:
        """Wait until the runs are known, or all is over."""
        known = asyncio.create_task(self._known.wait())
        try:
            await asyncio.wait({known, task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            known.cancel()

    def unfinished(self, wait_s: float, *, can_stop: bool) -> Answer:
        """Return how the work stands."""
        request = self._live.presets(self.parameters)  # which were taken, or nothing would run
        return self._so_far.unfinished(request, wait_s, can_stop=can_stop)

    async def report(self, report: Report, tick_s: float) -> None:
        """Report how the work stands, when that changed and now and then anyway."""
        before, silent = "", 0
        with suppress(TimeoutError):
            await asyncio.wait_for(self._known.wait(), tick_s)
        while True:
            line = self._so_far.line()
            silent += 1
            if line != before or silent >= _HEARTBEAT_TICKS:
                before, silent = line, 0
                with suppress(Exception):  # a host that does not listen is no reason to stop
                    await report(self._so_far.elapsed_s, line)
            await asyncio.sleep(tick_s)

    def _show(self, windows: Windows) -> None:
        self._so_far.show(windows)
        self._known.set()


async def _safely(tool: str, parameters: Mapping[str, Any], options: Options) -> Answer:
    """Return the answer; a fault of ours is one too, and harms no other call."""
    try:
        return await api.call_tool(tool, parameters, **options)
    except Exception as error:  # noqa: BLE001 - the outer edge of this face
        return refusal_to_json(core_messages.internal_error(error))

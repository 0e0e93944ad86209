"""
The tools, called by pi: several at once, each of which can be stopped.

In: calls of the host.  Out: the tool's value with bounded details, and what its children used.  A
refusal is a value too.  What ends is appended to the host's log as it ends.  Of background runs a
session counts and lists those it began; a run id is looked up on disk as well.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.record import RunMeta, RunRecord
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.session import retrieval
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.usage import Usage, usage_to_json
from pi_subagents.errors import BackgroundRunNotFound, IndexUnreadable, SubagentsError
from pi_subagents.faces.bridge.live_call import LiveCall
from pi_subagents.faces.bridge.messages import ASK_TITLE, agent_asks_title
from pi_subagents.service import call as launch
from pi_subagents.service.background import BackgroundRuns
from pi_subagents.service.call import Pool
from pi_subagents.service.runs import Runs
from pi_subagents.service.tools import registry
from pi_subagents.service.work_so_far import WorkSoFar
from pi_subagents.view.answers import refusal_to_json
from pi_subagents.view.failure import reason_line
from pi_subagents.view.window_delta import with_windows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.preset.request import StatusRequest
    from pi_subagents.core.value import JsonObject
    from pi_subagents.faces.bridge.open_session import OpenSession
    from pi_subagents.faces.bridge.params import HostToolCall
    from pi_subagents.faces.bridge.peer import HostPeer
    from pi_subagents.service.call import Options
    from pi_subagents.service.delegation import Update
    from pi_subagents.service.foreground import Windows
    from pi_subagents.service.questions.people import PutQuestion
    from pi_subagents.service.tools.tool import LiveWork


class HostCalls:
    """The calls under way, by their ids."""

    def __init__(self, host: HostPeer, env: Mapping[str, str]) -> None:
        self._host = host
        self._env = env
        self._switches: dict[str, StopSwitch] = {}
        self._pool = Pool()
        self._dialogs = count(1)
        self._going_on: dict[asyncio.Task[JsonObject], StopSwitch] = {}  # answered by a question

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._switches

    def prewarm(self, call: HostToolCall, session: OpenSession) -> None:
        """Start the children of a call that is still being written and may never come."""
        with suppress(SubagentsError):  # it is only a hint
            prewarming = registry.find_tool(call.tool).prewarming
            # Each hint repeats those before it: once the pool is full, the rest adds nothing.
            if prewarming is not None and self._pool.takes_more():
                prewarming.start(call.arguments, call.begun, self._context(call, session))

    def cancel(self, call_id: str) -> None:
        """Stop a call, the second time at once; one that is over is ignored."""
        if switch := self._switches.get(call_id):
            (switch.force if switch.thrown else switch.stop)()

    def stop_all(self) -> None:
        """Stop every call in good order."""
        for switch in (*self._switches.values(), *self._going_on.values()):
            switch.stop()

    async def close(self) -> None:
        """Release the children that were kept ready, once what goes on without a call has ended."""
        if self._going_on:
            await asyncio.wait(self._going_on)
        await self._pool.close()

    async def run(self, call: HostToolCall, session: OpenSession) -> JsonObject:
        """Return what the tool answers; it can be stopped from the first moment on."""
        switch = self._switches[call.call_id] = StopSwitch()
        try:
            launch.refuse_where_impossible(self._env)
            return await self._answer(call, session, self._options(call, session, switch))
        except SubagentsError as refusal:
            return refusal_to_json(str(refusal))
        finally:
            del self._switches[call.call_id]

    async def _answer(
        self, call: HostToolCall, session: OpenSession, options: Options
    ) -> JsonObject:
        tool = registry.find_tool(call.tool)
        if tool.live is not None:
            return await self._delegate(tool.live, call, session, options)
        answer = tool.logged(await registry.call(call.tool, call.arguments, options))
        if tool.reading is not None:
            answer = retrieval.in_one_text(retrieval.say_how_it_stands(answer, reason=reason_line))
        return _with_usage(answer, session.take_usage()) if tool.settles_usage else answer

    async def _delegate(
        self, work: LiveWork, call: HostToolCall, session: OpenSession, options: Options
    ) -> JsonObject:
        repeated = len(json.dumps(call.arguments))
        live = LiveCall(self._host, call.call_id, work.updates(), repeated=repeated)
        used: list[Usage] = []

        def observe(update: Update) -> None:
            live.changed(update.run.index, update.what)
            if isinstance(update.what, RunResult):
                used.append(update.what.usage)
                session.keep(_record(update, update.what))

        options["on_windows"] = live.show
        options["on_update"] = observe
        async with live:
            answer = await self._answer_or_question(work, call, options)
        if live.windows is not None:
            answer = with_windows(answer, live.windows.now(), live.windows.max_lines)
        return _with_usage(answer, sum(used, Usage()))

    async def _answer_or_question(
        self, work: LiveWork, call: HostToolCall, options: Options
    ) -> JsonObject:
        """Return the answer; where there is no person to ask, at once what a sub-agent asks."""
        if call.has_ui:
            return await registry.call(call.tool, call.arguments, options)
        so_far, asked = WorkSoFar(), asyncio.Event()
        show, observe = options["on_windows"], options["on_update"]

        def show_both(windows: Windows) -> None:
            so_far.show(windows)
            show(windows)

        def observe_both(update: Update) -> None:
            so_far.changed(update)
            observe(update)
            if isinstance(update.what, ev.Asked):
                asked.set()

        watched: Options = {**options, "on_windows": show_both, "on_update": observe_both}
        task = asyncio.create_task(registry.call(call.tool, call.arguments, watched))
        waiting = asyncio.create_task(asked.wait())
        try:
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if task.done():
            return task.result()
        self._going_on[task] = options["stop"]
        task.add_done_callback(self._forget)
        request = work.presets(call.arguments)
        return so_far.unfinished(request, retrieval.MAX_WAIT_S, can_stop=True)

    def _forget(self, task: asyncio.Task[JsonObject]) -> None:
        del self._going_on[task]
        if not task.cancelled():
            task.exception()  # the host has its answer: its runs say the rest

    def _options(self, call: HostToolCall, session: OpenSession, switch: StopSwitch) -> Options:
        loop = asyncio.get_running_loop()
        asking: Options = {}
        if call.has_ui:
            asking = {"ask": partial(self._ask, switch), "on_question": self._put}

        def notice(text: str) -> None:
            # Some of the work is done in threads, and only the loop may write.
            loop.call_soon_threadsafe(session.notice, text)

        return {
            **self._context(call, session),
            **asking,
            "stop": switch,
            "columns": call.columns,
            "history": session.view.runs,
            "known_runs": SessionRuns(session, Runs(Path(call.cwd), self._env)),
            "on_notice": notice,
        }

    async def _ask(self, switch: StopSwitch, question: str) -> bool | None:
        """Return what the person at the host answers; None if the call is stopped first."""
        params: dict[str, object] = {"kind": "confirm", "arguments": [ASK_TITLE, question]}
        request = asyncio.ensure_future(self._host.request("dialog", params))

        def cancel(_level: int) -> None:
            request.cancel()

        unlisten = switch.listen(cancel)
        try:
            await asyncio.wait([request])
        finally:
            unlisten()
        answer = None if request.cancelled() or request.exception() else request.result()
        return answer if isinstance(answer, bool) else None

    async def _put(self, question: PutQuestion) -> str | None:
        """Return what the person at the host answers a sub-agent; a dialog is closed in time."""
        own_id = f"q{next(self._dialogs)}"
        shown = printable(agent_asks_title(question.name, question.text))
        title = f"{question.problem}\n\n{shown}" if question.problem else shown
        kind, more = ("select", [list(question.options)]) if question.options else ("input", [])
        params: dict[str, object] = {"kind": kind, "arguments": [title, *more], "dialogId": own_id}
        try:
            answer = await self._host.request("dialog", params)
        except asyncio.CancelledError:
            with suppress(ConnectionError):
                self._host.notify("undialog", {"dialogId": own_id})
            raise
        return answer if isinstance(answer, str) and answer.strip() else None

    def _context(self, call: HostToolCall, session: OpenSession) -> Options:
        """Return what shapes the children of a call, and the pool they wait in."""
        return {
            "cwd": Path(call.cwd),
            "env": self._env,
            "host_trusts": call.trusted,
            # Ours are left out: no child has them.
            "parent_tools": call.parent_tools
            and tuple(name for name in call.parent_tools if name not in registry.TOOLS),
            "models": call.models,
            "host_program": session.host_program,
            "pool": self._pool,
        }


def _record(update: Update, result: RunResult) -> RunRecord:
    """Return a run that ended, as the host's log keeps it."""
    meta = RunMeta(
        session_id=result.session_id,
        name=result.name,
        task=update.run.task.prompt,
        profile=update.run.task.profile or "",
        started_at_ms=result.started_at_ms or result.finished_at_ms,
    )
    return RunRecord(result.run_id, meta, result=result)


def _with_usage(answer: JsonObject, used: Usage) -> JsonObject:
    return answer if used == Usage() else {**answer, "usage": usage_for_pi(used)}


def usage_for_pi(used: Usage) -> JsonObject:
    """Return the shape that pi adds to its totals; what a part of the cost was is not known."""
    parts = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    kept = usage_to_json(used)
    return {**kept, "cost": {**parts, **kept["cost"]}}


class SessionRuns:
    """The KnownRuns of one session."""

    def __init__(self, session: OpenSession, runs: Runs) -> None:
        self._session = session
        self._runs = runs

    def began(self, run: RunRecord) -> list[RunRecord]:
        """Put a run into the host's log."""
        self._session.begin(run)
        return self._latest()

    def find(self, run_id: str) -> str:
        """Return the whole id of a run that is on disk, or at least in the host's log."""
        try:
            return BackgroundRuns(self._runs).find(run_id).run_id
        except BackgroundRunNotFound:
            known = [each for each in self._ids() if each.startswith(run_id)]
            if len(known) != 1:
                raise
            return known[0]

    async def wait(
        self, request: StatusRequest, stop: StopSwitch
    ) -> tuple[list[RunRecord], list[RunRecord]]:
        """Return the session's runs, and the one that was asked for."""
        if request.run_id is None:
            await BackgroundRuns(self._runs, self._ids()).wait(request, stop)
            own = self._session.refresh()
            return own, own
        found = await BackgroundRuns(self._runs).wait(request, stop)
        own = self._session.refresh()
        wanted = (run for run in found if run.run_id == request.run_id)
        rows = {run.run_id: run for run in (*own, *wanted)}
        return list(rows.values()), own

    async def stop(self, run_id: str | None) -> tuple[list[RunRecord], list[RunRecord]]:
        """End one run, or all that this session began."""
        chosen = BackgroundRuns(self._runs, None if run_id else self._ids())
        return await chosen.stop(run_id), self._latest()

    def _latest(self) -> list[RunRecord]:
        """Return the session's runs as they stand, or stood where the index cannot be read."""
        with suppress(IndexUnreadable):  # what was done just now is reported all the same
            return self._session.refresh()
        return self._session.registry.all()[::-1]

    def _ids(self) -> set[str]:
        return {run.run_id for run in self._session.registry.all()}

"""
The tools, called by pi: several at once, each of which can be stopped.

In: calls of the host.  Out: the tool's value with bounded details, and what its children used.  A
refusal is a value too.  What ends is appended to the host's log as it ends.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run.record import RunMeta, RunRecord
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.session import retrieval
from pi_subagents.core.stop_switch import RUNNING, StopSwitch
from pi_subagents.core.usage import Usage, usage_for_pi
from pi_subagents.errors import SubagentsError
from pi_subagents.faces.bridge.live_call import LiveCall
from pi_subagents.faces.bridge.messages import ASK_TITLE
from pi_subagents.faces.bridge.session_runs import SessionRuns
from pi_subagents.service import call as launch
from pi_subagents.service.pool import Pool
from pi_subagents.service.runs import Runs
from pi_subagents.service.tools import registry
from pi_subagents.view.bounded_details import with_windows
from pi_subagents.view.summary import refusal_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.value import JsonObject
    from pi_subagents.faces.bridge.open_session import OpenSession
    from pi_subagents.faces.bridge.params import HostToolCall
    from pi_subagents.faces.bridge.peer import HostPeer
    from pi_subagents.service.call import Options
    from pi_subagents.service.planned_task import Update
    from pi_subagents.service.tools.tool import LiveWork


class HostCalls:
    """The calls under way, by their ids."""

    def __init__(self, host: HostPeer, env: Mapping[str, str]) -> None:
        self._host = host
        self._env = env
        self._switches: dict[str, StopSwitch] = {}
        self._pool = Pool()

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._switches

    def prewarm(self, call: HostToolCall, session: OpenSession) -> None:
        """
        Let the children of a call start that is still being written; it may never come.

        It is only a hint: what cannot be understood, or would be refused, starts nothing.
        """
        with suppress(SubagentsError):
            ahead = registry.find_tool(call.tool).prewarming
            # Each hint repeats those before it: once the pool is full, the rest adds nothing.
            if ahead is not None and self._pool.takes_more():
                ahead.start(call.arguments, self._standing(call, session))

    def cancel(self, call_id: str) -> None:
        """Stop a call, the second time at once; one that is over is let be."""
        if call_id in self._switches:
            _step_up(self._switches[call_id])

    def stop_all(self) -> None:
        """Stop every call in good order."""
        for switch in self._switches.values():
            switch.stop()

    async def close(self) -> None:
        """Keep no child ready any more; there are no calls left."""
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
            answer = retrieval.in_one_text(retrieval.say_how_it_stands(answer))
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
            answer = await registry.call(call.tool, call.arguments, options)
        if live.windows is not None:
            answer = with_windows(answer, live.windows.now(), live.windows.max_lines)
        return _with_usage(answer, sum(used, Usage()))

    def _options(self, call: HostToolCall, session: OpenSession, switch: StopSwitch) -> Options:
        loop = asyncio.get_running_loop()
        asking: Options = {"ask": partial(self._ask, switch)} if call.has_ui else {}
        return {
            **self._standing(call, session),
            **asking,
            "stop": switch,
            "columns": call.columns,
            "told": session.view.runs,
            "known_runs": SessionRuns(session, Runs(Path(call.cwd), self._env)),
            # Some of the work is done in threads, and only the loop may write.
            "on_notice": lambda text: _ignore(loop.call_soon_threadsafe(session.notice, text)),
        }

    async def _ask(self, switch: StopSwitch, question: str) -> bool | None:
        """Return what the person at the host answers; None if the call is stopped first."""
        params: dict[str, object] = {"kind": "confirm", "arguments": [ASK_TITLE, question]}
        asked = asyncio.ensure_future(self._host.request("dialog", params))
        leave = switch.listen(lambda _: _ignore(asked.cancel()))
        try:
            await asyncio.wait([asked])
        finally:
            leave()
        answer = None if asked.cancelled() or asked.exception() else asked.result()
        return answer if isinstance(answer, bool) else None

    def _standing(self, call: HostToolCall, session: OpenSession) -> Options:
        """Return what shapes the children of a call, and where they wait."""
        return {
            "cwd": Path(call.cwd),
            "env": self._env,
            "host_trusts": call.trusted,
            "parent_tools": _for_children(call.parent_tools),
            "models": call.models,
            "host_program": session.host_program,
            "pool": self._pool,
        }


def _for_children(tools: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the host's tools without ours, which no child has."""
    return tools and tuple(name for name in tools if name not in registry.TOOLS)


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


def _step_up(switch: StopSwitch) -> None:
    if switch.level == RUNNING:
        switch.stop()
    else:
        switch.force()


def _ignore(_: object) -> None:
    """Take a value that nobody needs."""

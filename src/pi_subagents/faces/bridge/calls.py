"""
The tools, called by pi: several at once, each of which can be stopped.

In: calls of the host.  Out: the tool's value with bounded details, and what its children used.  A
refusal is a value too.  What ends is appended to the host's log as it ends.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import launch, tool_calls
from pi_subagents.core import retrieval, tool_defs
from pi_subagents.core.bounded_details import with_windows
from pi_subagents.core.progress_updates import WindowUpdates, WordUpdates
from pi_subagents.core.run_result import RunResult
from pi_subagents.core.session import StoredRun
from pi_subagents.core.stop_switch import RUNNING, StopSwitch
from pi_subagents.core.summary import refusal_to_json
from pi_subagents.core.usage import Usage, usage_for_pi
from pi_subagents.errors import SubagentsError
from pi_subagents.faces.bridge import ahead, background_tools
from pi_subagents.faces.bridge.live_call import LiveCall
from pi_subagents.procs.pool import Pool
from pi_subagents.profile_messages import ASK_TITLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.bridge_params import ToolCall
    from pi_subagents.delegation.ports import Update
    from pi_subagents.faces.bridge.open_session import OpenSession
    from pi_subagents.faces.bridge.peer import Host
    from pi_subagents.launch import Options

Answer = dict[str, object]


class Calls:
    """The calls under way, by their ids."""

    def __init__(self, host: Host, env: Mapping[str, str]) -> None:
        self._host = host
        self._env = env
        self._switches: dict[str, StopSwitch] = {}
        self._pool = Pool()

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._switches

    def start_ahead(self, call: ToolCall, session: OpenSession) -> None:
        """Let the children of a call start that is still being written; it may never come."""
        ahead.start_children(call, self._standing(call, session))

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

    async def run(self, call: ToolCall, session: OpenSession) -> Answer:
        """Return what the tool answers; it can be stopped from the first moment on."""
        switch = self._switches[call.call_id] = StopSwitch()
        try:
            launch.refuse_where_impossible(self._env)
            return await self._answer(call, session, self._options(call, session, switch), switch)
        except SubagentsError as refusal:
            return refusal_to_json(str(refusal))
        finally:
            del self._switches[call.call_id]

    async def _answer(
        self, call: ToolCall, session: OpenSession, options: Options, switch: StopSwitch
    ) -> Answer:
        match call.tool:
            case tool_defs.DELEGATE | tool_defs.SUBAGENT:
                return await self._delegate(call, session, options)
            case tool_defs.GET_SESSION | tool_defs.GET_OUTPUT:
                answer = await tool_calls.call(call.tool, call.arguments, options)
                return retrieval.in_one_text(retrieval.say_how_it_stands(answer))
            case tool_defs.BACKGROUND:
                return await background_tools.start(call.arguments, session, options)
            case tool_defs.BACKGROUND_STATUS:
                answer = await background_tools.status(call.arguments, session, options, switch)
                return _with_usage(answer, session.take_usage())
            case tool_defs.BACKGROUND_STOP:
                return await background_tools.stop(call.arguments, session, options)
        return await tool_calls.call(call.tool, call.arguments, options)

    async def _delegate(self, call: ToolCall, session: OpenSession, options: Options) -> Answer:
        words = call.tool == tool_defs.SUBAGENT
        live = LiveCall(
            self._host,
            call.call_id,
            WordUpdates() if words else WindowUpdates(),
            repeated=len(json.dumps(call.arguments)),
        )
        used: list[Usage] = []

        def observe(update: Update) -> None:
            live.changed(update.run.index, update.what)
            if isinstance(update.what, RunResult):
                used.append(update.what.usage)
                session.keep(_stored(update, update.what))

        options["on_windows"] = live.show
        options["on_update"] = observe
        async with live:
            answer = await tool_calls.call(call.tool, call.arguments, options)
        if live.windows is not None:
            answer = with_windows(answer, live.windows.now(), live.windows.max_lines)
        return _with_usage(answer, sum(used, Usage()))

    def _options(self, call: ToolCall, session: OpenSession, switch: StopSwitch) -> Options:
        loop = asyncio.get_running_loop()
        asking: Options = {"ask": partial(self._ask, switch)} if call.has_ui else {}
        return {
            **self._standing(call, session),
            **asking,
            "stop": switch,
            "columns": call.columns,
            "told": session.view.runs,
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

    def _standing(self, call: ToolCall, session: OpenSession) -> Options:
        """Return what shapes the children of a call, and where they wait."""
        return {
            "cwd": Path(call.cwd),
            "env": self._env,
            "host_trusts": call.trusted,
            "parent_tools": _for_children(call.parent_tools),
            "models": call.models,
            "host_pi": session.host_pi,
            "pool": self._pool,
        }


def _for_children(tools: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the host's tools without ours, which no child has."""
    ours = {tool.name for tool in tool_defs.TOOLS}
    return tools and tuple(name for name in tools if name not in ours)


def _stored(update: Update, result: RunResult) -> StoredRun:
    """Return a run that ended, as it is kept."""
    return StoredRun(
        run_id=result.run_id,
        session_id=result.session_id,
        name=result.name,
        status=result.status,
        output=result.output,
        error_message=result.error_message,
        exit_code=result.exit_code,
        model=result.model,
        profile=update.run.profile_name,
        task=update.run.task.prompt,
        usage=result.usage,
        started_at_ms=result.started_at_ms or result.finished_at_ms,
    )


def _with_usage(answer: Answer, used: Usage) -> Answer:
    return answer if used == Usage() else {**answer, "usage": usage_for_pi(used)}


def _step_up(switch: StopSwitch) -> None:
    if switch.level == RUNNING:
        switch.stop()
    else:
        switch.force()


def _ignore(_: object) -> None:
    """Take a value that nobody needs."""

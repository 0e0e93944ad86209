"""
What pi may ask of the core: the methods of the bridge protocol, version 2.

In: requests and notifications of the shim.  Out: their answers, and whether the end has come.  The
shim does not wait for the answer to its greeting: what comes behind it waits here, and if the
greeting was refused, everything is, with the same words.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_subagents._version import __version__
from pi_subagents.core.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND, REFUSED, Failure
from pi_subagents.core.plain_text import one_line
from pi_subagents.errors import InvalidRequest
from pi_subagents.faces.bridge import messages
from pi_subagents.faces.bridge import params as bridge_params
from pi_subagents.faces.bridge.peer import MAX_REASON

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pi_subagents.core.json_rpc import Params
    from pi_subagents.core.value import JsonObject
    from pi_subagents.faces.bridge.calls import HostCalls
    from pi_subagents.faces.bridge.open_session import OpenSession
    from pi_subagents.faces.bridge.params import (
        AgentsAsked,
        HostSession,
        HostToolCall,
        ProfileLine,
    )
    from pi_subagents.faces.bridge.peer import HostPeer


class Bridge:
    """Serve one host; `ended` is set when it said goodbye."""

    def __init__(self, host: HostPeer, env: Mapping[str, str]) -> None:
        self._host = host
        self._env = env
        self._session: OpenSession | None = None
        self._greeting = asyncio.Lock()
        self._refusal: Failure | None = None
        self.ended = asyncio.Event()
        self._methods: dict[str, tuple[Callable[[Params], Any], Callable[[Any], Awaitable[Any]]]]
        self._methods = {
            "call": (bridge_params.parse_call, self._call),
            "profile": (bridge_params.parse_profile, self._profile),
            "agents": (bridge_params.parse_agents, self._agents),
            "complete": (bridge_params.parse_prefix, self._complete),
            "close": (dict, self._close_session),
            "bye": (dict, self._bye),
        }

    async def answer(self, method: str, params: Params) -> object | Failure:
        """Return the result of a request, or why there is none."""
        if method == "hello":
            return await self._hello(params)
        if method not in self._methods:
            return Failure(METHOD_NOT_FOUND, messages.rpc_unknown_method(method[:100]))
        parse, serve = self._methods[method]
        try:
            given = parse(params)
        except InvalidRequest as wrong:
            return Failure(INVALID_PARAMS, str(wrong))
        async with self._greeting:
            refusal = self._refusal
        if refusal is not None and method != "bye":
            return refusal
        served: object | Failure = await serve(given)
        return served

    async def take(self, method: str, params: Params) -> None:
        """Take a notification; one that is not known is ignored."""
        async with self._greeting:
            pass  # what is cancelled may have come just before
        if method == "cancel":
            with suppress(InvalidRequest):
                self._calls.cancel(bridge_params.parse_call_id(params))
        elif method == "prewarm" and self._refusal is None and not self.ended.is_set():
            with suppress(InvalidRequest):
                call = bridge_params.parse_prewarm(params)
                self._calls.prewarm(call, self._session_for(call))
        elif method == "failed" and params.get("method") == "entry":
            reason = one_line(str(params.get("message")), MAX_REASON)
            self._warn(messages.entry_not_kept(reason))

    async def stop(self) -> None:
        """End attached work in good order; background runs go on."""
        self.ended.set()
        self._calls.stop_all()
        await self._close_session()

    async def close(self) -> None:
        """Release what was kept for further calls; there are none left."""
        await self._calls.close()

    @cached_property
    def _calls(self) -> HostCalls:
        from pi_subagents.faces.bridge.calls import HostCalls

        return HostCalls(self._host, self._env)

    async def _hello(self, given: Params) -> JsonObject | Failure:
        async with self._greeting:
            answer = await self._greeted(given)
            self._refusal = answer if isinstance(answer, Failure) else None
        return answer

    async def _greeted(self, given: Params) -> JsonObject | Failure:
        spoken = given.get("protocol")
        ours = bridge_params.PROTOCOL
        if spoken != ours or isinstance(spoken, bool):
            return Failure(REFUSED, messages.bridge_protocol_unknown(spoken, ours))
        try:
            opened = bridge_params.parse_session(given)
        except InvalidRequest as wrong:
            return Failure(INVALID_PARAMS, str(wrong))
        session = await self._opened(opened)
        background = session.background()
        offer = await session.offer()
        return {"protocol": ours, "version": __version__, "background": background, **offer}

    async def _opened(self, opened: HostSession) -> OpenSession:
        from pi_subagents.faces.bridge.open_session import OpenSession

        if self._session is not None and self._session.is_same(opened):
            self._session.greet_again()
            return self._session
        await self._close_session()
        # Profiles are looked for where the host is; a call brings its own directory.
        with suppress(OSError, ValueError):
            os.chdir(opened.cwd)
        self._session = OpenSession(self._host, self._env, opened)
        return self._session

    async def _call(self, call: HostToolCall) -> JsonObject | Failure:
        if self.ended.is_set():
            return Failure(REFUSED, messages.RPC_ENDING)
        if call.call_id in self._calls:
            return Failure(INVALID_PARAMS, f"callId: {messages.RPC_CALL_UNDER_WAY}")
        return await self._calls.run(call, self._session_for(call))

    def _session_for(self, call: HostToolCall) -> OpenSession:
        """Return the open session; a host that opened none begins an empty one."""
        if self._session is None:
            from pi_subagents.faces.bridge.open_session import OpenSession
            from pi_subagents.faces.bridge.params import NEW, HostSession

            opened = HostSession("", NEW, call.cwd, ())
            self._session = OpenSession(self._host, self._env, opened)
        return self._session

    async def _profile(self, given: ProfileLine) -> JsonObject:
        if not given.has_ui:
            return {"text": messages.PROFILE_NEEDS_TERMINAL, "level": "error"}
        from pi_subagents.faces.bridge.profile_command import Dialogs, run_profile_line

        # Its questions wait for a person: in a thread of its own nobody waits with it.
        loop = asyncio.get_running_loop()
        host = self._session.host_program if self._session else None
        reply = await asyncio.to_thread(run_profile_line, given, Dialogs(self._host, loop), host)
        if reply.warning:
            self._warn(reply.warning)
        return {"text": reply.text, "level": reply.level}

    async def _agents(self, given: AgentsAsked) -> JsonObject:
        from pi_subagents.faces.bridge.agents_command import AgentsCommand, AgentsPlace
        from pi_subagents.faces.bridge.profile_command import Dialogs

        loop, session = asyncio.get_running_loop(), self._session
        known = {run.run_id for run in session.registry.all()} if session else set()

        def say(text: str) -> None:
            if session is not None:
                loop.call_soon_threadsafe(session.say, text)

        place = AgentsPlace(Path(given.cwd), self._env, known)
        command = AgentsCommand(place, Dialogs(self._host, loop), say, given.columns)
        report = await asyncio.to_thread(command.run if given.has_ui else command.text)
        return {"text": report.text, "level": "error" if report.bad else "info"}

    async def _complete(self, prefix: str) -> JsonObject:
        from pi_subagents.faces.bridge.profile_command import completions

        # pi takes no empty list for "nothing to offer".
        return {"items": await asyncio.to_thread(completions, prefix) or None}

    def _warn(self, text: str) -> None:
        if self._session is not None:
            self._session.warn(text)

    async def _close_session(self, _: object = None) -> JsonObject:
        """Report nothing that ends from now on: the next greeting finds it."""
        if self._session is not None:
            await self._session.close()
        return {}

    async def _bye(self, _: Params) -> JsonObject:
        self.ended.set()
        return {}

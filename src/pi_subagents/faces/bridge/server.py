"""
What pi may ask of the core: the methods of the bridge protocol, version 1.

In: requests and notifications of the shim.  Out: their answers, and whether the end has come.
Nothing heavy is imported before it is needed: `hello` is answered at once.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pi_subagents import host_messages
from pi_subagents._version import __version__
from pi_subagents.core import bridge_params
from pi_subagents.core.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND, REFUSED, Failure
from pi_subagents.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pi_subagents.core.bridge_params import HostSession, ProfileLine, ToolCall
    from pi_subagents.core.json_rpc import Params
    from pi_subagents.faces.bridge.calls import Calls
    from pi_subagents.faces.bridge.open_session import OpenSession
    from pi_subagents.faces.bridge.peer import Host

Answer = dict[str, object]


class Bridge:
    """Serve one host; `ended` is set when it said goodbye."""

    def __init__(self, host: Host, env: Mapping[str, str]) -> None:
        self._host = host
        self._env = env
        self._session: OpenSession | None = None
        self.ended = asyncio.Event()
        self._methods: dict[str, tuple[Callable[[Params], Any], Callable[[Any], Awaitable[Any]]]]
        self._methods = {
            "hello": (dict, self._hello),
            "session": (bridge_params.parse_session, self._open_session),
            "call": (bridge_params.parse_call, self._call),
            "profile": (bridge_params.parse_profile, self._profile),
            "complete": (bridge_params.parse_prefix, self._complete),
            "bye": (dict, self._bye),
        }

    async def answer(self, method: str, params: Params) -> object | Failure:
        """Return the result of a request, or why there is none."""
        if method not in self._methods:
            return Failure(METHOD_NOT_FOUND, host_messages.rpc_unknown_method(method[:100]))
        parse, serve = self._methods[method]
        try:
            given = parse(params)
        except InvalidRequest as wrong:
            return Failure(INVALID_PARAMS, str(wrong))
        served: object | Failure = await serve(given)
        return served

    async def take(self, method: str, params: Params) -> None:
        """Take a notification; one that is not known is ignored."""
        if method == "cancel":
            with suppress(InvalidRequest):
                self._calls.cancel(bridge_params.parse_call_id(params))

    async def stop(self) -> None:
        """End attached work in good order; background runs go on."""
        self.ended.set()
        self._calls.stop_all()
        if self._session is not None:
            await self._session.close()

    @cached_property
    def _calls(self) -> Calls:
        from pi_subagents.faces.bridge.calls import Calls

        return Calls(self._host, self._env)

    async def _hello(self, given: Params) -> Answer | Failure:
        spoken = given.get("protocol")
        if spoken != bridge_params.PROTOCOL or isinstance(spoken, bool):
            ours = bridge_params.PROTOCOL
            return Failure(REFUSED, host_messages.bridge_protocol_unknown(spoken, ours))
        _stand_in(given.get("cwd"))
        return {"protocol": bridge_params.PROTOCOL, "version": __version__}

    async def _open_session(self, opened: HostSession) -> Answer:
        from pi_subagents.faces.bridge.open_session import OpenSession

        if self._session is None or not self._session.is_same(opened):
            if self._session is not None:
                await self._session.close()
            _stand_in(opened.cwd)
            self._session = OpenSession(self._host, self._env, opened)
        return {"background": self._session.background()}

    async def _call(self, call: ToolCall) -> Answer | Failure:
        if self.ended.is_set():
            return Failure(REFUSED, host_messages.RPC_ENDING)
        if call.call_id in self._calls:
            return Failure(INVALID_PARAMS, f"callId: {host_messages.RPC_CALL_UNDER_WAY}")
        return await self._calls.run(call, self._session_for(call))

    def _session_for(self, call: ToolCall) -> OpenSession:
        """Return the open session; a host that opened none begins an empty one."""
        if self._session is None:
            from pi_subagents.core.bridge_params import NEW, HostSession
            from pi_subagents.faces.bridge.open_session import OpenSession

            opened = HostSession("", NEW, call.cwd, ())
            self._session = OpenSession(self._host, self._env, opened)
        return self._session

    async def _profile(self, given: ProfileLine) -> Answer:
        if not given.has_ui:
            return {"text": host_messages.PROFILE_NEEDS_TERMINAL, "level": "error"}
        from pi_subagents.faces.bridge.profile_command import run_profile_line
        from pi_subagents.faces.bridge.profile_dialogs import Dialogs

        # Its questions wait for a person: in a thread of its own nobody waits with it.
        asking = Dialogs(self._host, asyncio.get_running_loop())
        said = await asyncio.to_thread(run_profile_line, given.line, asking, given.models)
        return {"text": said.text, "level": said.level}

    async def _complete(self, prefix: str) -> Answer:
        from pi_subagents.faces.bridge.profile_command import completions

        return {"items": await asyncio.to_thread(completions, prefix)}

    async def _bye(self, _: Params) -> Answer:
        self.ended.set()
        return {}


def _stand_in(cwd: object) -> None:
    """Be where the host is: that is where profiles are looked for; a call brings its own."""
    if isinstance(cwd, str):
        with suppress(OSError, ValueError):
            os.chdir(cwd)

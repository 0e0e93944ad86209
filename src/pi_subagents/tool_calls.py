"""
The composition root of the tools: find the handler of a name and let it answer.

In: a tool's name, its decoded parameters, the caller's options.  Out: the tool's value, as every
host gets it; SubagentsError where the call is refused.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents import api, errors
from pi_subagents.core import retrieval, tool_defs
from pi_subagents.core.background import started_to_json, status_to_json, stopped_to_json
from pi_subagents.core.preset_request import (
    parse_background,
    parse_status,
    parse_stop,
    parse_subagent,
)
from pi_subagents.core.request import parse_delegate
from pi_subagents.core.steer import parse_steer_request, steered_to_json
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.value import replace
from pi_subagents.disk.settings_files import load_settings
from pi_subagents.launch import Options, place_of, told_by
from pi_subagents.procs.own_thread import in_own_thread
from pi_subagents.runs import Runs
from pi_subagents.sessions import find_session, wait_for_session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

Answer = dict[str, object]


async def call(name: str, parameters: object, options: Options) -> Answer:
    """Return what the tool of that name answers."""
    handler = _HANDLERS.get(name)
    if handler is None:
        raise errors.UnknownTool(name, tuple(tool.name for tool in tool_defs.TOOLS))
    return await handler(parameters, options)


async def _delegate(parameters: object, options: Options) -> Answer:
    return (await api.delegate_request(parse_delegate(parameters), options)).to_json()


async def _output(parameters: object, options: Options) -> Answer:
    request = retrieval.parse_output_request(parameters)
    runs = Runs(*place_of(options))
    stop, told = _switch(options), told_by(options)
    found = await wait_for_session(runs, request.session_id, request.wait_s, stop, told)
    return retrieval.output_to_json(found, request, max_lines=_max_lines(options))


async def _session(parameters: object, options: Options) -> Answer:
    session_id = retrieval.parse_session_request(parameters)
    found = find_session(Runs(*place_of(options)), session_id, told_by(options))
    return retrieval.session_to_json(found, max_lines=_max_lines(options))


async def _profiles(parameters: object, options: Options) -> Answer:
    from pi_subagents.core.profile_text import profile_summary
    from pi_subagents.disk.profile_files import load_profiles

    retrieval.parse_list_request(parameters)
    found = load_profiles(*place_of(options))
    summaries = {name: profile_summary(each.profile) for name, each in found.by_name.items()}
    scopes = {name: each.scope for name, each in found.by_name.items()}
    return retrieval.profiles_to_json(summaries, scopes, tuple(map(str, found.problems)))


async def _subagent(parameters: object, options: Options) -> Answer:
    from pi_subagents.presets import run_subagent

    return await run_subagent(parse_subagent(parameters, str(place_of(options)[0])), options)


async def _background(parameters: object, options: Options) -> Answer:
    from pi_subagents.background import BackgroundRuns, ask_and_start

    task = parse_background(parameters, str(place_of(options)[0]))
    run = await ask_and_start(task, options)
    runs = [run]
    with suppress(errors.IndexUnreadable):  # it was started, whatever else can be told
        runs = BackgroundRuns(Runs(*place_of(options))).all()
    return started_to_json(run, runs)


async def _status(parameters: object, options: Options) -> Answer:
    from pi_subagents.background import BackgroundRuns

    request = parse_status(parameters)
    known = BackgroundRuns(Runs(*place_of(options)))
    if request.run_id is not None:
        request = replace(request, run_id=known.find(request.run_id).run_id)
    return status_to_json(await known.wait(request, _switch(options)), request)


async def _stop(parameters: object, options: Options) -> Answer:
    from pi_subagents.background import BackgroundRuns

    known = BackgroundRuns(Runs(*place_of(options)))
    stopped = await in_own_thread("stop", partial(known.stop, parse_stop(parameters)))
    return stopped_to_json(stopped, known.all())


async def _steer(parameters: object, options: Options) -> Answer:
    from pi_subagents.steering import steer_run

    request = parse_steer_request(parameters)
    steered = await steer_run(request, Runs(*place_of(options)), _switch(options))
    return steered_to_json(steered)


def _switch(options: Options) -> StopSwitch:
    return options.get("stop") or StopSwitch()


def _max_lines(options: Options) -> int:
    return load_settings(*place_of(options))[0].max_lines_per_window


_HANDLERS: Mapping[str, Callable[[object, Options], Awaitable[Answer]]] = {
    tool_defs.DELEGATE: _delegate,
    tool_defs.GET_OUTPUT: _output,
    tool_defs.GET_SESSION: _session,
    tool_defs.LIST_PROFILES: _profiles,
    tool_defs.SUBAGENT: _subagent,
    tool_defs.BACKGROUND: _background,
    tool_defs.BACKGROUND_STATUS: _status,
    tool_defs.BACKGROUND_STOP: _stop,
    tool_defs.STEER: _steer,
}

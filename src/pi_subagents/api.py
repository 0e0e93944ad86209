"""
The composition root and Python API: put the parts together and delegate.

    from pi_subagents import Task, delegate
    done = await delegate([Task("count", "Count the Python files in src")])
    print(done.results[0].output)

Everything that refuses a whole call raises here, before anything starts; afterwards every task
has a result.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from pi_subagents import errors, messages
from pi_subagents.core import summary, tool_defs
from pi_subagents.core.invocation import CHILD_VARIABLE, ModelOverride
from pi_subagents.core.request import DelegateRequest, Task, checked_request, parse_delegate
from pi_subagents.core.retrieval import (
    output_to_json,
    parse_output_request,
    parse_session_request,
    session_to_json,
)
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.delegation.delegate import delegate_runs
from pi_subagents.delegation.plan import Surroundings, plan_runs
from pi_subagents.disk import crash_points
from pi_subagents.disk.project_trust import is_trusted
from pi_subagents.disk.settings_files import load_settings
from pi_subagents.engines.pi_command import resolve_pi_command
from pi_subagents.procs.process_runner import ProcessRunner
from pi_subagents.runs import Runs
from pi_subagents.sessions import find_session, wait_for_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pi_subagents.core.run_result import RunResult
    from pi_subagents.core.settings import Settings
    from pi_subagents.delegation.ports import Observer
    from pi_subagents.engines.offline_model.script import Script


class Options(TypedDict, total=False):
    """How to delegate; whatever is left out has the default a caller would expect."""

    cwd: Path  # the caller's directory: project, settings, default for tasks
    concurrency: int | None  # children at once, default `subagents.max_concurrency`
    offline: bool | Script  # the built-in model by its rules, or by a script
    env: Mapping[str, str]
    stop: StopSwitch
    on_update: Observer
    on_notice: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Delegation:
    """What a delegation came to: results in task order."""

    results: tuple[RunResult, ...]
    settings: Settings

    @property
    def summary(self) -> str:
        """One line per task."""
        return "\n".join(summary.summary_line(result) for result in self.results)

    def to_json(self) -> dict[str, object]:
        """Return the value of the tool `delegate_to_subagents`."""
        return summary.delegation_to_json(
            self.results, max_lines=self.settings.max_lines_per_window
        )


async def delegate(tasks: Iterable[Task], **options: Unpack[Options]) -> Delegation:
    """Run every task in a sub-agent of its own and return the results in task order."""
    return await _delegate(checked_request(tasks), options)


def delegate_sync(tasks: Iterable[Task], **options: Unpack[Options]) -> Delegation:
    """Do the same without an event loop of one's own."""
    return asyncio.run(delegate(tasks, **options))


async def call_tool(name: str, parameters: object, **options: Unpack[Options]) -> dict[str, object]:
    """Run a tool by name; a refusal is a value here, as it is for every host."""
    try:
        return await _call(name, parameters, options)
    except errors.SubagentsError as refusal:
        return summary.refusal_to_json(str(refusal))


async def _call(name: str, parameters: object, options: Options) -> dict[str, object]:
    if name == tool_defs.DELEGATE:
        return (await _delegate(parse_delegate(parameters), options)).to_json()
    env = options.get("env", os.environ)
    cwd = options.get("cwd") or Path.cwd()
    max_lines = load_settings(cwd, env)[0].max_lines_per_window
    runs = Runs(cwd, env)
    if name == tool_defs.GET_OUTPUT:
        request = parse_output_request(parameters)
        found = await wait_for_session(runs, request.session_id, request.wait_s)
        return output_to_json(found, request, max_lines=max_lines)
    if name == tool_defs.GET_SESSION:
        found = find_session(runs, parse_session_request(parameters))
        return session_to_json(found, max_lines=max_lines)
    raise errors.UnknownTool(name, tuple(tool.name for tool in tool_defs.TOOLS))


def refuse_where_impossible(env: Mapping[str, str]) -> None:
    """Refuse to delegate from inside a sub-agent, or where children cannot be supervised."""
    if sys.platform == "win32":
        raise errors.PlatformNotSupported("Windows")
    if env.get(CHILD_VARIABLE) == "1":
        raise errors.NestedDelegation


async def _delegate(request: DelegateRequest, options: Options) -> Delegation:
    env = options.get("env", os.environ)
    refuse_where_impossible(env)
    cwd = options.get("cwd") or Path.cwd()
    notice = options.get("on_notice", _ignore)
    settings, problems = load_settings(cwd, env)
    for problem in problems:
        notice(f"{problem.where}: {problem.problem}")
    pi = resolve_pi_command(env, cwd, settings.pi_command)
    runs = Runs(cwd, env)
    runs.recover()
    runs.keep_tidy()
    with ExitStack() as resources:
        around = Surroundings(
            cwd=cwd,
            settings=settings,
            store=runs.store,
            pi_command=pi.argv,
            pi_source=pi.source,
            pi_version=pi.version,
            trusted=lambda place: is_trusted(place, env),
            seal=runs.seal,
            override=_offline_model(options.get("offline", False), notice, resources),
        )
        planned = plan_runs(request, around)
        crash_points.reach(crash_points.PLANNED)
        if unknown := runs.add(run.spec for run in planned):
            notice(unknown)
        crash_points.reach(crash_points.INDEXED)
        results = await delegate_runs(
            planned,
            runner=ProcessRunner(env),
            concurrency=options.get("concurrency") or settings.max_concurrency,
            observe=options.get("on_update", _ignore),
            stop=options.get("stop") or StopSwitch(),
        )
    crash_points.reach(crash_points.BEFORE_INDEX_UPDATE)
    runs.note_ended(results)
    return Delegation(results, settings)


def _offline_model(
    wanted: bool | Script,  # noqa: FBT001 - True is the common case, a script the other
    notice: Callable[[str], None],
    resources: ExitStack,
) -> Callable[[str], ModelOverride] | None:
    """Serve the offline model, where wanted, for as long as the delegation lasts."""
    if wanted is False:
        return None
    from pi_subagents.engines.offline_model.provider import URL_VARIABLE, pi_arguments
    from pi_subagents.engines.offline_model.server import OfflineModel

    script = None if wanted is True else wanted
    model = resources.enter_context(OfflineModel(script, keep_requests=0))
    notice(messages.NOTICE_OFFLINE_SCRIPT if script else messages.NOTICE_OFFLINE)
    return lambda run_id: ModelOverride(
        arguments=pi_arguments(),
        environment={
            URL_VARIABLE: model.url_for(run_id),
            "PI_OFFLINE": "1",
            "PI_SKIP_VERSION_CHECK": "1",
            "PI_TELEMETRY": "0",
        },
    )


def _ignore(_: object) -> None:
    """Observe nothing."""

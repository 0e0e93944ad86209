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
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from pi_subagents import errors, messages
from pi_subagents.core import summary, tool_defs
from pi_subagents.core.invocation import CHILD_VARIABLE, ModelOverride
from pi_subagents.core.request import DelegateRequest, Task, checked_request, parse_delegate
from pi_subagents.core.retrieval import (
    output_to_json,
    parse_list_request,
    parse_output_request,
    parse_session_request,
    profiles_to_json,
    session_to_json,
)
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.delegation.delegate import delegate_runs
from pi_subagents.delegation.plan import Surroundings, discard_runs, plan_runs
from pi_subagents.delegation.preparation import Preparation
from pi_subagents.delegation.windows import Windows
from pi_subagents.disk import crash_points
from pi_subagents.disk.project_trust import is_trusted
from pi_subagents.disk.settings_files import load_settings
from pi_subagents.engines.pi_command import resolve_pi_command
from pi_subagents.procs.process_runner import ProcessRunner
from pi_subagents.runs import Runs
from pi_subagents.sessions import (
    find_session,
    refuse_if_resumed_elsewhere,
    sessions_to_resume,
    wait_for_session,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pi_subagents.core.run_result import RunResult
    from pi_subagents.core.settings import Settings
    from pi_subagents.core.window import Window
    from pi_subagents.delegation.ports import Observer, Update
    from pi_subagents.engines.offline_model.script import Script


class Options(TypedDict, total=False):
    """How to delegate; whatever is left out has the default a caller would expect."""

    cwd: Path  # the caller's directory: project, settings, default for tasks
    profile: str | None  # for tasks that name none of their own
    trust_project: bool  # let the project's own profiles and pi settings decide everything
    parent_tools: tuple[str, ...] | None  # the active tools of a host that is pi itself
    concurrency: int | None  # children at once, default `subagents.max_concurrency`
    offline: bool | Script  # the built-in model by its rules, or by a script
    env: Mapping[str, str]
    stop: StopSwitch
    on_update: Observer
    on_notice: Callable[[str], None]
    columns: int | None  # of the terminal that shows the work, if one does


@dataclass(frozen=True, slots=True)
class Delegation:
    """What a delegation came to: results in task order."""

    results: tuple[RunResult, ...]
    windows: tuple[Window, ...]
    settings: Settings

    @property
    def summary(self) -> str:
        """One line per task."""
        return summary.summary_text(self.results, self.windows)

    def to_json(self) -> dict[str, object]:
        """Return the value of the tool `delegate_to_subagents`."""
        return summary.delegation_to_json(
            self.results, self.windows, max_lines=self.settings.max_lines_per_window
        )


async def delegate(tasks: Iterable[Task], **options: Unpack[Options]) -> Delegation:
    """Run every task in a sub-agent of its own and return the results in task order."""
    return await _delegate(checked_request(tasks, options.get("profile")), options)


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
    if name == tool_defs.LIST_PROFILES:
        parse_list_request(parameters)
        return _profiles(cwd, env)
    raise errors.UnknownTool(name, tuple(tool.name for tool in tool_defs.TOOLS))


def _profiles(cwd: Path, env: Mapping[str, str]) -> dict[str, object]:
    from pi_subagents.core.profile_text import profile_summary
    from pi_subagents.disk.profile_files import load_profiles

    found = load_profiles(cwd, env)
    summaries = {name: profile_summary(each.profile) for name, each in found.by_name.items()}
    scopes = {name: each.scope for name, each in found.by_name.items()}
    return profiles_to_json(summaries, scopes, tuple(str(each) for each in found.problems))


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
    preparations = _prepare(request, runs, options)
    runs.keep_tidy()
    with ExitStack() as resources:
        around = Surroundings(
            cwd=cwd,
            settings=settings,
            store=runs.store,
            pi_command=pi.argv,
            pi_source=pi.source,
            pi_version=pi.version,
            trusted=lambda place: _trusted(place, options),
            seal=runs.seal,
            override=_offline_model(options.get("offline", False), notice, resources),
            parent_tools=options.get("parent_tools"),
        )
        planned = plan_runs(request, around, preparations)
        crash_points.reach(crash_points.PLANNED)
        if unknown := runs.add(run.spec for run in planned):
            notice(unknown)
        try:
            refuse_if_resumed_elsewhere(runs, (r.spec for r in planned if r.task.resume))
        except errors.ResumeStillRunning:
            discard_runs(planned)
            raise
        crash_points.reach(crash_points.INDEXED)
        windows = Windows(
            planned, settings, home=env.get("HOME", ""), columns=options.get("columns")
        )
        tell = options.get("on_update", _ignore)

        def observe(update: Update) -> None:
            windows.apply(update)
            tell(update)

        results = await delegate_runs(
            planned,
            runner=ProcessRunner(env),
            concurrency=options.get("concurrency") or settings.max_concurrency,
            observe=observe,
            stop=options.get("stop") or StopSwitch(),
        )
    crash_points.reach(crash_points.BEFORE_INDEX_UPDATE)
    runs.note_ended(results)
    return Delegation(results, windows.now(), settings)


def _prepare(request: DelegateRequest, runs: Runs, options: Options) -> tuple[Preparation, ...]:
    """Resolve profiles, skills and sessions: whatever of them can refuse the whole call."""
    cwd, env = options.get("cwd") or Path.cwd(), options.get("env", os.environ)
    earlier = sessions_to_resume(runs, (task.resume for task in request.tasks if task.resume))
    preparations: tuple[Preparation, ...] = (Preparation(),) * len(request.tasks)
    if any(map(request.profile_of, request.tasks)):
        from pi_subagents.delegation.profiles import prepare_profiles
        from pi_subagents.disk.profile_files import load_profiles
        from pi_subagents.disk.skill_files import discover_skills

        trusted = _trusted(cwd, options)
        preparations = prepare_profiles(
            request,
            load_profiles(cwd, env),
            trusted=trusted,
            parent_tools=options.get("parent_tools"),
            skills=cache(lambda: discover_skills(cwd, env, trusted=trusted)),
        )
    return tuple(
        replace(needs, earlier=earlier.get(task.resume or "", ()))
        for task, needs in zip(request.tasks, preparations, strict=True)
    )


def _trusted(place: Path, options: Options) -> bool:
    """Tell whether what the project itself configures may count: by word, or by pi's records."""
    cwd = options.get("cwd") or Path.cwd()
    by_word = options.get("trust_project", False) and place.is_relative_to(cwd)
    return by_word or is_trusted(place, options.get("env", os.environ))


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

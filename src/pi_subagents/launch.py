"""
The composition root of a call: where it stands, what it plans, how its runs are executed.

Every tool that starts children goes this way: stand, prepare, plan, execute (or leave running).
What refuses a whole call raises before anything starts; afterwards every task has a result.
"""

from __future__ import annotations

import asyncio
import os
import sys
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

from pi_subagents import child_messages, errors, host_messages, messages
from pi_subagents.core.definition import Loaded
from pi_subagents.core.invocation import CHILD_VARIABLE, QUIET, ModelOverride
from pi_subagents.core.parameters import refuse_unknown
from pi_subagents.core.pi_versions import traits_of
from pi_subagents.core.request import MAX_TASKS
from pi_subagents.core.run_spec import RPC_MODE
from pi_subagents.core.settings import RUNNERS, TMUX
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.value import replace, value
from pi_subagents.delegation.definition_choice import choose_definition
from pi_subagents.delegation.delegate import delegate_runs
from pi_subagents.delegation.plan import Surroundings, discard_runs, plan_runs, spec_ahead
from pi_subagents.delegation.windows import Windows
from pi_subagents.disk import crash_points
from pi_subagents.disk.config_home import data_dir
from pi_subagents.disk.definition_answers import DefinitionAnswers
from pi_subagents.disk.project_trust import is_trusted
from pi_subagents.disk.settings_files import load_settings
from pi_subagents.engines.pi_command import resolve_pi_command
from pi_subagents.engines.pi_version import find_version, is_first_sight
from pi_subagents.procs.pool import Pool
from pi_subagents.procs.process_runner import ProcessRunner
from pi_subagents.runs import Runs
from pi_subagents.sessions import nothing_told, refuse_if_resumed_elsewhere
from pi_subagents.store_messages import old_runs_removed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from contextlib import ExitStack

    from pi_subagents.core.bridge_params import HostPi
    from pi_subagents.core.child_shape import ChildShape
    from pi_subagents.core.pi_versions import PiTraits
    from pi_subagents.core.project_definitions import Choice
    from pi_subagents.core.request import DelegateRequest, Task
    from pi_subagents.core.retention import Removal
    from pi_subagents.core.run_result import RunResult
    from pi_subagents.core.settings import Settings
    from pi_subagents.core.window import Window
    from pi_subagents.delegation.ports import Observer, PlannedRun, Update
    from pi_subagents.delegation.preparation import Preparation
    from pi_subagents.disk.definition_files import Definitions
    from pi_subagents.engines.offline_model.script import Script
    from pi_subagents.engines.pi_command import PiCommand
    from pi_subagents.procs.attached_runner import AttachedRunner
    from pi_subagents.sessions import Told


L = TypeVar("L", bound=Loaded)


class Options(TypedDict, total=False):
    """How to delegate; whatever is left out has the default a caller would expect."""

    cwd: Path  # the caller's directory: project, settings, default for tasks
    profile: str | None  # for tasks that name none of their own
    trust_project: bool  # let the project's own profiles and pi settings decide everything
    host_trusts: bool | None  # what a host that is pi itself decided of its directory
    parent_tools: tuple[str, ...] | None  # the active tools of such a host
    models: tuple[str, ...] | None  # its models (`provider/id`), which its children have too
    host_pi: HostPi | None  # the program it runs in: children run on it as well
    concurrency: int | None  # children at once, default `subagents.max_concurrency`
    runner: str | None  # where supervisors run, default `subagents.runner`
    offline: bool | Script  # the built-in model by its rules, or by a script
    env: Mapping[str, str]
    stop: StopSwitch
    on_update: Observer
    on_notice: Callable[[str], None]
    on_windows: Callable[[Windows], None]  # once, before the first start: a face that paints them
    columns: int | None  # of the terminal that shows the work, if one does
    pool: Pool  # a host's, which outlives the call and keeps children ready
    told: Told  # what a host's own log tells of a session, on disk or not
    ask: Callable[[str], Awaitable[bool | None]]  # a person: yes, no, or no answer


def check_options(options: Options) -> None:
    """Refuse what no type checker has seen: an option that is none, a value that means nothing."""
    refuse_unknown("options", options, tuple(Options.__annotations__))
    concurrency: object = options.get("concurrency")
    if concurrency is not None and concurrency not in range(1, MAX_TASKS + 1):
        raise errors.InvalidRequest("concurrency", messages.MUST_BE_CONCURRENCY)
    if options.get("runner") not in (None, *RUNNERS):
        raise errors.InvalidRequest("runner", messages.MUST_BE_RUNNER)


@value
class _Sharing:
    """How pi is started, what of a child decides who may share it, and what a kind is by now."""

    pi_command: tuple[str, ...]
    kind_of: Callable[[ChildShape], str] = lambda _: ""
    kind_now: Callable[[str], str] = lambda kind: kind


@value
class Ground:
    """Where a call stands: directory, environment, settings, the pi it has, the runs it sees."""

    options: Options
    cwd: Path
    env: Mapping[str, str]
    settings: Settings
    pi: PiCommand
    traits: PiTraits
    runs: Runs
    pool: Pool
    sharing: _Sharing

    def notice(self, text: str) -> None:
        """Say something once, to whoever called."""
        self.options.get("on_notice", _ignore)(text)

    def trusted(self, place: Path) -> bool:
        """Tell whether what a project itself configures may count: by word, or by pi's records."""
        return trusts(self.options, place)

    def choose(self, kind: str, found: Definitions[L], name: str) -> Choice[L]:
        """Return which definition of that name counts, the project's or the user's own."""
        return choose_definition(
            kind,
            found,
            name,
            policy=self.settings.project_definitions,
            trusted=self.trusted(self.cwd),
            answers=DefinitionAnswers(data_dir(self.env)),
        )


def place_of(options: Options) -> tuple[Path, Mapping[str, str]]:
    """Return the directory and the environment of a caller."""
    return Path(options.get("cwd") or Path.cwd()), options.get("env", os.environ)


def trusts(options: Options, place: Path) -> bool:
    """Tell whether the caller trusts the project of a place: by word, or by pi's records."""
    cwd, env = place_of(options)
    decided = options.get("host_trusts")
    if decided is None and options.get("trust_project", False):
        decided = True
    return is_trusted(place, env, None if decided is None else (cwd, decided))


def told_by(options: Options) -> Told:
    """Return what the caller's own log tells of sessions."""
    return options.get("told", nothing_told)


def stand(options: Options) -> Ground:
    """Find out where a call stands; refuse where no child could be started."""
    cwd, env = place_of(options)
    refuse_where_impossible(env)
    settings, problems = load_settings(cwd, env)
    host = options.get("host_pi")
    pi = resolve_pi_command(env, cwd, settings.pi_command, host)
    pi = replace(pi, version=pi.version or find_version(pi.argv, env, cwd))
    traits = traits_of(pi.version)
    runs, pool = Runs(cwd, env), _pool(options, settings)
    sharing = _sharing(options, settings, pi)
    ground = Ground(options, cwd, env, settings, pi, traits, runs, pool, sharing)
    for problem in problems:
        ground.notice(f"{problem.where}: {problem.problem}")
    if traits.is_newer and is_first_sight(traits.version, env):
        ground.notice(child_messages.pi_is_newer(traits.shown, errors.PINNED_PI_VERSION))
    if host and host.version and pi.version and pi.version != host.version:
        chosen_by = errors.PI_CHOSEN_BY[pi.source]
        ground.notice(host_messages.other_pi_than_the_host(pi.version, chosen_by, host.version))
    ground.runs.recover()
    return ground


def refuse_where_impossible(env: Mapping[str, str]) -> None:
    """Refuse to delegate from inside a sub-agent, or where children cannot be supervised."""
    if sys.platform == "win32":
        raise errors.PlatformNotSupported("Windows")
    if env.get(CHILD_VARIABLE) == "1":
        raise errors.NestedDelegation


def _surroundings(
    ground: Ground, override: Callable[[str], ModelOverride] | None = None
) -> Surroundings:
    """Return what the tasks of a call have in common."""
    return Surroundings(
        cwd=ground.cwd,
        settings=ground.settings,
        store=ground.runs.store,
        pi_command=ground.sharing.pi_command,
        pi_source=ground.pi.source,
        traits=ground.traits,
        trusted=cache(ground.trusted),
        seal=ground.runs.seal,
        override=override,
        parent_tools=ground.options.get("parent_tools"),
        slots_dir=str(data_dir(ground.env) / "slots"),
        kind_of=ground.sharing.kind_of,
    )


def start_ahead(ground: Ground, tasks: Iterable[tuple[Task, Preparation]]) -> None:
    """Let the first children of a call start before there is one: nothing in it takes longer."""
    if _where(ground.options, ground.settings) != TMUX:
        most, around = _concurrency(ground), _surroundings(ground)
        specs = (spec_ahead(task, needs, around) for task, needs in islice(tasks, most))
        ground.pool.make_ready([spec for spec in specs if spec], ground.env, most=most)


def plan(
    ground: Ground,
    request: DelegateRequest,
    preparations: Sequence[Preparation],
    override: Callable[[str], ModelOverride] | None,
) -> tuple[PlannedRun, ...]:
    """Give every task its run directory and make it known."""
    if gone := ground.runs.keep_tidy():
        ground.notice(_removed_notice(gone, ground.settings))
    planned = plan_runs(request, _surroundings(ground, override), preparations)
    crash_points.reach(crash_points.PLANNED)
    if reason := ground.runs.add(run.spec for run in planned):
        if not all(run.spec.attached for run in planned):
            discard_runs(planned)
            raise errors.BackgroundNotIndexed(str(ground.runs.index.path), reason)
        ground.notice(messages.index_unusable(reason))
    try:
        refuse_if_resumed_elsewhere(ground.runs, (r.spec for r in planned if r.task.resume))
    except errors.ResumeStillRunning:
        discard_runs(planned)
        raise
    crash_points.reach(crash_points.INDEXED)
    return planned


async def execute(
    ground: Ground, planned: Sequence[PlannedRun]
) -> tuple[tuple[RunResult, ...], tuple[Window, ...]]:
    """Run what was planned to its end; return results and windows, in task order."""
    options = ground.options
    try:
        runner = _runner(ground)
    except errors.SetupError:
        discard_runs(planned)
        raise
    windows = Windows(
        planned,
        ground.settings,
        home=ground.env.get("HOME", ""),
        columns=options.get("columns"),
    )
    options.get("on_windows", _ignore)(windows)
    tell = options.get("on_update", _ignore)

    def observe(update: Update) -> None:
        windows.apply(update)
        tell(update)

    runner.expect(run.spec for run in planned if not run.refusal)
    try:
        results = await delegate_runs(
            planned,
            runner=runner,
            concurrency=_concurrency(ground),
            observe=observe,
            stop=options.get("stop") or StopSwitch(),
        )
    finally:
        await asyncio.shield(runner.settle())
    crash_points.reach(crash_points.BEFORE_INDEX_UPDATE)
    ground.runs.note_ended(results)
    return results, windows.now()


def _runner(ground: Ground) -> AttachedRunner:
    """Return where foreground runs are executed; SetupError where that is impossible."""
    if _where(ground.options, ground.settings) != TMUX:
        return ProcessRunner(
            ground.env,
            ground.pool,
            concurrency=_concurrency(ground),
            kind_now=ground.sharing.kind_now,
        )
    from pi_subagents.disk.runtime_dir import runtime_dir
    from pi_subagents.engines.tmux_program import check_tmux
    from pi_subagents.procs.tmux_runner import TmuxRunner

    return TmuxRunner(
        ground.env,
        program=check_tmux(ground.env, ground.cwd),
        directory=runtime_dir(ground.env),
        notice=ground.notice,
    )


def _pool(options: Options, settings: Settings) -> Pool:
    # The offline model ends with its call: what talks to it is of no use to another.
    pool = None if options.get("offline", False) else options.get("pool")
    if pool is None:
        return Pool()
    pool.warm = settings.warm_children
    return pool


def _where(options: Options, settings: Settings) -> str:
    return options.get("runner") or settings.runner


def _concurrency(ground: Ground) -> int:
    return ground.options.get("concurrency") or ground.settings.max_concurrency


def _sharing(options: Options, settings: Settings, pi: PiCommand) -> _Sharing:
    """Return how the children of this call are shared; a window of tmux has one of its own."""
    from pi_subagents.disk.child_kind import ChildKinds
    from pi_subagents.engines.inspector import with_closed_inspector

    cwd, env = place_of(options)
    closed = with_closed_inspector(pi.argv, env, cwd)
    shared = settings.child_mode == RPC_MODE and settings.reuse_children
    # Where it cannot be closed, the next task would meet what one does to its process.
    if closed is None or not shared or _where(options, settings) == TMUX:
        return _Sharing(closed or pi.argv)
    kinds = ChildKinds(env, traits_of(pi.version))
    return _Sharing(closed, kinds.kind_of, kinds.kind_now)


def offline_model(ground: Ground, resources: ExitStack) -> Callable[[str], ModelOverride] | None:
    """Serve the offline model, where wanted, for as long as the resources are held."""
    wanted = ground.options.get("offline", False)
    if wanted is False:
        return None
    from pi_subagents.engines.offline_model.conversations import EACH_PROMPT
    from pi_subagents.engines.offline_model.provider import URL_VARIABLE, pi_arguments
    from pi_subagents.engines.offline_model.server import OfflineModel

    script = None if wanted is True else wanted
    model = resources.enter_context(OfflineModel(script, keep_requests=0))
    ground.notice(messages.NOTICE_OFFLINE_SCRIPT if script else messages.NOTICE_OFFLINE)
    # By the rules an answer depends on the prompt alone, so that children can be used again.
    return lambda run_id: ModelOverride(
        arguments=pi_arguments(),
        environment={URL_VARIABLE: model.url_for(run_id if script else EACH_PROMPT), **QUIET},
    )


def own_offline_model(ground: Ground) -> Callable[[str], ModelOverride] | None:
    """Let each run serve an offline model of its own, where one is wanted."""
    wanted = ground.options.get("offline", False)
    if wanted is False:
        return None
    if wanted is not True:
        raise errors.InvalidRequest("offline", messages.NO_SCRIPT_IN_BACKGROUND)
    from pi_subagents.engines.offline_model.launcher import launcher_argv
    from pi_subagents.engines.offline_model.provider import pi_arguments

    ground.notice(messages.NOTICE_OFFLINE)
    override = ModelOverride(pi_arguments(), QUIET, launcher_argv())
    return lambda _: override


def _removed_notice(gone: Sequence[Removal], settings: Settings) -> str:
    reasons = [removal.reason for removal in gone]
    return old_runs_removed(
        reasons.count("age"),
        settings.retention_days,
        reasons.count("space"),
        settings.retention_megabytes,
    )


def _ignore(_: object) -> None:
    """Observe nothing."""

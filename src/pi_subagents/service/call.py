"""
The composition root: which engine, runner and store a call has, and the way it goes.

Every tool that starts children goes this way: open, prepare, plan, execute (or leave running).
What refuses a whole call raises before anything starts; afterwards every task has a result.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

from pi_subagents import errors
from pi_subagents.config.definition_answers import DefinitionAnswers
from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.definitions.definition import Loaded
from pi_subagents.core.parameters import refuse_unknown
from pi_subagents.core.run.markers import CHILD_VARIABLE
from pi_subagents.core.settings import PROCESS, RUNNERS
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.task.request import MAX_TASKS
from pi_subagents.core.value import replace, value
from pi_subagents.engines.base import CallPlace
from pi_subagents.engines.table import DEFAULT, ENGINES, load_engine
from pi_subagents.runners.pool import ChildPool
from pi_subagents.runners.table import RunnerPlace, open_runner
from pi_subagents.service import messages
from pi_subagents.service.definitions.choice import choose_definition
from pi_subagents.service.delegate import delegate_runs
from pi_subagents.service.messages import old_runs_removed
from pi_subagents.service.plan import PlanContext, plan_runs, prewarm_spec
from pi_subagents.service.runs import Runs
from pi_subagents.service.sessions import no_history, refuse_if_resumed_elsewhere
from pi_subagents.service.windows import Windows
from pi_subagents.store.held_runs import HeldRuns
from pi_subagents.system import crash_points
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from contextlib import ExitStack

    from pi_subagents.core.definitions.found import Definitions
    from pi_subagents.core.definitions.project_choice import Choice
    from pi_subagents.core.host_program import HostProgram
    from pi_subagents.core.offline.script import Script
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.run.retention import Removal
    from pi_subagents.core.settings import Settings
    from pi_subagents.core.task.request import DelegateRequest, Task
    from pi_subagents.engines.base import EngineCall
    from pi_subagents.runners.base import Runner
    from pi_subagents.service.known_runs import KnownRuns
    from pi_subagents.service.planned_task import Observer, PlannedTask, Update
    from pi_subagents.service.pool import Pool
    from pi_subagents.service.preparation import Preparation
    from pi_subagents.service.sessions import HostHistory
    from pi_subagents.view.window import Window


L = TypeVar("L", bound=Loaded)


class CallerOptions(TypedDict, total=False):
    """Who calls, from where, and what a host that calls for somebody else brings along."""

    cwd: Path  # the caller's directory: project, settings, default for tasks
    env: Mapping[str, str]
    host_trusts: bool | None  # what a host that is pi itself decided of its directory
    parent_tools: tuple[str, ...] | None  # the active tools of such a host
    models: tuple[str, ...] | None  # its models (`provider/id`), which its children have too
    host_program: HostProgram | None  # the program it runs in: children run on it as well
    pool: Pool  # a host's, which outlives the call and keeps children ready
    told: HostHistory  # what a host's own log tells of a session, on disk or not
    known_runs: KnownRuns  # a host's own background runs, default every run on disk


class PolicyOptions(TypedDict, total=False):
    """How the work is done, and what it may do."""

    profile: str | None  # for tasks that name none of their own
    trust_project: bool  # let the project's own profiles and pi settings decide everything
    concurrency: int | None  # children at once, default `subagents.max_concurrency`
    engine: str  # the kind of children, default pi
    runner: str | None  # where supervisors run, default `subagents.runner`
    offline: bool | Script  # the built-in model by its rules, or by a script


class ObserverOptions(TypedDict, total=False):
    """Who follows the work, is asked about it, and may stop it."""

    stop: StopSwitch
    on_update: Observer
    on_notice: Callable[[str], None]
    on_windows: Callable[[Windows], None]  # once, before the first start: a face that paints them
    columns: int | None  # of the terminal that shows the work, if one does
    ask: Callable[[str], Awaitable[bool | None]]  # a person: yes, no, or no answer


class Options(CallerOptions, PolicyOptions, ObserverOptions, total=False):
    """How to delegate; whatever is left out has the default a caller would expect."""


def check_options(options: Options) -> None:
    """Refuse what no type checker has seen: an option that is none, a value that means nothing."""
    refuse_unknown("options", options, tuple(Options.__annotations__))
    concurrency: object = options.get("concurrency")
    if concurrency is not None and concurrency not in range(1, MAX_TASKS + 1):
        raise errors.InvalidRequest("concurrency", messages.MUST_BE_CONCURRENCY)
    if options.get("engine", DEFAULT) not in ENGINES:
        raise errors.InvalidRequest("engine", messages.must_be_engine(tuple(ENGINES)))
    if options.get("runner") not in (None, *RUNNERS):
        raise errors.InvalidRequest("runner", messages.MUST_BE_RUNNER)


@value
class CallContext:
    """Where a call stands: directory, environment, settings, the pi it has, the runs it sees."""

    options: Options
    cwd: Path
    env: Mapping[str, str]
    settings: Settings
    engine: EngineCall
    runs: Runs
    held: HeldRuns  # the runs of this call, from their planning on
    pool: ChildPool

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
    engine = load_engine(options.get("engine", DEFAULT))
    return engine.trusts(place, env, None if decided is None else (cwd, decided))


def history_of(options: Options) -> HostHistory:
    """Return what the caller's own log tells of sessions."""
    return options.get("told", no_history)


def open_call(options: Options) -> CallContext:
    """Find out where a call stands; refuse where no child could be started."""
    cwd, env = place_of(options)
    refuse_where_impossible(env)
    settings, problems = load_settings(cwd, env)
    engine = load_engine(options.get("engine", DEFAULT)).open(
        CallPlace(
            cwd,
            env,
            settings,
            trusted=partial(trusts, options),
            parent_tools=options.get("parent_tools"),
            models=options.get("models"),
            host=options.get("host_program"),
        )
    )
    runs, pool = Runs(cwd, env), _pool(options, settings)
    held = HeldRuns(runs.store, str(data_dir(env) / "slots"))
    context = CallContext(options, cwd, env, settings, engine, runs, held, pool)
    for problem in problems:
        context.notice(f"{problem.where}: {problem.problem}")
    for notice in engine.notices:
        context.notice(notice)
    context.runs.recover()
    return context


def refuse_where_impossible(env: Mapping[str, str]) -> None:
    """Refuse to delegate from inside a sub-agent, or where children cannot be supervised."""
    if sys.platform == "win32":
        raise errors.PlatformNotSupported("Windows")
    if env.get(CHILD_VARIABLE) == "1":
        raise errors.NestedDelegation


def _plan_context(context: CallContext) -> PlanContext:
    """Return what the tasks of a call have in common."""
    return PlanContext(
        cwd=context.cwd,
        settings=context.settings,
        store=context.runs.store,
        held=context.held,
        engine=context.engine,
        trusted=cache(context.trusted),
        seal=context.runs.seal,
    )


def prewarm(context: CallContext, tasks: Iterable[tuple[Task, Preparation]]) -> None:
    """Let the first children of a call start before there is one: nothing in it takes longer."""
    around = _plan_context(context)
    first = islice(tasks, _concurrency(context))
    specs = (prewarm_spec(task, needs, around) for task, needs in first)
    with suppress(errors.SetupError):  # the call itself will be refused, and told why
        _runner(context).prewarm(spec for spec in specs if spec)


def plan(
    context: CallContext,
    request: DelegateRequest,
    preparations: Sequence[Preparation],
) -> tuple[PlannedTask, ...]:
    """Give every task its run directory and make it known."""
    if gone := context.runs.keep_tidy():
        context.notice(_removed_notice(gone, context.settings))
    planned = plan_runs(request, _plan_context(context), preparations)
    crash_points.reach(crash_points.PLANNED)
    if reason := context.runs.add(run.spec for run in planned):
        if not all(run.spec.attached for run in planned):
            _discard(context, planned)
            raise errors.BackgroundNotIndexed(str(context.runs.index.path), reason)
        context.notice(messages.index_unusable(reason))
    if resumed := [run.spec for run in planned if run.task.resume]:
        try:
            refuse_if_resumed_elsewhere(context.runs, resumed)
        except errors.ResumeStillRunning:
            _discard(context, planned)
            raise
    crash_points.reach(crash_points.INDEXED)
    return planned


async def execute(
    context: CallContext, planned: Sequence[PlannedTask]
) -> tuple[tuple[RunResult, ...], tuple[Window, ...]]:
    """Run what was planned to its end; return results and windows, in task order."""
    options = context.options
    try:
        runner = _runner(context)
    except errors.SetupError:
        _discard(context, planned)
        raise
    windows = Windows(
        planned,
        context.settings,
        home=context.env.get("HOME", ""),
        columns=options.get("columns"),
    )
    options.get("on_windows", _ignore)(windows)
    tell = options.get("on_update", _ignore)

    def observe(update: Update) -> None:
        windows.apply(update)
        tell(update)

    runner.expect(run.spec for run in planned if not run.needs.refusal)
    try:
        results = await delegate_runs(
            planned,
            runner=runner,
            concurrency=_concurrency(context),
            observe=observe,
            stop=options.get("stop") or StopSwitch(),
        )
    finally:
        await asyncio.shield(runner.settle())
    crash_points.reach(crash_points.BEFORE_INDEX_UPDATE)
    context.runs.note_ended(results)
    return results, windows.now()


def start(context: CallContext, run: PlannedTask) -> None:
    """Let a planned run begin that nobody has to wait for; what becomes of it is on record."""
    runner = _runner(context, PROCESS)  # no window has to be open for it
    if run.needs.refusal:
        runner.refuse(run.spec, run.needs.refusal, aborted=False)
    else:
        runner.start(run.spec)


def _discard(context: CallContext, planned: Iterable[PlannedTask]) -> None:
    """Take back what was planned: the call is refused."""
    context.held.discard(run.spec.run_id for run in planned)


def _runner(context: CallContext, name: str = "") -> Runner:
    """Return where runs are executed; SetupError where that is impossible."""
    place = RunnerPlace(
        cwd=context.cwd,
        env=context.env,
        held=context.held,
        concurrency=_concurrency(context),
        pool=context.pool,
        kind_now=context.engine.share_key_now,
        notice=context.notice,
    )
    return open_runner(name or context.options.get("runner") or context.settings.runner, place)


def _pool(options: Options, settings: Settings) -> ChildPool:
    # The offline model ends with its call: what talks to it is of no use to another.
    pool = None if options.get("offline", False) else options.get("pool")
    if pool is None:
        return ChildPool()
    pool.children.warm = settings.warm_children
    return pool.children


def _concurrency(context: CallContext) -> int:
    return context.options.get("concurrency") or context.settings.max_concurrency


def with_offline_model(context: CallContext, resources: ExitStack) -> CallContext:
    """Serve the offline model, where wanted, for as long as the resources are held."""
    wanted = context.options.get("offline", False)
    if wanted is False:
        return context
    script = None if wanted is True else wanted
    context.notice(messages.NOTICE_OFFLINE_SCRIPT if script else messages.NOTICE_OFFLINE)
    return replace(context, engine=context.engine.offline(script, resources))


def with_own_offline_model(context: CallContext) -> CallContext:
    """Let each run serve an offline model of its own, where one is wanted."""
    wanted = context.options.get("offline", False)
    if wanted is False:
        return context
    if wanted is not True:
        raise errors.InvalidRequest("offline", messages.NO_SCRIPT_IN_BACKGROUND)
    context.notice(messages.NOTICE_OFFLINE)
    return replace(context, engine=context.engine.offline_each())


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

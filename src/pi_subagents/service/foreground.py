"""
Foreground delegation: run tasks to their end, a few at a time, with a window each.

Everything that refuses a whole call raises before anything starts.  Afterwards nothing does but
cancellation: each run ends in a result, in task order, and one bad run never harms its siblings.
Runs that a stop finds in the queue are never started.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import ExitStack, suppress
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING

from pi_subagents import errors
from pi_subagents.core import messages as core_messages
from pi_subagents.core.cluster.destination import destination_of
from pi_subagents.core.definitions.found import PROFILE
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.runner_names import PROCESS
from pi_subagents.core.stop_switch import RUNNING, StopSwitch
from pi_subagents.core.task.request import parse_begun, with_budget
from pi_subagents.core.value import replace
from pi_subagents.engines.table import DEFAULT
from pi_subagents.runners.table import RunnerPlace, open_runner
from pi_subagents.service import messages
from pi_subagents.service.answer_schemas import refuse_wrong_schemas, with_parsed
from pi_subagents.service.call import ignore, open_call
from pi_subagents.service.definitions.choice import ask_first
from pi_subagents.service.delegation import Delegation, Preparation, Update
from pi_subagents.service.models import refuse_without_model
from pi_subagents.service.plan import plan, prewarm_spec
from pi_subagents.service.questions.people import PeopleAsked
from pi_subagents.service.workspaces.shared_writes import SharedWrites
from pi_subagents.system import crash_points
from pi_subagents.system.clock import now_ms
from pi_subagents.system.own_thread import in_own_thread
from pi_subagents.view.window import Window, WindowBuilder, WindowTitle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pi_subagents.core.settings import Settings
    from pi_subagents.core.task.request import DelegateRequest
    from pi_subagents.runners.base import Runner
    from pi_subagents.service.call import CallContext, Options
    from pi_subagents.service.delegation import Observer, PlannedTask
    from pi_subagents.service.telemetry.watch import CallWatch

MAX_PROMPT = 200  # characters of it that a title keeps


async def delegate_request(request: DelegateRequest, options: Options) -> Delegation:
    """Run a checked request."""
    if named := [name for task in request.tasks if (name := request.profile_of(task))]:
        await ask_first(PROFILE, named, options)
    context = open_call(options)
    request = with_budget(request, options.get("budget"))
    preparations = await in_own_thread("prepare", partial(prepare_tasks, request, context))
    with ExitStack() as resources:
        context = with_offline_model(context, resources)
        planned = plan(context, request, preparations)
        results, windows = await execute(context, planned)
    if any(result.has_value for result in results):
        results = tuple(map(with_parsed, results, (task.output_schema for task in request.tasks)))
    return Delegation(results, windows, context.settings)


def prewarm(request: DelegateRequest, known: int, options: Options) -> None:
    """Start children of a call that is still being written, where the host keeps some ready."""
    context = open_call(options)
    if context.settings.warm_children:
        tasks = zip(request.tasks, _prepare(request, context), strict=True)
        first = islice(tasks, context.concurrency)
        specs = [prewarm_spec(task, needs, context) for task, needs in first]
        written, guessed = (
            [spec for spec in part if spec] for part in (specs[:known], specs[known:])
        )
        with suppress(errors.SetupError):  # the call itself is refused, with the reason
            runner_of(context).prewarm(written, guessed)
        context.pool.settle_later()


def prewarm_unknown(_: object, begun: int, options: Options) -> None:
    """Start children of a call of which only the number of its tasks is known."""
    prewarm(*parse_begun({"tasks": []}, max(1, begun)), options)


def prepare_tasks(request: DelegateRequest, context: CallContext) -> tuple[Preparation, ...]:
    """Resolve what tasks name, and refuse them where there is no model; pi may have to be asked."""
    preparations = _prepare(request, context)
    if any(needs.schema is not None for needs in preparations):
        refuse_wrong_schemas(request.tasks, preparations)
    if not context.options.get("offline", False):
        refuse_without_model(context, request.tasks, preparations)
    return preparations


def _prepare(request: DelegateRequest, context: CallContext) -> tuple[Preparation, ...]:
    """Resolve profiles, skills, sessions and schemas, where a task names any."""
    named = (
        task.resume or task.chooses or task.engine or request.profile_of(task)
        for task in request.tasks
    )
    if any(named) or any(task.output_schema is not None for task in request.tasks):
        from pi_subagents.service.profiles import prepare

        return prepare(request, context)
    return (Preparation(),) * len(request.tasks)


def with_offline_model(context: CallContext, resources: ExitStack) -> CallContext:
    """Serve the offline model, where wanted, for as long as the resources are held."""
    wanted = context.options.get("offline", False)
    if wanted is False:
        return context
    script = None if wanted is True else wanted
    scripted = script is not None and script.rules_pace_ms is None
    context.notice(messages.NOTICE_OFFLINE_SCRIPT if scripted else messages.NOTICE_OFFLINE)
    serve = cache(lambda name: context.open_engine(name).offline(script, resources))
    return replace(context, open_engine=lambda name: serve(name or context.engine))


async def execute(
    context: CallContext, planned: Sequence[PlannedTask]
) -> tuple[tuple[RunResult, ...], tuple[Window, ...]]:
    """Run what was planned to its end; return results and windows, in task order."""
    options = context.options
    try:
        runner = runner_for(context, planned)
    except errors.SetupError:
        context.held.discard(run.spec.run_id for run in planned)
        raise
    windows = Windows(
        planned,
        context.settings,
        home=context.env.get("HOME", ""),
        columns=options.get("columns"),
    )
    if on_windows := options.get("on_windows"):
        on_windows(windows)
    on_update = options.get("on_update", ignore)

    stop = options.get("stop") or StopSwitch()
    ask = options.get("on_question")
    people = PeopleAsked(ask, context.notice, context.runs, stop) if ask else None

    shared = SharedWrites(planned) if len(planned) > 1 else None
    watch = _watched(context, planned)

    def observe(update: Update) -> None:
        if watch is not None:
            watch.observe(update)
        windows.apply(update)
        if shared is not None:
            shared.observe(update)
        on_update(update)
        if people is not None:
            people.observe(update)

    runner.expect(run.spec for run in planned if not run.needs.refusal)
    try:
        results = await delegate_runs(
            planned,
            runner=runner,
            concurrency=_concurrency(context, planned),
            observe=observe,
            stop=stop,
        )
    finally:
        if people is not None:
            await people.close()
        await asyncio.shield(runner.settle())
        if watch is not None:
            await watch.end()
    if shared is not None:
        results = shared.noted(results, planned, context.runs.store)
    crash_points.reach(crash_points.BEFORE_INDEX_UPDATE)
    context.runs.note_ended(results)
    return results, windows.now()


def _watched(context: CallContext, planned: Sequence[PlannedTask]) -> CallWatch | None:
    """Return what tells OpenTelemetry of the call, where somebody has set that up."""
    set_up = any(name.startswith("OTEL_") for name in os.environ)
    if not set_up and "opentelemetry.sdk.trace" not in sys.modules:
        return None
    from pi_subagents.service.telemetry.switch import watch_call

    return watch_call(context.env, planned, context.notice)


def runner_of(context: CallContext, name: str = "") -> Runner:
    """Return what runs tasks on this machine; SetupError where that is impossible."""
    usual = destination_of(None, context.usual_runner)
    return open_runner(name or (PROCESS if usual.tag else usual.runner), _place(context))


def runner_for(
    context: CallContext, planned: Sequence[PlannedTask], *, unseen: bool = False
) -> Runner:
    """Return what runs each of these where it is to run; `unseen` here means without windows."""
    wanted = {run.spec.run_id: destination_of(run.task.on, context.usual_runner) for run in planned}
    if not any(each.tag for each in wanted.values()):
        return runner_of(context, PROCESS if unseen else "")
    from pi_subagents.service.cluster.runners import open_runners

    return open_runners(context, planned, wanted, _place(context), unseen=unseen)


def _concurrency(context: CallContext, planned: Sequence[PlannedTask]) -> int:
    """Return how many runs are under way at once: workers have limits of their own."""
    if context.options.get("concurrency") is None and all(
        destination_of(run.task.on, context.usual_runner).tag for run in planned
    ):
        return len(planned)
    return context.concurrency


def _place(context: CallContext) -> RunnerPlace:
    return RunnerPlace(
        cwd=context.cwd,
        env=context.env,
        held=context.held,
        concurrency=context.concurrency,
        pool=context.pool,
        kind_now=lambda spec: context.open_engine(spec.child.engine).share_key_now(spec.reuse.kind),
        notice=context.notice,
    )


async def delegate_runs(
    runs: Sequence[PlannedTask],
    *,
    runner: Runner,
    concurrency: int,
    observe: Observer,
    stop: StopSwitch,
) -> tuple[RunResult, ...]:
    """Return the result of every run, in the order of the runs."""
    queue = iter(runs)
    report = _guarded(observe)
    results: dict[int, RunResult] = {}

    async def work() -> None:
        for run in queue:  # shared: each worker takes the next one
            results[run.index] = result = await _execute(run, runner, report, stop)
            report(Update(run, result))

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(max(concurrency, 1), len(runs))):
                workers.create_task(work())
    finally:
        for run in queue:  # only a cancellation leaves any
            runner.refuse(run.spec, core_messages.STOPPED_ON_REQUEST, aborted=True)
    return tuple(results[run.index] for run in runs)


async def _execute(
    run: PlannedTask, runner: Runner, observe: Observer, stop: StopSwitch
) -> RunResult:
    if run.needs.refusal:
        return runner.refuse(run.spec, run.needs.refusal, aborted=False)
    if stop.level > RUNNING:
        return runner.refuse(run.spec, core_messages.STOPPED_ON_REQUEST, aborted=True)
    try:
        return await runner.run(run.spec, lambda event: observe(Update(run, event)), stop)
    except Exception as error:  # noqa: BLE001 - a fault in one run must not end its siblings
        return runner.refuse(run.spec, core_messages.internal_error(error), aborted=False)


def _guarded(observe: Observer) -> Observer:
    """Keep an observer's own faults from harming runs; the loop's handler reports them."""

    def report(update: Update) -> None:
        try:
            observe(update)
        except Exception as error:  # noqa: BLE001 - whatever a caller's function may raise
            asyncio.get_running_loop().call_exception_handler(
                {"message": "an observer of a delegation failed", "exception": error}
            )

    return report


class Windows:
    """The windows of one delegation."""

    def __init__(
        self,
        runs: Iterable[PlannedTask],
        settings: Settings,
        *,
        home: str,
        columns: int | None = None,
    ) -> None:
        self.settings = settings
        self.max_lines = settings.max_lines_per_window
        self._builders = [
            WindowBuilder(
                _title(run),
                cwd=run.spec.child.cwd,
                home=home,
                max_lines=settings.max_lines_per_window,
                width=settings.preview_width(columns),
            )
            for run in runs
        ]

    def apply(self, update: Update) -> None:
        """Take what happened into account."""
        builder = self._builders[update.run.index]
        if isinstance(update.what, RunResult):
            builder.finish(update.what)
        else:
            builder.apply(update.what, now_ms())

    def now(self) -> tuple[Window, ...]:
        """Return every window as it is."""
        at = now_ms()
        return tuple(builder.window(at) for builder in self._builders)


def _title(run: PlannedTask) -> WindowTitle:
    task, profile = run.task, run.needs.profile or Profile("")
    return WindowTitle(
        task.name,
        # A preset is a profile here, though nobody asked for it as one.
        profile=task.profile or profile.name,
        provider=profile.provider,
        model=profile.model,
        thinking_level=profile.thinking_level,
        tool_count=run.tool_count if run.needs.profile else None,
        file_count=len(task.files),
        timeout_s=task.timeout_s,
        session_id=run.spec.session_id,
        prompt=task.prompt[:MAX_PROMPT],
        engine="" if run.spec.child.engine == DEFAULT else run.spec.child.engine,
    )

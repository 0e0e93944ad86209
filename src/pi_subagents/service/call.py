"""
The composition root: what a caller may choose, and which engine and store its call has.

Every tool that starts children opens a call here, then plans (`plan`) and executes (`foreground`)
or leaves running (`background`).  What refuses a whole call raises before anything starts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, cast

from pi_subagents import errors
from pi_subagents.config.settings_files import load_settings
from pi_subagents.core import messages as core_messages
from pi_subagents.core.parameters import refuse_unknown
from pi_subagents.core.run.files import CHILD_VARIABLE
from pi_subagents.core.runner_names import PROCESS, RUNNERS, is_runner
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.task.request import MAX_TASKS, GivenBudget
from pi_subagents.core.value import value
from pi_subagents.core.workspace.modes import WORKSPACES
from pi_subagents.engines.base import CallPlace
from pi_subagents.engines.opening import engines_in, refuse_unknown_engine
from pi_subagents.engines.table import DEFAULT, ENGINES, load_engine
from pi_subagents.runners.pool import ChildPool
from pi_subagents.service import messages
from pi_subagents.service.runs import Runs
from pi_subagents.service.sessions import no_history
from pi_subagents.store.held_runs import HeldRuns
from pi_subagents.store.run_store import new_run_id
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from pi_subagents.core.engine_values import HostProgram
    from pi_subagents.core.offline.script import Script
    from pi_subagents.core.settings import Settings
    from pi_subagents.engines.opening import OpenEngine
    from pi_subagents.service.background import KnownRuns
    from pi_subagents.service.delegation import Observer
    from pi_subagents.service.foreground import Windows
    from pi_subagents.service.questions.people import PutQuestion
    from pi_subagents.service.sessions import HostHistory


class Pool(ChildPool):
    """
    Children that a host keeps between its calls.

    One that calls again and again keeps one, `async with Pool() as pool`, and passes it to each
    call, which then begins sooner; the settings state how many children wait for the next call.
    None is alive once the pool is closed.
    """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def takes_more(self) -> bool:
        """Return whether another child can be made ready; if not, those that wait keep waiting."""
        full = self.is_full and not self.has_guesses
        if full:
            self.settle_later()
        return not full


class CallerOptions(TypedDict, total=False):
    """The caller: where it is, and what it brings along if it is a host."""

    cwd: Path  # the caller's directory: project, settings, default for tasks
    env: Mapping[str, str]
    host_trusts: bool | None  # what a host that is pi itself decided of its directory
    parent_tools: tuple[str, ...] | None  # the active tools of such a host
    models: tuple[str, ...] | None  # its models (`provider/id`), which its children have too
    host_program: HostProgram | None  # the program it runs in: children run on it as well
    pool: Pool  # a host's, which outlives the call and keeps children ready
    history: HostHistory  # what a host's own log holds of a session, on disk or not
    known_runs: KnownRuns  # a host's own background runs, default every run on disk


class PolicyOptions(TypedDict, total=False):
    """How the work is done, and what it may do."""

    profile: str | None  # for tasks that name none of their own
    trust_project: bool  # let the project's own profiles and pi settings decide everything
    concurrency: int | None  # children at once, default `subagents.max_concurrency`
    engine: str | None  # the kind of children of tasks that say none, over their profiles
    runner: str | None  # where supervisors run, default `subagents.runner`
    budget: GivenBudget  # of all tasks of the call together
    workspace: str | None  # where tasks work that do not say, default `subagents.workspace`
    confine: bool  # let children write in their workspace only, enforced by the kernel
    keep_worktree: bool  # leave worktrees there after their runs
    offline: bool | Script  # the built-in model by its rules, or by a script


class ObserverOptions(TypedDict, total=False):
    """Callbacks that follow the work, answer questions and stop it."""

    stop: StopSwitch
    on_update: Observer
    on_notice: Callable[[str], None]
    on_windows: Callable[[Windows], None]  # once, before the first start: a face that paints them
    columns: int | None  # of the terminal that shows the work, if one does
    ask: Callable[[str], Awaitable[bool | None]]  # a person: yes, no, or no answer
    on_question: Callable[[PutQuestion], Awaitable[str | None]]  # a person, for a sub-agent


class Options(CallerOptions, PolicyOptions, ObserverOptions, total=False):
    """How to delegate; whatever is left out has the default a caller would expect."""


def check_options(options: Options) -> None:
    """Refuse what no type checker has seen: an option that is none, a value that means nothing."""
    refuse_unknown("options", options, tuple(Options.__annotations__))
    for name, given in options.items():
        kind, problem = _KINDS.get(name, (object, ""))
        if given is not None and not isinstance(given, kind):
            raise errors.InvalidRequest(name, problem)
    _check_offline(options.get("offline", False))
    concurrency: object = options.get("concurrency")
    if concurrency is not None and concurrency not in range(1, MAX_TASKS + 1):
        raise errors.InvalidRequest("concurrency", messages.MUST_BE_CONCURRENCY)
    if options.get("workspace") not in (None, *WORKSPACES):
        problem = core_messages.must_be_one_of(WORKSPACES)
        raise errors.InvalidRequest("workspace", problem)
    if (runner := options.get("runner")) is not None and not is_runner(runner):
        raise errors.InvalidRequest("runner", messages.must_be_runner(RUNNERS))


def checked_place(
    cwd: Path | None, env: Mapping[str, str] | None, stop: StopSwitch | None
) -> Options:
    """Return the options of a call that takes no others."""
    given = {"cwd": cwd, "env": env, "stop": stop}
    options = cast("Options", {name: each for name, each in given.items() if each is not None})
    check_options(options)
    return options


_CALLBACK = (Callable, messages.MUST_BE_CALLABLE)
_FLAG = (bool, core_messages.MUST_BE_FLAG)
_TEXT = (str, core_messages.MUST_BE_STRING)
# What a value must be, where its type alone says whether it can be used.
_KINDS: Mapping[str, tuple[Any, str]] = {
    "cwd": ((str, os.PathLike), messages.MUST_BE_PATH),
    "env": (Mapping, messages.MUST_BE_MAPPING),
    "profile": _TEXT,
    "engine": _TEXT,
    "runner": _TEXT,
    "trust_project": _FLAG,
    "workspace": _TEXT,
    "keep_worktree": _FLAG,
    "confine": _FLAG,
    "host_trusts": _FLAG,
    "parent_tools": ((tuple, list), core_messages.NEEDS_TOOL_NAMES),
    "columns": (int, messages.MUST_BE_NUMBER),
    "stop": (StopSwitch, messages.MUST_BE_SWITCH),
    "pool": (ChildPool, messages.MUST_BE_POOL),
    "on_update": _CALLBACK,
    "on_notice": _CALLBACK,
    "on_windows": _CALLBACK,
    "ask": _CALLBACK,
    "on_question": _CALLBACK,
    "history": _CALLBACK,
}


def _check_offline(given: object) -> None:
    if not isinstance(given, bool):
        from pi_subagents.core.offline.script import Script

        if not isinstance(given, Script):
            raise errors.InvalidRequest("offline", messages.MUST_BE_SCRIPT)


@value
class CallContext:
    """What a call has: directory, environment, settings, engines, and the runs it sees."""

    options: Options
    cwd: Path
    env: Mapping[str, str]
    settings: Settings
    engine: str  # what kind of child a task has that chooses none
    open_engine: OpenEngine  # by its name; without one: that
    runs: Runs
    held: HeldRuns  # the runs of this call, from their planning on
    pool: ChildPool
    trusted: Callable[[Path], bool]  # whether the project of a place may configure anything
    notice: Callable[[str], None]  # for whoever called
    concurrency: int  # children at once
    call_id: str  # what its runs have in common
    usual_runner: str = PROCESS  # of tasks that do not say where they run


def place_of(options: Options) -> tuple[Path, Mapping[str, str]]:
    """Return the directory and the environment of a caller."""
    return Path(options.get("cwd") or Path.cwd()), options.get("env", os.environ)


def trust_of(options: Options) -> Callable[[Path], bool]:
    """Return what decides whether the caller trusts a project: its own word, or pi's records."""
    cwd, env = place_of(options)
    decided = options.get("host_trusts")
    if decided is None and options.get("trust_project", False):
        decided = True
    engine = load_engine(DEFAULT)  # which has the user's records, whatever else children are
    known = None if decided is None else (cwd, decided)
    return cache(partial(engine.trusts, env=env, decided=known))


def history_of(options: Options) -> HostHistory:
    """Return what the caller's own log holds of sessions."""
    return options.get("history", no_history)


def runs_of(options: Options) -> Runs:
    """Return the runs that the caller can see."""
    return Runs(*place_of(options))


def switch_of(options: Options) -> StopSwitch:
    """Return what ends a wait."""
    return options.get("stop") or StopSwitch()


def settings_of(options: Options) -> Settings:
    """Return what is set where the caller is."""
    return load_settings(*place_of(options))[0]


def open_call(options: Options) -> CallContext:
    """Open a call: settings, engine, store; refuse where no child could be started."""
    cwd, env = place_of(options)
    refuse_where_impossible(env)
    settings, problems = load_settings(cwd, env)
    trusted, notice = trust_of(options), options.get("on_notice", ignore)
    place = CallPlace(
        cwd,
        env,
        settings,
        trusted=trusted,
        parent_tools=options.get("parent_tools"),
        models=options.get("models"),
        host=options.get("host_program"),
        agents=settings.engines,
    )
    of_project = settings.project_engine if trusted(cwd) else ""
    engine = options.get("engine") or of_project or settings.engine or DEFAULT
    if engine not in ENGINES:
        refuse_unknown_engine(engine, settings)
    runs = Runs(cwd, env)
    runs.recover()
    for each in problems:
        notice(f"{each.where}: {each.problem}")
    return CallContext(
        options,
        cwd,
        env,
        settings,
        engine,
        engines_in(place, engine, notice),
        runs,
        HeldRuns(runs.store, str(data_dir(env) / "slots")),
        _pool(options, settings),
        trusted,
        notice,
        concurrency=options.get("concurrency") or settings.max_concurrency,
        call_id=new_run_id(),
        usual_runner=options.get("runner") or settings.runner,
    )


def refuse_where_impossible(env: Mapping[str, str]) -> None:
    """Refuse to delegate from inside a sub-agent, or where children cannot be supervised."""
    if sys.platform == "win32":
        raise errors.PlatformNotSupported("Windows")
    if env.get(CHILD_VARIABLE) == "1":
        raise errors.NestedDelegation


def _pool(options: Options, settings: Settings) -> ChildPool:
    # The offline model ends with its call: what talks to it is of no use to another.
    pool = None if options.get("offline", False) else options.get("pool")
    if pool is None:
        return ChildPool()
    pool.warm = settings.warm_children
    return pool


def ignore(_: object) -> None:
    """Observe nothing."""

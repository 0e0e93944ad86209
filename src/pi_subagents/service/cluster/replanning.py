"""
Plan a run on a worker from the order that travelled: as if it had been asked for here.

In: an order, what was received for it, and the worker's place.  Out: an ordinary planned run in
that place, with the ids of the caller.  OrderRefused for what this worker does not do; every other
error of planning is what any caller on this machine would see.
"""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.cluster.order import BUNDLE, SHARED_PATH
from pi_subagents.core.offline.script import parse_script_text
from pi_subagents.core.run.spec import NATIVE, WorkspaceOrder
from pi_subagents.core.task.request import Task
from pi_subagents.core.value import replace, value
from pi_subagents.engines.base import CallPlace
from pi_subagents.engines.opening import engines_in
from pi_subagents.engines.table import DEFAULT
from pi_subagents.errors import OrderRefused
from pi_subagents.runners.pool import ChildPool
from pi_subagents.service.call import CallContext, ignore
from pi_subagents.service.cluster import messages
from pi_subagents.service.cluster.worker_place import environment_of_children
from pi_subagents.service.delegation import PlannedTask, Preparation
from pi_subagents.service.plan import begin_run
from pi_subagents.service.session.resuming import Past
from pi_subagents.store.held_runs import HeldRuns
from pi_subagents.system.home import data_dir
from pi_subagents.system.safe_io import make_private_dirs, write_new
from pi_subagents.workspaces.bundle import receive_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import ExitStack

    from pi_subagents.core.cluster.order import TravelOrder, TravelSkill
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.settings import Settings
    from pi_subagents.engines.base import EngineCall
    from pi_subagents.engines.opening import OpenEngine
    from pi_subagents.runners.pool import Held
    from pi_subagents.service.cluster.worker_place import WorkerPlace
    from pi_subagents.service.runs import Runs
    from pi_subagents.store.local_order import LocalOrder
    from pi_subagents.workspaces.repository import Repository


@value
class Received:
    """What came beside an order."""

    repository: Repository | None = None  # which has the snapshot
    session: bytes | None = None


@value
class Replanned:
    """A run that was planned here, and the context in which it is executed."""

    run: PlannedTask
    context: CallContext


class WorkerPool(ChildPool):
    """The supervisors of a worker: forked, since there will always be another run."""

    def acquire(
        self, order: LocalOrder, env: Mapping[str, str], *, most: int, to_come: int = 0
    ) -> Held:
        """Return a supervisor that does the run; OSError if none can be started."""
        return super().acquire(order, env, most=most, to_come=max(to_come, 1))


class Replanner:
    """What all runs of a worker have in common."""

    def __init__(
        self, place: WorkerPlace, env: Mapping[str, str], shared: Sequence[Path] = ()
    ) -> None:
        self._place, self._env = place, environment_of_children(env)
        self.pool = WorkerPool()
        self._shared = [Path(os.path.realpath(each)) for each in shared]

    @cached_property
    def settings(self) -> Settings:
        """Return the settings of the user that the worker works as."""
        return load_settings(self._place.home, self._env)[0]

    @cached_property
    def runs(self) -> Runs:
        """Return the runs of this worker."""
        return self._place.runs(self._env)

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the environment of its children."""
        return self._env

    def versions(self) -> dict[str, str]:
        """Return the versions of the usual engine here; SetupError where there is none."""
        place = CallPlace(self._place.home, self._env, self.settings, trusted=lambda _: False)
        facts = engines_in(place, DEFAULT, ignore)("").facts
        known = facts.get(DEFAULT)
        version = known.get("version") if isinstance(known, dict) else None
        return {DEFAULT: str(version)} if version else {}

    def note_ended(self, result: RunResult) -> None:
        """Spare later looks this run, and remove what only its child needed."""
        self.runs.note_ended([result])
        self._place.clear_up(result.run_id)

    def replan(
        self, order: TravelOrder, received: Received, call_id: str, resources: ExitStack
    ) -> Replanned:
        """Plan the run; what its model needs is served for as long as the resources are held."""
        work = order.work
        context = self._context(order, call_id, resources)
        self.runs.store.prepare()
        self._remove_earlier(order.run_id)
        workspace, cwd = self._workspace(order, received)
        try:
            engine = context.open_engine(work.engine)
            past = Past()
            if order.resume.how == NATIVE and received.session is not None:
                continued = engine.continue_session(received.session, str(cwd))
                past = Past(order.resume, continued.content)
        except ValueError as problem:
            raise OrderRefused("session", messages.session_unusable(str(problem))) from None
        task = Task(
            work.name,
            work.prompt,
            cwd=str(cwd),
            timeout_s=order.limits.timeout_s,
            check=work.check.command or None,
            check_rounds=work.check.rounds,
        )
        needs = Preparation(
            profile=work.profile,
            skill_paths=self._skills(order),
            notes=work.notes,
            schema=json.loads(work.schema) if work.schema else None,
            engine=work.engine,
        )
        spec, tools, kept_in = begin_run(
            task,
            needs,
            past,
            workspace,
            context,
            run_id=order.run_id,
            session_id=order.session_id,
        )
        limits = replace(
            order.limits,
            max_children=self.settings.max_machine_children,
            max_of_provider=self.settings.provider_limits.get(spec.child.provider, 0),
        )
        spec = replace(spec, limits=limits, resume=order.resume)
        self.runs.add([spec])
        return Replanned(PlannedTask(0, task, spec, needs, tools, kept_in=kept_in), context)

    def _context(self, order: TravelOrder, call_id: str, resources: ExitStack) -> CallContext:
        runs = self.runs
        return CallContext(
            {},
            self._place.home,
            self._env,
            self.settings,
            DEFAULT,
            self._engines(order, resources),
            runs,
            HeldRuns(runs.store, str(data_dir(self._env) / "slots")),
            self.pool,
            lambda _: order.work.trusted,
            ignore,
            concurrency=1,
            call_id=call_id,
        )

    def _engines(self, order: TravelOrder, resources: ExitStack) -> OpenEngine:
        """Return what opens an engine, with the offline model where that was chosen."""
        work = order.work
        place = CallPlace(
            self._place.home,
            self._env,
            self.settings,
            trusted=lambda _: work.trusted,
            agents=self.settings.engines,
        )
        open_engine = engines_in(place, DEFAULT, ignore)
        if not work.offline:
            return open_engine
        return _cached(lambda name: self._offline(open_engine(name), work.script, resources))

    def _offline(self, engine: EngineCall, script: str, resources: ExitStack) -> EngineCall:
        if not script:
            return engine.offline_each()
        return engine.offline(parse_script_text(script), resources)

    def _workspace(self, order: TravelOrder, received: Received) -> tuple[WorkspaceOrder, Path]:
        """Return where the child works, and which directory that is."""
        wanted = order.workspace
        if wanted.kind == SHARED_PATH:
            return WorkspaceOrder(), self._shared_dir(wanted.path)
        if wanted.kind != BUNDLE or received.repository is None:
            empty = self._place.empty_dir(order.run_id)
            make_private_dirs(empty)
            return WorkspaceOrder(), empty
        home = self._place.snapshots / os.urandom(8).hex()
        commit, prefix = wanted.packs[-1].commit, wanted.prefix or "."
        snapshot = receive_snapshot(received.repository, commit, prefix, home, self._env)
        place = WorkspaceOrder(
            str(home),
            prefix,
            wanted.max_bytes,
            tree=wanted.tree,
            setup=wanted.setup,
            keep=wanted.keep,
        )
        return place, snapshot.dir / "trees" / order.run_id / prefix

    def _shared_dir(self, wanted: str) -> Path:
        """Return the directory of the caller, where that is on a file system that all share."""
        path = Path(os.path.realpath(wanted))
        if not any(path.is_relative_to(each) for each in self._shared) or not path.is_dir():
            raise OrderRefused("workspace.path", messages.NOT_SHARED)
        return path

    def _skills(self, order: TravelOrder) -> tuple[str, ...]:
        """Write the skills that came with an order; return where each begins."""
        directory = self._place.skills_dir(order.run_id)
        return tuple(str(_written(directory, skill)) for skill in order.work.skills)

    def _remove_earlier(self, run_id: str) -> None:
        """Remove what an attempt before this one left here: its caller has what counts of it."""
        from pi_subagents.store.recovery import conclude_in_turn
        from pi_subagents.store.retention import remove_finished

        run_dir = self.runs.store.run_dir(run_id)
        if run_dir.exists():
            conclude_in_turn(run_dir)
            remove_finished(run_dir)
        self._place.clear_up(run_id)


def _cached(open_engine: Callable[[str], EngineCall]) -> OpenEngine:
    opened: dict[str, EngineCall] = {}

    def once(name: str) -> EngineCall:
        if name not in opened:
            opened[name] = open_engine(name)
        return opened[name]

    return once


def _written(directory: Path, skill: TravelSkill) -> Path:
    own = directory / skill.name
    for file in skill.files:
        path = own / file.path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_new(path, file.text.encode("utf-8", "replace"))
    return own / "SKILL.md" if (own / "SKILL.md").is_file() else own

"""
A place for one test: a project, a home, an environment, and delegations to fake children.

`delegate` plans as the API does, but lets a test shorten the graces of a RunSpec; `delegate_by_api`
is the public call.  Both return a Delegating: work under way, its switch and what was observed.
"""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes import canary
from tests.fakes.auditor import audit
from tests.fakes.call_contexts import call_context
from tests.fakes.child_modes import JSON, SETTINGS
from tests.fakes.driver import (
    ADDRESS_VARIABLE,
    FAKE_PI,
    FAKE_PI_COMMAND,
    PATIENCE_S,
    Driver,
    FakeProcess,
    open_driver,
)
from tests.fakes.fake_rpc import FAULT_VARIABLE, FAULTS
from tests.fakes.fake_wire import VERSION_VARIABLE
from tests.fakes.pi_calls import pi_call

from pi_subagents.api import delegate
from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.run.spec import changed
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.task.request import Task, checked_request
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.runners.pool import ChildPool
from pi_subagents.runners.process import ProcessRunner
from pi_subagents.runners.table import RunnerPlace
from pi_subagents.service.foreground import delegate_runs
from pi_subagents.service.plan import plan_runs
from pi_subagents.store.held_runs import HeldRuns
from pi_subagents.store.run_store import RunStore, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

    from pi_subagents.service.delegation import PlannedTask, Update
    from pi_subagents.store.run_dir import RunDir

KEPT_BYTES = 1024 * 1024
LEAVE_S = 5.0


@dataclass
class Delegating:
    """A delegation under way."""

    work: asyncio.Task[tuple[RunResult, ...]]
    switch: StopSwitch
    updates: list[Update]
    news: asyncio.Event

    def stop(self) -> None:
        self.switch.stop()

    def force(self) -> None:
        self.switch.force()

    async def results(self) -> tuple[RunResult, ...]:
        async with asyncio.timeout(PATIENCE_S):
            return await asyncio.shield(self.work)

    async def result(self) -> RunResult:
        (result,) = await self.results()
        return result

    async def result_of(self, name: str) -> RunResult:
        """Return the result of one task, as soon as the observer was shown it."""
        found = await self._shown(lambda what: isinstance(what, RunResult), name)
        assert isinstance(found, RunResult)
        return found

    async def sees(self, event: ev.Event | type[ev.Event], name: str = "") -> None:
        """Return when the observer was shown an event, or one of a kind (by that task)."""
        if isinstance(event, type):
            await self._shown(lambda what: isinstance(what, event), name)
        else:
            await self._shown(lambda what: what == event, name)

    async def _shown(
        self, wanted: Callable[[ev.Event | RunResult], bool], name: str
    ) -> ev.Event | RunResult:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for update in self.updates:
                    if name in ("", update.run.task.name) and wanted(update.what):
                        return update.what
                self.news.clear()
                await self.news.wait()

    def states(self, name: str = "") -> list[str]:
        """Return the states a run went through, as the observer was shown them."""
        return [
            update.what.state
            for update in self.updates
            if isinstance(update.what, ev.StateChanged) and name in ("", update.run.task.name)
        ]

    def events(self) -> list[ev.Event]:
        """Return everything the observer was shown but states and results."""
        return [
            update.what
            for update in self.updates
            if not isinstance(update.what, RunResult | ev.StateChanged)
        ]


@dataclass
class Workplace:
    """Everything one test needs, and nobody else's."""

    project: Path
    home: Path
    driver: Driver
    secrets: dict[str, str] = field(default_factory=dict)
    child_mode: str = ""
    fault: str = ""  # what children in RPC mode do wrong before a test can talk to them
    speaks: str = ""  # like which version of pi, if not like the newest
    under_way: list[Delegating] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        """The caller's environment: all there is, deliberately without a locale."""
        return {
            "PATH": os.defpath,
            "HOME": str(self.home),
            "PI_SUBAGENTS_PI": FAKE_PI_COMMAND,
            ADDRESS_VARIABLE: self.driver.address,
            **({FAULT_VARIABLE: self.fault} if self.fault else {}),
            **({VERSION_VARIABLE: self.speaks} if self.speaks else {}),
            **self.secrets,
        }

    @property
    def takes_commands(self) -> bool:
        """Whether children here are in RPC mode: they are asked before they are told to stop."""
        return self.child_mode != JSON

    def break_children(self, fault: str) -> None:
        """Let children in RPC mode go wrong before a test can talk to them."""
        assert fault in FAULTS
        self.fault = fault

    def settings(self, **changes: object) -> None:
        """Write the user's settings, beside what the mode of the children needs."""
        values = {**SETTINGS[self.child_mode], **changes}
        path = self.home / ".pi" / "agent" / "settings.json"
        path.write_text(json.dumps({"subagents": values}))

    @property
    def store(self) -> RunStore:
        return open_store(self.project, self.env)

    def run_dir(self, child: FakeProcess) -> RunDir:
        """Return the directory of the run that a child serves."""
        return self.store.run_dir(child.run_id)

    def run_dirs(self) -> list[RunDir]:
        return self.store.runs()

    async def child(self, prompt: str) -> FakeProcess:
        return await self.driver.child(prompt)

    def delegate(
        self,
        *tasks: Task | str,
        concurrency: int = 16,
        observe: Callable[[Update], None] | None = None,
        pi: Callable[[Task], tuple[str, ...]] | None = None,
        **changes: Any,
    ) -> Delegating:
        """Start tasks (a text is name and prompt at once), with changes to each RunSpec."""
        request = checked_request(map(as_task, tasks))
        settings, _ = load_settings(self.project, self.env)
        held = HeldRuns(self.store, changes.pop("slots_dir", ""))
        engine = pi_call(FAKE_PI, settings=settings)
        around = call_context(self.project, self.store, held, engine, settings)

        def planned(run: PlannedTask) -> PlannedTask:
            own: dict[str, Any] = {"argv": pi(run.task)} if pi else {}
            return replace(run, spec=changed(run.spec, **changes, **own))

        runs = [planned(run) for run in plan_runs(request, around)]

        async def work(show: Callable[[Update], None], switch: StopSwitch) -> tuple[RunResult, ...]:
            runner = ProcessRunner(
                RunnerPlace(
                    cwd=self.project,
                    env=self.env,
                    held=held,
                    concurrency=concurrency,
                    pool=ChildPool(),
                    kind_now=lambda spec: spec.reuse.kind,
                    notice=lambda _: None,
                )
            )
            runner.expect(run.spec for run in runs if not run.needs.refusal)
            try:
                return await delegate_runs(
                    runs, runner=runner, concurrency=concurrency, observe=show, stop=switch
                )
            finally:
                await asyncio.shield(runner.settle())

        return self._begin(work, observe)

    def delegate_by_api(
        self,
        *tasks: Task | str,
        observe: Callable[[Update], None] | None = None,
        env: dict[str, str] | None = None,
        **options: Any,
    ) -> Delegating:
        """Start tasks through the public call."""

        async def work(show: Callable[[Update], None], switch: StopSwitch) -> tuple[RunResult, ...]:
            delegation = await delegate(
                map(as_task, tasks),
                env=self.env if env is None else env,
                cwd=self.project,
                on_update=show,
                stop=switch,
                **{"profile": canary.PROFILE, **options},
            )
            return delegation.results

        return self._begin(work, observe)

    def _begin(
        self,
        work: Callable[
            [Callable[[Update], None], StopSwitch], Coroutine[Any, Any, tuple[RunResult, ...]]
        ],
        observe: Callable[[Update], None] | None,
    ) -> Delegating:
        updates: list[Update] = []
        news = asyncio.Event()

        def show(update: Update) -> None:
            updates.append(update)
            news.set()
            if observe is not None:
                observe(update)

        switch = StopSwitch()
        task = asyncio.create_task(work(show, switch))
        begun = Delegating(task, switch, updates, news)
        self.under_way.append(begun)
        return begun

    async def leave(self) -> None:
        """End what a failed test left running, as far as it can be ended."""
        for begun in self.under_way:
            begun.force()
            await asyncio.wait([begun.work], timeout=LEAVE_S)


def as_task(task: Task | str) -> Task:
    return Task(task, task) if isinstance(task, str) else task


def comparable(result: RunResult) -> RunResult:
    """Return the result without what differs from run to run, to be compared whole."""
    return replace(
        result,
        run_id="",
        session_id="",
        started_at_ms=0,
        finished_at_ms=0,
        duration_ms=0,
        session_seal="",
    )


def expected(name: str, status: Any, **more: Any) -> RunResult:
    """Return what `told` should give; a child that spoke was a fake one."""
    spoke: dict[str, Any] = (
        {"provider": "fake", "model": "fake-1"} if more.get("stop_reason") else {}
    )
    return RunResult(run_id="", session_id="", name=name, status=status, **spoke, **more)


def answered(name: str, output: str, **more: Any) -> RunResult:
    """Return what a healthy run is told as: one question, one answer, exit code 0."""
    usual: dict[str, Any] = {
        "stop_reason": "stop",
        "exit_code": 0,
        "message_count": 2,
        "usage": tokens(1),
    }
    return expected(name, "completed", output=output, **{**usual, **more})


def tokens(count: int) -> Usage:
    """Return the usage of that many fake messages."""
    return Usage(input=count, output=count, total_tokens=2 * count)


@asynccontextmanager
async def open_workplace(root: Path, child_mode: str = "") -> AsyncIterator[Workplace]:
    """Set up a place, and look after it at the end: nothing may be left that should not be."""
    project, home = root / "project", root / "home"
    (project / ".pi").mkdir(parents=True)
    home.mkdir()
    async with open_driver() as driver:
        place = Workplace(project, home, driver, canary.plant(home / ".pi" / "agent"), child_mode)
        if child_mode:
            place.settings()
        try:
            yield place
        finally:
            await place.leave()
        complaints = audit(place.store) + canary.hunt([project, home])
    # Every process is gone by now, so that nothing can keep these any more.
    await asyncio.gather(*(begun.work for begun in place.under_way), return_exceptions=True)
    if complaints:
        raise AssertionError("\n".join(complaints))
    _drop_large_files(project)


def _drop_large_files(root: Path) -> None:
    """Keep what a person would read after a failure, not hundreds of megabytes."""
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size > KEPT_BYTES:
            path.unlink()

"""A runner without processes: each run does what its task's prompt says, in logical time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.fakes.specs import make_spec

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.task.request import Task
from pi_subagents.service.delegation import PlannedTask, Preparation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pi_subagents.core.run.outcome import Status
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.core.stop_switch import StopSwitch


def planned(index: int, prompt: str = "1", refusal: str = "") -> PlannedTask:
    spec = make_spec(f"run-{index}", f"session-{index}", f"t{index}", (prompt,), "/")
    return PlannedTask(index, Task(f"t{index}", prompt), spec, Preparation(refusal=refusal))


def result(spec: RunSpec, status: Status = "completed", message: str = "") -> RunResult:
    return RunResult(spec.run_id, spec.session_id, spec.name, status, error_message=message)


class FakeRunner:
    """
    The prompt is a number of steps to take, `fail`, `raise` or `wait` (until stopped).

    A step is one pass of the event loop, so that nothing ever sleeps.
    """

    def __init__(self) -> None:
        self.started: list[str] = []
        self.refused: list[str] = []
        self.expected: list[str] = []
        self.settled = False
        self.active = 0
        self.most_active = 0

    async def run(
        self, spec: RunSpec, on_event: Callable[[ev.Event], None], stop: StopSwitch
    ) -> RunResult:
        self.started.append(spec.run_id)
        self.active += 1
        self.most_active = max(self.most_active, self.active)
        try:
            return await self.act(spec, on_event, stop)
        finally:
            self.active -= 1

    async def act(
        self, spec: RunSpec, on_event: Callable[[ev.Event], None], stop: StopSwitch
    ) -> RunResult:
        what = spec.child.argv[0]
        on_event(ev.StateChanged("running"))
        if what == "raise":
            raise ZeroDivisionError("a fault of the runner")
        if what == "fail":
            return result(spec, "failed", "it failed")
        stopped = asyncio.Event()
        leave = stop.listen(lambda _: stopped.set())
        try:
            if what == "wait":
                await stopped.wait()
            for step in range(int(what) if what != "wait" else 0):
                if stopped.is_set():
                    break
                on_event(ev.Note(f"step {step}"))
                await asyncio.sleep(0)
        finally:
            leave()
        return result(spec, "aborted", "stopped") if stopped.is_set() else result(spec)

    def prewarm(self, specs: Sequence[RunSpec], guessed: Sequence[RunSpec]) -> None:
        """Make nothing ready: there are no children."""

    def expect(self, specs: Iterable[RunSpec]) -> None:
        self.expected = [spec.run_id for spec in specs]

    def start(self, spec: RunSpec) -> RunResult | None:
        self.started.append(spec.run_id)
        return None

    async def settle(self) -> None:
        self.settled = True

    def refuse(self, spec: RunSpec, message: str, *, aborted: bool) -> RunResult:
        self.refused.append(spec.run_id)
        return result(spec, "aborted" if aborted else "failed", message)

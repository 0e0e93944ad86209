"""
Delegations in simulated time: an event loop whose clock jumps, and children that only pretend.

The runner does with our limits exactly what the supervisor does with them, so that a thousand runs
of an hour take a second.  Everything follows from the seed.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.unit.service.fake_runner import FakeRunner, planned

from pi_subagents.core import messages
from pi_subagents.core.limits.base import EndRun
from pi_subagents.core.limits.ladder import ASK_GRACE_S, Rung, StopLadder
from pi_subagents.core.limits.table import limits_of
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Cause, Ending, RunFold
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.run.spec import changed
from pi_subagents.core.stop_switch import FORCING, StopSwitch
from pi_subagents.core.value import replace
from pi_subagents.service.foreground import delegate_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.service.delegation import PlannedTask, Update

STATUSES = ("completed", "failed", "aborted", "interrupted")
GRACE_S = 5.0
SLACK_S = 120.0  # the clock may jump this far over a deadline (a suspended machine)


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop that never waits: its clock jumps to whatever is due next, or beyond."""

    def __init__(self, chance: random.Random) -> None:
        self.now = chance.uniform(0, 1e6)
        loop = self

        class Jumping(selectors.SelectSelector):
            def select(self, timeout: float | None = None) -> Any:
                if timeout is None:  # only self-pipe events could wake us: there are none
                    raise AssertionError("the simulation waits for something that never comes")
                loop.now += max(timeout, 0)
                if timeout and chance.random() < 0.05:
                    loop.now += chance.uniform(0, SLACK_S)
                return super().select(0)

        super().__init__(Jumping())

    def time(self) -> float:
        return self.now


class PretendedChild:
    """What one child will do: events at times, then perhaps an exit; it may ignore requests."""

    def __init__(self, chance: random.Random) -> None:
        self.refuses_to_start = chance.random() < 0.05
        self.faulty_runner = chance.random() < 0.05
        self.stubborn = chance.random() < 0.2
        self.takes_commands = chance.random() < 0.5
        self.exits = chance.random() < 0.85
        self.exit_code = chance.choice([0, 0, 0, 1, 143])
        self._loopy = chance.random() < 0.25
        at = 0.0
        self.deeds: list[tuple[float, ev.Event]] = []
        for number in range(chance.randint(0, 12)):
            at += chance.choice([0.0, 0.01, 1.0, chance.uniform(0, 60), chance.uniform(0, 1000)])
            self.deeds.append((at, self._deed(chance, number)))
        self.ends = at + chance.choice([0.0, 0.5, chance.uniform(0, 30)])

    @classmethod
    def that_answers(cls) -> PretendedChild:
        """Return one without a fault, which answers at once."""
        child = cls(random.Random(0))
        child.refuses_to_start = child.faulty_runner = child.stubborn = False
        child.exits, child.exit_code, child.ends = True, 0, 0.01
        child.deeds = [(0.0, ev.AssistantMessage("an answer", stop_reason="stop"))]
        return child

    @classmethod
    def that_stays(cls) -> PretendedChild:
        """Return one that does nothing until it is ended."""
        child = cls.that_answers()
        child.exits, child.deeds = False, []
        return child

    def _deed(self, chance: random.Random, number: int) -> ev.Event:
        call = ev.ToolCall("1", "bash", {"n": 0 if self._loopy else number})
        asks = ev.AssistantMessage("", (call,), stop_reason="toolUse")
        if self._loopy:
            return asks
        deeds: list[ev.Event] = [
            asks,
            ev.Activity("update"),
            ev.AssistantMessage("an answer", stop_reason="stop"),
            ev.AssistantMessage("", stop_reason="error", error_message="429"),
            ev.Settled(),
        ]
        return chance.choice(deeds)


class Service:
    """One run as the supervisor serves it, with a pretended child and a pretended clock."""

    def __init__(
        self, spec: RunSpec, child: PretendedChild, on_event: Callable[[ev.Event], None]
    ) -> None:
        self.spec, self.child = spec, child
        self.now = asyncio.get_running_loop().time
        self.started = self.now()
        self.fold = RunFold()
        self.cause: Cause | None = None
        self._on_event = on_event
        self._deeds = list(child.deeds)
        self._dies_at = self.started + child.ends if child.exits else None
        self._exit = (child.exit_code, "")
        self._settled_at: float | None = None
        self._ladder = StopLadder(GRACE_S, ASK_GRACE_S if child.takes_commands else 0.0)
        self._limits = limits_of(spec.limits, self.started, can_steer=False)
        self._commands: list[int] = []
        self._woken = asyncio.Event()

    def command(self, level: int) -> None:
        self._commands.append(level)
        self._woken.set()

    def ending(self) -> Ending:
        return Ending(*self._exit, self.cause, self.spec.limits.timeout_s)

    async def serve(self) -> None:
        """Return when the child is dead."""
        while self._dies_at is None or self.now() < self._dies_at:
            now = self.now()
            while self._commands:
                level = self._commands.pop(0)
                self._stop(Cause.STOP_REQUESTED, now)
                if level >= FORCING:
                    self._ladder.force(now)
            while self._deeds and self.started + self._deeds[0][0] <= now:
                self._take(self._deeds.pop(0)[1], now)
            self._check_time(now)
            match self._ladder.due(now):
                case Rung.ASK:
                    self.fold.asked_to_stop()
                    if not self.child.stubborn:
                        self._ladder.hurry(now)
                case Rung.TERM if not self.child.stubborn:
                    self._dies_at, self._exit = now, (143, "")
                case Rung.KILL:
                    self._dies_at, self._exit = now, (137, "SIGKILL")
                case _:
                    await _until(self._next(), self._woken)

    def _take(self, event: ev.Event, now: float) -> None:
        self.fold.apply(event)
        for limit in self._limits:
            limit.saw(event, now)
        self._settled_at = (self._settled_at or now) if self.fold.settled else None
        self._on_event(event)
        self._judge(now)

    def _check_time(self, now: float) -> None:
        grace_ends = self._grace_ends()
        if grace_ends is not None and now >= grace_ends:
            self._ladder.begin(now)
        self._judge(now)

    def _judge(self, now: float) -> None:
        if self._settled_at is None and not self._ladder.begun:
            for limit in self._limits:
                verdict = limit.verdict(now)
                if isinstance(verdict, EndRun):
                    self._stop(verdict.cause, now)

    def _stop(self, cause: Cause, now: float) -> None:
        if self.cause is None and not self._ladder.begun:
            self.cause = cause
        self._ladder.begin(now)

    def _grace_ends(self) -> float | None:
        return None if self._settled_at is None else self._settled_at + GRACE_S

    def _next(self) -> float:
        due = [self._dies_at, self._ladder.deadline()]
        due.append(self.started + self._deeds[0][0] if self._deeds else None)
        if not self._ladder.begun:
            grace_ends = self._grace_ends()
            due += [grace_ends] if grace_ends else [each.deadline() for each in self._limits]
        return min(at for at in due if at is not None)


class PretendingRunner(FakeRunner):
    """Serve pretended children as the supervisor would, and watch over the promises."""

    def __init__(self, children: dict[str, PretendedChild]) -> None:
        super().__init__()
        self._children = children
        self.ended: list[str] = []
        self.forced_at: float | None = None

    async def run(
        self, spec: RunSpec, on_event: Callable[[ev.Event], None], stop: StopSwitch
    ) -> RunResult:
        try:
            return await super().run(spec, on_event, stop)
        finally:
            self.ended.append(spec.run_id)

    async def act(
        self, spec: RunSpec, on_event: Callable[[ev.Event], None], stop: StopSwitch
    ) -> RunResult:
        child = self._children[spec.run_id]
        if child.faulty_runner:
            raise ZeroDivisionError("a fault of the runner")
        if child.refuses_to_start:
            return _told(spec, RunFold(), Ending(spawn_error="no such program"))
        on_event(ev.StateChanged("running"))
        service = Service(spec, child, on_event)

        def hear(level: int) -> None:
            if level >= FORCING and self.forced_at is None:
                self.forced_at = service.now()
            service.command(level)

        leave = stop.listen(hear)
        try:
            await service.serve()
        finally:
            leave()
        self._check_end(service, stop)
        return _told(spec, service.fold, service.ending())

    def _check_end(self, service: Service, stop: StopSwitch) -> None:
        spec, now = service.spec, service.now()
        assert spec.limits.timeout_s is not None
        latest = (
            service.started
            + spec.limits.timeout_s
            + spec.limits.extend_max_s
            + ASK_GRACE_S
            + GRACE_S
        )
        jumps = (len(service.child.deeds) + 8) * SLACK_S
        assert now <= latest + jumps, "no run outlives its time-out, extension and grace"
        if service.cause is Cause.TIMED_OUT:
            assert now >= service.started + spec.limits.timeout_s, "and none ends before it"
        if stop.level >= FORCING:
            assert self.forced_at is not None
            assert now <= max(self.forced_at, service.started) + jumps, "forced means at once"


async def _until(moment: float, woken: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    timer = loop.call_at(moment, woken.set)
    await woken.wait()
    woken.clear()
    timer.cancel()


def _told(spec: RunSpec, fold: RunFold, ending: Ending) -> RunResult:
    outcome = fold.decide(ending)
    return RunResult(
        spec.run_id, spec.session_id, spec.name, outcome.status, outcome.output,
        outcome.error_message, outcome.notes,
    )  # fmt: skip


def simulate(seed: int) -> Counter[str]:
    """Delegate some pretended work, stopped or forced at some instant; return the ends by kind."""
    chance = random.Random(seed)
    loop = JumpingLoop(chance)
    try:
        results = loop.run_until_complete(_simulate(chance))
    except BaseException as error:
        error.add_note(f"simulate seed {seed}")
        raise
    finally:
        loop.close()
    return Counter(result.error_message or "completed" for result in results)


def _plan(number: int, chance: random.Random) -> PlannedTask:
    run = planned(number, refusal="no such cwd" if chance.random() < 0.1 else "")
    spec = changed(
        run.spec,
        timeout_s=chance.choice([1.0, 30.0, 600.0]),
        extend_debounce_s=chance.choice([0.0, 5.0, 30.0]),
        extend_max_s=chance.choice([0.0, 60.0, 3600.0]),
        looping_tool_count=chance.choice([0, 2, 5]),
    )
    return replace(run, spec=spec)


async def _simulate(chance: random.Random) -> tuple[RunResult, ...]:
    loop = asyncio.get_running_loop()
    runs = [_plan(number, chance) for number in range(chance.randint(1, 16))]
    children = {run.spec.run_id: PretendedChild(chance) for run in runs}
    runner, stop = PretendingRunner(children), StopSwitch()
    concurrency = chance.randint(1, 6)
    heard: list[Update] = []
    clumsy = chance.random() < 0.2

    def observe(update: Update) -> None:
        heard.append(update)
        if clumsy:
            raise LookupError("a fault of the observer")

    loop.set_exception_handler(lambda *_: None)
    stops = chance.choice([None, chance.uniform(0, 60), chance.uniform(0, 2000)])
    forces = chance.choice([None, None, chance.uniform(0, 120), chance.uniform(0, 4000)])

    timers = [
        loop.call_later(delay, act)
        for delay, act in ((stops, stop.stop), (forces, stop.force))
        if delay is not None
    ]
    work: Coroutine[Any, Any, tuple[RunResult, ...]] = delegate_runs(
        runs, runner=runner, concurrency=concurrency, observe=observe, stop=stop
    )
    results = await work
    for timer in timers:
        timer.cancel()
    _check(runs, results, heard, runner, concurrency, stop)
    return results


def _check(
    runs: list[PlannedTask],
    results: tuple[RunResult, ...],
    heard: list[Update],
    runner: PretendingRunner,
    concurrency: int,
    stop: StopSwitch,
) -> None:
    ids = [run.spec.run_id for run in runs]
    assert [result.run_id for result in results] == ids, "in the order of the tasks"
    assert runner.most_active <= concurrency
    assert (runner.active, sorted(runner.ended)) == (0, sorted(runner.started))
    assert runner.started == [i for i in ids if i in runner.started], "started in order, once"
    for run, result in zip(runs, results, strict=True):
        assert result.status in STATUSES
        assert result.completed == (not result.error_message)
        own = [update.what for update in heard if update.run is run]
        ends = [what for what in own if isinstance(what, RunResult)]
        assert ends == [result], "one end, told once"
        assert own[-1] is result
        started, refused = run.spec.run_id in runner.started, run.spec.run_id in runner.refused
        assert started or refused, "every task was started or refused"
        if run.needs.refusal:
            assert (result.status, result.error_message) == ("failed", run.needs.refusal)
            assert not started
        elif refused and not started:
            assert stop.level > 0
            assert result.error_message == messages.STOPPED_ON_REQUEST
        if result.status == "aborted":
            assert stop.level > 0, "aborted is only a requested stop"
        assert result.status != "interrupted"

"""Many tasks at once: bounded, in order, and none harmed by another."""

from __future__ import annotations

import asyncio
import json
import selectors
import signal
from typing import TYPE_CHECKING, Any

from tests.fakes.child_modes import takes_long
from tests.fakes.workplace import answered, comparable, tokens

from pi_subagents import Task
from pi_subagents.api import delegate
from pi_subagents.core import messages
from pi_subagents.runners import process as process_runner

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.events import Event
    from pi_subagents.runners.pool import Held
    from pi_subagents.store.run_dir import RunDir

pytestmark = takes_long
MB = 1_000_000


class SeenLoop(asyncio.SelectorEventLoop):
    """A loop of which one can see what it would still do."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        super().__init__(selector)
        self.timers: list[asyncio.TimerHandle] = []

    def call_at(  # type: ignore[override]  # any arguments at all
        self, when: float, callback: Callable[..., object], *args: Any, **context: Any
    ) -> asyncio.TimerHandle:
        self.timers.append(super().call_at(when, callback, *args, **context))
        return self.timers[-1]

    def pending(self) -> list[asyncio.TimerHandle]:
        return [each for each in self.timers if not each.cancelled() and each.when() > self.time()]


async def test_16_tasks_run_4_at_a_time_and_answer_in_order(place: Workplace) -> None:
    names = [f"task {number}" for number in range(16)]
    work = place.delegate_by_api(*names, concurrency=4)
    for served in range(16):
        full_house = min(served + 4, 16)
        await place.driver.next_child(full_house - 1)
        # Always the youngest: whoever came first answers last of all.
        youngest = next(c for c in reversed(place.driver.children) if c.alive)
        await youngest.answer_and_exit(f"answer to {youngest.prompt_line}")
    results = await work.results()
    assert [comparable(result) for result in results] == [
        answered(name, f"answer to {name}") for name in names
    ]
    assert place.driver.most_at_once == 4
    assert len({result.run_id for result in results}) == 16


async def test_by_default_four_children_run_at_once(place: Workplace) -> None:
    work = place.delegate_by_api(*(f"task {number}" for number in range(6)))
    for number in range(6):
        await place.driver.next_child(min(number + 3, 5))
        await place.driver.children[number].answer_and_exit("done")
    await work.results()
    assert place.driver.most_at_once == 4


async def test_nothing_of_a_delegation_is_left_in_the_loop_once_it_returns(
    place: Workplace,
) -> None:
    """reference-faults 31: timers that nobody needed any more kept the caller alive."""
    settings = {"subagents": {"extend_timeout_debounce": 0, "looping_tool_count": 2}}
    (place.project / ".pi" / "settings.json").write_text(json.dumps(settings))
    gone = Task("gone", "gone", cwd=str(place.project / "gone"))
    tasks = [Task("well", "well"), Task("late", "late", timeout_s=1), Task("again", "again"), gone]

    async def delegate_and_look() -> tuple[list[str], list[object]]:
        results = (await delegate(tasks, cwd=place.project, env=place.env)).results
        work = asyncio.all_tasks() - {asyncio.current_task()}
        pipes = [key for key in watched.get_map().values() if key.fd not in own]
        return [result.status for result in results], [*work, *loop.pending(), *pipes]

    def in_a_loop_of_its_own() -> tuple[list[str], list[object]]:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(delegate_and_look())

    watched = selectors.DefaultSelector()
    loop = SeenLoop(watched)
    own = {key.fd for key in watched.get_map().values()}
    calling = asyncio.create_task(asyncio.to_thread(in_a_loop_of_its_own))
    await (await place.child("well")).answer_and_exit("done")
    await (await place.child("again")).loop(2, "read", {"path": "a"})
    assert await calling == (["completed", "failed", "failed", "failed"], [])


async def test_a_fault_of_our_own_in_one_run_does_not_harm_its_sibling(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    attach = process_runner.ProcessAttachment

    def faulty(
        held: Held,
        run_dir: RunDir,
        on_event: Callable[[Event], None],
        give_back: Callable[[Held, bool], None],
    ) -> process_runner.ProcessAttachment:
        if run_dir.read_meta()["name"] != "unlucky":
            return attach(held, run_dir, on_event, give_back)
        give_back(held, False)  # its supervisor sees the end of its lifeline
        held.process.wait()
        raise LookupError("our own fault")

    monkeypatch.setattr(process_runner, "ProcessAttachment", faulty)
    work = place.delegate_by_api("unlucky", "sibling")
    await (await place.child("sibling")).answer_and_exit("unharmed")
    unlucky, sibling = await work.results()
    assert comparable(sibling) == answered("sibling", "unharmed")
    assert (unlucky.status, unlucky.error_message) == ("interrupted", messages.INTERRUPTED)


async def test_a_healthy_sibling_finishes_beside_every_misbehaviour(place: Workplace) -> None:
    async def nothing(_: FakeProcess) -> None:
        """Hang in silence."""

    async def stubborn(child: FakeProcess) -> None:
        await child.do("ignore_term")

    async def forker(child: FakeProcess) -> None:
        await child.fork_setsid()
        await child.fork_setsid(holding_stdout=True)

    async def looper(child: FakeProcess) -> None:
        await child.loop(5, "bash", {"command": "ls"})

    async def babbler(child: FakeProcess) -> None:
        await child.line(b"null\n\xff\xfe\n[" + b"[" * 100_000 + b'\n{"type":')

    async def flooder(child: FakeProcess) -> None:
        await child.do("flood", size=20 * MB, kind="updates")

    async def long_winded(child: FakeProcess) -> None:
        await child.do("long_line", size=40 * MB)

    async def suicide(child: FakeProcess) -> None:
        await child.kill_self(signal.SIGKILL)

    async def quitter(child: FakeProcess) -> None:
        await child.exit(7)

    async def halted(child: FakeProcess) -> None:
        child.signal(signal.SIGSTOP)

    async def lingerer(child: FakeProcess) -> None:
        await child.say("done")
        await child.settle()

    misbehave = {
        deed.__name__: deed
        for deed in (nothing, stubborn, forker, looper, babbler, flooder, long_winded, suicide)
    } | {deed.__name__: deed for deed in (quitter, halted, lingerer)}
    work = place.delegate(*misbehave, "healthy", stop_grace_s=0.3, settled_grace_s=5, timeout_s=600)
    healthy = await place.child("healthy")
    await healthy.say("so far so good")
    for name, deed in misbehave.items():
        await deed(await place.child(name))
    await healthy.echo()
    await healthy.answer_and_exit("unharmed")
    assert comparable(await work.result_of("healthy")) == answered(
        "healthy", "unharmed", message_count=3, usage=tokens(2)
    )
    work.stop()
    *others, _ = await work.results()
    assert {result.name: (result.status, result.signal_name) for result in others} == {
        "nothing": ("aborted", ""),
        "stubborn": ("aborted", "SIGKILL"),
        "forker": ("aborted", ""),
        "looper": ("failed", ""),
        "babbler": ("aborted", ""),
        "flooder": ("aborted", ""),
        "long_winded": ("aborted", ""),
        "suicide": ("failed", "SIGKILL"),
        "quitter": ("failed", ""),
        "halted": ("aborted", ""),
        "lingerer": ("completed", ""),
    }

"""Children start while a call is still being written, and go if it never comes."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.fakes.bridge_host import open_bridge
from tests.fakes.child_modes import in_json_mode
from tests.fakes.driver import PATIENCE_S
from tests.fakes.forked import supervisors_of
from tests.fakes.processes import parent_of

from pi_subagents.faces.bridge import calls as bridge_calls
from pi_subagents.faces.bridge.peer import HostPeer
from pi_subagents.faces.bridge.server import Bridge
from pi_subagents.runners import pool as pools
from pi_subagents.runners import room
from pi_subagents.service.call import Pool
from pi_subagents.system.home import data_dir
from pi_subagents.system.slots import acquire_slot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.fakes.workplace import Workplace

    from pi_subagents.faces.bridge.peer import Outlet
    from pi_subagents.runners.pool import Held

DELEGATE = "delegate_to_subagents"


class Silence:
    """A host to which nothing may be said but what belongs to a call."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, line: bytes) -> None:
        self.lines.append(line)

    async def drain(self) -> None:
        """Keep up with everything."""


class Core:
    """The core in this process: what waits in its pool can be looked at."""

    def __init__(self, place: Workplace, pool: Pool) -> None:
        self.pool = pool
        self.outlet = Silence()
        self.cwd = str(place.project)
        self.bridge = Bridge(HostPeer(cast("Outlet", self.outlet)), place.env)
        self.calls: set[asyncio.Task[Any]] = set()

    @property
    def idle(self) -> list[Held]:
        return list(self.pool.waiting)

    async def hint(self, arguments: object, tool: str = DELEGATE, **more: object) -> None:
        given = {"tool": tool, "arguments": arguments, "cwd": self.cwd, **more}
        await self.bridge.take("prewarm", given)

    def call(self, arguments: object, **more: object) -> asyncio.Task[Any]:
        given = {"callId": "c", "tool": DELEGATE, "arguments": arguments, "cwd": self.cwd, **more}
        work = asyncio.create_task(self.bridge.answer("call", given))
        self.calls.add(work)
        return work


@pytest.fixture
def open_core(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Core]:
    pool = Pool()
    monkeypatch.setattr(bridge_calls, "Pool", lambda: pool)
    return lambda: Core(place, pool)


@pytest.fixture
async def core(open_core: Callable[[], Core]) -> AsyncIterator[Core]:
    made = open_core()
    yield made
    await made.bridge.stop()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*made.calls)
        await made.bridge.close()


def tasks(*names: str, **common: object) -> dict[str, Any]:
    return {"tasks": [{"name": name, "prompt": name, **common} for name in names]}


def pids(held: list[Held]) -> list[int]:
    return [each.process.pid for each in held]


async def served(place: Workplace, core: Core) -> None:
    """Let one call come and go."""
    work = core.call(tasks("before"))
    await (await place.child("before")).answer_and_exit("done")
    await work


async def done(work: asyncio.Task[Any]) -> list[tuple[str, str]]:
    async with asyncio.timeout(PATIENCE_S):
        answer = await work
    return [(each["status"], each["output"]) for each in answer["details"]["results"]]


async def ended(held: Held) -> int:
    async with asyncio.timeout(PATIENCE_S):
        return await asyncio.to_thread(held.process.wait)


# From the hint to the call


async def test_a_task_is_done_by_the_child_that_was_started_for_it(place: Workplace) -> None:
    async with open_bridge(place.project, place.env) as host:
        await host.open()
        host.tell("prewarm", tool=DELEGATE, arguments=tasks("one"), cwd=str(place.project))
        await host.request("complete", prefix="")  # it is answered when the hint was taken
        (supervisor,) = supervisors_of(host.process.pid)
        number = host.begin("c", DELEGATE, tasks("one"))
        child = await place.child("one")
        assert parent_of(child.pid) == supervisor
        await child.answer_and_exit("done")
        answer = (await host.answer(number))["result"]
        assert [each["output"] for each in answer["details"]["results"]] == ["done"]
        assert await host.bye() == 0


async def test_each_hint_starts_what_the_ones_before_did_not(place: Workplace, core: Core) -> None:
    for count in (1, 2, 3):
        await core.hint(tasks(*"abc"[:count]))
        assert len(core.idle) == count
    await core.hint(tasks(*"abc"))
    ready = pids(core.idle)
    work = core.call(tasks(*"abc"))
    children = [await place.child(name) for name in "abc"]
    assert sorted(parent_of(child.pid) for child in children) == sorted(ready)
    for child in children:
        await child.answer_and_exit("done")
    assert await done(work) == [("completed", "done")] * 3


@pytest.fixture
async def given_up(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.TimerHandle]:
    """When those that wait for a call will be given up, each time that this was decided."""
    loop, timers = asyncio.get_running_loop(), list[asyncio.TimerHandle]()
    call_later = loop.call_later

    def noted(delay: float, *act: Any, **more: Any) -> asyncio.TimerHandle:
        timer = call_later(delay, *act, **more)
        if delay == pools.PREWARM_LIMIT_S:
            timers.append(timer)
        return timer

    monkeypatch.setattr(loop, "call_later", noted)
    return timers


async def test_there_are_never_more_than_will_work_at_once(
    place: Workplace, core: Core, given_up: list[asyncio.TimerHandle]
) -> None:
    place.settings(max_concurrency=2)
    await core.hint(tasks(*"abcd"))
    assert len(core.idle) == 2
    await core.hint(tasks(*"abcde"))
    assert len(core.idle) == 2
    assert [timer.cancelled() for timer in given_up] == [True, False]
    await core.pool.settle()
    await core.hint(tasks(*"abcde"))
    assert len(core.idle) == 2


async def test_children_of_different_profiles_are_started_as_their_profiles_say(
    place: Workplace, core: Core
) -> None:
    folder = place.home / ".pi/agent/agent-profiles"
    (folder / "few.md").write_text("---\nname: few\nexcludeTools: bash\n---\n")
    (folder / "said.md").write_text("---\nname: said\n---\nBe brief.\n")
    (folder / "none.md").write_text("---\nname: none\nnoTools: true\n---\n")
    each = [("a", "few"), ("b", "said"), ("c", "none")]
    call = {"tasks": [{"name": n, "prompt": n, "profile": p} for n, p in each]}
    tools: dict[str, Any] = {"parentTools": ["read", "bash"]}
    await core.hint(call, **tools)
    few, none = pids(core.idle)  # a prompt is read from the run's own directory
    work = core.call(call, **tools)
    a, b, c = [await place.child(name) for name in "abc"]
    assert [parent_of(a.pid), parent_of(c.pid)] == [few, none]
    assert ("--no-tools" in c.arguments, "--no-tools" in a.arguments) == (True, False)
    assert parent_of(b.pid) not in (few, none)
    for child in (a, b, c):
        await child.answer_and_exit("done")
    assert await done(work) == [("completed", "done")] * 3


async def test_a_hint_that_turns_out_wrong_costs_the_call_nothing(
    place: Workplace, core: Core
) -> None:
    (place.project / "sub").mkdir()
    await core.hint(tasks("one"))
    (wrong,) = core.idle
    work = core.call(tasks("one", cwd=str(place.project / "sub")))
    child = await place.child("one")
    assert parent_of(child.pid) != wrong.process.pid
    await child.answer_and_exit("done")
    assert await done(work) == [("completed", "done")]
    assert await ended(wrong) == 0


# Before a task is written


async def test_a_call_that_is_only_named_has_a_child_started_that_its_task_takes(
    place: Workplace, core: Core
) -> None:
    await core.hint(tasks(), begun=1)
    (guessed,) = core.idle
    work = core.call(tasks("one"))
    child = await place.child("one")
    assert parent_of(child.pid) == guessed.process.pid
    await child.answer_and_exit("done")
    assert await done(work) == [("completed", "done")]


async def test_each_task_that_begins_has_another_child_and_what_is_written_changes_nothing(
    core: Core,
) -> None:
    await core.hint(tasks(), begun=1)
    first = core.idle
    await core.hint(tasks(), begun=2)
    both = core.idle
    assert (len(first), len(both), both[:1]) == (1, 2, first)
    await core.hint(tasks("one"), begun=2)
    await core.hint(tasks("one", "two"), begun=2)
    assert core.idle == both


async def test_a_child_is_guessed_to_be_like_the_task_before_it_or_the_last_there_was(
    place: Workplace, core: Core
) -> None:
    (place.project / "sub").mkdir()
    elsewhere = {"cwd": str(place.project / "sub")}
    await core.hint(tasks("one", **elsewhere), begun=2)
    known, guessed = core.idle
    assert known.kind == guessed.kind
    work = core.call(tasks("one", **elsewhere))
    await (await place.child("one")).answer_and_exit("done")
    await done(work)
    await core.hint(tasks(), begun=2)
    assert {held.kind for held in core.idle} == {known.kind}
    assert len(core.idle) == 2


async def test_a_guess_that_none_of_the_tasks_takes_is_given_back_while_they_work(
    place: Workplace, core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "GIVE_BACK_S", 0.0)
    await core.hint(tasks(), begun=3)
    guessed = core.idle
    assert len(guessed) == 3
    work = core.call(tasks("one"))
    child = await place.child("one")
    taken = parent_of(child.pid)
    others = [held for held in guessed if held.process.pid != taken]
    assert len(others) == 2
    *_, unwanted = others  # one of its kind stays ready for the call to come
    assert await ended(unwanted) == 0
    await child.answer_and_exit("done")
    assert await done(work) == [("completed", "done")]


async def test_where_all_places_are_taken_a_wrong_guess_makes_room_for_what_is_known(
    place: Workplace, core: Core
) -> None:
    place.settings(max_concurrency=1)
    (place.project / "sub").mkdir()
    await core.hint(tasks(), begun=1)
    (wrong,) = core.idle
    await core.hint(tasks("one", cwd=str(place.project / "sub")), begun=1)
    (right,) = core.idle
    assert right.kind != wrong.kind
    assert await ended(wrong) == 0


async def test_on_one_machine_there_are_only_so_many_guesses(place: Workplace, core: Core) -> None:
    directory = str(data_dir(place.env) / "guessed")
    taken = [acquire_slot(directory, room.MAX_GUESSED) for _ in range(room.MAX_GUESSED - 1)]
    await core.hint(tasks(), begun=3)
    assert len(core.idle) == 1
    for lock in taken:
        assert lock is not None
        os.close(lock)


async def test_of_a_call_with_presets_only_the_number_of_its_tasks_is_guessed_from(
    core: Core,
) -> None:
    await core.hint({"preset": "nobody"}, tool="subagent", begun=1)
    assert len(core.idle) == 1
    await core.hint({"tasks": [{"task": "half"}]}, tool="subagent", begun=2)
    assert len(core.idle) == 2


# Nobody called


async def test_what_was_started_for_a_call_that_never_came_is_let_go(
    place: Workplace, core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "PREWARM_LIMIT_S", 0.0)
    await core.hint(tasks("one", "two"))
    waiting = core.idle[:]
    assert len(waiting) == 2
    assert [await ended(held) for held in waiting] == [0, 0]
    assert core.idle == []
    assert place.run_dirs() == []


async def test_a_later_hint_gives_everybody_more_time_and_the_end_takes_it_away(
    core: Core, given_up: list[asyncio.TimerHandle]
) -> None:
    await core.hint(tasks("one"))
    await core.hint(tasks("one", "two"))
    assert [timer.cancelled() for timer in given_up] == [True, False]
    waiting = core.idle[:]
    await core.bridge.close()
    assert [timer.cancelled() for timer in given_up] == [True, True]
    assert [held.process.poll() for held in waiting] == [0, 0]


async def test_the_one_that_was_used_last_is_kept(
    place: Workplace, core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    await served(place, core)
    monkeypatch.setattr(pools, "PREWARM_LIMIT_S", 0.0)
    await core.hint(tasks("one", "two", "three"))
    used, *others = core.idle
    assert [await ended(held) for held in others] == [0, 0]
    assert core.idle == [used]
    assert used.process.poll() is None


async def test_where_nobody_waits_nobody_is_started_instead(
    place: Workplace, core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "PREWARM_LIMIT_S", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(pools, "IDLE_LIMIT_S", 0.0)
        await served(place, core)
        while core.idle:  # its time is up at once
            await asyncio.sleep(0)
    core.pool.settle_later()
    for _ in range(5):
        await asyncio.sleep(0)
    assert core.idle == []


async def test_while_a_call_is_under_way_nobody_is_let_go_and_its_end_tidies_up(
    place: Workplace, core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "PREWARM_LIMIT_S", 0.0)
    (place.project / "sub").mkdir()
    work = core.call(tasks("one"))
    child = await place.child("one")
    await core.hint(tasks("two", cwd=str(place.project / "sub")))
    (waiting,) = core.idle
    await child.say("well", stop_reason="toolUse")  # there is time for the timer
    assert core.idle == [waiting]
    await child.answer_and_exit("done")
    assert await done(work) == [("completed", "done")]
    assert await ended(waiting) == 0


async def test_a_refused_call_leaves_what_was_started_to_its_time(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "PREWARM_LIMIT_S", 0.0)
    await core.hint(tasks("one"))
    (waiting,) = core.idle
    answer = await core.call({"tasks": []})
    assert answer["isError"]
    assert await ended(waiting) == 0


@pytest.mark.parametrize("cwd", ["/nowhere/at/all", "/\ud800"])
async def test_nothing_is_left_of_a_hint_for_a_directory_that_does_not_exist(
    core: Core, monkeypatch: pytest.MonkeyPatch, cwd: str
) -> None:
    monkeypatch.setattr(pools, "PREWARM_LIMIT_S", 0.0)
    await core.hint(tasks("one", cwd=cwd))
    for held in core.idle[:]:
        await ended(held)
    assert core.idle == []
    assert core.outlet.lines == []


# Where nothing is started


@pytest.mark.parametrize(
    "changes", [{"warm_children": 0}, {"reuse_children": False}, {"runner": "tmux"}]
)
async def test_settings_that_want_no_waiting_children_have_none(
    place: Workplace, core: Core, changes: dict[str, object]
) -> None:
    place.settings(**changes)
    await core.hint(tasks("one"), begun=2)
    assert core.idle == []
    assert core.outlet.lines == []


@in_json_mode
async def test_children_that_take_no_commands_are_not_prewarmed(core: Core) -> None:
    await core.hint(tasks("one"))
    assert core.idle == []


async def test_what_a_call_would_be_refused_for_is_told_to_nobody_here(
    place: Workplace, core: Core
) -> None:
    place.settings(max_concurrency="many", unknown_key=1)
    nonsense: list[object] = [
        None,
        {},
        {"tasks": []},
        {"tasks": [None]},
        {"tasks": [{"name": "a"}]},
        tasks("a", profile="nobody's"),
        tasks("a", resume="0123456789abcdef"),
        tasks("a", cwd="relative"),
        tasks(*map(str, range(17))),
    ]
    for each in nonsense:
        await core.hint(each)
    await core.hint(tasks("a"), tool="get_subagent_output")
    await core.bridge.take("prewarm", {"tool": DELEGATE, "arguments": tasks("a"), "cwd": 1})
    assert core.idle == []
    assert core.outlet.lines == []
    await core.hint(tasks("a"))
    assert len(core.idle) == 1
    assert core.outlet.lines == []


async def test_a_core_inside_a_sub_agent_starts_nobody(
    place: Workplace, open_core: Callable[[], Core]
) -> None:
    place.secrets["PI_SUBAGENTS_CHILD"] = "1"
    core = open_core()
    await core.hint(tasks("one"))
    assert core.idle == []
    await core.bridge.close()

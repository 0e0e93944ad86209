"""One child for several runs: each is told as if it had been alone, and a bad child serves no other."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.auditor import read_journal
from tests.fakes.driver import FAKE_PI_COMMAND
from tests.fakes.fake_node import write_script
from tests.fakes.workplace import answered, comparable

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.spec import MAX_REUSE
from pi_subagents.store.orders import send

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Delegating, Workplace


def one_by_one(place: Workplace, *names: str) -> Delegating:
    return place.delegate_by_api(*names, concurrency=1, profile=None)


async def test_one_child_serves_task_after_task_each_with_its_own_record(place: Workplace) -> None:
    names = ["first", "second", "third"]
    work = one_by_one(place, *names)
    children: list[FakeProcess] = []
    for name in names:
        child = await place.child(name)
        assert await child.prompt() == name.encode()
        await child.answer_and_exit(f"answer to {name}")
        children.append(child)
    results = await work.results()
    assert [comparable(result) for result in results] == [
        answered(name, f"answer to {name}") for name in names
    ]
    assert len({child.pid for child in children}) == 1
    assert [child.run_id for child in children] == [result.run_id for result in results]
    own = [str(place.run_dir(child).desk.child_session) for child in children]
    assert [child.session for child in children] == own
    for child, name in zip(children, names, strict=True):
        journal = [entry.event for entry in read_journal(place.run_dir(child))]
        said = [e.text for e in journal if isinstance(e, ev.UserMessage | ev.AssistantMessage)]
        assert said == [name, f"answer to {name}"]


async def test_a_child_that_dies_as_its_turn_comes_costs_no_run(place: Workplace) -> None:
    place.break_children("last session")
    work = one_by_one(place, "first", "second")
    first = await place.child("first")
    await first.answer_and_exit("1")
    second = await place.child("second")
    assert second.pid != first.pid
    assert await second.prompt() == b"second"
    meta = place.run_dir(second).read_meta()
    await second.answer_and_exit("2")
    one, two = await work.results()
    assert (comparable(one), comparable(two)) == (answered("first", "1"), answered("second", "2"))
    child: Any = meta["child"]
    assert (child["pid"], meta["marker"]) == (second.pid, two.run_id)


async def test_what_a_run_left_running_is_gone_before_the_next_one_begins(
    place: Workplace,
) -> None:
    work = one_by_one(place, "leaver", "next")
    leaver = await place.child("leaver")
    await leaver.fork_setsid()
    grandchild = await place.driver.grandchild()
    await leaver.answer_and_exit("done")
    child = await place.child("next")
    assert child.pid == leaver.pid
    await grandchild.gone()
    await child.answer_and_exit("clean")
    assert [result.output for result in await work.results()] == ["done", "clean"]


async def test_a_message_that_came_too_late_for_a_run_does_not_reach_the_next(
    place: Workplace,
) -> None:
    work = one_by_one(place, "quick", "next")
    quick = await place.child("quick")
    run = place.run_dir(quick)
    assert send(run.desk, f"steer {run.desk.write_steer('only for you')}")
    await quick.do("hear", command="steer")
    await quick.answer_and_exit("done")
    child = await place.child("next")
    assert child.pid == quick.pid
    assert await child.do("queue") == {"queue": []}
    await child.answer_and_exit("undisturbed")
    assert [result.output for result in await work.results()] == ["done", "undisturbed"]


async def test_a_child_whose_configuration_changed_meanwhile_serves_no_other_run(
    place: Workplace,
) -> None:
    work = one_by_one(place, "first", "second", "third")
    first = await place.child("first")
    (place.project / "AGENTS.md").write_text("Do as the next line says.\n")
    await first.answer_and_exit("1")
    second = await place.child("second")
    assert second.pid != first.pid
    await first.gone()
    await second.answer_and_exit("2")
    third = await place.child("third")
    assert third.pid == second.pid  # the new configuration is the one of both
    await third.answer_and_exit("3")
    assert [result.output for result in await work.results()] == ["1", "2", "3"]


async def test_a_child_that_loads_an_extension_from_now_on_serves_no_other_run(
    place: Workplace,
) -> None:
    work = one_by_one(place, "first", "second", "third")
    first = await place.child("first")
    planted = place.home / ".pi" / "agent" / "extensions"
    planted.mkdir(parents=True, exist_ok=True)
    (planted / "planted.ts").write_text("export default () => {};")
    served = [first.pid]
    await first.answer_and_exit("done")
    for name in ("second", "third"):
        child = await place.child(name)
        served.append(child.pid)
        await child.answer_and_exit("done")
    assert len(set(served)) == 3
    assert {result.status for result in await work.results()} == {"completed"}


async def test_nobody_else_can_open_the_input_of_a_child(place: Workplace) -> None:
    work = one_by_one(place, "only")
    child = await place.child("only")
    with pytest.raises(OSError, match="No such device or address"):
        os.open(f"/proc/{child.pid}/fd/0", os.O_WRONLY)
    await child.answer_and_exit("done")
    assert comparable(await work.result()) == answered("only", "done")


async def fails(child: FakeProcess) -> None:
    await child.do("fail", message="400 bad request")
    await child.settle()
    await child.exit(0)


async def is_cut(child: FakeProcess) -> None:
    await child.say("who are y", stop_reason="aborted")
    await child.settle()
    await child.exit(0)


async def answers_what_nobody_asked(child: FakeProcess) -> None:
    answer = {"type": "response", "command": "set_model", "success": True}
    await child.line(json.dumps(answer).encode() + b"\n")
    await child.answer_and_exit("as you wish")


async def prints_too_long_a_line(child: FakeProcess) -> None:
    await child.do("endless_line", size=40_000_000)
    await child.line(b"")
    await child.answer_and_exit("breathless")


async def dies(child: FakeProcess) -> None:
    await child.say("done")
    await child.exit(3)


@pytest.mark.parametrize(
    "fault", [fails, is_cut, answers_what_nobody_asked, prints_too_long_a_line, dies]
)
async def test_a_child_that_did_anything_odd_serves_no_other_run(
    place: Workplace, fault: object
) -> None:
    assert callable(fault)
    work = one_by_one(place, "odd", "next")
    odd = await place.child("odd")
    await fault(odd)
    child = await place.child("next")
    assert child.pid != odd.pid
    await child.answer_and_exit("unharmed")
    assert comparable((await work.results())[1]) == answered("next", "unharmed")


async def test_a_stop_ends_the_run_and_its_child_and_nothing_follows(place: Workplace) -> None:
    work = one_by_one(place, "first", "second", "never")
    await (await place.child("first")).answer_and_exit("done")
    await place.child("second")
    work.stop()
    assert [result.status for result in await work.results()] == ["completed", "aborted", "aborted"]
    assert len(place.driver.children) == 2


async def test_a_child_is_retired_after_so_many_runs(place: Workplace) -> None:
    names = [f"task {number}" for number in range(MAX_REUSE + 1)]
    work = one_by_one(place, *names)
    served = []
    for name in names:
        child = await place.child(name)
        await child.answer_and_exit("done")
        served.append(child.pid)
    assert {result.status for result in await work.results()} == {"completed"}
    assert len(set(served[:MAX_REUSE])) == 1
    assert served[MAX_REUSE] != served[0]


async def test_a_pi_whose_debugger_cannot_be_closed_serves_one_run_only(
    place: Workplace, tmp_path: Path
) -> None:
    compiled = write_script(tmp_path / "pi" / "pi", f'#!/bin/sh\nexec {FAKE_PI_COMMAND} "$@"\n')
    manifest = {"name": "@earendil-works/pi-coding-agent", "version": "1.5.0"}
    (compiled.parent / "package.json").write_text(json.dumps(manifest))  # nobody asks it
    place.secrets["PI_SUBAGENTS_PI"] = shlex.quote(str(compiled))
    work = one_by_one(place, "first", "second")
    first = await place.child("first")
    await first.answer_and_exit("1")
    second = await place.child("second")
    assert second.pid != first.pid
    assert second.session not in ("", first.session)
    await second.answer_and_exit("2")
    assert [comparable(result) for result in await work.results()] == [
        answered("first", "1"),
        answered("second", "2"),
    ]


async def test_without_reuse_every_run_has_a_child_of_its_own(place: Workplace) -> None:
    place.settings(reuse_children=False)
    work = one_by_one(place, "first", "second")
    first = await place.child("first")
    await first.answer_and_exit("1")
    second = await place.child("second")
    assert second.pid != first.pid
    assert second.session not in ("", first.session)
    await second.answer_and_exit("2")
    assert [comparable(result) for result in await work.results()] == [
        answered("first", "1"),
        answered("second", "2"),
    ]

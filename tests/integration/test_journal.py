"""What anyone is shown is on disk already, whole and in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fakes.auditor import read_journal
from tests.fakes.child_modes import takes_long
from tests.fakes.workplace import answered, comparable

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.usage import Usage

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

    from pi_subagents.service.delegation import Update

pytestmark = takes_long


async def test_an_event_that_is_shown_is_in_the_journal_by_then(place: Workplace) -> None:
    shown: list[ev.Event] = []
    late: list[ev.Event | RunResult] = []

    def observe(update: Update) -> None:
        run = place.store.run_dir(update.run.spec.run_id)
        if isinstance(update.what, RunResult):
            if run.read_result() != update.what:
                late.append(update.what)
            return
        shown.append(update.what)
        if [entry.event for entry in read_journal(run, finished=False)][: len(shown)] != shown:
            late.append(update.what)

    work = place.delegate_by_api("shown", observe=observe)
    child = await place.child("shown")
    for number in range(20):
        await child.tool("read", {"path": f"{number}.md"}, result=f"text {number}")
    await child.stderr("a warning\n")
    await child.line(b"not a record")
    await child.answer_and_exit("all read")
    await work.result()
    assert late == []
    assert [type(event) for event in shown].count(ev.ToolFinished) == 20
    assert shown == [entry.event for entry in read_journal(place.run_dir(child))]


async def test_the_journal_tells_the_whole_run_without_deltas(place: Workplace) -> None:
    work = place.delegate_by_api("read the notes")
    child = await place.child("read the notes")
    await child.tool("read", {"path": "notes.md"}, result="# Notes")
    await child.answer_and_exit("there is one heading")
    assert comparable(await work.result()) == answered(
        "read the notes",
        "there is one heading",
        message_count=4,
        tool_call_count=1,
        usage=Usage(2, 2, 0, 0, 4),
    )
    spoken: dict[str, Any] = {"provider": "fake", "model": "fake-1", "usage": Usage(1, 1, 0, 0, 2)}
    call = ev.ToolCall("call_1", "read", {"path": "notes.md"})
    entries = read_journal(place.run_dir(child))
    assert [entry.event for entry in entries] == [
        ev.StateChanged("starting"),
        ev.StateChanged("running"),
        ev.UserMessage("read the notes"),
        ev.AssistantMessage("", (call,), "toolUse", **spoken),
        ev.ToolStarted(ev.ToolCall("call_1", "read", None)),
        ev.ToolFinished("call_1", "read", "# Notes", failed=False),
        ev.AssistantMessage("there is one heading", (), "stop", **spoken),
        ev.Settled(),
        ev.StateChanged("completed"),
    ]
    times = [entry.time_ms for entry in entries]
    assert times == sorted(times)
    run = place.run_dir(child)
    assert run.transcript.read_text().splitlines() == [
        f"# read the notes (run {child.run_id})",
        "Reading notes.md",
        "Finished reading notes.md",
        "there is one heading",
    ]


async def test_a_run_leaves_its_files_under_their_documented_names_in_the_project(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("leave them")
    child = await place.child("leave them")
    await child.stderr("aside\n")
    await child.answer_and_exit("left")
    run_id = (await work.result()).run_id
    directory = place.project / ".pi" / "subagents" / "runs" / run_id
    names = [
        "meta.json",
        "events.jsonl",
        "result.json",
        "stdout.log",
        "stderr.log",
        "transcript.log",
    ]
    assert [name for name in names if (directory / name).stat().st_size] == names
    assert read_journal(place.store.run_dir(run_id))[-1].event == ev.StateChanged("completed")


async def test_the_raw_output_is_kept_byte_by_byte(place: Workplace) -> None:
    work = place.delegate_by_api("raw")
    child = await place.child("raw")
    await child.write(b"\xff\0\r\n{}\nhalf")
    await child.write(b"\xfe\n", to=2)
    await child.exit(0)
    await work.result()
    run = place.run_dir(child)
    spoken = run.stdout.read_bytes().split(b"\n", 2 if place.takes_commands else 0)
    assert spoken[-1] == b"\xff\0\r\n{}\nhalf"
    assert run.stderr.read_bytes() == b"\xfe\n"


async def test_every_run_is_told_apart_to_its_observer(place: Workplace) -> None:
    names = ["a", "b", "c"]
    work = place.delegate_by_api(*names)
    for name in reversed(names):
        await (await place.child(name)).answer_and_exit(f"answer of {name}")
    results = await work.results()
    for index, name in enumerate(names):
        mine = [update for update in work.updates if update.run.task.name == name]
        assert {update.run.index for update in mine} == {index}
        assert mine[-1].what == results[index]
        answers = [u.what.text for u in mine if isinstance(u.what, ev.AssistantMessage)]
        assert answers == [f"answer of {name}"]
        assert work.states(name) == ["starting", "running", "completed"]

"""Time-out, extension and loop rules hold for real processes."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest
from tests.fakes.auditor import read_journal
from tests.fakes.child_modes import in_both_modes, takes_long
from tests.fakes.workplace import answered, comparable, expected, tokens

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.task.request import Task
from pi_subagents.supervisor import messages as supervisor_messages

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.result import RunResult

pytestmark = in_both_modes
LOOPING = "Loop detected: sub-agent is repeating the same tool calls"
UNDISTURBED = ["starting", "running", "completed"]
TIMED_OUT = "Timed out after 1s. Consider resuming with a longer timeout."
READ: dict[str, object] = {"path": "notes.md", "range": {"from": 1, "to": 9}}


def extended(result: RunResult) -> tuple[str, ...]:
    """Return the note on a run that went on after its time-out of a second."""
    return (core_messages.note_extended(result.duration_ms / 1000, 1),)


async def test_the_same_call_for_ever_is_stopped_at_the_fifth(place: Workplace) -> None:
    work = place.delegate_by_api("loop")
    child = await place.child("loop")
    await child.loop(5, "read", READ)
    result = await work.result()
    assert (result.status, result.error_message, result.exit_code) == ("failed", LOOPING, 143)
    assert result.tool_call_count == 5
    await child.gone()


async def test_four_equal_calls_are_no_loop(place: Workplace) -> None:
    work = place.delegate_by_api("four")
    child = await place.child("four")
    for _ in range(4):
        await child.tool("read", READ)
    await child.tool("read", {**READ, "range": {"from": 1, "to": 10}})
    for _ in range(4):
        await child.tool("read", READ)
    await child.answer_and_exit("enough")
    assert comparable(await work.result()) == answered(
        "four", "enough", message_count=20, tool_call_count=9, usage=tokens(10)
    )
    assert work.states() == UNDISTURBED


async def test_the_order_of_keys_does_not_hide_a_loop(place: Workplace) -> None:
    work = place.delegate_by_api("loop")
    child = await place.child("loop")
    await child.loop(4, "read", dict(reversed(READ.items())))
    await child.loop(1, "read", READ)
    assert (await work.result()).error_message == LOOPING


@takes_long
async def test_five_different_edits_of_one_file_are_no_loop(place: Workplace) -> None:
    work = place.delegate_by_api("editor")
    child = await place.child("editor")
    for number in range(10):
        edits = [{"oldText": f"line {number}", "newText": "better"}]
        await child.tool("edit", {"path": "notes.md", "edits": edits})
    await child.answer_and_exit("edited")
    assert comparable(await work.result()) == answered(
        "editor", "edited", message_count=22, tool_call_count=10, usage=tokens(11)
    )
    assert work.states() == UNDISTURBED


async def test_a_loop_whose_calls_all_have_one_id_is_found(place: Workplace) -> None:
    """Small local models and their servers number the calls of each answer from the start."""
    work = place.delegate_by_api("loop")
    child = await place.child("loop")
    await child.loop(5, "read", READ, call_id="call_0")
    assert (await work.result()).error_message == LOOPING


@takes_long
async def test_calls_without_an_id_count_once_each(place: Workplace) -> None:
    work = place.delegate_by_api("nameless")
    child = await place.child("nameless")
    for _ in range(4):
        await child.tool("read", READ, call_id="")
    await child.answer_and_exit("four times")
    assert (await work.result()).output == "four times"
    assert work.states() == UNDISTURBED


async def test_calls_that_were_never_announced_count_as_well(place: Workplace) -> None:
    work = place.delegate_by_api("loop")
    child = await place.child("loop")
    records = [
        {"type": "tool_execution_start", "toolCallId": f"c{n}", "toolName": "read", "args": READ}
        for n in range(5)
    ]
    lines = "".join(f"{json.dumps(record)}\n" for record in records)
    child.tell("write", data=base64.b64encode(lines.encode()).decode())
    assert (await work.result()).error_message == LOOPING


async def test_the_calls_of_a_script_are_no_loop_and_no_messages(place: Workplace) -> None:
    work = place.delegate_by_api("script")
    child = await place.child("script")
    await child.do("begin")
    for number in range(20):
        call = {"toolCallId": f"c/{number}", "toolName": "read", "parentToolCallId": "c"}
        start = {"type": "tool_execution_start", **call, "args": READ}
        update = {"type": "tool_execution_update", **call, "partialResult": {"content": []}}
        end = {"type": "tool_execution_end", **call, "result": {"content": []}, "durationMs": 12.6}
        for record in (start, update, end):
            await child.line(json.dumps(record, separators=(",", ":")).encode())
    await child.answer_and_exit("done")
    assert comparable(await work.result()) == answered("script", "done")
    run = place.run_dir(child)
    ended = [each.event for each in read_journal(run) if isinstance(each.event, ev.ToolFinished)]
    assert ended[3] == ev.ToolFinished(
        "c/3", "read", "", failed=False, parent_id="c", duration_ms=13
    )
    assert len(ended) == 20
    assert b"tool_execution_update" not in run.stdout.read_bytes()
    assert run.stdout.read_bytes().count(b"tool_execution_start") == 20


@pytest.mark.parametrize(("setting", "calls"), [(2, 2), (0, 12)])
async def test_the_setting_decides_how_often(place: Workplace, setting: int, calls: int) -> None:
    settings = {"subagents": {"looping_tool_count": setting}}
    (place.project / ".pi" / "settings.json").write_text(json.dumps(settings))
    work = place.delegate_by_api("loop")
    child = await place.child("loop")
    await child.loop(calls, "read", READ)
    if setting:
        assert (await work.result()).error_message == LOOPING
    else:
        await child.answer_and_exit("not disturbed")
        assert (await work.result()).output == "not disturbed"
        assert work.states() == UNDISTURBED


async def test_silence_at_the_time_out_ends_the_run(place: Workplace) -> None:
    work = place.delegate("silent", timeout_s=1, extend_debounce_s=1)
    child = await place.child("silent")
    result = await work.result()
    assert comparable(result) == expected(
        "silent", "failed", error_message=TIMED_OUT, exit_code=143, notes=extended(result)
    )
    await child.gone()


async def test_waiting_for_a_place_does_not_count(place: Workplace) -> None:
    """reference-faults 6: tasks burned their time-out in the queue."""
    tasks = Task("first", "first"), Task("second", "second", timeout_s=2)
    work = place.delegate(*tasks, concurrency=1, extend_debounce_s=0)
    first = await place.child("first")
    await first.do("pulse", kind="updates", every_s=0.1, times=25)
    await first.answer_and_exit("took its time")
    second = await place.child("second")
    await second.answer_and_exit("in time")
    assert [comparable(result) for result in await work.results()] == [
        answered("first", "took its time"),
        answered("second", "in time"),
    ]


@takes_long
async def test_work_after_the_time_out_extends_it(place: Workplace) -> None:
    work = place.delegate("busy", timeout_s=1, extend_debounce_s=1.5)
    child = await place.child("busy")
    await child.do("pulse", kind="updates", every_s=0.1, times=30)
    await child.answer_and_exit("took its time")
    result = await work.result()
    assert comparable(result) == answered("busy", "took its time", notes=extended(result))
    announced = ev.Note(core_messages.extended_now(1, 1.5, 3600))
    assert work.events().count(announced) == 1
    assert work.states() == UNDISTURBED


@takes_long
async def test_the_extension_ends_with_the_first_long_silence(place: Workplace) -> None:
    work = place.delegate("slowing", timeout_s=1, extend_debounce_s=1.5)
    child = await place.child("slowing")
    await child.do("pulse", kind="updates", every_s=0.1, times=15)
    result = await work.result()
    assert (result.status, result.error_message) == ("failed", TIMED_OUT)


@takes_long
@pytest.mark.parametrize("kind", ["junk", "stderr"])
async def test_noise_does_not_extend_the_time(place: Workplace, kind: str) -> None:
    work = place.delegate("noisy", timeout_s=1, extend_debounce_s=1)
    child = await place.child("noisy")
    child.tell("pulse", kind=kind, every_s=0.05, times=10_000)
    result = await work.result()
    assert (result.status, result.error_message) == ("failed", TIMED_OUT)
    await child.gone()


@takes_long
async def test_no_amount_of_work_extends_the_time_beyond_its_bound(place: Workplace) -> None:
    work = place.delegate("tireless", timeout_s=1, extend_debounce_s=30, extend_max_s=1)
    child = await place.child("tireless")
    child.tell("pulse", kind="updates", every_s=0.05, times=10_000)
    result = await work.result()
    assert (result.status, result.error_message) == ("failed", TIMED_OUT)


async def test_the_clock_stops_once_a_child_has_settled(place: Workplace) -> None:
    """Its answer is there: being slow to exit makes no time-out of it."""
    work = place.delegate("slow exit", timeout_s=2, extend_debounce_s=0, settled_grace_s=2.5)
    child = await place.child("slow exit")
    await child.say("in time")
    await child.settle()
    await work.sees(ev.Settled())
    result = await work.result()
    assert comparable(result) == answered(
        "slow exit",
        "in time",
        exit_code=143,
        notes=(core_messages.note_exit_after_answer(143, ""), supervisor_messages.NOTE_FORCED),
    )

"""How a child ends is told truthfully."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import in_both_modes
from tests.fakes.workplace import answered, comparable, expected, tokens

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.supervisor import messages as supervisor_messages

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

pytestmark = in_both_modes


async def test_a_child_that_answers_settles_and_exits_is_completed(place: Workplace) -> None:
    work = place.delegate_by_api("greet")
    await (await place.child("greet")).answer_and_exit("hello")
    result = await work.result()
    assert comparable(result) == answered("greet", "hello")
    assert result.started_at_ms + result.duration_ms == result.finished_at_ms
    assert place.store.run_dir(result.run_id).read_result() == result


async def test_the_last_answer_counts_and_tokens_add_up(place: Workplace) -> None:
    work = place.delegate_by_api("two turns")
    child = await place.child("two turns")
    await child.tool("bash", {"command": "ls"}, result="notes.md")
    await child.say("first thought", tokens=10)
    await child.answer_and_exit("second thought")
    assert comparable(await work.result()) == answered(
        "two turns", "second thought", message_count=5, tool_call_count=1, usage=tokens(12)
    )


async def test_a_child_killed_by_sigkill_failed_with_137_and_says_so(place: Workplace) -> None:
    work = place.delegate_by_api("victim")
    child = await place.child("victim")
    await child.tool("bash", {"command": "make"})
    await child.kill_self(signal.SIGKILL)
    assert comparable(await work.result()) == expected(
        "victim",
        "failed",
        error_message="Sub-agent was killed by SIGKILL before it finished",
        exit_code=137,
        signal_name="SIGKILL",
        stop_reason="toolUse",
        message_count=3,
        tool_call_count=1,
        usage=tokens(1),
    )


async def test_a_child_that_exits_with_7_in_silence_failed(place: Workplace) -> None:
    work = place.delegate_by_api("mute")
    await (await place.child("mute")).exit(7)
    assert comparable(await work.result()) == expected(
        "mute",
        "failed",
        error_message="Sub-agent exited with code 7 without an answer",
        exit_code=7,
    )


async def test_a_child_that_exits_with_0_and_no_answer_failed(place: Workplace) -> None:
    work = place.delegate_by_api("shy")
    child = await place.child("shy")
    await child.do("begin")
    await child.exit(0)
    assert comparable(await work.result()) == expected(
        "shy",
        "failed",
        error_message="Sub-agent exited with code 0 without an answer",
        exit_code=0,
        message_count=1,
    )


async def test_what_a_failing_child_wrote_to_stderr_is_in_the_message(place: Workplace) -> None:
    work = place.delegate_by_api("misspelt")
    child = await place.child("misspelt")
    await child.stderr("Warning: old settings\nError: Unknown option: --frob\n")
    await child.exit(1)
    assert comparable(await work.result()) == expected(
        "misspelt",
        "failed",
        error_message="Sub-agent exited with code 1 without an answer: "
        "Warning: old settings Error: Unknown option: --frob",
        exit_code=1,
    )


async def test_after_a_long_stderr_the_message_still_carries_the_last_line(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("talker")
    child = await place.child("talker")
    await child.stderr("".join(f"Warning: extension number {n} is old\n" for n in range(500)))
    await child.stderr("Error: the disk is full\n")
    await child.exit(1)
    kept = "".join(f"Warning: extension number {n} is old " for n in range(488, 500))
    assert (await work.result()).error_message == (
        f"Sub-agent exited with code 1 without an answer: {kept}Error: the disk is full"
    )


async def test_a_last_stderr_line_without_an_end_counts(place: Workplace) -> None:
    work = place.delegate_by_api("cut off")
    child = await place.child("cut off")
    await child.stderr("Segmentation fault")
    await child.exit(139)
    assert (await work.result()).error_message == (
        "Sub-agent exited with code 139 without an answer: Segmentation fault"
    )


async def test_a_child_that_settles_and_never_exits_is_completed_after_its_grace(
    place: Workplace,
) -> None:
    work = place.delegate("lingerer", settled_grace_s=0.2)
    child = await place.child("lingerer")
    await child.say("done")
    child.tell("settle")
    assert comparable(await work.result()) == answered(
        "lingerer",
        "done",
        exit_code=143,
        notes=(
            "The process ended with exit code 143 after it had answered.",
            "The process did not exit after its answer and was ended.",
        ),
    )
    assert not child.alive


async def test_settled_stubborn_children_are_killed_and_their_answer_counts(
    place: Workplace,
) -> None:
    work = place.delegate("stubborn", settled_grace_s=0.1, stop_grace_s=0.1)
    child = await place.child("stubborn")
    await child.do("ignore_term")
    await child.say("done")
    child.tell("settle")
    result = await work.result()
    assert (result.status, result.output, result.signal_name) == ("completed", "done", "SIGKILL")
    assert supervisor_messages.NOTE_FORCED in result.notes


async def test_work_that_goes_on_after_settling_is_not_ended(place: Workplace) -> None:
    """A queued message wakes a settled pi up again: only its last word is final."""
    work = place.delegate("busy", settled_grace_s=1.5)
    child = await place.child("busy")
    await child.say("done, I thought")
    await child.settle()
    await child.tool("bash", {"command": "sleep 1"})
    await work.sees(ev.ToolFinished)
    await child.do("pulse", kind="updates", every_s=0.1, times=18)
    await child.answer_and_exit("now it is done")
    assert comparable(await work.result()) == answered(
        "busy", "now it is done", message_count=5, tool_call_count=1, usage=tokens(3)
    )
    assert work.states() == ["starting", "running", "completed"]


async def test_a_bad_exit_after_the_answer_is_a_note(place: Workplace) -> None:
    work = place.delegate_by_api("crasher")
    await (await place.child("crasher")).answer_and_exit("all good", code=3)
    assert comparable(await work.result()) == answered(
        "crasher",
        "all good",
        exit_code=3,
        notes=("The process ended with exit code 3 after it had answered.",),
    )


async def test_a_model_error_fails_though_pi_exits_with_0(place: Workplace) -> None:
    work = place.delegate_by_api("refused")
    child = await place.child("refused")
    await child.do("fail", message="400 bad request")
    await child.settle()
    await child.exit(0)
    assert comparable(await work.result()) == expected(
        "refused",
        "failed",
        error_message="400 bad request",
        exit_code=0,
        stop_reason="error",
        message_count=2,
    )


async def test_an_error_that_pi_retries_is_not_the_end(place: Workplace) -> None:
    work = place.delegate("patient", settled_grace_s=0.5)
    child = await place.child("patient")
    await child.do("fail", message="429 too many requests", will_retry=True)
    await work.sees(ev.Retrying(1, 3, 10, "429 too many requests"))
    await child.do("pulse", kind="updates", every_s=0.1, times=7)
    await child.answer_and_exit("at last")
    assert comparable(await work.result()) == answered(
        "patient", "at last", message_count=3, notes=("Asked its model again once",)
    )


@pytest.mark.parametrize(
    ("stop_reason", "text", "output", "note"),
    [
        ("stop", " \n", core_messages.NO_TEXT_OUTPUT, core_messages.NOTE_EMPTY_ANSWER),
        ("length", "half an ans", "half an ans", core_messages.NOTE_LENGTH),
    ],
)
async def test_an_empty_or_cut_answer_is_completed_with_a_note(
    place: Workplace, stop_reason: str, text: str, output: str, note: str
) -> None:
    work = place.delegate_by_api("brief")
    child = await place.child("brief")
    await child.say(text, stop_reason=stop_reason)
    await child.settle()
    await child.exit(0)
    assert comparable(await work.result()) == answered(
        "brief", output, stop_reason=stop_reason, notes=(note,)
    )


async def test_a_child_that_closes_its_output_is_waited_for(place: Workplace) -> None:
    work = place.delegate_by_api("closed")
    child = await place.child("closed")
    await child.say("my last words")
    await child.settle()
    await child.do("close_stdout")
    await child.echo()
    await child.exit(0)
    assert comparable(await work.result()) == answered("closed", "my last words")

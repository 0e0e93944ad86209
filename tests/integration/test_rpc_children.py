"""What only a child in RPC mode can do, well or badly: the run is told truthfully all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.auditor import read_journal
from tests.fakes.child_modes import in_json_mode, in_rpc_mode
from tests.fakes.fake_rpc import REFUSAL
from tests.fakes.workplace import answered, comparable, expected, tokens

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.engines.pi import messages as pi_messages
from pi_subagents.engines.pi.rpc import compose_prompt
from pi_subagents.runners import supervisor_start
from pi_subagents.store.orders import send
from pi_subagents.supervisor import messages as supervisor_messages

if TYPE_CHECKING:
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Delegating, Workplace

    from pi_subagents.core.run.result import RunResult

pytestmark = in_rpc_mode


def could_not_begin(name: str, reason: str, **more: Any) -> RunResult:
    message = core_messages.prompt_refused(reason)
    return expected(name, "failed", error_message=message, exit_code=0, **more)


def shorten(monkeypatch: pytest.MonkeyPatch, limit: str, seconds: float) -> None:
    """Let supervisors wait less long for what never comes."""
    main = "os._exit(main())"
    home = "from pi_subagents.engines.pi import rpc_conversation as talk"
    change = f"{home}; talk.{limit} = {seconds}; {main}"
    boot = supervisor_start.BOOT
    assert main in boot
    monkeypatch.setattr(supervisor_start, "BOOT", boot.replace(main, change))


# How a run begins


async def test_a_prompt_that_is_refused_is_told_with_pis_reason(place: Workplace) -> None:
    place.break_children("refuse")
    result = await place.delegate_by_api("unwanted").result()
    assert comparable(result) == could_not_begin(
        "unwanted", REFUSAL, notes=(core_messages.NOTE_NO_MODEL,)
    )


async def test_a_prompt_that_is_taken_and_not_worked_on_is_an_error_and_no_wait(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extension's command, or its input handler, can swallow a prompt."""
    shorten(monkeypatch, "START_LIMIT_S", 0.2)
    place.break_children("idle")
    result = await place.delegate_by_api("swallowed").result()
    assert comparable(result) == could_not_begin("swallowed", pi_messages.NO_RUN_STARTED)


@pytest.mark.parametrize("fault", ["mute", "foreign"])
async def test_a_prompt_that_is_never_answered_ends_with_its_time_out(
    place: Workplace, fault: str
) -> None:
    place.break_children(fault)
    work = place.delegate("unheard", timeout_s=0.5, extend_debounce_s=0)
    message = core_messages.timed_out(0.5)
    assert comparable(await work.result()) == expected(
        "unheard", "failed", error_message=message, exit_code=143
    )


async def test_a_child_that_dies_in_the_middle_of_an_answer_failed(place: Workplace) -> None:
    place.break_children("half")
    work = place.delegate_by_api("broken off")
    result = await work.result()
    assert comparable(result) == expected(
        "broken off",
        "failed",
        error_message="Sub-agent exited with code 1 without an answer",
        exit_code=1,
    )
    half = f'{{"id":"{result.run_id}-prompt","type":"respon'
    assert work.events() == [ev.OutputText(half)]


async def test_a_run_that_keeps_its_session_has_one_of_its_own(place: Workplace) -> None:
    work = place.delegate("kept", session_option="--session")
    child = await place.child("kept")
    assert child.session == str(place.run_dir(child).desk.child_session)
    await child.answer_and_exit("noted")
    assert comparable(await work.result()) == answered("kept", "noted")


@pytest.mark.parametrize("fault", ["no session", "bad session"])
async def test_a_child_that_cannot_change_its_session_is_replaced_by_one_started_in_it(
    place: Workplace, fault: str
) -> None:
    place.break_children(fault)
    work = place.delegate_by_api("first", "second", concurrency=1, profile=None)
    first = await place.child("first")
    await first.do("leave_when_done")
    await first.say("1")
    first.tell("settle")  # nobody may be left to confirm it
    second = await place.child("second")
    assert second.pid != first.pid
    assert second.session not in ("", first.session)
    await second.answer_and_exit("2")
    assert [comparable(result) for result in await work.results()] == [
        answered("first", "1"),
        answered("second", "2"),
    ]


# What is heard besides the run


async def test_answers_that_nobody_asked_for_and_garbage_between_records_harm_nothing(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("noisy")
    child = await place.child("noisy")
    for command in ("prompt", "abort", "get_session_stats", "switch_session", "steer-1"):
        await child.do("answer", command_id=f"nobody-{command}", command=command)
        await child.do("answer", command_id=f"{child.run_id}-{command}", command=command)
        await child.line(b'{"type":"response"')
    await child.line(b'{"type":"response","success":"no"}')
    await child.answer_and_exit("fine")
    result = await work.result()
    assert (result.status, result.output, result.notes) == ("completed", "fine", ())
    assert work.states() == ["starting", "running", "completed"]


@pytest.mark.parametrize("method", ["select", "confirm", "input", "editor"])
async def test_a_dialog_is_dismissed_at_once_and_noted(place: Workplace, method: str) -> None:
    work = place.delegate_by_api("curious")
    child = await place.child("curious")
    answer = await child.ask_dialog(method, "May I?", dialog_id="d-7")
    assert answer == {"type": "extension_ui_response", "id": "d-7", "cancelled": True}
    await child.answer_and_exit("then not")
    assert comparable(await work.result()) == answered("curious", "then not")
    note = ev.Note(pi_messages.note_dialog(method, "May I?"))
    assert [event for event in work.events() if isinstance(event, ev.Note)] == [note]


async def test_what_an_extension_only_shows_is_not_answered(place: Workplace) -> None:
    work = place.delegate_by_api("showing")
    child = await place.child("showing")
    await child.line(b'{"type":"extension_ui_request","id":"n","method":"notify","message":"hi"}')
    answer = await child.ask_dialog("confirm", "", dialog_id="the first to be answered")
    assert answer is not None
    assert answer["id"] == "the first to be answered"
    await child.answer_and_exit("shown")
    assert comparable(await work.result()) == answered("showing", "shown")


# How a run ends


async def test_a_child_leaves_by_itself_when_its_input_ends(place: Workplace) -> None:
    work = place.delegate_by_api("well bred")
    child = await place.child("well bred")
    await child.do("leave_when_done")
    await child.say("goodbye")
    child.tell("settle")
    assert comparable(await work.result()) == answered("well bred", "goodbye")
    await child.gone()


async def test_what_the_child_says_it_has_used_is_what_was_used(place: Workplace) -> None:
    work = place.delegate_by_api("spender")
    child = await place.child("spender")
    await child.do("spend", tokens=41)  # a tool that asks a model, a summary
    await child.answer_and_exit("done")
    assert comparable(await work.result()) == answered("spender", "done", usage=tokens(42))


@pytest.mark.parametrize("how", ["ignore", "refuse"])
async def test_a_child_that_gives_no_account_is_counted_by_its_messages(
    place: Workplace, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, "ACCOUNT_LIMIT_S", 0.2)
    work = place.delegate_by_api("secretive")
    child = await place.child("secretive")
    await child.do("leave_when_done")
    await child.do(how, command="get_session_stats")
    await child.do("spend", tokens=41)
    await child.say("done")
    child.tell("settle")
    assert comparable(await work.result()) == answered("secretive", "done")


async def test_a_child_that_begins_again_by_itself_is_ended_and_its_answer_counts(
    place: Workplace,
) -> None:
    work = place.delegate("restless", settled_grace_s=1)
    child = await place.child("restless")
    await child.say("done")
    await child.settle()
    child.tell("start_again")
    assert comparable(await work.result()) == answered(
        "restless",
        "done",
        exit_code=143,
        notes=(core_messages.note_exit_after_answer(143, ""), supervisor_messages.NOTE_FORCED),
    )


# Stopping


async def test_a_child_is_asked_to_stop_before_it_is_told_to_end(place: Workplace) -> None:
    work = place.delegate_by_api("polite")
    child = await place.child("polite")
    await child.tool("bash", {"command": "make"})
    work.stop()
    result = await work.result()
    assert comparable(result) == expected(
        "polite",
        "aborted",
        error_message=core_messages.STOPPED_ON_REQUEST,
        exit_code=143,
        stop_reason="toolUse",
        message_count=4,
        tool_call_count=1,
        usage=tokens(1),
    )
    said = [e.stop_reason for e in work.events() if isinstance(e, ev.AssistantMessage)]
    assert said == ["toolUse", "aborted"], "it had time to say so"


async def test_a_child_that_hangs_at_the_request_is_told_to_end_a_second_later(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("deaf")
    child = await place.child("deaf")
    await child.do("ignore", command="abort")
    work.stop()
    await child.do("hear", command="abort")
    await child.echo()  # and still lives
    result = await work.result()
    assert comparable(result) == expected(
        "deaf", "aborted", error_message=core_messages.STOPPED_ON_REQUEST, exit_code=143
    )


async def test_messages_that_wait_are_withdrawn_before_a_child_is_asked_to_stop(
    place: Workplace,
) -> None:
    """They would make it go on."""
    work = place.delegate_by_api("busy")
    child = await place.child("busy")
    await child.do("ignore", command="abort")
    steer(place, child, "and one more thing")
    await child.do("hear", command="steer")
    work.stop()
    await child.do("hear", command="abort")
    assert await child.do("queue") == {"queue": []}
    assert (await work.result()).status == "aborted"


async def test_an_answer_that_comes_after_the_request_to_stop_counts(place: Workplace) -> None:
    work = place.delegate_by_api("nearly done")
    child = await place.child("nearly done")
    await child.do("ignore", command="abort")
    await child.do("leave_when_done")
    work.stop()
    await child.do("hear", command="abort")
    await child.say("just in time")
    child.tell("settle")
    result = await work.result()
    assert (result.status, result.output) == ("completed", "just in time")


async def test_what_was_said_before_a_stop_is_no_answer_if_work_went_on(place: Workplace) -> None:
    """An extension may let it go on after it has answered: only its last word is final."""
    work = place.delegate_by_api("not done")
    child = await place.child("not done")
    await child.say("so far so good")
    await work.sees(ev.AssistantMessage)
    work.stop()
    assert comparable(await work.result()) == expected(
        "not done",
        "aborted",
        output="so far so good",
        error_message=core_messages.STOPPED_ON_REQUEST,
        exit_code=143,
        stop_reason="stop",
        message_count=3,
        usage=tokens(1),
    )


# Steering


def steer(place: Workplace, child: FakeProcess, text: str) -> str:
    """Send a message to a child at work, as any process can; return its number."""
    run = place.run_dir(child)
    number = run.desk.write_steer(text)
    assert send(run.desk, f"steer {number}")
    return number


def steers(work: Delegating) -> list[ev.Event]:
    return [event for event in work.events() if isinstance(event, ev.Steer)]


async def test_a_message_is_delivered_when_the_child_reads_it(place: Workplace) -> None:
    work = place.delegate_by_api("steered")
    child = await place.child("steered")
    await child.tool("bash", {"command": "make"})
    number = steer(place, child, "/use the other file")
    await child.do("hear", command="steer")
    await work.sees(ev.ToolFinished)
    assert steers(work) == [], "it has not read it yet"
    read = await child.take_steer()
    assert read == compose_prompt("/use the other file") != "/use the other file", "no command"
    await work.sees(ev.Steer(number, ev.DELIVERED, "/use the other file"))
    await child.answer_and_exit("used it")
    assert comparable(await work.result()) == answered(
        "steered", "used it", message_count=5, tool_call_count=1, usage=tokens(2)
    )
    journal = [entry.event for entry in read_journal(place.run_dir(child))]
    assert ev.UserMessage(read.strip()) in journal


async def test_equal_messages_are_delivered_one_by_one(place: Workplace) -> None:
    work = place.delegate_by_api("nagged")
    child = await place.child("nagged")
    first, second = steer(place, child, "faster"), steer(place, child, "faster")
    await child.take_steer()
    await work.sees(ev.Steer(first, ev.DELIVERED, "faster"))
    await child.take_steer()
    await work.sees(ev.Steer(second, ev.DELIVERED, "faster"))
    await child.answer_and_exit("fast")
    assert (await work.result()).output == "fast"
    assert len(steers(work)) == 2


async def test_a_message_waits_for_a_child_that_has_not_begun(place: Workplace) -> None:
    place.break_children("late")
    work = place.delegate_by_api("slow to start")
    child = await place.child("slow to start")
    number = steer(place, child, "hurry")
    await child.do("take_prompt")
    assert await child.take_steer() == "hurry"
    await work.sees(ev.Steer(number, ev.DELIVERED, "hurry"))
    await child.answer_and_exit("here")
    assert comparable(await work.result()) == answered("slow to start", "here", message_count=3)


async def test_a_message_that_pi_refuses_is_refused_with_its_reason(place: Workplace) -> None:
    work = place.delegate_by_api("closed")
    child = await place.child("closed")
    await child.do("refuse", command="steer")
    number = steer(place, child, "listen")
    reason = pi_messages.steer_refused_by_child("steer refused")
    await work.sees(ev.Steer(number, ev.REFUSED, "listen", reason))
    await child.answer_and_exit("did not")
    assert comparable(await work.result()) == answered("closed", "did not")


async def test_a_message_that_was_not_read_in_time_is_refused_and_withdrawn(
    place: Workplace,
) -> None:
    """pi would keep it for the next task."""
    work = place.delegate_by_api("quick")
    child = await place.child("quick")
    number = steer(place, child, "wait")
    await child.do("hear", command="steer")
    await child.say("done already")
    await child.settle()
    await work.sees(ev.Steer(number, ev.REFUSED, "wait", core_messages.STEER_TOO_LATE))
    assert await child.do("queue") == {"queue": []}
    late = steer(place, child, "hello?")
    await work.sees(ev.Steer(late, ev.REFUSED, "hello?", core_messages.STEER_TOO_LATE))
    assert await child.do("queue") == {"queue": []}
    await child.exit(0)
    assert comparable(await work.result()) == answered("quick", "done already")


async def test_a_message_to_a_child_that_is_being_stopped_is_refused(place: Workplace) -> None:
    work = place.delegate_by_api("leaving")
    child = await place.child("leaving")
    await child.do("ignore", command="abort")
    work.stop()
    await child.do("hear", command="abort")
    number = steer(place, child, "stay")
    await work.sees(ev.Steer(number, ev.REFUSED, "stay", core_messages.STEER_NOT_ANY_MORE))
    assert await child.do("queue") == {"queue": []}
    assert (await work.result()).status == "aborted"


@pytest.mark.parametrize("number", ["", "0", "../prompt.md", "f" * 16])
async def test_a_message_that_is_not_there_is_refused(place: Workplace, number: str) -> None:
    work = place.delegate_by_api("patient")
    child = await place.child("patient")
    assert send(place.run_dir(child).desk, f"steer {number}")
    unreadable = supervisor_messages.STEER_UNREADABLE
    await work.sees(ev.Steer(number, ev.REFUSED, "", unreadable))
    await child.answer_and_exit("done")
    assert comparable(await work.result()) == answered("patient", "done")


@in_json_mode
async def test_a_child_in_json_mode_takes_no_messages(place: Workplace) -> None:
    work = place.delegate_by_api("one way")
    child = await place.child("one way")
    number = steer(place, child, "hello")
    refused = ev.Steer(number, ev.REFUSED, "hello", pi_messages.STEER_JSON_MODE)
    await work.sees(refused)
    await child.answer_and_exit("done")
    assert comparable(await work.result()) == answered("one way", "done")


async def test_a_child_near_its_time_out_is_told_to_finish(place: Workplace) -> None:
    work = place.delegate("slow", timeout_s=60, wrap_up_s=59.9)
    child = await place.child("slow")
    assert await child.take_steer() == core_messages.WRAP_UP
    await work.sees(ev.Steer(ev.WRAP_UP, ev.DELIVERED, core_messages.WRAP_UP))
    await child.answer_and_exit("as far as I came")
    assert comparable(await work.result()) == answered("slow", "as far as I came", message_count=3)

"""Sessions go on: the same id, another run, everything said before, and never two at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes import canary

from pi_subagents import Task
from pi_subagents.api import call_tool, delegate
from pi_subagents.core.value import replace
from pi_subagents.engines.pi.messages import SESSION_IS_EMPTY
from pi_subagents.errors import ResumedTwice, ResumeNotFound, ResumeStillRunning
from pi_subagents.service import messages
from pi_subagents.service.runs import Runs
from pi_subagents.service.sessions import refuse_if_resumed_elsewhere

if TYPE_CHECKING:
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Delegating, Workplace

    from pi_subagents.core.run.result import RunResult


async def begun(place: Workplace, task: Task) -> tuple[Delegating, FakeProcess]:
    """Start one task and return it with its child."""
    index = len(place.driver.children)
    return place.delegate_by_api(task), await place.driver.next_child(index)


async def answered(place: Workplace, prompt: str, answer: str, **more: str) -> RunResult:
    """Run one task to its end."""
    work, child = await begun(place, Task("work", prompt, **more))  # type: ignore[arg-type]  # fields by name, of many types
    await child.answer_and_exit(answer)
    return await work.result()


async def transcript(place: Workplace, session_id: str) -> tuple[str, dict[str, object]]:
    answer = await call_tool(
        "get_subagent_session", {"sessionId": session_id}, cwd=place.project, env=place.env
    )
    content, details = answer["content"], answer["details"]
    assert isinstance(content, list)
    assert isinstance(details, dict)
    return content[0]["text"], details


async def test_a_session_goes_on_under_its_id_with_what_was_said(place: Workplace) -> None:
    first = await answered(place, "Count.", "Seven.")
    work, child = await begun(place, Task("again", "Twice that.", resume=first.session_id))
    assert place.run_dir(child).prompt.read_text() == (
        "Previously:\n\n--- Run 1 (completed, 2 messages) ---\nUser: Count.\nAssistant: Seven."
        "\n\nInstructions:\n\nTwice that."
    )
    await child.answer_and_exit("Fourteen.")
    second = await work.result()
    assert second.session_id == first.session_id
    assert second.run_id != first.run_id
    text, details = await transcript(place, first.session_id)
    assert text == (
        "=== Run 1/2 (completed) ===\nCount.\n---\nSeven.\n---\n"
        "=== Run 2/2 (completed) ===\nTwice that.\n---\nFourteen."
    )
    assert (details["runCount"], details["messageCount"], details["taskName"]) == (2, 4, "again")


async def test_what_was_told_of_earlier_runs_is_not_told_again(place: Workplace) -> None:
    """reference-faults 5: replays of replays doubled the prompt each time."""
    session = (await answered(place, "Task 0.", "Answer 0.")).session_id
    for number in range(1, 4):
        await answered(place, f"Task {number}.", f"Answer {number}.", resume=session)
    work, child = await begun(place, Task("last", "Task 4.", resume=session))
    prompt = place.run_dir(child).prompt.read_text()
    assert [prompt.count(f"Task {n}.") for n in range(5)] == [1] * 5
    assert prompt.count("Previously:") == 1
    await child.answer_and_exit("Answer 4.")
    await work.result()


async def test_a_task_that_never_began_can_be_resumed_too(place: Workplace) -> None:
    (failed,) = (
        await delegate([Task("t", "Count.", profile="nope")], cwd=place.project, env=place.env)
    ).results
    assert failed.error_message == messages.unknown_profile("nope", (canary.PROFILE,))
    work, child = await begun(place, Task("t", "Now really.", resume=failed.session_id))
    assert place.run_dir(child).prompt.read_text() == (
        "Previously:\n\n--- Run 1 (error, 0 messages) ---\nUser: Count.\n"
        f"Error: {failed.error_message}\n\nInstructions:\n\nNow really."
    )
    await child.answer_and_exit("Seven.")
    assert (await work.result()).session_id == failed.session_id


async def test_one_session_cannot_go_on_in_two_tasks_of_a_call(place: Workplace) -> None:
    """reference-faults 27: both would have written into one record."""
    session = (await answered(place, "Count.", "Seven.")).session_id
    before = place.run_dirs()
    tasks = [Task("a", "x", resume=session), Task("b", "y", resume=session)]
    with pytest.raises(ResumedTwice) as refusal:
        await place.delegate_by_api(*tasks).results()
    assert str(refusal.value) == (
        f'Cannot resume: session "{session}" is named by two tasks. '
        "Give each session to one task only."
    )
    assert place.run_dirs() == before


async def test_a_session_that_is_not_there_refuses_the_whole_call(place: Workplace) -> None:
    for unknown in ("a1b2c3d4e5f6a7b8", "../x", "\0"):
        with pytest.raises(ResumeNotFound):
            await place.delegate_by_api("fine", Task("a", "x", resume=unknown)).results()
    assert place.run_dirs() == []


async def test_a_session_that_runs_is_not_begun_again(place: Workplace) -> None:
    work = place.delegate_by_api("slow")
    child = await place.child("slow")
    session = place.run_dir(child).read_meta()["sessionId"]
    assert isinstance(session, str)
    with pytest.raises(ResumeStillRunning):
        await place.delegate_by_api(Task("a", "x", resume=session)).results()
    await child.answer_and_exit("done")
    await work.result()
    assert len(place.run_dirs()) == 1


async def test_of_two_who_resume_at_once_none_runs_beside_the_other(place: Workplace) -> None:
    session = (await answered(place, "Count.", "Seven.")).session_id
    attempts = [place.delegate_by_api(Task("a", f"go {n}", resume=session)) for n in range(4)]
    outcomes = asyncio.gather(*(each.work for each in attempts), return_exceptions=True)
    through = asyncio.create_task(place.driver.next_child(1))
    either: set[asyncio.Future[Any]] = {outcomes, through}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if through.done():  # one got through, and waits for its child's answer
        await through.result().answer_and_exit("done")
    through.cancel()
    refused = [each for each in await outcomes if isinstance(each, ResumeStillRunning)]
    assert len(refused) >= len(attempts) - 1
    begun_once = 1 + len(attempts) - len(refused)
    assert (len(place.run_dirs()), len(place.driver.children)) == (begun_once, begun_once)


async def test_somebody_elses_run_of_the_session_is_seen_after_planning(place: Workplace) -> None:
    session = (await answered(place, "Count.", "Seven.")).session_id
    work, child = await begun(place, Task("a", "go", resume=session))
    runs = Runs(place.project, place.env)
    (own,) = [run.spec for run in {u.run.spec.run_id: u.run for u in work.updates}.values()]
    refuse_if_resumed_elsewhere(runs, [own])
    with pytest.raises(ResumeStillRunning):
        refuse_if_resumed_elsewhere(runs, [replace(own, run_id="0" * 32)])
    await child.answer_and_exit("done")
    await work.result()


async def test_a_profile_that_is_left_behind_is_said(place: Workplace) -> None:
    first = await answered(place, "Count.", "Seven.")
    index = len(place.driver.children)
    task = Task("again", "More.", resume=first.session_id)
    work = place.delegate_by_api(task, profile=None)
    await (await place.driver.next_child(index)).answer_and_exit("Eight.")
    assert (await work.result()).notes == (
        messages.note_profile_left(canary.PROFILE),
        messages.note_retold(SESSION_IS_EMPTY),  # the fake keeps none
    )

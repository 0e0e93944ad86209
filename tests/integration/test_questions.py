"""Questions of children that wait for somebody: real supervisors, fake children in RPC mode."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.command import ENTRY
from tests.fakes.child_modes import JSON, in_rpc_mode
from tests.fakes.driver import PATIENCE_S

from pi_subagents import AnswerReport, Task, answer
from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.run.question import WaitingFor, waiting_to_json
from pi_subagents.core.value import replace
from pi_subagents.engines.pi import messages as pi_messages
from pi_subagents.errors import ActsInsideSubagent, AnswerTargetNotFound, ProfileRefused
from pi_subagents.service import messages
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Delegating, Workplace

pytestmark = in_rpc_mode

ASKING = Task("look", "look", questions="ask")
RIGHT = {"type": "extension_ui_response", "id": "dialog-1"}


class Asking:
    """A child that waits for an answer."""

    def __init__(self, place: Workplace, work: Delegating, child: FakeProcess) -> None:
        self.place, self.work, self.child = place, work, child
        self.heard: asyncio.Task[dict[str, Any] | None]

    async def asks(self, method: str, title: str, **more: object) -> Asking:
        self.heard = asyncio.create_task(self.child.ask_dialog(method, title, **more))
        await self.work.sees(ev.Asked)
        return self

    async def is_answered(self, text: str = "", question: str = "") -> AnswerReport:
        place = self.place
        return await answer(
            self.child.run_id, text, question=question, cwd=place.project, env=place.env
        )

    async def ends(self) -> None:
        await self.child.answer_and_exit("Done.")
        await self.work.result()

    def report(self, status: str, reason: str = "") -> AnswerReport:
        session = Runs(self.place.project, self.place.env).find(self.child.run_id).session_id
        return AnswerReport(self.child.run_id, session, "look", status, reason, called="look")  # type: ignore[arg-type]  # one of them


async def at_work(place: Workplace) -> Asking:
    work = place.delegate_by_api(ASKING)
    return Asking(place, work, await place.child("look"))


async def printed_by(place: Workplace, *verb: str) -> Any:
    ran = await asyncio.create_subprocess_exec(
        *ENTRY, *verb, "--json", cwd=place.project, env=place.env, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(PATIENCE_S):
        out, _ = await ran.communicate()
    return json.loads(out)


@pytest.mark.parametrize(
    ("method", "more", "typed", "answered"),
    [
        ("confirm", {"message": "Really?"}, "y", {"confirmed": True}),
        ("confirm", {}, "2", {"confirmed": False}),
        ("select", {"options": ["red", "green"]}, "2", {"value": "green"}),
        ("select", {"options": ["red", "green"]}, " Red ", {"value": "red"}),
        ("select", {"options": ["2", "1"]}, "1", {"value": "1"}),
        ("input", {"placeholder": "a name"}, "1\x1b[2J\x00\n'; rm -rf / #", None),
        ("editor", {"prefill": "old"}, "new\nlines", None),
    ],
)
async def test_what_somebody_answers_reaches_the_child(
    place: Workplace, method: str, more: dict[str, object], typed: str, answered: dict[str, object]
) -> None:
    run = await at_work(place)
    await run.asks(method, "Which one?", **more)
    assert await run.is_answered(typed) == run.report("given")
    assert await run.heard == {**RIGHT, **(answered or {"value": typed})}
    await run.ends()


async def test_a_question_is_shown_by_everything_that_reads_the_run(place: Workplace) -> None:
    run = await (await at_work(place)).asks("select", "Which one?", options=["red", "green"])
    record = Runs(place.project, place.env).find("look")
    waiting = record.waiting_for
    assert (record.status, record.active) == ("running", True)
    assert waiting is not None
    assert waiting == WaitingFor(waiting.until_ms, "Which one?", ("red", "green"), "1")
    shown = await run.is_answered()
    assert (shown.status, shown.waiting_for) == ("asked", waiting)
    assert shown.text == "look asks:\nWhich one?\n1. red\n2. green"
    for verb in (("runs",), ("show", "look"), ("sessions",)):
        printed = await printed_by(place, *verb)
        found = {"runs": "runs", "sessions": "sessions"}.get(verb[0])
        (told,) = printed[found] if found else (printed,)
        assert told["waitingFor"] == waiting_to_json(waiting)
    await run.is_answered("green")
    assert Runs(place.project, place.env).find("look").waiting_for is None
    await run.heard
    await run.ends()
    transcript = place.run_dir(run.child).transcript.read_text()
    assert "Asks: Which one?" in transcript
    assert "Answered: green" in transcript


async def test_a_person_who_cannot_be_asked_leaves_the_question_to_others(place: Workplace) -> None:
    told = asyncio.Queue[str]()

    async def fails(_: object) -> str | None:
        raise OSError("no screen")

    work = place.delegate_by_api(ASKING, on_question=fails, on_notice=told.put_nowait)
    run = await Asking(place, work, await place.child("look")).asks("input", "Which one?")
    async with asyncio.timeout(PATIENCE_S):
        while (notice := await told.get()) != messages.not_asked("look", "no screen"):
            assert notice
    assert (await run.is_answered("red")).status == "given"
    await run.heard
    await run.ends()


async def test_what_is_no_option_is_refused_and_the_question_stays(place: Workplace) -> None:
    run = await (await at_work(place)).asks("select", "Which one?", options=["red", "green"])
    refused = await run.is_answered("3")
    assert (refused.status, refused.reason) == (
        "refused",
        run_messages.not_an_option(("red", "green")),
    )
    assert refused.waiting_for is not None
    assert (await run.is_answered("1")).status == "given"
    await run.heard
    await run.ends()


async def test_the_first_answer_counts_and_the_second_is_told(place: Workplace) -> None:
    run = await (await at_work(place)).asks("input", "Which one?")
    both = await asyncio.gather(run.is_answered("red"), run.is_answered("green"))
    given = [each for each in both if each.status == "given"]
    late = [each.reason for each in both if each.status == "refused"]
    assert len(given) == 1
    assert late in ([run_messages.ANSWER_TOO_LATE], [messages.ASKS_NOTHING])
    heard = await run.heard
    assert heard is not None
    assert heard["value"] in ("red", "green")
    again = await run.is_answered("blue", question="1")
    assert again == run.report("refused", run_messages.ANSWER_TOO_LATE)
    await run.ends()


async def test_without_an_answer_in_time_the_child_is_told(place: Workplace) -> None:
    place.settings(answer_within=1)
    run = await (await at_work(place)).asks("input", "Which one?")
    assert await run.heard == {**RIGHT, "cancelled": True}
    await run.work.sees(ev.Replied("1", ev.UNANSWERED, "", run_messages.NOBODY_ANSWERED))
    assert (await run.is_answered("red")).reason == messages.ASKS_NOTHING
    await run.ends()


async def test_a_dialog_that_closes_by_itself_is_waited_for_no_longer(place: Workplace) -> None:
    run = await (await at_work(place)).asks("input", "Which one?", timeout=1)
    assert await run.heard == {**RIGHT, "cancelled": True}
    await run.ends()


async def test_an_answer_after_the_end_is_refused_with_how_to_go_on(place: Workplace) -> None:
    run = await (await at_work(place)).asks("input", "Which one?")
    await run.is_answered("red")
    await run.heard
    await run.ends()
    refused = await run.is_answered("green")
    reason = messages.steer_after_end("completed", refused.session_id)
    assert refused == run.report("refused", reason)


async def test_who_asks_nothing_takes_no_answer(place: Workplace) -> None:
    run = await at_work(place)
    assert await run.is_answered("red") == run.report("refused", messages.ASKS_NOTHING)
    with pytest.raises(AnswerTargetNotFound):
        await answer("nobody", "red", cwd=place.project, env=place.env)
    await run.ends()


async def test_nobody_answers_from_inside_a_sub_agent(place: Workplace) -> None:
    run = await (await at_work(place)).asks("input", "Which one?")
    inside = {**place.env, "PI_SUBAGENTS_CHILD": "1"}
    with pytest.raises(ActsInsideSubagent):
        await answer(run.child.run_id, "red", cwd=place.project, env=inside)
    assert (await answer(run.child.run_id, cwd=place.project, env=inside)).status == "asked"
    await run.is_answered("red")
    await run.heard
    await run.ends()


async def test_a_stop_does_not_wait_for_an_answer(place: Workplace) -> None:
    run = await (await at_work(place)).asks("input", "Which one?")
    run.work.stop()
    closed = ev.Replied("1", ev.UNANSWERED, "", core_messages.STEER_NOT_ANY_MORE)
    await run.work.sees(closed)
    result = await run.work.result()
    assert result.status == "aborted"
    run.heard.cancel()


async def test_where_nothing_may_be_asked_a_dialog_is_dismissed(place: Workplace) -> None:
    work = place.delegate_by_api(replace(ASKING, questions=None))
    child = await place.child("look")
    assert await child.ask_dialog("input", "Which one?") == {**RIGHT, "cancelled": True}
    await work.sees(ev.Note(pi_messages.note_dialog("input", "Which one?")))
    await child.answer_and_exit("Done.")
    await work.result()


@pytest.mark.child_modes(JSON)
async def test_in_json_mode_a_task_that_asks_is_refused_by_name(place: Workplace) -> None:
    with pytest.raises(ProfileRefused, match="nobody can be asked where"):
        async with asyncio.timeout(PATIENCE_S):
            await place.delegate_by_api(ASKING).work

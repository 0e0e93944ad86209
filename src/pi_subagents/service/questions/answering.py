"""
Answer a question of a run at work, and find out whether the answer was the first.

A run is found by any of its names, wherever it lives and whoever started it.  What it asks is read
from its desk.  The answer is put there too, its supervisor is told, and the journal is followed
until it holds what became of it or the run is over.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core.parameters import optional_text
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.run.answering import (
    ANSWER_WAIT_S,
    AnswerReport,
    AnswerRequest,
    checked_answer,
)
from pi_subagents.core.run.spec import ANSWER
from pi_subagents.core.value import replace
from pi_subagents.errors import AnswerTargetNotFound, RunNotFound
from pi_subagents.service import messages
from pi_subagents.service.following import follow, is_over
from pi_subagents.service.inside import refuse_inside_subagent
from pi_subagents.store.orders import send
from pi_subagents.store.run_records import directory_of
from pi_subagents.system.own_thread import in_thread_until
from pi_subagents.view.states import state_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.core.run.question import WaitingFor
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.service.runs import Runs


async def answer(
    session_id: str,
    text: str = "",
    *,
    question: str = "",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stop: StopSwitch | None = None,
) -> AnswerReport:
    """Answer a sub-agent's question, by its session's id or its run's; without text, show it."""
    from pi_subagents.service.call import checked_place, runs_of, switch_of

    options = checked_place(cwd, env, stop)
    said = optional_text("text", text)
    request = AnswerRequest(
        optional_text("session_id", session_id) or "",
        checked_answer(said) if said else "",
        optional_text("question", question) or "",
    )
    return await answer_run(request, runs_of(options), switch_of(options))


async def answer_run(request: AnswerRequest, runs: Runs, stop: StopSwitch) -> AnswerReport:
    """Do so for a checked request; throwing the switch ends the wait."""
    return await in_thread_until(stop, "answering", partial(answer_now, request, runs))


def answer_now(
    request: AnswerRequest, runs: Runs, give_up: threading.Event | None = None
) -> AnswerReport:
    """Do so in this thread."""
    if request.text:
        refuse_inside_subagent(runs.env)
    try:
        run = runs.find(request.any_id)
    except RunNotFound:
        raise AnswerTargetNotFound(request.any_id) from None
    refused = AnswerReport(run.run_id, run.session_id, run.name, "refused", called=run.title)
    if not run.active:
        reason = messages.steer_after_end(state_of(run).word, run.session_id)
        return replace(refused, reason=reason)
    run_dir = directory_of(run)
    waiting = _wanted(run_dir.desk.questions(), request.question)
    if waiting is None:
        reason = run_messages.ANSWER_TOO_LATE if request.question else messages.ASKS_NOTHING
        return replace(refused, reason=reason, waiting_for=run.question)
    if not request.text:
        return replace(refused, status="asked", waiting_for=waiting)
    try:
        if run_dir.desk.is_remote():
            from pi_subagents.service.cluster.ordering import tell_worker

            said = {"question": waiting.id, "text": request.text}
            number, heard = tell_worker(runs, run_dir, ANSWER, **said), True
        else:
            number = run_dir.desk.write_reply(waiting.id, request.text)
            heard = send(run_dir.desk, f"{ANSWER} {number}")
    except OSError as error:
        return replace(refused, reason=messages.answer_not_kept(str(error)))
    if not heard and not is_over(run_dir):
        run_dir.desk.remove_reply(number)
        return replace(refused, reason=messages.STEER_NOBODY_LISTENS)
    found = follow(
        run_dir,
        lambda event: isinstance(event, ev.Replied) and event.reply == number,
        time.monotonic() + ANSWER_WAIT_S,
        give_up or threading.Event(),
        runs,
    )
    if isinstance(found, ev.Replied) and found.status == ev.GIVEN:
        return replace(refused, status="given")
    reason = found.reason if isinstance(found, ev.Replied) else run_messages.ANSWER_TOO_LATE
    still = _wanted(run_dir.desk.questions(), "")
    return replace(refused, reason=reason, waiting_for=still)


def _wanted(questions: tuple[WaitingFor, ...], wanted: str) -> WaitingFor | None:
    """Return the question of that id; where none was named, the one that waits longest."""
    return next((each for each in questions if wanted in ("", each.id)), None)

"""
Send a message to an active run, and find out what became of it.

A run is found by any of its names, wherever it lives and whoever started it.  What can
be refused is refused before anything is written; then the run's journal is followed until it holds
the answer, until the run is over, or as long as the caller wants to wait.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.parameters import optional_text, seconds
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.record import PLANNED
from pi_subagents.core.run.spec import STEER
from pi_subagents.core.run.steer import (
    DEFAULT_WAIT_S,
    MAX_WAIT_S,
    Steered,
    SteerRequest,
    checked_message,
)
from pi_subagents.core.value import replace
from pi_subagents.engines.table import engine_of_record
from pi_subagents.errors import RunNotFound, SteerTargetNotFound
from pi_subagents.service import messages
from pi_subagents.service.following import follow, is_over
from pi_subagents.service.inside import refuse_inside_subagent
from pi_subagents.store.orders import send
from pi_subagents.store.run_records import directory_of
from pi_subagents.system.own_thread import in_thread_until
from pi_subagents.view.states import state_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.run.steer import SteerStatus
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.service.runs import Runs
    from pi_subagents.store.run_dir import RunDir


async def steer(
    session_id: str,
    message: str,
    *,
    wait_seconds: float = DEFAULT_WAIT_S,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stop: StopSwitch | None = None,
) -> Steered:
    """Send a message to a sub-agent at work, by its session's id or its run's."""
    from pi_subagents.service.call import checked_place, runs_of, switch_of  # most steer by a tool

    wait_s = seconds("wait_seconds", wait_seconds, 0, MAX_WAIT_S)
    text = checked_message(optional_text("message", message) or "")
    options = checked_place(cwd, env, stop)
    request = SteerRequest(optional_text("session_id", session_id) or "", text, wait_s)
    return await steer_run(request, runs_of(options), switch_of(options))


async def steer_run(request: SteerRequest, runs: Runs, stop: StopSwitch) -> Steered:
    """Do so for a checked request; throwing the switch ends the wait."""
    refuse_inside_subagent(runs.env)
    return await in_thread_until(stop, "steering", partial(_steer, request, runs))


def _steer(request: SteerRequest, runs: Runs, give_up: threading.Event) -> Steered:
    deadline = time.monotonic() + request.wait_s
    try:
        run = runs.find(request.any_id)
    except RunNotFound:
        raise SteerTargetNotFound(request.any_id) from None
    refused = Steered(
        run.run_id, run.session_id, run.name, "refused", _refusal(run), called=run.title
    )
    if refused.reason:
        return refused
    run_dir = directory_of(run)
    try:
        if run_dir.desk.is_remote():
            from pi_subagents.service.cluster.ordering import tell_worker

            number, heard = tell_worker(runs, run_dir, STEER, text=request.message), True
        else:
            number = run_dir.desk.write_steer(request.message)
            heard = send(run_dir.desk, f"{STEER} {number}")
    except OSError as error:
        return replace(refused, reason=messages.steer_not_kept(str(error)))
    # Where nobody listens yet, whoever begins to do so finds the message.
    if not heard and run.status != PLANNED and not is_over(run_dir):
        with suppress(OSError):
            run_dir.desk.steer_text(number).unlink()
        return replace(refused, reason=messages.STEER_NOBODY_LISTENS)
    event = follow(
        run_dir,
        lambda each: isinstance(each, ev.Steer) and each.number == number,
        deadline,
        give_up,
        runs,
    )
    if isinstance(event, ev.Steer):
        status: SteerStatus = "delivered" if event.status == ev.DELIVERED else "refused"
        return replace(refused, status=status, reason=event.reason)
    if is_over(run_dir):
        return replace(refused, reason=core_messages.STEER_TOO_LATE)
    waits_for = (
        messages.STEER_AFTER_THIS_STEP if _has_begun(run_dir) else messages.STEER_AT_ITS_START
    )
    return replace(refused, status="accepted", reason=waits_for)


def _refusal(run: RunRecord) -> str:
    """Return why a run takes no messages, or an empty text."""
    if not run.active:
        return messages.steer_after_end(state_of(run).word, run.session_id)
    return engine_of_record(run.meta.engine).why_no_steering(run.meta.child_mode)


def _has_begun(run_dir: RunDir) -> bool:
    with suppress(OSError, ValueError):
        return "startedAt" in run_dir.read_meta()
    return False

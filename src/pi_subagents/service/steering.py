"""
Send a message to an active run, and find out what became of it.

A run is found by its session's id or its own, wherever it lives and whoever started it.  What can
be refused is refused before anything is written; then the run's journal is followed until it holds
the answer, until the run is over, or as long as the caller wants to wait.
"""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.parameters import seconds
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
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.value import replace
from pi_subagents.engines.table import load_engine
from pi_subagents.errors import RunNotFound, SteerTargetNotFound
from pi_subagents.service import messages
from pi_subagents.service.runs import Runs
from pi_subagents.store.orders import send
from pi_subagents.store.run_records import directory_of
from pi_subagents.store.tails import JournalTail
from pi_subagents.system.own_thread import in_own_thread

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.run.steer import SteerStatus
    from pi_subagents.store.run_dir import RunDir

LOOK_S = 0.05  # between two looks at the journal


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
    wait_s = seconds("wait_seconds", wait_seconds, 0, MAX_WAIT_S)
    request = SteerRequest(session_id, checked_message(message), wait_s)
    return await steer_run(request, Runs(cwd, env), stop or StopSwitch())


async def steer_run(request: SteerRequest, runs: Runs, stop: StopSwitch) -> Steered:
    """Do so for a checked request; throwing the switch ends the wait."""
    give_up = threading.Event()
    leave = stop.listen(lambda _level: give_up.set())
    try:
        return await in_own_thread("steering", partial(_steer, request, runs, give_up))
    except asyncio.CancelledError:
        give_up.set()
        raise
    finally:
        leave()


def _steer(request: SteerRequest, runs: Runs, give_up: threading.Event) -> Steered:
    deadline = time.monotonic() + request.wait_s
    try:
        run = runs.find_any(request.any_id)
    except RunNotFound:
        raise SteerTargetNotFound(request.any_id) from None
    refused = Steered(run.run_id, run.session_id, run.name, "refused", _refusal(run))
    if refused.reason:
        return refused
    run_dir = directory_of(run)
    try:
        number = run_dir.desk.write_steer(request.message)
        heard = send(run_dir.desk, f"{STEER} {number}")
    except OSError as error:
        return replace(refused, reason=messages.steer_not_kept(str(error)))
    # Where nobody listens yet, whoever begins to do so finds the message.
    if not heard and run.status != PLANNED and not _is_over(run_dir):
        with suppress(OSError):
            run_dir.desk.steer_text(number).unlink()
        return replace(refused, reason=messages.STEER_NOBODY_LISTENS)
    if event := _follow(run_dir, number, deadline, give_up):
        status: SteerStatus = "delivered" if event.status == ev.DELIVERED else "refused"
        return replace(refused, status=status, reason=event.reason)
    if _is_over(run_dir):
        return replace(refused, reason=core_messages.STEER_TOO_LATE)
    waits_for = (
        messages.STEER_AFTER_THIS_STEP if _has_begun(run_dir) else messages.STEER_AT_ITS_START
    )
    return replace(refused, status="accepted", reason=waits_for)


def _refusal(run: RunRecord) -> str:
    """Return why a run takes no messages, or an empty text."""
    if not run.active:
        return messages.steer_after_end(run.status, run.session_id)
    return load_engine(run.meta.engine).why_no_steering(run.meta.child_mode)


def _follow(
    run_dir: RunDir, number: str, deadline: float, give_up: threading.Event
) -> ev.Steer | None:
    """Return what the journal holds of a message, or None once the wait is over."""
    tail = JournalTail(run_dir)
    try:
        while True:
            over = _is_over(run_dir)  # its last word is in the journal then
            with suppress(OSError):
                for entry in tail.new_entries():
                    if isinstance(entry.event, ev.Steer) and entry.event.number == number:
                        return entry.event
            left = deadline - time.monotonic()
            if over or left <= 0 or give_up.is_set():
                return None
            give_up.wait(min(left, LOOK_S))
    finally:
        tail.close()


def _is_over(run_dir: RunDir) -> bool:
    return not run_dir.alive() or run_dir.never_began()


def _has_begun(run_dir: RunDir) -> bool:
    with suppress(OSError, ValueError):
        return "startedAt" in run_dir.read_meta()
    return False

"""
Give a run that goes on a message, and learn what became of it.

A run is found by its session's id or its own, wherever it lives and whoever started it.  What can
be refused is refused before anything is written; then the run's journal is followed until it tells
of the message, until the run is over, or as long as somebody wants to wait.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core.parameters import seconds
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
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
from pi_subagents.store.journal_tail import JournalTail
from pi_subagents.store.orders import send
from pi_subagents.store.run_records import directory_of
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
    """Give a sub-agent at work a message, by its session's id or its run's."""
    wait_s = seconds("wait_seconds", wait_seconds, 0, MAX_WAIT_S)
    request = SteerRequest(session_id, checked_message(message), wait_s)
    return await steer_run(request, Runs(cwd, env), stop or StopSwitch())


async def steer_run(request: SteerRequest, runs: Runs, stop: StopSwitch) -> Steered:
    """Do so for a checked request; whoever throws the switch waits no longer."""
    patience = _Patience(request.wait_s)
    leave = stop.listen(lambda _level: patience.give_up())
    try:
        return await in_own_thread("steering", partial(_steer, request, runs, patience))
    except asyncio.CancelledError:
        patience.give_up()
        raise
    finally:
        leave()


class _Patience:
    """How long to go on looking; any thread may end that."""

    def __init__(self, wait_s: float) -> None:
        self._deadline = time.monotonic() + wait_s
        self._given_up = threading.Event()

    def give_up(self) -> None:
        self._given_up.set()

    def wait(self) -> bool:
        """Wait until it is time for another look; not any more, if the time is up."""
        left = self._deadline - time.monotonic()
        if left <= 0 or self._given_up.is_set():
            return False
        self._given_up.wait(min(left, LOOK_S))
        return True


def _steer(request: SteerRequest, runs: Runs, patience: _Patience) -> Steered:
    run = _find(runs, request.any_id)
    asked = Steered(
        run_id=run.run_id,
        session_id=run.session_id,
        name=run.name,
        status="refused",
        reason=_refusal(run),
    )
    return asked if asked.reason else _hand_over(request.message, run, asked, patience)


def _find(runs: Runs, any_id: str) -> RunRecord:
    """Return the run that is meant: of a session the one that goes on, or its latest."""
    found: list[RunDir] = []
    with suppress(sqlite3.Error, OSError):
        found = [run.now() for run in runs.index.of_session(any_id)]
    there = [run for run in found if run.is_there()]
    wanted = [run for run in there if run.alive()] or there
    try:
        return runs.find(wanted[-1].run_id if wanted else any_id)
    except RunNotFound:
        raise SteerTargetNotFound(any_id) from None


def _refusal(run: RunRecord) -> str:
    """Return why a run can be told nothing, or an empty text."""
    if not run.active:
        return messages.steer_after_end(run.status, run.session_id)
    return load_engine(run.meta.engine).why_no_steering(run.meta.child_mode)


def _hand_over(message: str, run: RunRecord, asked: Steered, patience: _Patience) -> Steered:
    run_dir = directory_of(run)
    try:
        number = run_dir.desk.write_steer(message)
        heard = send(run_dir.desk, f"{STEER} {number}")
    except OSError as error:
        return replace(asked, reason=messages.steer_not_kept(str(error)))
    # Where nobody listens yet, whoever begins to do so finds the message.
    if not heard and run.status != PLANNED and not _is_over(run_dir):
        with suppress(OSError):
            run_dir.desk.steer_text(number).unlink()
        return replace(asked, reason=messages.STEER_NOBODY_LISTENS)
    told = _follow(run_dir, number, patience)
    if told is not None:
        status: SteerStatus = "delivered" if told.status == ev.DELIVERED else "refused"
        return replace(asked, status=status, reason=told.reason)
    if _is_over(run_dir):
        return replace(asked, reason=run_messages.STEER_TOO_LATE)
    waits_for = (
        messages.STEER_AFTER_THIS_STEP if _has_begun(run_dir) else messages.STEER_AT_ITS_START
    )
    return replace(asked, status="accepted", reason=waits_for)


def _follow(run_dir: RunDir, number: str, patience: _Patience) -> ev.Steer | None:
    """Return what the journal tells of a message, or None if nobody waits for it any more."""
    tail = JournalTail(run_dir)
    try:
        while True:
            over = _is_over(run_dir)  # its last word is in the journal then
            with suppress(OSError):
                for entry in tail.new_entries():
                    if isinstance(entry.event, ev.Steer) and entry.event.number == number:
                        return entry.event
            if over or not patience.wait():
                return None
    finally:
        tail.close()


def _is_over(run_dir: RunDir) -> bool:
    return not run_dir.alive() or run_dir.never_began()


def _has_begun(run_dir: RunDir) -> bool:
    with suppress(OSError, ValueError):
        return "startedAt" in run_dir.read_meta()
    return False

"""
The composition root of steering: give a run that goes on a message, and learn what became of it.

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

from pi_subagents import child_messages
from pi_subagents.core import events as ev
from pi_subagents.core.parameters import seconds
from pi_subagents.core.run_spec import RPC_MODE, STEER
from pi_subagents.core.steer import (
    DEFAULT_WAIT_S,
    MAX_WAIT_S,
    Steered,
    SteerRequest,
    checked_message,
)
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.value import replace
from pi_subagents.disk.file_news import FileNews
from pi_subagents.disk.journal_tail import JournalTail
from pi_subagents.disk.orders import send
from pi_subagents.errors import RunNotFound, SteerTargetNotFound
from pi_subagents.fleet import ENDING, SUSPECT_LOOKS, SUSPECT_S
from pi_subagents.procs.own_thread import in_own_thread
from pi_subagents.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.core.steer import SteerStatus
    from pi_subagents.delegation.run_view import RunView
    from pi_subagents.disk.run_dir import RunDir
    from pi_subagents.disk.run_index import IndexedRun


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
    ears = _Ears(request.wait_s)
    leave = stop.listen(lambda _level: ears.give_up())
    try:
        return await in_own_thread("steering", partial(_steer, request, runs, ears))
    except asyncio.CancelledError:
        ears.give_up()
        raise
    finally:
        leave()


class _Ears:
    """Hear that a run's directory changed, for so long; any thread may end that."""

    def __init__(self, wait_s: float) -> None:
        self._deadline = time.monotonic() + wait_s
        self._news: FileNews | None = None  # opened and closed by the thread that waits
        self._given_up = threading.Event()
        self._looks = 0  # how often to look again at a run whose files were just closed

    def listen_to(self, run_dir: RunDir) -> None:
        self._news = FileNews()
        self._news.watch(run_dir.path)

    def give_up(self) -> None:
        self._given_up.set()  # first: who opens news from now on sees it before he waits
        if self._news is not None:
            self._news.wake()

    def close(self) -> None:
        if self._news is not None:
            self._news.close()

    def wait(self) -> bool:
        """Tell whether there may be something to see; not any more, if the time is up."""
        left = self._deadline - time.monotonic()
        if left <= 0 or self._given_up.is_set():
            return False
        assert self._news is not None
        # The kernel tells of a dying supervisor's files before it lets go of its lock.
        news = self._news.wait(min(left, SUSPECT_S) if self._looks else left)
        ending = any(each.kind == "closed" and each.name in ENDING for each in news.changes)
        self._looks = SUSPECT_LOOKS if ending else max(self._looks - 1, 0)
        return True


def _steer(request: SteerRequest, runs: Runs, ears: _Ears) -> Steered:
    try:
        view = _find(runs, request.any_id)
        asked = Steered(
            run_id=view.run_dir.run_id,
            session_id=view.text("sessionId"),
            name=view.text("name"),
            status="refused",
            reason=_refusal(view),
        )
        if asked.reason:
            return asked
        ears.listen_to(view.run_dir)  # before it can have news for us
        return _hand_over(request.message, view, asked, ears)
    finally:
        ears.close()


def _find(runs: Runs, any_id: str) -> RunView:
    """Return the run that is meant: of a session the one that goes on, or its latest."""
    rows: list[IndexedRun] = []
    with suppress(sqlite3.Error, OSError):
        rows = [row for row in runs.index.of_session(any_id) if row.run_dir.is_there()]
    wanted = [row for row in rows if row.run_dir.alive()] or rows
    try:
        return runs.find(wanted[-1].run_id if wanted else any_id)
    except RunNotFound:
        raise SteerTargetNotFound(any_id) from None


def _refusal(view: RunView) -> str:
    """Return why a run can be told nothing, or an empty text."""
    if not view.active:
        return child_messages.steer_after_end(view.status, view.text("sessionId"))
    return "" if view.text("childMode") == RPC_MODE else child_messages.STEER_JSON_MODE


def _hand_over(message: str, view: RunView, asked: Steered, ears: _Ears) -> Steered:
    run_dir = view.run_dir
    try:
        number = run_dir.desk.write_steer(message)
        heard = send(run_dir.desk, f"{STEER} {number}")
    except OSError as error:
        return replace(asked, reason=child_messages.steer_not_kept(str(error)))
    # Where nobody listens yet, whoever begins to do so finds the message.
    if not heard and view.status != "planned" and not _is_over(run_dir):
        with suppress(OSError):
            run_dir.desk.steer_text(number).unlink()
        return replace(asked, reason=child_messages.STEER_NOBODY_LISTENS)
    told = _follow(run_dir, number, ears)
    if told is not None:
        status: SteerStatus = "delivered" if told.status == ev.DELIVERED else "refused"
        return replace(asked, status=status, reason=told.reason)
    if _is_over(run_dir):
        return replace(asked, reason=child_messages.STEER_TOO_LATE)
    waits_for = (
        child_messages.STEER_AFTER_THIS_STEP
        if _has_begun(run_dir)
        else child_messages.STEER_AT_ITS_START
    )
    return replace(asked, status="accepted", reason=waits_for)


def _follow(run_dir: RunDir, number: str, ears: _Ears) -> ev.Steer | None:
    """Return what the journal tells of a message, or None if nobody waits for it any more."""
    tail = JournalTail(run_dir)
    try:
        while True:
            over = _is_over(run_dir)  # its last word is in the journal then
            with suppress(OSError):
                for entry in tail.new_entries():
                    if isinstance(entry.event, ev.Steer) and entry.event.number == number:
                        return entry.event
            if over or not ears.wait():
                return None
    finally:
        tail.close()


def _is_over(run_dir: RunDir) -> bool:
    return not run_dir.alive() or run_dir.never_began()


def _has_begun(run_dir: RunDir) -> bool:
    with suppress(OSError, ValueError):
        return "startedAt" in run_dir.read_meta()
    return False

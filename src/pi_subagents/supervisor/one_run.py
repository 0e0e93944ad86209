"""
One run in this process: its lock is acquired, it is supervised, and it has a result in any case.

In: a specification, and a child that served other runs where there is one.  Out: an exit code, and
the child if it may serve another.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run.outcome import Cause
from pi_subagents.core.run.result import RunResult
from pi_subagents.store.desk import SUPERVISOR, Desk
from pi_subagents.store.purses import close_purses, open_purses
from pi_subagents.store.rescue import put_result
from pi_subagents.store.run_dir import RunDir
from pi_subagents.supervisor import messages
from pi_subagents.supervisor.child import clear_desk
from pi_subagents.supervisor.intake import now_ms
from pi_subagents.supervisor.place import RunPlace
from pi_subagents.supervisor.supervisor import Supervisor
from pi_subagents.system import crash_points, process_tree
from pi_subagents.system.identity import identify

if TYPE_CHECKING:
    from pi_subagents.core.framing import Frame
    from pi_subagents.store.local_order import LocalOrder
    from pi_subagents.supervisor.child import Child
    from pi_subagents.supervisor.listener import Lifeline, Listener

DONE, NOT_OURS, FAILED = 0, 1, 3


def do_run(
    order: LocalOrder,
    early_commands: list[Frame],
    lifeline: Lifeline,
    listener: Listener,
    child: Child | None = None,
) -> tuple[int, Child | None]:
    """Do one run to its result; return an exit code, and the child if there is one left."""
    spec, desk = order.spec, Desk(Path(order.place.desk))
    lock = take_lock(order, desk)
    place = None
    try:
        if not _is_our_turn(desk):
            return NOT_OURS, child
        crash_points.reach(crash_points.LOCKED)
        place = RunPlace(RunDir(Path(order.place.run_dir), desk), order.place.dir_mark)
        try:
            place.purses = open_purses(order)
            supervisor = Supervisor(order, place, listener, child)
            lifeline.on_frames = supervisor.obey_caller
            lifeline.on_end = lambda: supervisor.stop(Cause.LIFELINE_LOST)
            if lifeline.lost:  # meanwhile, as the child before was released
                lifeline.on_end()
            kept = supervisor.run(early_commands)
        except Exception as error:  # noqa: BLE001 - else the run would end without a result
            process_tree.kill_tree(None, lambda _: None)
            failure = RunResult(
                run_id=spec.run_id,
                session_id=spec.session_id,
                name=spec.name,
                status="failed",
                error_message=messages.supervisor_failed(repr(error)),
                finished_at_ms=now_ms(),
            )
            result = place.keep_result(failure, None)
            put_result(order.place.envelope_fd, result)
            return FAILED, None
        if place.kept:  # else the process that looks next has to conclude it
            clear_desk(desk, kept)
        return DONE, kept
    finally:
        if place is not None:
            close_purses(place.purses)
            place.close()
        if order.place.envelope_fd is not None:
            os.close(order.place.envelope_fd)
        os.close(lock)


def _is_our_turn(desk: Desk) -> bool:
    """Return whether the run is to begin: it was not stopped before, no other supervisor had it."""
    try:
        if not desk.take_turn(SUPERVISOR):
            return False
        if (us := identify(os.getpid())) is not None:
            desk.note_supervisor(us.to_json())
    except OSError:  # nothing can be noted there, by any process
        return desk.turn() in ("", SUPERVISOR)
    return True


def take_lock(order: LocalOrder, desk: Desk) -> int:
    """Return the run's lock, held: handed down by the run's planner, else acquired here."""
    for inherited in (order.place.envelope_fd, order.place.lock_fd):
        if inherited is not None:
            os.set_inheritable(inherited, False)
    if order.place.lock_fd is not None:
        return order.place.lock_fd
    lock = os.open(desk.lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock

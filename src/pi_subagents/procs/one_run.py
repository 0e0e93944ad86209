"""
One run in this process: its lock is taken, it is supervised, and it has a result whatever happens.

In: a specification, and a child that served other runs where there is one.  Out: an exit code, and
the child if it may serve another.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core.outcome import Cause
from pi_subagents.core.run_result import RunResult
from pi_subagents.disk import crash_points
from pi_subagents.disk.desk import SUPERVISOR, Desk
from pi_subagents.disk.envelope import put_result
from pi_subagents.disk.run_dir import RunDir
from pi_subagents.procs import process_tree
from pi_subagents.procs.child_files import leave_desk
from pi_subagents.procs.identity import identify
from pi_subagents.procs.intake import now_ms
from pi_subagents.procs.place import Place
from pi_subagents.procs.supervisor import Supervisor

if TYPE_CHECKING:
    from pi_subagents.core.framing import Frame
    from pi_subagents.core.run_spec import RunSpec
    from pi_subagents.procs.child import Child
    from pi_subagents.procs.lifeline import Lifeline
    from pi_subagents.procs.listener import Listener

DONE, NOT_OURS, FAILED = 0, 1, 3


def do_run(
    spec: RunSpec,
    early_commands: list[Frame],
    lifeline: Lifeline,
    listener: Listener,
    child: Child | None = None,
) -> tuple[int, Child | None]:
    """Do one run to its result; return an exit code, and the child if there is one left."""
    desk = Desk(Path(spec.desk))
    lock = take_lock(spec, desk)
    place = None
    try:
        if not _is_our_turn(desk):
            return NOT_OURS, child
        crash_points.reach(crash_points.LOCKED)
        place = Place(RunDir(Path(spec.run_dir), desk), spec.dir_mark)
        try:
            supervisor = Supervisor(spec, place, listener, child)
            lifeline.on_frames = supervisor.obey_caller
            lifeline.on_end = lambda: supervisor.stop(Cause.LIFELINE_LOST)
            if lifeline.lost:  # meanwhile, as the child before was let go
                lifeline.on_end()
            kept = supervisor.run(early_commands)
        except Exception as error:  # noqa: BLE001 - the last line before a run would end untold
            process_tree.kill_tree(None, lambda _: None)
            result = place.keep_result(internal_failure(spec, repr(error)), None)
            put_result(spec.envelope_fd, result)
            return FAILED, None
        if place.kept:  # else whoever looks next has to conclude it
            leave_desk(desk, kept)
        return DONE, kept
    finally:
        if place is not None:
            place.close()
        if spec.envelope_fd is not None:
            os.close(spec.envelope_fd)
        os.close(lock)


def _is_our_turn(desk: Desk) -> bool:
    """Tell whether the run is to begin: it was not stopped before, no other supervisor had it."""
    try:
        if not desk.take_turn(SUPERVISOR):
            return False
        if (us := identify(os.getpid())) is not None:
            desk.note_supervisor(us.to_json())
    except OSError:  # nothing can be noted there, by nobody
        return desk.turn() in ("", SUPERVISOR)
    return True


def take_lock(spec: RunSpec, desk: Desk) -> int:
    """Return the run's lock, held: handed down by who planned the run, else taken here."""
    if spec.envelope_fd is not None:
        os.set_inheritable(spec.envelope_fd, False)
    if spec.lock_fd is not None:
        os.set_inheritable(spec.lock_fd, False)
        return spec.lock_fd
    lock = os.open(desk.lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def internal_failure(spec: RunSpec, reason: str) -> RunResult:
    """Return the result of a run whose supervisor itself failed."""
    return RunResult(
        run_id=spec.run_id,
        session_id=spec.session_id,
        name=spec.name,
        status="failed",
        error_message=messages.supervisor_failed(reason),
        finished_at_ms=now_ms(),
    )

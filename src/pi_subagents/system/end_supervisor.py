"""
End a supervisor that no longer responds, with everything below it.

In: its identity, more than a number.  Out: whether all of it is gone.  It is halted first: from
then on every process of its run stays below it until it is ended.
"""

from __future__ import annotations

import signal
import time

from pi_subagents.system.identity import (
    Identity,
    is_alive,
    newest_first,
    process_state,
    signal_proven,
)
from pi_subagents.system.process_tree import descendants, kill_exactly

SWEEP_LIMIT_S = 10.0
GONE_LIMIT_S = 5.0
CLEAN_LOOKS = 2
_PAUSE_S = 0.01
_DEAD = ("Z", "X")  # ended, and not yet reaped


def end_supervisor(supervisor: Identity) -> bool:
    """End exactly that process and what it started; return whether nothing of it is left."""

    def is_it() -> bool:
        return is_alive(supervisor)

    if not signal_proven(supervisor.pid, is_it, signal.SIGSTOP):
        return not is_it()
    swept = _sweep(supervisor.pid)
    signal_proven(supervisor.pid, is_it, signal.SIGKILL)
    deadline = time.monotonic() + GONE_LIMIT_S
    while is_it() and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)
    return swept and not is_it()


def _sweep(root: int) -> bool:
    """Kill what is below a process until nothing of it lives; return whether that succeeded."""
    deadline = time.monotonic() + SWEEP_LIMIT_S
    clean_looks = 0
    while clean_looks < CLEAN_LOOKS:  # one may have started while we looked
        if _kill_below(root):
            clean_looks = 0
            if time.monotonic() >= deadline:
                return False
        else:
            clean_looks += 1
            time.sleep(_PAUSE_S)
    return True


def _kill_below(root: int) -> bool:
    """Kill every process below another as soon as it is seen; return whether there was any."""
    found = False
    for pid in newest_first():  # what forks and exits soon becomes the root's own child
        process = process_state(pid)
        if process is not None and process.parent == root and process.state not in _DEAD:
            kill_exactly(pid, process.started)
            found = True
    for pid, started in descendants(root).items():
        process = process_state(pid)
        if process is not None and process.state not in _DEAD:
            kill_exactly(pid, started)
            found = True
    return found

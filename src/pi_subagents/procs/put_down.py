"""
End a supervisor that does not answer any more, with everything below it.

In: who it is, proven by more than a number.  Out: whether all of it is gone.  It is halted first:
every process of its run is below it then, and stays there until it was ended.
"""

from __future__ import annotations

import signal
import time

from pi_subagents.procs.identity import Identity, is_alive, newest_first, seen, signal_proven
from pi_subagents.procs.process_tree import descendants, kill_exactly

SWEEP_LIMIT_S = 10.0
GONE_LIMIT_S = 5.0
CLEAN_LOOKS = 2
_PAUSE_S = 0.01
_DEAD = ("Z", "X")  # only waiting for somebody to take notice


def put_down(supervisor: Identity) -> bool:
    """End exactly that process and what it started; tell whether nothing of it is left."""

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
    """Kill what is below a process until nothing of it lives; tell whether that succeeded."""
    deadline = time.monotonic() + SWEEP_LIMIT_S
    clean_looks = 0
    while clean_looks < CLEAN_LOOKS:  # one may have been born while we looked
        if _kill_below(root):
            clean_looks = 0
            if time.monotonic() >= deadline:
                return False
        else:
            clean_looks += 1
            time.sleep(_PAUSE_S)
    return True


def _kill_below(root: int) -> bool:
    """Kill every process below another as soon as it is seen; tell whether there was any."""
    found = False
    for pid in newest_first():  # whoever forks and exits is the root's own before long
        process = seen(pid)
        if process is not None and process.parent == root and process.state not in _DEAD:
            kill_exactly(pid, process.started)
            found = True
    for pid, started in descendants(root).items():
        process = seen(pid)
        if process is not None and process.state not in _DEAD:
            kill_exactly(pid, started)
            found = True
    return found

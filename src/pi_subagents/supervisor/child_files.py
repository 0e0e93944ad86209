"""
What a child reads and writes on desks: kept for as long as it lives, then taken away.

A child that serves several runs has its prompts on the desk of the first and its session on that of
another; each of these is held by a lock of its own beyond the run's end.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run.files import APPEND_PROMPT, CHILD_SESSION, SYSTEM_PROMPT
from pi_subagents.store.desk import PLACE, Desk
from pi_subagents.system.safe_io import copy_file

if TYPE_CHECKING:
    from pi_subagents.store.run_dir import RunDir
    from pi_subagents.supervisor.child import Child

# What a child that was kept still has open, or reads again at its next session.
_OF_A_CHILD = ("child", CHILD_SESSION, SYSTEM_PROMPT, APPEND_PROMPT)


def may_use(child: Child, desk: Desk) -> None:
    """Let a child that may outlive its run use the run's desk."""
    if desk not in child.desks and (lock := desk.hold_for_child()) is not None:
        child.desks[desk] = lock


def bring_session(child: Child | None, run_dir: RunDir) -> None:
    """Put what the child wrote down of its session into the run's directory, as it is now."""
    if child is not None and child.session is not None:
        with suppress(OSError):
            copy_file(child.session, run_dir.child_session)


def leave_desk(desk: Desk, kept: Child | None) -> None:
    """Take away the desk of a run that is over, but for what a child that was kept may use."""
    in_use = kept is not None and desk in kept.desks
    desk.remove(keep=(PLACE, *(_OF_A_CHILD if in_use else ())))


def leave_desks(child: Child) -> None:
    """Take away what the child used: it is gone."""
    for desk, lock in child.desks.items():
        os.close(lock)
        desk.clear()
    child.desks = {}

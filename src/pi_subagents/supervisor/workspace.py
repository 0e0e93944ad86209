"""
The worktree of one run: made and proved before its child starts, and ended after it.

In: the specification of the run, the environment as it was given.  Out: OSError where there is no
worktree that is what it has to be; afterwards what became of its changes.  What a run without one
does not need is imported where it is used.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import replace
from pi_subagents.supervisor import messages
from pi_subagents.system import crash_points

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.workspaces.worktree import Worktree


def make_workspace(spec: RunSpec, env: Mapping[str, str]) -> None:
    """Make it and prove that a child in its directory works on the snapshot; OSError if not."""
    from pi_subagents.errors.base import SubagentsError
    from pi_subagents.workspaces.worktree import make_worktree, verify_worktree

    try:
        worktree = _worktree(spec)
        make_worktree(worktree, env)
        verify_worktree(worktree, Path(spec.child.cwd), env)
    except (SubagentsError, ValueError) as error:
        raise OSError(str(error)) from error
    crash_points.reach(crash_points.WORKTREE_MADE)


def prove_place(spec: RunSpec, pid: int) -> None:
    """Prove that a process that was just started works in it; OSError if it does not."""
    try:
        where = os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115 - a name of the kernel's
    except OSError:  # it has ended, or nothing can be known of it here
        return
    top = os.path.realpath(_worktree(spec).path)
    if where != top and not where.startswith(top + os.sep):
        raise OSError(messages.NOT_IN_ITS_WORKTREE)


def end_workspace(spec: RunSpec, run_dir: Path, notes: list[str]) -> str:
    """Save what was changed and remove the rest; return the changes in a few words."""
    if not spec.workspace.home:
        return ""
    from pi_subagents.workspaces.concluding import conclude_worktree

    order = spec.workspace
    try:
        worktree = _worktree(spec)
    except (OSError, ValueError):  # its snapshot is gone, and so it never was
        return ""
    concluded = conclude_worktree(
        worktree, run_dir, os.environ, max_bytes=order.max_bytes, keep=order.keep
    )
    notes += concluded.notes
    return concluded.changes.summary if concluded.changes else ""


def _worktree(spec: RunSpec) -> Worktree:
    from pi_subagents.workspaces.snapshot import load_snapshot
    from pi_subagents.workspaces.worktree import Worktree

    snapshot = load_snapshot(Path(spec.workspace.home))
    return Worktree(replace(snapshot, prefix=spec.workspace.prefix), spec.run_id)

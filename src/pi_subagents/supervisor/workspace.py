"""
The worktree of one run: made and proved before its child starts, and ended after it.

In: the specification of the run, the environment as it was given.  Out: WorkspaceRefused where
there is no worktree that is what it has to be; afterwards what became of its changes.  What a run
without one does not need is imported where it is used.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.value import replace
from pi_subagents.supervisor import messages
from pi_subagents.system import crash_points

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.supervisor.intake import Intake
    from pi_subagents.supervisor.listener import Listener
    from pi_subagents.supervisor.reviews import OnReaped
    from pi_subagents.workspaces.worktree import Worktree


class WorkspaceRefused(OSError):
    """There is no worktree that is what it has to be, so that no child may work."""

    def __init__(self, reason: str) -> None:
        from pi_subagents.errors.workspaces import WorkspaceNotMade

        super().__init__(str(WorkspaceNotMade(reason)))


class RunWorkspace:
    """The worktree of one run, where it has one."""

    def __init__(
        self, spec: RunSpec, intake: Intake, listener: Listener, on_reaped: OnReaped
    ) -> None:
        self._spec, self._intake = spec, intake
        self._listener, self._on_reaped = listener, on_reaped

    def make(self, is_ending: Callable[[], bool]) -> bool:
        """
        Make it, link what is to be linked, run what makes it ready, and prove what it is.

        WorkspaceRefused where that is impossible: no child may be started then.  Return
        whether one is to be, since the run may have been stopped meanwhile.
        """
        if not self._spec.workspace.home:
            return True
        from pi_subagents.errors.base import SubagentsError
        from pi_subagents.errors.workspaces import WorkspaceNotMade
        from pi_subagents.supervisor.environment import given_environment
        from pi_subagents.workspaces.worktree import link_shared, make_worktree, verify_worktree

        env, order = given_environment(), self._spec.workspace
        try:
            worktree = _worktree(self._spec)
            make_worktree(worktree, env, order.tree)
            crash_points.reach(crash_points.WORKTREE_MADE)
            linked = link_shared(worktree, order.links, env)
            if linked:
                self._intake.record(ev.Note(messages.linked(linked)))
            if order.setup:
                self._set_up(order.setup, is_ending)
            verify_worktree(worktree, Path(self._spec.child.cwd), env)
        except WorkspaceRefused:
            raise
        except WorkspaceNotMade as error:
            raise WorkspaceRefused(error.reason) from error
        except (SubagentsError, OSError, ValueError) as error:
            raise WorkspaceRefused(str(error)) from error
        return not is_ending()

    def _set_up(self, command: str, is_ending: Callable[[], bool]) -> None:
        from pi_subagents.supervisor.commands import Commands

        commands = Commands(self._spec, self._listener, self._on_reaped)
        ended = commands.run(command, is_ending, confined=False)
        said = messages.set_up(command, ended.exit_code, ended.took_s, ended.tail)
        self._intake.record(ev.Note(said))
        if ended.exit_code != 0 and not is_ending():
            raise WorkspaceRefused(said)

    def end(self, run_dir: Path) -> str:
        """Save what was changed and remove the rest; return the changes in a few words."""
        order = self._spec.workspace
        if not order.home:
            return ""
        from pi_subagents.workspaces.concluding import conclude_worktree

        try:
            worktree = _worktree(self._spec)
        except (OSError, ValueError):  # its snapshot is gone, and so it never was
            return ""
        concluded = conclude_worktree(
            worktree, run_dir, os.environ, max_bytes=order.max_bytes, keep=order.keep
        )
        self._intake.notes.extend(concluded.notes)
        return concluded.changes.summary if concluded.changes else ""


def prove_place(spec: RunSpec, pid: int) -> None:
    """Prove that a process that was just started works in it; WorkspaceRefused if not."""
    try:
        where = os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115 - a name of the kernel's
    except OSError:  # it has ended, or nothing can be known of it here
        return
    top = os.path.realpath(_worktree(spec).path)
    if where != top and not where.startswith(top + os.sep):
        raise WorkspaceRefused(messages.NOT_IN_ITS_WORKTREE)


def _worktree(spec: RunSpec) -> Worktree:
    from pi_subagents.workspaces.snapshot import load_snapshot
    from pi_subagents.workspaces.worktree import Worktree

    order = spec.workspace
    snapshot = load_snapshot(Path(order.home))
    return Worktree(replace(snapshot, prefix=order.prefix), spec.run_id, order.place)

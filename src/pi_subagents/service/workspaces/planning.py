"""
Where the tasks of a call work: which have a worktree of their own, and of which snapshot.

In: the tasks of a call, each as it was prepared.  Out: an order each; the caller's checkouts are
snapshotted, once each, and nothing of them is changed.  NoWorkspace or GitMissing refuse the whole
call.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run.spec import WorkspaceOrder
from pi_subagents.core.workspace.modes import AUTO, WORKTREE
from pi_subagents.system import crash_points

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pi_subagents.core.task.request import Task
    from pi_subagents.service.call import CallContext
    from pi_subagents.service.delegation import Preparation

_READING_TOOLS = frozenset({"read", "grep", "find", "ls"})
_MEGABYTE = 1024 * 1024
SHARES = WorkspaceOrder()


def plan_workspaces(
    tasks: Sequence[Task],
    prepared: Sequence[Preparation],
    modes: Sequence[str],
    context: CallContext,
) -> tuple[WorkspaceOrder, ...]:
    """Return where each task works; snapshots are taken of what is there now."""
    places = [Path(task.cwd or context.cwd) for task in tasks]
    usable = [
        cwd.is_dir() and not needs.refusal for cwd, needs in zip(places, prepared, strict=True)
    ]
    writes = [_may_write(task, needs) for task, needs in zip(tasks, prepared, strict=True)]
    tops = _tops({cwd for cwd, mode in zip(places, modes, strict=True) if mode == AUTO}, context)
    writing = Counter(tops.get(cwd) for cwd, writer in zip(places, writes, strict=True) if writer)

    def has_its_own(cwd: Path, mode: str, *, writer: bool) -> bool:
        crowded = writer and cwd in tops and writing[tops[cwd]] > 1
        return mode == WORKTREE or (mode == AUTO and crowded)

    snapshots = _Snapshots(context)
    try:
        return tuple(
            snapshots.order(cwd) if can and has_its_own(cwd, mode, writer=writer) else SHARES
            for cwd, mode, can, writer in zip(places, modes, usable, writes, strict=True)
        )
    except BaseException:
        snapshots.remove()
        raise


def _may_write(task: Task, needs: Preparation) -> bool:
    """Return whether a task may change files, as far as its tools are known."""
    tools = task.tools
    if tools is None and needs.profile is not None:
        tools = needs.profile.tools
    return tools is None or not _READING_TOOLS.issuperset(tools)


def _tops(places: Iterable[Path], context: CallContext) -> dict[Path, str]:
    """Return the top of the repository that each directory is in, where it is in one."""
    from pi_subagents.workspaces.git import Git

    found = {}
    for cwd in places:
        if cwd.is_dir():
            answer = Git(context.env, cwd).ask("rev-parse", "--show-toplevel")
            if answer.code == 0:
                found[cwd] = os.fsdecode(answer.output).removesuffix("\n")
    return found


class _Snapshots:
    """The snapshots of one call: one of each checkout."""

    def __init__(self, context: CallContext) -> None:
        self._context = context
        self._homes: dict[str, str] = {}

    def order(self, cwd: Path) -> WorkspaceOrder:
        """Return the order of a task in that directory."""
        from pi_subagents.workspaces.concluding import DIRECTORY, remove_unused
        from pi_subagents.workspaces.repository import find_repository
        from pi_subagents.workspaces.snapshot import take_snapshot

        context = self._context
        top = find_repository(cwd, context.env).top
        if top not in self._homes:
            data_dir = context.runs.store.data_dir
            remove_unused(data_dir)
            home = data_dir / DIRECTORY / os.urandom(8).hex()
            self._homes[top] = take_snapshot(cwd, home, context.env).home
            crash_points.reach(crash_points.SNAPSHOT_TAKEN)
        prefix = os.path.relpath(os.path.realpath(cwd), os.path.realpath(top))
        limit = int(context.settings.workspace_max_megabytes * _MEGABYTE)
        return WorkspaceOrder(self._homes[top], prefix, limit, self._keeps)

    @property
    def _keeps(self) -> bool:
        return bool(self._context.options.get("keep_worktree", False))

    def remove(self) -> None:
        """Remove them: the call is refused."""
        for home in self._homes.values():
            shutil.rmtree(home, ignore_errors=True)


def discard_workspaces(orders: Iterable[WorkspaceOrder]) -> None:
    """Remove the snapshots of a call that is refused."""
    for home in {order.home for order in orders if order.home}:
        shutil.rmtree(home, ignore_errors=True)


def cwd_of(order: WorkspaceOrder, run_id: str) -> Path:
    """Return the directory of the child in its worktree; whoever looks after a crash finds it."""
    from pi_subagents.workspaces.snapshot import load_snapshot
    from pi_subagents.workspaces.worktree import Worktree

    worktree = Worktree(load_snapshot(Path(order.home)), run_id)
    worktree.desk.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(os.path.normpath(worktree.path / order.prefix))

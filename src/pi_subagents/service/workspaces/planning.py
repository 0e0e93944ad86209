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
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.cluster.destination import destination_of
from pi_subagents.core.run.spec import WorkspaceOrder
from pi_subagents.core.value import replace
from pi_subagents.core.workspace.modes import AUTO, WORKTREE
from pi_subagents.service import messages
from pi_subagents.system import crash_points

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pi_subagents.core.task.request import Task
    from pi_subagents.engines.base import EngineCall
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

    def ordered(index: int) -> WorkspaceOrder:
        cwd = places[index]
        if not usable[index] or not has_its_own(cwd, modes[index], writer=writes[index]):
            return SHARES
        away = bool(destination_of(tasks[index].on, context.usual_runner).tag)
        going_on = None if away else snapshots.going_on(prepared[index], fork=tasks[index].fork)
        order = going_on or snapshots.order(cwd)
        snapshots.lay_context(order, context.open_engine(prepared[index].engine))
        return order

    try:
        return tuple(map(ordered, range(len(tasks))))
    except BaseException:
        snapshots.remove()
        raise


def went_on_in(needs: Preparation, context: CallContext) -> bool:
    """Return whether the session that a task goes on with had a worktree."""
    from pi_subagents.workspaces.concluding import find_worktree

    last = needs.earlier[-1].run_id
    return find_worktree(context.runs.store.data_dir, last) is not None


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
        self._laid: set[tuple[str, tuple[str, ...]]] = set()

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
        return self._ordered(self._homes[top], prefix)

    def going_on(self, needs: Preparation, *, fork: bool) -> WorkspaceOrder | None:
        """Return the order of a task whose session left changes that nobody took; else None."""
        if not needs.earlier:
            return None
        from pi_subagents.workspaces.concluding import find_worktree
        from pi_subagents.workspaces.going_on import tree_to_go_on_with, was_made

        data_dir = self._context.runs.store.data_dir
        for last in reversed(needs.earlier):
            worktree = find_worktree(data_dir, last.run_id)
            if worktree is None or was_made(worktree):
                break
        if worktree is None:
            return None
        tree = tree_to_go_on_with(worktree, Path(last.path), self._context.env)
        if not tree:
            return None
        top = os.path.realpath(worktree.snapshot.repository.top)
        order = self._ordered(
            str(worktree.snapshot.dir), os.path.relpath(os.path.realpath(last.meta.cwd), top)
        )
        place = "" if fork else worktree.place or worktree.run_id
        return replace(order, tree=tree, place=place)

    def lay_context(self, order: WorkspaceOrder, engine: EngineCall) -> None:
        """Let the children of an engine find what they would read above the checkout."""
        from pi_subagents.service.workspaces.context_files import lay_context_files
        from pi_subagents.workspaces.snapshot import load_snapshot

        wanted = order.home, engine.capabilities.context_files
        if wanted not in self._laid:
            self._laid.add(wanted)
            home, names = Path(order.home), wanted[1]
            lay_context_files(home, load_snapshot(home).repository.top, names)

    def _ordered(self, home: str, prefix: str) -> WorkspaceOrder:
        settings, options = self._context.settings, self._context.options
        return WorkspaceOrder(
            home,
            prefix,
            int(settings.workspace_max_megabytes * _MEGABYTE),
            keep=bool(options.get("keep_worktree", False)),
            links=settings.workspace_links,
            setup=self._setup,
        )

    @cached_property
    def _setup(self) -> str:
        """Return what makes worktrees ready: the project's command only where that is trusted."""
        context, own = self._context, self._context.settings.project_workspace_setup
        if not own or context.trusted(context.cwd):
            return own or context.settings.workspace_setup
        context.notice(messages.setup_not_trusted(own))
        return context.settings.workspace_setup

    def remove(self) -> None:
        """Remove them: the call is refused."""
        for home in self._homes.values():
            shutil.rmtree(home, ignore_errors=True)


def discard_workspaces(orders: Iterable[WorkspaceOrder]) -> None:
    """Remove the snapshots of a call that is refused."""
    for home in {order.home for order in orders if order.home and not order.tree}:
        shutil.rmtree(home, ignore_errors=True)


def cwd_of(order: WorkspaceOrder, run_id: str) -> Path:
    """Return the directory of the child in its worktree; whoever looks after a crash finds it."""
    from pi_subagents.workspaces.concluding import note_order
    from pi_subagents.workspaces.snapshot import load_snapshot
    from pi_subagents.workspaces.worktree import Worktree

    worktree = Worktree(load_snapshot(Path(order.home)), run_id, order.place)
    worktree.desk.mkdir(mode=0o700, parents=True, exist_ok=True)
    note_order(worktree.desk, order)
    return Path(os.path.normpath(worktree.path / order.prefix))

"""
Where a task works that a worker does, and what becomes of the changes that come back.

In: what was chosen for it here.  Out: whether a snapshot of the checkout goes along; later, changes
that were proved by making them here once more: what a worker says of them is not believed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_subagents.core.value import replace
from pi_subagents.core.workspace.modes import SHARED, WORKTREE
from pi_subagents.service.cluster import messages

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.service.call import CallContext
    from pi_subagents.store.run_dir import RunDir


def mode_there(chosen: str | None, cwd: Path, context: CallContext) -> str:
    """
    Return how a task works there: in a snapshot of its repository, unless something else was said.

    "shared" means the same directory on a file system that the worker has, too; without a
    repository the task has an empty directory.
    """
    if chosen:
        return SHARED if chosen == SHARED else WORKTREE
    from pi_subagents.errors import GitMissing, NoWorkspace
    from pi_subagents.workspaces.repository import find_repository

    try:
        find_repository(cwd, context.env)
    except (GitMissing, NoWorkspace):
        return SHARED
    return WORKTREE


def accept_changes(run_dir: RunDir, result: RunResult) -> RunResult:
    """Let the changes of a run be looked at and taken as if it had been done here."""
    from pi_subagents.errors import GitFailed, GitMissing
    from pi_subagents.workspaces.arriving import accept_patch
    from pi_subagents.workspaces.concluding import find_worktree

    worktree = find_worktree(run_dir.desk.data_dir, run_dir.run_id)
    if worktree is None:
        return result
    try:
        changes = accept_patch(worktree, run_dir.path, os.environ)
    except (GitFailed, GitMissing, OSError, ValueError) as error:
        note = messages.changes_not_accepted(str(error))
        return replace(result, notes=(*result.notes, note))
    return replace(result, changes=changes.summary) if changes is not None else result

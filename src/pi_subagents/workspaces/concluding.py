"""
Find the worktree of a run, and end it: its changes saved first, then everything of it removed.

In: the data directory of the user, a run's id and directory.  Out: what became of its changes, in
words for its result.  Done by its supervisor, or if that was killed by whoever concludes the run.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run.spec import WorkspaceOrder
from pi_subagents.core.value import replace, value
from pi_subagents.errors.workspaces import GitFailed, GitMissing
from pi_subagents.system import crash_points
from pi_subagents.system.safe_io import read_json, replace_file, to_json_bytes
from pi_subagents.workspaces import messages
from pi_subagents.workspaces.changes import read_changes, save_changes
from pi_subagents.workspaces.seal import read_seal
from pi_subagents.workspaces.snapshot import load_snapshot, some
from pi_subagents.workspaces.worktree import Worktree, remove_worktree

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.core.workspace.changes import Changes

DIRECTORY = "workspaces"
ORDER = "order.json"  # on a worktree's desk, where something of it is not as usual
_PLANNING_TAKES_S = 3600  # at most
DEFAULT_MAX_BYTES = 100 * 1024 * 1024
SCHEMA_VERSION = 1
_MAX_ORDER = 64 * 1024
_NOTED = ("place", "max_bytes", "keep")
_USUAL = WorkspaceOrder(max_bytes=DEFAULT_MAX_BYTES)


@value
class Concluded:
    """What became of a worktree."""

    changes: Changes | None = None
    notes: tuple[str, ...] = ()


def note_order(desk: Path, order: WorkspaceOrder) -> None:
    """Note what whoever looks after a crash cannot know: where it is, and how it is to end."""
    noted = {name: getattr(order, name) for name in _NOTED}
    if noted != {name: getattr(_USUAL, name) for name in _NOTED}:
        replace_file(desk / ORDER, to_json_bytes({"schemaVersion": SCHEMA_VERSION, **noted}))


def noted_order(desk: Path) -> WorkspaceOrder:
    """Return what was noted of it."""
    with suppress(OSError, ValueError, TypeError):
        content = read_json(desk / ORDER, _MAX_ORDER)
        if isinstance(content, dict) and content.pop("schemaVersion", None) == SCHEMA_VERSION:
            return replace(_USUAL, **content)
    return _USUAL


def find_worktree(data_dir: Path, run_id: str) -> Worktree | None:
    """Return the worktree that was planned for a run, whether it is there or not."""
    for desk in (data_dir / DIRECTORY).glob(f"*/runs/{run_id}"):
        with suppress(OSError, ValueError):
            return Worktree(load_snapshot(desk.parent.parent), run_id, noted_order(desk).place)
    return None


def conclude_worktree(
    worktree: Worktree,
    run_dir: Path,
    env: Mapping[str, str],
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    keep: bool = False,
) -> Concluded:
    """Save what is in the worktree and remove it; nothing that was not saved is removed."""
    if not os.path.lexists(worktree.index):  # it was never made whole
        remove_worktree(worktree, env)
        return Concluded()
    seal = read_seal(worktree.desk)
    try:
        # Whoever was killed after saving them had begun to remove the files.
        saved = read_changes(run_dir) if seal and seal.complete else None
        changes = saved or save_changes(worktree, run_dir, env, max_bytes)
    except (GitFailed, GitMissing, OSError, ValueError) as error:
        return Concluded(None, (messages.not_saved(str(error), str(worktree.path)),))
    crash_points.reach(crash_points.CHANGES_SAVED)
    notes = list(_notes(worktree, changes))
    if not (keep or changes.kept) and not remove_worktree(worktree, env):
        notes.append(messages.not_removed(str(worktree.path)))
    elif keep and not changes.kept:
        notes.append(messages.kept_as_asked(str(worktree.path)))
    crash_points.reach(crash_points.WORKTREE_REMOVED)
    return Concluded(changes, tuple(notes))


def _notes(worktree: Worktree, changes: Changes) -> list[str]:
    found = [messages.changed(changes.summary, worktree.run_id if changes.files else "")]
    if changes.kept:
        found.append(messages.kept(changes.kept, str(worktree.path)))
    if changes.refs:
        found.append(messages.made_refs(some(changes.refs)))
    if changes.changed_meanwhile:
        found.append(messages.changed_meanwhile(some(changes.changed_meanwhile)))
    return found


def remove_unused(data_dir: Path) -> None:
    """Remove snapshots that no run was planned with: their caller was killed."""
    young = time.time() - _PLANNING_TAKES_S
    for home in (data_dir / DIRECTORY).glob("*"):
        with suppress(OSError):
            if home.stat().st_mtime < young and not any((home / "runs").glob("*")):
                shutil.rmtree(home, ignore_errors=True)


def forget_run(data_dir: Path, run_id: str, env: Mapping[str, str]) -> None:
    """Remove what is kept of the changes of a run that is removed; its snapshot with the last."""
    worktree = find_worktree(data_dir, run_id)
    if worktree is None:
        return
    with suppress(GitFailed, GitMissing, OSError):
        remove_worktree(worktree, env)
    shutil.rmtree(worktree.desk, ignore_errors=True)
    with suppress(OSError):
        worktree.desk.parent.rmdir()  # unless another run still has its desk there
        shutil.rmtree(worktree.snapshot.dir, ignore_errors=True)

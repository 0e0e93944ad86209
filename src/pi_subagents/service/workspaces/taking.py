"""
Look at what runs changed in their worktrees, take it into the checkout, or throw it away.

In: runs, by any of their names.  Out: the changes; of taking, what was taken.  Refused inside a
sub-agent: what it changed is for somebody else to judge.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import replace, value
from pi_subagents.errors import ChangesUnavailable
from pi_subagents.service import messages
from pi_subagents.service.finding import find_run
from pi_subagents.service.inside import refuse_inside_subagent
from pi_subagents.system.clock import now_ms
from pi_subagents.workspaces.applying import RunChanges, apply_changes, discard_changes
from pi_subagents.workspaces.changes import proven_patch, read_changes, warnings_of
from pi_subagents.workspaces.concluding import find_worktree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.workspace.changes import Changes
    from pi_subagents.service.runs import Runs
    from pi_subagents.workspaces.applying import Taken


@value
class SeenChanges:
    """What one run changed, with its patch, and what is to be looked at before it is taken."""

    run: RunRecord
    changes: Changes
    patch: bytes
    warnings: tuple[str, ...]


def see_changes(runs: Runs, wanted: str, env: Mapping[str, str] | None = None) -> SeenChanges:
    """Return what a run changed; ChangesUnavailable where nothing was saved of it."""
    env = os.environ if env is None else env
    record = find_run(runs, wanted)
    of_run = _changes_of(runs, record)
    changes = read_changes(of_run.run_dir)
    if changes is None:
        raise ChangesUnavailable(record.short_id, messages.NO_WORKTREE)
    with proven_patch(of_run.worktree, of_run.run_dir) as patch:
        content = patch.read_bytes()
    return SeenChanges(record, changes, content, warnings_of(of_run.worktree, changes, env))


def take_changes(
    runs: Runs,
    wanted: Sequence[str],
    env: Mapping[str, str] | None = None,
    *,
    check: bool = False,
    commit: bool = False,
    passed: bool = False,
) -> Taken:
    """
    Take the changes of these runs in this order, all or none; with `check` only see whether.

    With `passed` those whose check did not pass, or that have none, are left out and named.
    """
    env = os.environ if env is None else env
    refuse_inside_subagent(env)
    known = {each.run_id: each for each in (find_run(runs, name) for name in wanted)}
    records = list(known.values())
    left_out = [each for each in records if passed and not _has_passed(each)]
    if len(left_out) == len(records):
        raise ChangesUnavailable(left_out[0].run_id, messages.NONE_PASSED)
    of_runs = [_changes_of(runs, each) for each in records if each not in left_out]
    taken = apply_changes(of_runs, env, now_ms(), check=check, commit=commit)
    notes = tuple(messages.left_out_unpassed(each.short_id, each.work) for each in left_out)
    return replace(taken, warnings=(*notes, *taken.warnings))


def _has_passed(record: RunRecord) -> bool:
    checked = record.result.checked if record.result else None
    return checked is not None and checked.passed


def throw_away(runs: Runs, wanted: str, env: Mapping[str, str] | None = None) -> str:
    """Discard the changes of a run; return its id."""
    env = os.environ if env is None else env
    refuse_inside_subagent(env)
    of_run = _changes_of(runs, find_run(runs, wanted))
    discard_changes(of_run, env, now_ms())
    return of_run.worktree.run_id


def _changes_of(runs: Runs, record: RunRecord) -> RunChanges:
    worktree = find_worktree(runs.store.data_dir, record.run_id)
    if worktree is None:
        raise ChangesUnavailable(record.short_id, messages.NO_WORKTREE)
    if record.active:
        raise ChangesUnavailable(record.short_id, messages.STILL_AT_WORK)
    message = f"{record.meta.name}\n\nBy sub-agent run {record.run_id}"
    return RunChanges(worktree, Path(record.path), message)

"""Named points at which the fault suite can kill us; outside of it they do nothing."""

from __future__ import annotations

# Reached by the orchestrator, in this order.
DIR_MADE = "dir_made"
META_WRITTEN = "meta_written"
PLANNED = "planned"
INDEXED = "indexed"
SUPERVISOR_STARTED = "supervisor_started"
RESULT_READ = "result_read"
BEFORE_INDEX_UPDATE = "before_index_update"
# Reached by the supervisor, in this order.
LOCKED = "locked"
CHILD_SPAWNED = "child_spawned"
FIRST_EVENT = "first_event"
MID_LINE = "mid_line"
TOOL_CALL = "tool_call"
SETTLED = "settled"
CHILD_ENDED = "child_ended"
BEFORE_RESULT = "before_result"
AFTER_RESULT = "after_result"
# Reached where a run has a worktree of its own, in this order: the first by its caller.
SNAPSHOT_TAKEN = "snapshot_taken"
WORKTREE_ADDED = "worktree_added"
WORKTREE_MADE = "worktree_made"
CHECKED = "checked"  # before its end is noted
PATCH_WRITTEN = "patch_written"
CHANGES_SAVED = "changes_saved"
FILES_REMOVED = "files_removed"  # the repository still knows of it
WORKTREE_REMOVED = "worktree_removed"
# Reached by a fork server, in this order, for each supervisor.
FORKED = "forked"
FORK_ANSWERED = "fork_answered"


def reach(point: str) -> None:
    """Go on: in processes of its own the fault suite puts what kills in this place."""

"""Where a task works: the names by which that is chosen."""

from __future__ import annotations

SHARED, WORKTREE, AUTO = WORKSPACES = ("shared", "worktree", "auto")

"""
What a session goes on with: the files that its last run left in a worktree, if nobody took them.

In: the worktree of that run, and the run's directory.  Out: a tree.  A worktree that was kept may
have been worked in since, and counts as it is now.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_subagents.workspaces.changes import content_of, proven_patch, tree_of_patch
from pi_subagents.workspaces.seal import read_seal
from pi_subagents.workspaces.snapshot import give_objects_of, private_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.workspaces.worktree import Worktree


def tree_to_go_on_with(worktree: Worktree, run_dir: Path, env: Mapping[str, str]) -> str:
    """Return it; empty where the changes were taken or thrown away, or there is nothing of them."""
    seal = read_seal(worktree.desk)
    if seal is not None and (seal.applied_at_ms or seal.discarded_at_ms):
        return ""
    if was_made(worktree) and os.path.lexists(worktree.path):
        git = worktree.git(env)
        with private_file(worktree.desk) as index:
            tree = content_of(worktree, git, index).tree
    elif seal is None or not seal.patch_sha256:
        return ""
    else:
        with proven_patch(worktree, run_dir) as patch:
            tree = tree_of_patch(worktree, patch, env)
    # Where the next run's git finds what was written of this one's files.
    give_objects_of(worktree.objects, str(worktree.snapshot.objects))
    return tree


def was_made(worktree: Worktree) -> bool:
    """Return whether it was ever whole."""
    return os.path.lexists(worktree.index)

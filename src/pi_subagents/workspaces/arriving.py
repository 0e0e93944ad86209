"""
Take in the changes of a run that another machine did, as if they had been saved here.

In: the worktree that was planned for it here, and `changes.patch` as it arrived.  Out: Changes that
were made of the patch itself, on the snapshot that is here; the patch is sealed.  GitFailed where
it does not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run.files import CHANGES, CHANGES_PATCH
from pi_subagents.core.value import replace
from pi_subagents.core.workspace.changes import Changes, changes_to_json
from pi_subagents.system.safe_io import copy_file, replace_file, to_json_bytes
from pi_subagents.workspaces.changes import digest_of, read_changes, tree_of_patch
from pi_subagents.workspaces.seal import Seal, write_seal
from pi_subagents.workspaces.snapshot import changed_since, differences, private_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.workspaces.worktree import Worktree


def accept_patch(worktree: Worktree, run_dir: Path, env: Mapping[str, str]) -> Changes | None:
    """Return what the run changed; None where nothing of it arrived."""
    said, patch = read_changes(run_dir), run_dir / CHANGES_PATCH
    if said is None:
        return None
    snapshot = worktree.snapshot
    if not patch.exists():  # it was too large, and is where the run was done
        write_seal(worktree.desk, Seal(""))
        return said
    with private_file(worktree.desk) as proved:
        copy_file(patch, proved)  # what is looked at is what is sealed
        tree = tree_of_patch(worktree, proved, env)
        digest, size = digest_of(proved)
    git = worktree.snapshot_git(env)
    changes = replace(
        said,
        snapshot=snapshot.commit,
        tree=tree,
        files=differences(git, snapshot.tree, tree),
        patch_sha256=digest,
        patch_bytes=size,
        changed_meanwhile=changed_since(snapshot, env),
    )
    replace_file(run_dir / CHANGES, to_json_bytes(changes_to_json(changes)))
    write_seal(worktree.desk, Seal(digest, complete=True))
    return changes

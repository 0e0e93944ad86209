"""
Save what became of a worktree: `changes.patch` and `changes.json`, proved to be exact.

In: a worktree whose processes have ended.  Out: a Changes, and both files in the run's directory;
the patch's hash is kept where the project cannot reach it.  A patch that would be too large, or
would not give exactly what is in the worktree, is not used: then the worktree is kept.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run.files import CHANGES, CHANGES_PATCH
from pi_subagents.core.value import replace
from pi_subagents.core.workspace.changes import (
    Changes,
    changes_from_json,
    changes_to_json,
    has_power,
    leaves_tree,
    links,
)
from pi_subagents.errors.workspaces import ChangesUnavailable, GitFailed
from pi_subagents.system import crash_points
from pi_subagents.system.safe_io import copy_file, open_new, read_json, replace_file, to_json_bytes
from pi_subagents.workspaces import messages
from pi_subagents.workspaces.content import Content, read_content
from pi_subagents.workspaces.seal import Seal, read_seal, write_seal
from pi_subagents.workspaces.snapshot import changed_since, differences, private_file, some
from pi_subagents.workspaces.worktree import Worktree, all_refs, linked_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pi_subagents.workspaces.git import Git

MAX_JSON_BYTES = 64 * 1024 * 1024
_PATCH = (
    "diff-tree", "-r", "-p", "-M", "--binary", "--full-index", "--no-color", "--no-ext-diff",
    "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=none",
    "--submodule=short",
)  # fmt: skip
_APPLY = ("apply", "--cached", "--binary", "--whitespace=nowarn")
_COMMIT = re.compile(rb"[0-9a-f]{40,64}")


def save_changes(
    worktree: Worktree, run_dir: Path, env: Mapping[str, str], max_bytes: int
) -> Changes:
    """Save what the worktree holds; it can be removed afterwards unless `kept` says why not."""
    git = worktree.git(env)
    with private_file(worktree.desk) as index:
        content = content_of(worktree, git, index)
    snapshot = worktree.snapshot
    commits, refs = _own_history(worktree, git)
    changes = Changes(
        snapshot=snapshot.commit,
        tree=content.tree,
        files=differences(git, snapshot.tree, content.tree),
        nested=content.nested,
        changed_meanwhile=changed_since(snapshot, env),
        commits=commits,
        refs=refs,
    )
    if content.nested:
        changes = replace(changes, kept=messages.kept_nested(some(content.nested)))
    patch = run_dir / CHANGES_PATCH
    with suppress(FileNotFoundError):
        patch.unlink()
    if not _write_patch(git, snapshot.tree, content.tree, patch, max_bytes):
        patch.unlink()
        changes = replace(changes, kept=messages.kept_large(max_bytes))
    else:
        digest, size = digest_of(patch)
        changes = replace(changes, patch_sha256=digest, patch_bytes=size)
        if size and tree_of_patch(worktree, patch, env) != content.tree:
            changes = replace(changes, kept=messages.KEPT_INEXACT)
    crash_points.reach(crash_points.PATCH_WRITTEN)
    replace_file(run_dir / CHANGES, to_json_bytes(changes_to_json(changes)))
    write_seal(worktree.desk, Seal(changes.patch_sha256, complete=True))
    return changes


def content_of(worktree: Worktree, git: Git, private_index: Path) -> Content:
    """Return what is in it by now, without what is only linked there."""
    linked = linked_paths(worktree)
    index = worktree.index
    return read_content(git, index, private_index, look_into_submodules=False, but=linked)


def _write_patch(git: Git, old: str, new: str, path: Path, max_bytes: int) -> bool:
    with os.fdopen(open_new(path), "wb") as file:
        whole = git.write_to(file, *_PATCH, old, new, max_bytes=max_bytes)
        file.flush()
        os.fsync(file.fileno())
    return whole


def tree_of_patch(worktree: Worktree, patch: Path, env: Mapping[str, str]) -> str:
    """Return the tree that the patch makes of the snapshot."""
    git = worktree.snapshot_git(env)
    with private_file(worktree.desk) as index:
        git = git.using(index=index)
        git.run("read-tree", worktree.snapshot.tree)
        if patch.stat().st_size:
            with patch.open("rb") as content:  # its path may mean something in this process alone
                git.run(*_APPLY, given=content)
        return git.line("write-tree")


def _own_history(worktree: Worktree, git: Git) -> tuple[int, tuple[str, ...]]:
    """Return how many commits the child made, and which refs of the repository it moved."""
    admin = worktree.admin_dir()
    if admin is None:
        return 0, ()
    try:
        log = (admin / "logs" / "HEAD").read_bytes()
        before = worktree.refs.read_bytes().split(b"\n")
        own = set(_COMMIT.findall(log))
        found = set(all_refs(git).split(b"\n")) - set(before)
        refs = [line.split(b" ", 1) for line in found if line]
        head = (admin / "HEAD").read_text("ascii").strip()
        commits = git.run("rev-list", "--count", f"^{worktree.snapshot.commit}", _tip(git, head))
        stashed = {commit for commit, name in refs if name == b"refs/stash"}
        own |= {commit for commit in stashed if _parent(git, commit) in own}
    except (OSError, GitFailed, ValueError):  # it did what it liked there
        return 0, ()
    names = sorted(os.fsdecode(name) for commit, name in refs if commit in own)
    return int(commits), tuple(names)


def _tip(git: Git, head: str) -> str:
    """Return the commit that a worktree's HEAD leads to."""
    return git.line("rev-parse", "--verify", head.removeprefix("ref: ") + "^{commit}")


def _parent(git: Git, commit: bytes) -> bytes:
    return git.run("rev-parse", "--verify", commit + b"^1").strip()


def digest_of(path: Path) -> tuple[str, int]:
    """Return the hash of a file, and its size."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size


def read_changes(run_dir: Path) -> Changes | None:
    """Return what a run's directory says of its changes; None where there is nothing to read."""
    try:
        return changes_from_json(read_json(run_dir / CHANGES, MAX_JSON_BYTES))
    except (OSError, ValueError):
        return None


@contextmanager
def proven_patch(worktree: Worktree, run_dir: Path) -> Iterator[Path]:
    """Give a copy of a run's patch if it is the one we wrote; ChangesUnavailable if not."""
    run = worktree.run_id
    seal = read_seal(worktree.desk)
    if seal is None:
        raise ChangesUnavailable(run, messages.NO_SEAL)
    if seal.discarded_at_ms:
        raise ChangesUnavailable(run, messages.DISCARDED)
    if not seal.patch_sha256:
        raise ChangesUnavailable(run, messages.kept_at(str(worktree.path)))
    with private_file(worktree.desk) as patch:
        try:
            copy_file(run_dir / CHANGES_PATCH, patch)  # what is proved is what is used
        except OSError as error:
            raise ChangesUnavailable(run, str(error)) from error
        if digest_of(patch)[0] != seal.patch_sha256:
            raise ChangesUnavailable(run, messages.PATCH_ALTERED)
        yield patch


def warnings_of(worktree: Worktree, changes: Changes, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return what is to be looked at before these changes are taken."""
    found = [messages.warn_power(file.path) for file in changes.files if has_power(file.path)]
    git = worktree.snapshot_git(env)
    for link in links(changes):
        target = os.fsdecode(git.run("cat-file", "blob", f"{changes.tree}:{link.path}"))
        if leaves_tree(link.path, target):
            found.append(messages.warn_link(link.path, target))
    return tuple(found)

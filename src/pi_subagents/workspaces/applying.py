"""
Take the changes of runs into the checkout they were made for: all of them, or none.

In: worktrees and the directories of their runs, in order.  Out: what was taken.  Everything is
joined with what is in the checkout before its first file is written; its index is left alone unless
a commit is wanted.  What cannot be written is put back.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run.files import CHANGES_PATCH
from pi_subagents.core.value import replace, value
from pi_subagents.errors.workspaces import ChangesConflict, ChangesUnavailable, GitFailed
from pi_subagents.workspaces import messages
from pi_subagents.workspaces.changes import proven_patch, read_changes, tree_of_patch, warnings_of
from pi_subagents.workspaces.content import read_content
from pi_subagents.workspaces.git import Git, Objects
from pi_subagents.workspaces.merging import join
from pi_subagents.workspaces.repository import Repository, find_repository
from pi_subagents.workspaces.seal import read_seal, write_seal
from pi_subagents.workspaces.snapshot import (
    differences,
    give_objects_of,
    private_file,
    refuse_what_is_in_no_tree,
)
from pi_subagents.workspaces.worktree import Worktree, remove_worktree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.workspace.changes import ChangedFile, Changes


@value
class RunChanges:
    """The changes of one run that are to be taken."""

    worktree: Worktree
    run_dir: Path
    message: str = ""  # of its commit, where one is wanted


@value
class Taken:
    """What was taken, or would be."""

    changes: tuple[Changes, ...]
    files: tuple[ChangedFile, ...]  # of the checkout
    warnings: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


def apply_changes(
    candidates: Sequence[RunChanges],
    env: Mapping[str, str],
    now_ms: int,
    *,
    check: bool = False,
    commit: bool = False,
) -> Taken:
    """
    Take the changes in the order given; with `check` only say whether and what.

    ChangesUnavailable or ChangesConflict where one of them cannot be taken: then none is.
    """
    first = candidates[0].worktree
    top = first.snapshot.repository.top
    for candidate in candidates:
        _refuse_others(candidate, top)
    repository = find_repository(Path(top), env)
    also = [each.worktree.objects for each in candidates]
    also += [each.worktree.snapshot.objects for each in candidates]
    first.objects.mkdir(parents=True, exist_ok=True)
    objects = Objects(first.objects, Path(repository.objects), tuple(also))
    git = Git(env, Path(top), repository.checkout, objects=objects)
    with private_file(first.desk) as index:
        own_index = Path(repository.git_dir) / "index"
        content = read_content(git, own_index, index, look_into_submodules=True)
        refuse_what_is_in_no_tree(repository, content)
        head_tree = git.line("rev-parse", "HEAD^{tree}")
        begin = head_tree if commit else content.tree
        trees = _joined(git, candidates, begin, env)
        files = differences(git, begin, trees[-1], "--no-renames")
        _refuse_what_is_in_the_way(repository, files, candidates)
        if commit:
            _refuse_uncommitted(git, content.tree, files, candidates)
        every = [read_changes(each.run_dir) for each in candidates]
        changes = tuple(each for each in every if each is not None)
        warnings = [
            warning
            for candidate, own in zip(candidates, changes, strict=True)
            for warning in warnings_of(candidate.worktree, own, env)
        ]
        taken = Taken(changes, files, tuple(dict.fromkeys(warnings)))
        if check:
            return taken
        if commit:
            give_objects_of(first.objects, repository.objects)
            commits = _commit(git, repository, candidates, trees)
            taken = replace(taken, commits=commits)
        else:
            _write(git, index, begin, trees[-1], files)
    for candidate in candidates:
        desk = candidate.worktree.desk
        if (seal := read_seal(desk)) is not None:
            write_seal(desk, replace(seal, applied_at_ms=now_ms))
    return taken


def _refuse_others(candidate: RunChanges, top: str) -> None:
    """Refuse what was applied already, changed nothing, or is of another checkout."""
    worktree, run = candidate.worktree, candidate.worktree.run_id
    seal = read_seal(worktree.desk)
    if seal is not None and seal.applied_at_ms:
        raise ChangesUnavailable(run, messages.APPLIED)
    if worktree.snapshot.repository.top != top:
        raise ChangesUnavailable(run, messages.other_checkout(worktree.snapshot.repository.top))
    changes = read_changes(candidate.run_dir)
    if changes is None:
        raise ChangesUnavailable(run, messages.NO_SEAL)
    if not changes.files:
        raise ChangesUnavailable(run, messages.NO_CHANGES)


def _joined(
    git: Git, candidates: Sequence[RunChanges], begin: str, env: Mapping[str, str]
) -> list[str]:
    """Return what the tree is after each of them."""
    trees: list[str] = []
    for candidate in candidates:
        worktree = candidate.worktree
        with proven_patch(worktree, candidate.run_dir) as patch:
            theirs = tree_of_patch(worktree, patch, env)
        ours = trees[-1] if trees else begin
        joined = join(git, worktree.snapshot.tree, ours, theirs)
        if joined.conflicts:
            raise ChangesConflict(worktree.run_id, joined.conflicts)
        trees.append(joined.tree)
    return trees


def _refuse_what_is_in_the_way(
    repository: Repository, files: Sequence[ChangedFile], candidates: Sequence[RunChanges]
) -> None:
    """Refuse to write over files that git does not look at, and that no snapshot has."""
    gone = {file.path for file in files if file.kind == "D"}
    added = [file.path for file in files if file.kind == "A"]
    blocked = []
    for path in added:
        parts = path.split("/")
        parents = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
        for each in parents:
            place = os.path.join(repository.top, each)  # noqa: PTH118 - odd names
            if os.path.lexists(place) and not _is_own_directory(place):
                blocked += [each] if each not in gone else []
        place = os.path.join(repository.top, path)  # noqa: PTH118 - odd names
        becomes_free = _is_own_directory(place) and any(g.startswith(path + "/") for g in gone)
        if os.path.lexists(place) and not becomes_free:
            blocked.append(path)
    if blocked:
        run = candidates[-1].worktree.run_id
        raise ChangesConflict(run, tuple(map(messages.in_the_way, dict.fromkeys(blocked))))


def _is_own_directory(place: str) -> bool:
    """Return whether it is a directory, and no link to one."""
    return os.path.isdir(place) and not os.path.islink(place)  # noqa: PTH112, PTH114 - odd names


def _refuse_uncommitted(
    git: Git, now: str, files: Sequence[ChangedFile], candidates: Sequence[RunChanges]
) -> None:
    """Refuse a commit of files that have changes of the user's, staged or not."""
    staged = git.run("diff-index", "--cached", "-z", "--name-only", "HEAD")
    dirty = {os.fsdecode(path) for path in staged.split(b"\0")}
    dirty |= {file.path for file in differences(git, "HEAD", now, "--no-renames")}
    odd = [file.path for file in files if file.path in dirty]
    if odd:
        run = candidates[-1].worktree.run_id
        raise ChangesConflict(run, tuple(map(messages.not_clean, odd)))


def _write(git: Git, index: Path, before: str, after: str, files: Sequence[ChangedFile]) -> None:
    """Make the files of one tree those of the other; the index knows how they are."""
    git = git.using(index=index)
    try:
        _change(git, before, after)
    except GitFailed:
        with private_file(index.parent) as another:
            _put_back(git.using(index=another), before, files)
        raise


def _change(git: Git, before: str, after: str) -> None:
    """Change files and index from one tree to the other; GitFailed where one is not as before."""
    git.ask("update-index", "-q", "--refresh")  # some were only touched
    git.run("read-tree", "-m", "-u", before, after)


def _put_back(git: Git, before: str, files: Sequence[ChangedFile]) -> None:
    for path in (git.cwd / file.path for file in files if file.kind == "A"):
        with suppress(OSError):
            path.unlink()
        with suppress(OSError):  # up to the first that has something in it
            path.parent.rmdir()
            os.removedirs(path.parent.parent)
    paths = b"".join(os.fsencode(file.path) + b"\0" for file in files if file.kind != "A")
    git.run("read-tree", before)
    git.run("checkout-index", "--force", "-z", "--stdin", given=paths)


def _commit(
    git: Git, repository: Repository, candidates: Sequence[RunChanges], trees: Sequence[str]
) -> tuple[str, ...]:
    """Commit each of them on what is checked out, index and files with it; return the commits."""
    user = Git(git.environment, Path(repository.top), repository.checkout)
    commits: list[str] = []
    for candidate, tree in zip(candidates, trees, strict=True):
        parent = commits[-1] if commits else repository.head
        commits.append(user.line("commit-tree", tree, "-p", parent, "-m", candidate.message))
    _change(user, repository.head, commits[-1])
    try:
        reason = f"subagents apply: {len(commits)} commits"
        user.run("update-ref", "-m", reason, "HEAD", commits[-1], repository.head)
    except GitFailed:
        _change(user, commits[-1], repository.head)
        raise
    return tuple(commits)


def discard_changes(candidate: RunChanges, env: Mapping[str, str], now_ms: int) -> None:
    """Throw the changes of a run away, with the worktree if it was kept."""
    worktree = candidate.worktree
    seal = read_seal(worktree.desk)
    if seal is None:
        raise ChangesUnavailable(worktree.run_id, messages.NO_SEAL)
    if seal.applied_at_ms:
        raise ChangesUnavailable(worktree.run_id, messages.APPLIED)
    remove_worktree(worktree, env)
    write_seal(worktree.desk, replace(seal, discarded_at_ms=now_ms))
    with suppress(OSError):
        (candidate.run_dir / CHANGES_PATCH).unlink()

"""
What the files of a checkout are, right now, as a tree of git.

In: a checkout, an index that is known to be its own, where new objects may be written.  Out: the
tree, and what is in no tree: repositories inside, submodules with changes.  The index is copied and
only the copy is written; of files that look as the index says nothing is read.
"""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.workspaces.git import Git

_STATUS = (
    "status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--no-ahead-behind",
)  # fmt: skip
# What `ls-files -v` marks: files that git was told not to look at.
_HIDDEN = re.compile(rb"(?:^|\0)([a-zS]) ([^\0]+)")
_BEFORE_PATH = {b"1": 8, b"u": 10}  # how many fields of a line of the status come before its path


@value
class Content:
    """What a checkout holds, and what of it is in no tree."""

    tree: str
    nested: tuple[str, ...]  # repositories that are not its submodules
    submodules_changed: tuple[str, ...]


def read_content(
    git: Git,
    own_index: Path,
    private_index: Path,
    *,
    look_into_submodules: bool,
    but: frozenset[bytes] = frozenset(),
) -> Content:
    """
    Return what the files are, but for some that are none of it; GitFailed where one is unreadable.

    Submodules of a checkout that somebody else wrote to are not looked into: git would do what
    their configuration says.
    """
    copy_index(own_index, private_index)
    git = git.using(index=private_index)
    _look_at_everything(git)
    ignored = "none" if look_into_submodules else "all"
    status = git.run(*_STATUS, f"--ignore-submodules={ignored}")
    changed, nested, submodules = _sorted_out(status)
    changed = [path for path in changed if path not in but]
    if changed:
        given = b"".join(path + b"\0" for path in changed)
        git.run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", given=given)
    return Content(git.line("write-tree"), nested, submodules)


def copy_index(source: Path, copy: Path) -> None:
    """Copy an index with its time: git reads files again that are no older than their index."""
    shutil.copyfile(source, copy)
    written = source.stat()
    os.utime(copy, ns=(written.st_atime_ns, written.st_mtime_ns))


def _look_at_everything(git: Git) -> None:
    """Have git look also at files that the user told it not to look at, where they are there."""
    hidden = _HIDDEN.findall(git.run("ls-files", "-v", "-z"))
    assumed = [path for mark, path in hidden if mark != b"S"]
    skipped = [path for mark, path in hidden if mark in b"Ss" and _exists(git, path)]
    for option, paths in (("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)):
        if paths:
            git.run("update-index", option, "-z", "--stdin", given=b"\0".join(paths) + b"\0")


def _exists(git: Git, path: bytes) -> bool:
    return os.path.lexists(os.path.join(os.fsencode(git.cwd), path))  # noqa: PTH118 - bytes


def _sorted_out(status: bytes) -> tuple[list[bytes], tuple[str, ...], tuple[str, ...]]:
    """Return the paths that differ from the index, the repositories inside, the odd submodules."""
    changed, nested, submodules = [], [], []
    for line in status.split(b"\0"):
        kind, _, rest = line.partition(b" ")
        if kind == b"?":
            if rest.endswith(b"/"):
                nested.append(os.fsdecode(rest.removesuffix(b"/")))
            else:
                changed.append(rest)
        elif kind in _BEFORE_PATH:
            fields = line.split(b" ", _BEFORE_PATH[kind])
            states, submodule, path = fields[1], fields[2], fields[-1]
            if submodule.strip(b"S.") and submodule.startswith(b"S"):
                submodules.append(os.fsdecode(path))
            if not states.endswith(b".") or kind == b"u":
                changed.append(path)
    return changed, tuple(nested), tuple(submodules)

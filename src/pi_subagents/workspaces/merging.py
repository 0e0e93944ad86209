"""
Join what two sides made of one tree, and say where that is impossible.

In: three trees.  Out: the joined tree, or the conflicts by file and hunk.  No file, index or ref is
read or written: only objects, in a place of our own.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.errors.workspaces import GitFailed
from pi_subagents.workspaces import messages
from pi_subagents.workspaces.snapshot import AUTHOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.workspaces.git import Git

_MERGE = (
    "-c", "merge.conflictStyle=merge", "-c", "merge.directoryRenames=false",
    "-c", "merge.renames=true", "merge-tree", "--write-tree", "-z", "--allow-unrelated-histories",
)  # fmt: skip
_OURS, _THEIRS, _END = b"<<<<<<< ", b"=======", b">>>>>>> "
_MAX_READ = 4 * 1024 * 1024
_TEXT_CONFLICTS = ("CONFLICT (contents)", "CONFLICT (content)", "CONFLICT (add/add)")


@value
class Joined:
    """A tree with what both sides changed; with conflicts it is not to be used."""

    tree: str
    conflicts: tuple[str, ...] = ()


def join(git: Git, base: str, ours: str, theirs: str) -> Joined:
    """Return the two trees joined, by what they have in common."""
    if base == ours:
        return Joined(theirs)
    if theirs in (base, ours):
        return Joined(ours)
    named = git.with_variables(AUTHOR)

    def commit(tree: str, *parents: str) -> str:
        options = [part for parent in parents for part in ("-p", parent)]
        return named.line("commit-tree", tree, *options, "-m", "joined")

    root = commit(base)
    answer = git.ask(*_MERGE, commit(ours, root), commit(theirs, root))
    if answer.code not in (0, 1):
        raise GitFailed("merge-tree", answer.said)
    tree, _, rest = answer.output.partition(b"\0")
    joined = tree.decode("ascii")
    if answer.code == 0:
        return Joined(joined)
    return Joined(joined, tuple(_conflicts(git, joined, rest)))


def _conflicts(git: Git, tree: str, output: bytes) -> Iterator[str]:
    """Yield each conflict in a line: the file, where in it, and of which kind it is."""
    _, _, listed = output.partition(b"\0\0")  # the files of the three sides
    fields = iter(listed.split(b"\0"))
    others: dict[str, str] = {}
    for count in fields:
        if not count:
            continue
        path, *_ = (os.fsdecode(next(fields)) for _ in range(int(count)))
        kind, words = next(fields).decode("utf-8", "replace"), next(fields)
        hunks = _hunks(git, tree, path) if kind in _TEXT_CONFLICTS else []
        yield from (messages.conflict_at(path, first, last) for first, last in hunks)
        if kind.startswith("CONFLICT") and not hunks:
            others.setdefault(path, words.decode("utf-8", "replace").strip())
    yield from (messages.conflict(path, words) for path, words in others.items())


def _hunks(git: Git, tree: str, path: str) -> list[tuple[int, int]]:
    """Return the lines of our side, from and to, that were changed differently by the other."""
    content = git.ask("cat-file", "blob", f"{tree}:{path}").output[:_MAX_READ]
    found: list[tuple[int, int]] = []
    line, first, theirs = 1, 0, False
    for text in content.split(b"\n"):
        if text.startswith(_OURS):
            first = line
        elif first and text.startswith(_END):
            found.append((first, max(first, line - 1)))
            first, theirs = 0, False
        elif first and text.startswith(_THEIRS):
            theirs = True
        elif not theirs:
            line += 1
    return found

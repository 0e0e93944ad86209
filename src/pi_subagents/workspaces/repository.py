"""
Find the repository a task works in, and refuse, with the reason, what worktrees cannot be made of.

In: a directory, an environment.  Out: a Repository, or NoWorkspace.  Nothing is changed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import JsonObject, as_dict, value
from pi_subagents.errors.workspaces import NoWorkspace
from pi_subagents.workspaces import messages
from pi_subagents.workspaces.git import Checkout, Git

if TYPE_CHECKING:
    from collections.abc import Mapping

# What git is in the middle of while one of these is in the repository's directory.
_IN_PROGRESS = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
_MIN_FREE_BYTES = 32 * 1024 * 1024


@value
class Repository:
    """A checkout of a repository, and where its parts are."""

    top: str
    git_dir: str  # of this checkout
    common_dir: str  # of all its checkouts
    objects: str
    head: str

    @property
    def checkout(self) -> Checkout:
        """Return what git is to be asked about."""
        return Checkout(self.git_dir, self.top)

    def to_json(self) -> JsonObject:
        """Return it as it is kept."""
        return as_dict(self)


def find_repository(cwd: Path, env: Mapping[str, str]) -> Repository:
    """Return the repository that the directory is in; NoWorkspace where no worktree can be made."""
    git = Git(env, cwd)
    bare = git.ask("rev-parse", "--is-bare-repository", "--is-inside-work-tree")
    if bare.code != 0:
        unknown = "not a git repository" in bare.said
        raise NoWorkspace(str(cwd), messages.NO_REPOSITORY if unknown else bare.said)
    if bare.output.split() != [b"false", b"true"]:
        raise NoWorkspace(str(cwd), messages.NO_CHECKOUT)

    def path(*question: str) -> str:
        return git.line("rev-parse", "--path-format=absolute", *question)

    head = git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head.code != 0:
        raise NoWorkspace(str(cwd), messages.NO_COMMIT)
    repository = Repository(
        top=path("--show-toplevel"),
        git_dir=path("--git-dir"),
        common_dir=path("--git-common-dir"),
        objects=path("--git-path", "objects"),
        head=head.output.decode("ascii").strip(),
    )
    _refuse_unfinished(repository, cwd)
    if git.run("rev-parse", "--shared-index-path"):
        raise NoWorkspace(str(cwd), messages.SPLIT_INDEX)
    return repository


def _refuse_unfinished(repository: Repository, cwd: Path) -> None:
    """Refuse what is between two states, or cannot be written to."""
    for name, what in _IN_PROGRESS.items():
        if os.path.lexists(os.path.join(repository.git_dir, name)):  # noqa: PTH118 - odd names
            raise NoWorkspace(str(cwd), messages.in_progress(what))
    for directory in (repository.common_dir, repository.objects):
        if not os.access(directory, os.W_OK):
            raise NoWorkspace(str(cwd), messages.read_only(directory))


def refuse_home(home: Path, repository: Repository, git: Git) -> None:
    """Refuse a directory for worktrees that is full, or part of the repository itself."""
    existing = next(each for each in (home, *home.parents) if each.is_dir())
    free = os.statvfs(existing)
    if free.f_bavail * free.f_frsize < _MIN_FREE_BYTES:
        raise NoWorkspace(repository.top, messages.no_space(str(existing)))
    if not Path(os.path.realpath(home)).is_relative_to(os.path.realpath(repository.top)):
        return
    if git.ask("check-ignore", "-z", "--stdin", given=os.fsencode(home) + b"\0").code != 0:
        raise NoWorkspace(repository.top, messages.home_inside(str(home)))

"""
Make, prove and remove the worktree of one run.

In: a snapshot and a run's id.  Out: a Worktree whose files are the snapshot's, or a reason why not.
Its path follows from both, so that whoever looks after a crash finds it; the same path is used when
it is made again.  What stays when it is removed: the snapshot, and what was saved of the changes.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.errors.workspaces import GitFailed, WorkspaceNotMade
from pi_subagents.system import crash_points
from pi_subagents.system.safe_io import make_private_dirs, write_new
from pi_subagents.workspaces import messages
from pi_subagents.workspaces.content import copy_index
from pi_subagents.workspaces.git import Checkout, Git, Objects
from pi_subagents.workspaces.snapshot import Snapshot, give_objects, private_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# Between two tries to change the list of worktrees.
_PAUSES_S = (0.02, 0.05, 0.1, 0.2)
_MIN_FREE_BYTES = 4 * 1024 * 1024


@value
class Worktree:
    """The worktree of one run, whether it is there or not."""

    snapshot: Snapshot
    run_id: str
    place: str = ""  # the run that it was made for first, where that is another

    @property
    def path(self) -> Path:
        """Return where its files are."""
        return self.snapshot.dir / "trees" / (self.place or self.run_id)

    @property
    def desk(self) -> Path:
        """Return where we keep what its child cannot be trusted with."""
        return self.snapshot.dir / "runs" / self.run_id

    @property
    def cwd(self) -> Path:
        """Return the same relative place as the caller's."""
        return self.path / self.snapshot.prefix

    @property
    def index(self) -> Path:
        """Return the index as it was when the worktree was made."""
        return self.desk / "index"

    @property
    def objects(self) -> Path:
        """Return where the objects of what its files became are."""
        return self.desk / "objects"

    @property
    def links(self) -> Path:
        """Return the list of what it shares with the caller's checkout."""
        return self.desk / "links"

    @property
    def refs(self) -> Path:
        """Return the list of the repository's refs as they were."""
        return self.desk / "refs"

    def git(self, env: Mapping[str, str]) -> Git:
        """
        Return git for its files.

        By the caller's repository, whatever the child made of `.git` in its worktree: a directory
        of its own could name programs for git to run.
        """
        snapshot = self.snapshot
        checkout = Checkout(snapshot.repository.git_dir, str(self.path))
        known = Path(snapshot.repository.objects)
        objects = Objects(self.objects, known, (snapshot.objects,))
        return Git(env, self.path, checkout, objects=objects)

    def snapshot_git(self, env: Mapping[str, str]) -> Git:
        """Return git for the objects of both, without any of its files."""
        return self.snapshot.git(env, self.objects)

    def admin_dir(self) -> Path | None:
        """Return the directory that the repository keeps for it, if it knows it."""
        with suppress(OSError):
            for each in (Path(self.snapshot.repository.common_dir) / "worktrees").iterdir():
                with suppress(OSError):
                    if (each / "gitdir").read_bytes().strip() == os.fsencode(self.path / ".git"):
                        return each
        return None


def make_worktree(worktree: Worktree, env: Mapping[str, str], tree: str = "") -> None:
    """
    Make it; its files are those of `tree`, where that is given, as if they had been changed there.

    What is left of it in the path is removed before: only we write there.
    """
    snapshot = worktree.snapshot
    remove_worktree(worktree, env)
    make_private_dirs(worktree.path.parent)
    make_private_dirs(worktree.desk)
    user = Git(env, Path(snapshot.repository.top), snapshot.repository.checkout)
    try:
        give_objects(snapshot)
        options = ("--detach", "--lock", "--reason", f"pi-subagents run {worktree.run_id}")
        _insist(user, "add", "--quiet", *options, "--", str(worktree.path), snapshot.commit)
        worktree.cwd.mkdir(parents=True, exist_ok=True)  # an ignored or empty one of the caller's
        admin = worktree.admin_dir()
        if admin is None:
            raise WorkspaceNotMade(messages.UNKNOWN_TO_GIT)
        crash_points.reach(crash_points.WORKTREE_ADDED)
        if tree:
            _fill(worktree, admin, tree, env)
        copy_index(admin / "index", worktree.index)
        worktree.refs.unlink(missing_ok=True)
        write_new(worktree.refs, all_refs(user))
    except (GitFailed, OSError) as error:
        remove_worktree(worktree, env)
        raise WorkspaceNotMade(_reason(worktree, error)) from error


def link_shared(
    worktree: Worktree, names: Iterable[str], env: Mapping[str, str]
) -> tuple[str, ...]:
    """
    Link what is there in the caller's directory and ignored by git; return what was linked.

    WorkspaceNotMade where a name leads out of the checkout, or to what is part of the repository.
    """
    repository, linked = worktree.snapshot.repository, []
    own = Path(os.path.normpath(Path(repository.top) / worktree.snapshot.prefix))
    git = Git(env, Path(repository.top), repository.checkout)
    for name in names:
        source, target = own / name, worktree.cwd / name
        if not os.path.lexists(source) or os.path.lexists(target):
            continue
        inside = os.path.relpath(source, repository.top)
        # Without the slash at its end a pattern such as `.venv/` does not mean the link itself.
        ignored = git.ask("check-ignore", "-q", "--", inside).code == 0
        if not ignored:
            raise WorkspaceNotMade(messages.not_ignored(name))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)
        linked.append(name)
    worktree.links.unlink(missing_ok=True)
    if linked:
        write_new(worktree.links, b"".join(os.fsencode(name) + b"\0" for name in linked))
    return tuple(linked)


def linked_paths(worktree: Worktree) -> frozenset[bytes]:
    """Return what is linked in it, as its index would name it."""
    prefix = (
        b"" if worktree.snapshot.prefix == "." else os.fsencode(worktree.snapshot.prefix) + b"/"
    )
    with suppress(OSError):
        names = worktree.links.read_bytes().split(b"\0")
        return frozenset(prefix + name for name in names if name)
    return frozenset()


def _fill(worktree: Worktree, admin: Path, tree: str, env: Mapping[str, str]) -> None:
    """Give it the files of a tree; its index stays the snapshot's."""
    git = worktree.git(env).using(Checkout(str(admin), str(worktree.path)))
    with private_file(worktree.desk) as index:
        copy_index(admin / "index", index)
        git.using(index=index).run("read-tree", "-m", "-u", worktree.snapshot.tree, tree)
    git.ask("update-index", "-q", "--refresh")  # it says which files differ, and then fails


def _reason(worktree: Worktree, error: GitFailed | OSError) -> str:
    with suppress(OSError):
        free = os.statvfs(worktree.snapshot.dir)
        if free.f_bavail * free.f_frsize < _MIN_FREE_BYTES:
            return messages.no_space(str(worktree.snapshot.dir))
    return str(error)


def verify_worktree(worktree: Worktree, cwd: Path, env: Mapping[str, str]) -> None:
    """Prove that a child in that directory works on the snapshot; WorkspaceNotMade if not."""
    top = os.path.realpath(worktree.path)
    where = os.path.realpath(cwd)
    if where != top and not where.startswith(top + os.sep):
        raise WorkspaceNotMade(messages.outside(where, top))
    repository, git = worktree.snapshot.repository, Git(env, Path(where))
    # Asked as the child's own git would find it, by the directory alone.
    for what, question, wanted in (
        ("top", "--show-toplevel", top),
        ("repository", "--git-common-dir", os.path.realpath(repository.common_dir)),
        ("commit", "HEAD", worktree.snapshot.commit),
    ):
        try:
            found = git.line("rev-parse", "--path-format=absolute", question)
        except GitFailed as error:
            raise WorkspaceNotMade(str(error)) from error
        if (os.path.realpath(found) if what != "commit" else found) != wanted:
            raise WorkspaceNotMade(messages.not_as_made(what, found, wanted))


def remove_worktree(worktree: Worktree, env: Mapping[str, str]) -> bool:
    """Remove its files and what the repository knows of it; return whether nothing is left."""
    remove_tree(worktree.path)
    repository = worktree.snapshot.repository
    if worktree.admin_dir() is not None:
        crash_points.reach(crash_points.FILES_REMOVED)
        with suppress(GitFailed, OSError):
            git = Git(env, worktree.snapshot.dir, Checkout(repository.git_dir, repository.top))
            _insist(git, "remove", "--force", "--force", "--", str(worktree.path))
    return not os.path.lexists(worktree.path) and worktree.admin_dir() is None


def _insist(git: Git, *arguments: str) -> None:
    """Have git change its list of worktrees; it fails over one that another git is just adding."""
    for pause in _PAUSES_S:
        try:
            git.run("worktree", *arguments)
        except GitFailed:
            time.sleep(pause)
        else:
            return
    git.run("worktree", *arguments)


def remove_tree(path: Path) -> None:
    """Remove a directory with everything in it, also what nobody may write to; links stay links."""

    def insist(function: Callable[..., object], name: str, _: object) -> None:
        parent = os.path.dirname(name)  # noqa: PTH120 - as rmtree names it
        with suppress(OSError):
            os.chmod(parent, stat.S_IRWXU)  # noqa: PTH101 - the same
            if os.path.isdir(name) and not os.path.islink(name):  # noqa: PTH112, PTH114 - the same
                os.chmod(name, stat.S_IRWXU)  # noqa: PTH101 - the same
                shutil.rmtree(name, ignore_errors=True)
            else:
                function(name)

    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path, onerror=insist)


def all_refs(git: Git) -> bytes:
    """Return every ref of the repository, and what it leads to."""
    return git.run("for-each-ref", "--format=%(objectname) %(refname)")

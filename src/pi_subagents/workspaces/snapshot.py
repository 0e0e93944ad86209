"""
What a caller sees, as a commit: HEAD with every uncommitted and untracked file that is not ignored.

In: the directory of a task.  Out: a Snapshot, kept in a directory of its own with the objects that
are new.  Nothing of the repository is written: no index, ref, stash or object.  Of a checkout
without changes the snapshot is HEAD itself.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import shown_name
from pi_subagents.core.value import as_dict, value
from pi_subagents.core.workspace.changes import parse_files
from pi_subagents.errors.workspaces import NoWorkspace
from pi_subagents.system.safe_io import (
    make_private_dir,
    make_private_dirs,
    read_json,
    replace_file,
    to_json_bytes,
)
from pi_subagents.workspaces import messages
from pi_subagents.workspaces.content import Content, read_content
from pi_subagents.workspaces.git import Git, Objects
from pi_subagents.workspaces.repository import Repository, find_repository, refuse_home

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pi_subagents.core.workspace.changes import ChangedFile

SCHEMA_VERSION = 1
_MAX_JSON = 1024 * 1024
_SHOWN_NAMES = 5
AUTHOR = {
    f"GIT_{who}_{what}": text
    for who in ("AUTHOR", "COMMITTER")
    for what, text in (("NAME", "pi-subagents"), ("EMAIL", "pi-subagents@localhost"))
}
_OBJECT = re.compile(r"[0-9a-f]{2}/[0-9a-f]{38,62}|pack/pack-[0-9a-f]+\.(?:pack|idx|rev)")


@value
class Snapshot:
    """A commit of what the caller saw, and where it is kept."""

    repository: Repository
    commit: str
    tree: str
    prefix: str  # the directory of the call below the top of the checkout
    home: str  # where its objects and its worktrees are
    received: bool = False  # from another machine: there is no checkout here that it is of

    @property
    def dir(self) -> Path:
        """Return where it is kept."""
        return Path(self.home)

    @property
    def objects(self) -> Path:
        """Return where the objects are that the repository does not have."""
        return self.dir / "objects"

    def git(self, env: Mapping[str, str], *also: Path) -> Git:
        """Return git for the caller's checkout; what it makes stays with the snapshot."""
        top = Path(self.repository.top)
        objects = Objects(self.objects, Path(self.repository.objects), also)
        return Git(env, top, self.repository.checkout, objects=objects)


def take_snapshot(cwd: Path, home: Path, env: Mapping[str, str]) -> Snapshot:
    """Take and keep a snapshot of the checkout that the directory is in."""
    repository = find_repository(cwd, env)
    refuse_home(home, repository, Git(env, Path(repository.top), repository.checkout))
    make_private_dirs(home.parent)
    make_private_dir(home)
    try:
        return _taken(repository, cwd, home, env)
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)
        raise


def _taken(repository: Repository, cwd: Path, home: Path, env: Mapping[str, str]) -> Snapshot:
    # Of the real paths: one of them may have a link in it.
    prefix = os.path.relpath(os.path.realpath(cwd), os.path.realpath(repository.top))
    snapshot = Snapshot(repository, repository.head, "", prefix, str(home))
    git = snapshot.git(env)
    content = content_now(snapshot, git)
    refuse_what_is_in_no_tree(repository, content)
    commit = repository.head
    if content.tree != git.line("rev-parse", "HEAD^{tree}"):
        options = ("-p", repository.head, "-m", "What the caller of pi-subagents saw")
        commit = git.with_variables(AUTHOR).line("commit-tree", content.tree, *options)
    snapshot = Snapshot(repository, commit, content.tree, prefix, str(home))
    keep_snapshot(snapshot)
    return snapshot


def keep_snapshot(snapshot: Snapshot) -> None:
    """Write what `load_snapshot` reads."""
    replace_file(snapshot.dir / "snapshot.json", to_json_bytes(_to_json(snapshot)))


def content_now(snapshot: Snapshot, git: Git) -> Content:
    """Return what is in the caller's checkout now."""
    index = Path(snapshot.repository.git_dir) / "index"
    with private_file(snapshot.dir) as private:
        return read_content(git, index, private, look_into_submodules=True)


def refuse_what_is_in_no_tree(repository: Repository, content: Content) -> None:
    """Refuse a checkout of which no tree has everything that the caller sees."""
    for names, reason in (
        (content.nested, messages.nested),
        (content.submodules_changed, messages.submodules_changed),
    ):
        if names:
            raise NoWorkspace(repository.top, reason(some(names)))


def some(names: tuple[str, ...]) -> str:
    """Return the first names of a list that may be long."""
    more = len(names) - _SHOWN_NAMES
    return ", ".join(map(shown_name, names[:_SHOWN_NAMES])) + (
        f" and {more} more" if more > 0 else ""
    )


def changed_since(snapshot: Snapshot, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files of the caller's checkout that differ from the snapshot by now."""
    if snapshot.received:
        return ()
    git = snapshot.git(env)
    now = content_now(snapshot, git).tree
    if now == snapshot.tree:
        return ()
    return tuple(file.path for file in differences(git, snapshot.tree, now, "--no-renames"))


def differences(git: Git, old: str, new: str, *options: str) -> tuple[ChangedFile, ...]:
    """Return the files in which two trees differ."""
    wanted = options or ("-M",)
    output = git.run("diff-tree", "-r", *wanted, "--raw", "--numstat", "-z", old, new)
    return parse_files(os.fsdecode(output))


def load_snapshot(home: Path) -> Snapshot:
    """Return a snapshot that is kept; OSError or ValueError where it cannot be read."""
    content = read_json(home / "snapshot.json", _MAX_JSON)
    if not isinstance(content, dict) or content.pop("schemaVersion", None) != SCHEMA_VERSION:
        raise ValueError("not a snapshot of this version")
    try:
        content["repository"] = Repository(**content["repository"])
        return Snapshot(**{**content, "home": str(home)})
    except (KeyError, TypeError) as error:
        raise ValueError("not a snapshot of this version") from error


def _to_json(snapshot: Snapshot) -> dict[str, object]:
    repository = as_dict(snapshot.repository)
    return {"schemaVersion": SCHEMA_VERSION, **as_dict(snapshot), "repository": repository}


def give_objects(snapshot: Snapshot) -> None:
    """Put the snapshot's objects into the repository, for worktrees; no ref leads to them."""
    give_objects_of(snapshot.objects, snapshot.repository.objects)


def give_objects_of(objects: Path, repository_objects: str) -> None:
    """Put objects of ours into a repository."""
    target = Path(repository_objects)
    for source in sorted(objects.rglob("*"), reverse=True):  # a pack before its index
        name = str(source.relative_to(objects))
        if _OBJECT.fullmatch(name) and not (target / name).exists():
            _link_or_copy(source, target / name)


def _link_or_copy(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        try:
            os.link(source, target)
        except FileExistsError:
            raise
        except OSError:  # another file system
            temporary = target.with_name(f"tmp_obj_{os.urandom(6).hex()}")
            shutil.copy(source, temporary)
            temporary.replace(target)


@contextmanager
def private_file(directory: Path) -> Iterator[Path]:
    """Give a place for an index, or whatever else is used once."""
    with tempfile.TemporaryDirectory(prefix=".once-", dir=directory) as place:
        yield Path(place) / "file"

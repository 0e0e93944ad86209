"""A repository with what a person has in it, and worktrees of it; no configuration but its own."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.workspaces.applying import RunChanges, Taken, apply_changes
from pi_subagents.workspaces.changes import save_changes
from pi_subagents.workspaces.snapshot import Snapshot, take_snapshot
from pi_subagents.workspaces.worktree import Worktree, make_worktree, remove_worktree

if TYPE_CHECKING:
    from pi_subagents.core.workspace.changes import Changes

MEGABYTE = 1024 * 1024


@value
class GitPlace:
    """A directory with a repository `project`, and the data directory of its user."""

    root: Path

    @property
    def top(self) -> Path:
        return self.root / "project"

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def git(self, *arguments: str | bytes, at: Path | None = None, given: bytes = b"") -> bytes:
        """Run git as the user does."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=at or self.top,
            env=self.env,
            input=given,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def write(self, files: dict[str, bytes | str], at: Path | None = None) -> None:
        for name, content in files.items():
            path = (at or self.top) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str = "more") -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def snapshot(self, cwd: Path | None = None) -> Snapshot:
        home = self.root / "data" / "workspaces" / os.urandom(4).hex()
        return take_snapshot(cwd or self.top, home, self.env)

    def worktree(self, snapshot: Snapshot | None = None) -> Worktree:
        worktree = Worktree(snapshot or self.snapshot(), os.urandom(8).hex())
        make_worktree(worktree, self.env)
        return worktree

    def run_dir(self, worktree: Worktree) -> Path:
        path = self.root / "runs" / worktree.run_id
        path.mkdir(parents=True, exist_ok=True)
        return path

    def save(self, worktree: Worktree, max_bytes: int = 64 * MEGABYTE) -> Changes:
        return save_changes(worktree, self.run_dir(worktree), self.env, max_bytes)

    def done(self, files: dict[str, bytes | str], snapshot: Snapshot | None = None) -> Worktree:
        """Return the worktree of a run that wrote these files and has ended."""
        worktree = self.worktree(snapshot)
        self.write(files, worktree.path)
        self.save(worktree)
        assert remove_worktree(worktree, self.env)
        return worktree

    def apply(self, *worktrees: Worktree, check: bool = False, commit: bool = False) -> Taken:
        candidates = [RunChanges(each, self.run_dir(each), "Taken") for each in worktrees]
        return apply_changes(candidates, self.env, 1, check=check, commit=commit)

    def files(self, at: Path | None = None) -> dict[bytes, tuple[str, bytes]]:
        """Return every file, link and executable below, except for git's own."""
        top = os.fsencode(at or self.top)
        found: dict[bytes, tuple[str, bytes]] = {}
        for directory, names, files in os.walk(top):
            if b".git" in names and directory == top:
                names.remove(b".git")
            for name in [*files, *(n for n in names if os.path.islink(os.path.join(directory, n)))]:
                path = os.path.join(directory, name)
                relative = os.path.relpath(path, top)
                if relative == b".git":
                    continue
                if os.path.islink(path):
                    found[relative] = ("link", os.readlink(path))
                else:
                    kind = "program" if os.access(path, os.X_OK) and _executable(path) else "file"
                    found[relative] = (kind, Path(os.fsdecode(path)).read_bytes())
        return found

    def state(self) -> dict[str, bytes]:
        """Return all of the user's repository but its objects, to the byte, and its status."""
        git_dir = self.top / ".git"
        found = {
            str(path.relative_to(git_dir)): path.read_bytes()
            for path in sorted(git_dir.rglob("*"))
            if path.is_file() and "objects" not in path.relative_to(git_dir).parts[:1]
        }
        for question in ("status --porcelain=v2 --branch", "worktree list", "stash list", "reflog"):
            found[question] = self.git("--no-optional-locks", *question.split())
        return found


def _executable(path: bytes) -> bool:
    return bool(os.stat(path).st_mode & 0o100)


def git_place(root: Path) -> GitPlace:
    """Make a repository with a history, something staged, changed, untracked, ignored, stashed."""
    place = GitPlace(root)
    (root / "home").mkdir(parents=True)
    place.top.mkdir()
    place.git("init", "-q", "-b", "main")
    for name, each in (("user.name", "Jane"), ("user.email", "jane@example.org")):
        place.git("config", name, each)
    place.write({"a.txt": LINES, "sub/b.txt": "b\n", ".gitignore": "ignored/\n*.log\n"})
    place.commit("first")
    place.write({"stashed.txt": "s\n"})
    place.git("stash", "push", "-qu")
    age(place)
    return place


def repository_of(project: Path) -> GitPlace:
    """Make a repository of a test's project; what we keep there is ignored."""
    place = GitPlace(project.parent)
    assert place.top == project
    place.git("init", "-q", "-b", "main")
    for name, each in (("user.name", "Jane"), ("user.email", "jane@example.org")):
        place.git("config", name, each)
    place.write({"a.txt": LINES, "sub/b.txt": "b\n", ".gitignore": ".pi/\n"})
    place.commit("first")
    age(place)
    return place


LINES = "".join(f"line {number}\n" for number in range(1, 41))


def age(place: GitPlace) -> None:
    """Make the index older than now, as that of a person is: git trusts what it says of files."""
    stamp = time.time() - 100
    for path in place.top.rglob("*"):
        if ".git" not in path.relative_to(place.top).parts and not path.is_symlink():
            os.utime(path, (stamp, stamp))
    place.git("update-index", "-q", "--refresh")


def dirty(place: GitPlace) -> None:
    """Have something of every kind that is not committed."""
    place.write({"staged.txt": "staged\n", "untracked/new.txt": "new\n", "ignored/x": "i\n"})
    place.git("add", "staged.txt")
    place.write({"a.txt": LINES.replace("line 20\n", "line twenty\n")})
    (place.top / "sub" / "b.txt").unlink()

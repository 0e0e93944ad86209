"""
One way to run git: never by a shell, without hooks, questions, pagers or a caller's variables.

In: arguments, what is on standard input, and which checkout, index and objects are meant.  Out:
bytes, or GitFailed with what git said.  Output is bounded, and so is the time; git runs in a
session of its own and is killed as a group.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.errors.workspaces import GitFailed, GitMissing
from pi_subagents.system.programs import search_program

if TYPE_CHECKING:
    from collections.abc import Mapping

OLDEST = (2, 38)  # the first that merges two trees without a checkout
LIMIT_S = 900.0  # a first checkout of a very large repository
MAX_OUTPUT_BYTES = 256 * 1024 * 1024
_MAX_ERROR_BYTES = 4096
_CHUNK = 256 * 1024
_VERSION = re.compile(r"git version (\d+)\.(\d+)")
# What `git rev-parse --local-env-vars` lists: what speaks of one repository is for no other.
LOCAL_VARIABLES = frozenset({
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX",
    "GIT_INTERNAL_SUPER_PREFIX", "GIT_SHALLOW_FILE", "GIT_COMMON_DIR",
})  # fmt: skip
# The others change how git works for us: which configuration is the user's alone counts.
_KEPT = {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"}
_IDENTITY = {f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",  # a program of the repository's choice
    "core.safecrlf": "false",  # a warning about line ends is no reason to refuse
    "core.untrackedCache": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
}


def without_local_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a child in another worktree than its caller."""
    return {name: each for name, each in env.items() if name not in LOCAL_VARIABLES}


@value
class Checkout:
    """A directory with files, and the directory of the repository that they are of."""

    git_dir: str
    top: str


@value
class Objects:
    """Where new objects are written, and where others are that may be used."""

    new: Path
    known: Path
    also: tuple[Path, ...] = ()


@value
class Answer:
    """How git ended, what it wrote to standard output, and the end of what it said besides."""

    code: int
    output: bytes
    said: str


class Git:
    """Git on this machine, in one environment, for one checkout and one index where given."""

    def __init__(
        self,
        env: Mapping[str, str],
        cwd: Path,
        checkout: Checkout | None = None,
        *,
        index: Path | None = None,
        objects: Objects | None = None,
    ) -> None:
        self._given, self._cwd, self._checkout = env, cwd, checkout
        self._index, self._objects = index, objects
        self._program = _program(env.get("PATH", os.defpath), cwd)
        self._env = _environment(env)
        if index is not None:
            self._env["GIT_INDEX_FILE"] = str(index)
        if objects is not None:
            (objects.new / "pack").mkdir(mode=0o700, parents=True, exist_ok=True)
            self._env["GIT_OBJECT_DIRECTORY"] = str(objects.new)
            known = (objects.known, *objects.also)
            self._env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = ":".join(map(_quoted, known))

    @property
    def cwd(self) -> Path:
        """Return where it runs: the top of its checkout, if it has one."""
        return self._cwd

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the environment it was given."""
        return self._given

    def using(
        self,
        checkout: Checkout | None = None,
        *,
        index: Path | None = None,
        objects: Objects | None = None,
    ) -> Git:
        """Return the same git with another checkout, index, or place for new objects."""
        return Git(
            self._given,
            Path(checkout.top) if checkout else self._cwd,
            checkout or self._checkout,
            index=index or self._index,
            objects=objects or self._objects,
        )

    def with_variables(self, variables: Mapping[str, str]) -> Git:
        """Return the same git with variables of its own."""
        git = self.using()
        git._env.update(variables)  # noqa: SLF001 - it is one of us
        return git

    def ask(
        self, *arguments: str | bytes, given: bytes | IO[bytes] = b"", limit_s: float = LIMIT_S
    ) -> Answer:
        """Run it; return how it ended, whatever that means."""
        if not isinstance(given, bytes):
            return self._run(arguments, given, None, MAX_OUTPUT_BYTES, limit_s)
        with tempfile.TemporaryFile() as given_file:
            given_file.write(given)
            given_file.seek(0)
            return self._run(arguments, given_file, None, MAX_OUTPUT_BYTES, limit_s)

    def run(
        self, *arguments: str | bytes, given: bytes | IO[bytes] = b"", limit_s: float = LIMIT_S
    ) -> bytes:
        """Run it and return what it wrote; GitFailed if it failed."""
        answer = self.ask(*arguments, given=given, limit_s=limit_s)
        if answer.code != 0:
            raise GitFailed(_named(arguments), answer.said or f"exit code {answer.code}")
        return answer.output

    def line(self, *arguments: str | bytes) -> str:
        """Run it and return the one name that it wrote, whatever is in it."""
        return os.fsdecode(self.run(*arguments)).removesuffix("\n")

    def write_to(
        self, file: IO[bytes], *arguments: str | bytes, max_bytes: int, given: bytes = b""
    ) -> bool:
        """Run it with its output in a file; return whether that was all of it."""
        with tempfile.TemporaryFile() as given_file:
            given_file.write(given)
            given_file.seek(0)
            answer = self._run(arguments, given_file, file, max_bytes, LIMIT_S)
        if answer.code == _TOO_MUCH:
            return False
        if answer.code != 0:
            raise GitFailed(_named(arguments), answer.said or f"exit code {answer.code}")
        return True

    def _run(
        self,
        arguments: tuple[str | bytes, ...],
        given: IO[bytes],
        into: IO[bytes] | None,
        max_bytes: int,
        limit_s: float,
    ) -> Answer:
        settings = [part for name, each in _SETTINGS.items() for part in ("-c", f"{name}={each}")]
        place = self._checkout
        where = [f"--git-dir={place.git_dir}", f"--work-tree={place.top}"] if place else []
        with tempfile.TemporaryFile() as said:
            try:
                process = subprocess.Popen(
                    [
                        self._program,
                        "--no-pager",
                        *settings,
                        *where,
                        *arguments,
                    ],
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    bufsize=0,
                    cwd=self._cwd,
                    env=self._env,
                    start_new_session=True,
                )
            except OSError as error:
                raise GitFailed(_named(arguments), str(error)) from error
            with process:
                try:
                    output = _read(process, into, max_bytes, time.monotonic() + limit_s)
                    code = process.wait() if output is not None else _TOO_MUCH
                finally:
                    if process.returncode is None:  # not waited for: the number is its own
                        with suppress(ProcessLookupError, PermissionError):
                            os.killpg(process.pid, signal.SIGKILL)
            size = said.seek(0, os.SEEK_END)
            said.seek(max(size - _MAX_ERROR_BYTES, 0))
            words = said.read().decode("utf-8", "replace").strip()
        return Answer(code, output or b"", words)


_TOO_MUCH = -1000


def _read(
    process: subprocess.Popen[bytes], into: IO[bytes] | None, max_bytes: int, deadline: float
) -> bytes | None:
    """Return what is written; None if that takes too long or is too much."""
    assert process.stdout is not None
    source = process.stdout.fileno()
    ready = select.poll()
    ready.register(source, select.POLLIN)
    kept: list[bytes] = []
    left = max_bytes
    while left >= 0:
        if not ready.poll(max(deadline - time.monotonic(), 0) * 1000):
            return None
        chunk = os.read(source, _CHUNK)
        if not chunk:
            return b"".join(kept)
        left -= len(chunk)
        if into is not None and left >= 0:
            into.write(chunk)
        elif into is None:
            kept.append(chunk)
    return None


@cache
def _program(path: str, cwd: Path) -> str:
    """Return the git that is used; GitMissing if there is none that can be."""
    found = search_program("git", {"PATH": path}, cwd).found
    if found is None:
        raise GitMissing("there is no git on PATH")
    try:
        done = subprocess.run(
            [found, "--version"], capture_output=True, env={"PATH": path}, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitMissing(f"{found} cannot be run ({error})") from error
    words = done.stdout.decode("utf-8", "replace").strip()
    if version_of(words) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise GitMissing(f"{found} is not git {oldest} or newer (it says: {words or 'nothing'})")
    return str(found)


def version_of(words: str) -> tuple[int, ...]:
    """Return the version that `git version 2.39.5 (Apple Git-154)` speaks of."""
    found = _VERSION.match(words)
    return (int(found[1]), int(found[2])) if found else ()


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: each
        for name, each in env.items()
        if not name.startswith("GIT_") or name in _KEPT or name in _IDENTITY
    }
    return {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "LANGUAGE": "C",
    }


def _quoted(path: Path) -> str:
    """Return the path as one entry of a list that is divided by colons."""
    text = str(path)
    if ":" not in text and not text.startswith('"') and "\n" not in text:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _named(arguments: tuple[str | bytes, ...]) -> str:
    """Return which command it was."""
    words = (os.fsdecode(each) for each in arguments)
    return next((word for word in words if not word.startswith("-")), "")

"""
Find a tmux that is new enough, and open windows: in the caller's session, else on our own server.

In: a name that is an id, a command as a list.  Out: the command runs in a window of that name,
which is not switched to and which closes when it ends.  tmux expands formats in names, and runs
programs for some of them, so that nothing but generated ids is ever used; and its server keeps the
environment it was started in, so that it gets none of ours but what a terminal needs.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING

from pi_subagents.errors import TmuxNotFound, TmuxTooOld
from pi_subagents.runners import messages
from pi_subagents.system.own_thread import in_own_thread
from pi_subagents.system.programs import ProgramQuestion, search_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

OLDEST = (3, 0)
# "tmux 3.3a", "tmux next-3.5"; a build from source may only say "tmux master".
_VERSION = re.compile(r"tmux (?:next-)?([0-9]{1,4})\.([0-9]{1,4})")
_NEEDED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "SHELL", "TERM", "USER")
_CALLERS_SESSION = ("TMUX", "TMUX_PANE")
_ANSWER_LIMIT_S = 10
_LAST_WORDS = 300


def check_tmux(env: Mapping[str, str], cwd: Path) -> Path:
    """Return the first tmux on PATH that is not inside the working directory."""
    program = search_program("tmux", env, cwd).found
    if program is None:
        raise TmuxNotFound
    version = _version_of(program, env, cwd)
    if version is None:
        raise TmuxNotFound(str(program))
    if is_too_old(version):
        raise TmuxTooOld(version, ".".join(map(str, OLDEST)))
    return program


def is_too_old(version: str) -> bool:
    """Return whether a tmux that calls itself so lacks what we need; an unknown name is new."""
    found = _VERSION.match(version)
    return found is not None and (int(found[1]), int(found[2])) < OLDEST


def _version_of(program: Path, env: Mapping[str, str], cwd: Path) -> str | None:
    """Return what the program calls itself, or None if it cannot be run."""
    try:
        argv = [str(program), "-V"]
        answer = ProgramQuestion(argv, env=env, cwd=cwd, limit_s=_ANSWER_LIMIT_S).answer()
    except OSError:
        return None
    return answer.text[:100].strip() if answer.exit_code == 0 else None


class TmuxServer:
    """The windows of one delegation."""

    def __init__(self, program: Path, env: Mapping[str, str], directory: Path) -> None:
        self._program = str(program)
        self._socket = str(directory / "tmux")
        self._session = ""
        self._env = _some_of(env, _NEEDED)
        self._callers_session = _some_of(env, _CALLERS_SESSION)

    async def open_window(self, name: str, argv: Sequence[str]) -> str:
        """Run the command in a new window; return how it can be watched.  OSError if that fails."""
        problem = ""
        if "TMUX" in self._callers_session:
            # A user may have dead windows kept; ours go when their run does.
            closing = (";", "set-option", "-w", "-t", f":={name}", "remain-on-exit", "off")
            arguments = ("new-window", "-d", "-n", name, *argv, *closing)
            problem = await self._tmux(arguments, self._env | self._callers_session)
            if not problem:
                return messages.NOTICE_TMUX_INSIDE
        for arguments in self._own_attempts(name):
            # Without the user's configuration: it may start programs, or keep windows.
            own = ("-S", self._socket, "-f", "/dev/null", *arguments, *argv)
            problem = await self._tmux(own, self._env)
            if not problem:
                attach = shlex.join(("tmux", "-S", self._socket, "attach"))
                return messages.notice_tmux_own(attach)
        raise OSError(problem)

    def _own_attempts(self, name: str) -> Iterator[tuple[str, ...]]:
        """Yield how to get a window: beside our others, else in a new session, and once more."""
        if self._session:
            yield ("new-window", "-d", "-t", f"={self._session}:", "-n", name)
        # A server that is just leaving, because its last window closed, refuses the first.
        for _ in range(2):
            self._session = name
            yield ("new-session", "-d", "-s", name, "-n", name)

    async def _tmux(self, arguments: Sequence[str], env: Mapping[str, str]) -> str:
        """Have tmux do something; return what was wrong, or nothing."""
        try:
            done = await in_own_thread(
                "tmux",
                lambda: subprocess.run(
                    [self._program, *arguments],
                    env=env,
                    cwd="/",  # a server stays where it was started
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    timeout=_ANSWER_LIMIT_S,
                    check=False,
                ),
            )
        except subprocess.TimeoutExpired:
            return messages.note_tmux_silent(_ANSWER_LIMIT_S)
        if done.returncode == 0:
            return ""
        said = done.stderr.decode("utf-8", "replace").strip()[-_LAST_WORDS:]
        return messages.note_tmux_refused(said)


def _some_of(env: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    return {name: env[name] for name in names if env.get(name)}

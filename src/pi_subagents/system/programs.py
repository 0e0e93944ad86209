"""
Find programs on PATH, never inside the working directory, and ask one a question, within limits.

In: a name, an environment, the working directory.  Out: absolute paths; of a question its answer. A
repository must not decide which pi or Node runs merely because someone works in it.  A program that
is asked runs in a session of its own, and is killed with its whole process group if it does not end
in time; it is started at once and read later, so that several can work at the same time.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAX_ANSWER_BYTES = 1024 * 1024
_CHUNK = 64 * 1024
_END_LIMIT_S = 2.0


@value
class Candidate:
    """A runnable file of the wanted name on PATH."""

    path: Path
    inside_cwd: bool


@value
class ProgramSearch:
    """The first acceptable program, and those before it that lie inside the cwd."""

    found: Path | None
    left_out: tuple[Path, ...]


def search_program(name: str, env: Mapping[str, str], cwd: Path) -> ProgramSearch:
    """Return the first `name` on PATH that is not inside the working directory."""
    left_out: list[Path] = []
    for candidate in candidates_on_path(name, env, cwd):
        if not candidate.inside_cwd:
            return ProgramSearch(candidate.path, tuple(left_out))
        left_out.append(candidate.path)
    return ProgramSearch(None, tuple(left_out))


def candidates_on_path(name: str, env: Mapping[str, str], cwd: Path) -> Iterator[Candidate]:
    """Yield every runnable `name` on PATH in order, each acceptable file once."""
    seen: set[str] = set()
    for entry in env.get("PATH", os.defpath).split(os.pathsep):
        # An empty or relative entry means "wherever I happen to be": always inside the cwd.
        path = cwd / entry / name
        if not is_runnable(path):
            continue
        if not Path(entry).is_absolute() or is_inside(path.parent, cwd) or is_inside(path, cwd):
            yield Candidate(path, inside_cwd=True)
        elif (real := os.path.realpath(path)) not in seen:
            seen.add(real)
            yield Candidate(path, inside_cwd=False)


def is_runnable(path: Path) -> bool:
    """Return whether the path is a regular file this user may execute."""
    try:
        return path.is_file() and os.access(path, os.X_OK)
    except (OSError, ValueError):  # a name too long, a NUL in a configured command
        return False


def is_inside(path: Path, directory: Path) -> bool:
    """Return whether the path, links followed, is the directory or below it."""
    real = Path(os.path.realpath(path))
    return real.is_relative_to(os.path.realpath(directory))


@value
class ProgramAnswer:
    """What a program wrote to standard output; `exit_code` None means it had to be ended."""

    exit_code: int | None
    text: str


class ProgramQuestion:
    """A program that was started to answer; its owner closes it, so that no process is left."""

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, limit_s: float
    ) -> None:
        self._deadline = time.monotonic() + limit_s
        self._answer: ProgramAnswer | None = None
        self._process = subprocess.Popen(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )

    def answer(self) -> ProgramAnswer:
        """Wait for the answer; a second call returns the same."""
        if self._answer is None:
            text, complete = self._read()
            self._answer = ProgramAnswer(self._exit_code() if complete else None, text)
            self.close()
        return self._answer

    def _read(self) -> tuple[str, bool]:
        """Return what was written, and whether that was all."""
        assert self._process.stdout is not None
        source = self._process.stdout.fileno()
        ready = select.poll()
        ready.register(source, select.POLLIN)
        kept = b""
        while len(kept) <= MAX_ANSWER_BYTES:
            left_s = max(self._deadline - time.monotonic(), 0)
            if not ready.poll(left_s * 1000):
                break
            chunk = os.read(source, _CHUNK)
            if not chunk:
                return kept.decode("utf-8", "replace"), True
            kept += chunk
        return kept.decode("utf-8", "replace"), False

    def _exit_code(self) -> int | None:
        try:
            return self._process.wait(max(self._deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """End the program, if it has not ended; a second call changes nothing."""
        if self._process.returncode is None:  # not waited for: the number is still its own
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):  # it hangs in the kernel
                self._process.wait(_END_LIMIT_S)
        if self._process.stdout is not None:
            self._process.stdout.close()


def end_asked(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """Let a program end by itself, as it does without input; then end what is left of its group."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(grace_s)
    # Also when it is gone itself: the number stays its group's as long as any member lives.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):  # it hangs in the kernel
        process.wait(grace_s)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()

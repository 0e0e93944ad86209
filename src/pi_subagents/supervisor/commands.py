"""
Run a command of the user's where the child works: a check, or what makes its worktree ready.

In: a command line, split as a shell would, but run without one.  Out: how it ended, with the end of
what it printed.  Meanwhile everybody else is listened to, so that a stop is taken at once.  Of what
it started nothing is left, also in sessions of its own; where the child is confined, so is it.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run.files import CHILD_VARIABLE, MARKER_VARIABLE
from pi_subagents.core.value import value
from pi_subagents.supervisor.environment import environment_for
from pi_subagents.supervisor.reuse import end_orphans
from pi_subagents.system import process_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.supervisor.listener import Listener

LIMIT_S = 1800.0
_TAIL_BYTES = 4000
_END_LIMIT_S = 2.0


@value
class CommandEnd:
    """How a command ended; an exit code of None means that it was ended, or never began."""

    exit_code: int | None
    tail: str  # of what it printed
    took_s: float = 0.0


class Commands:
    """Runs commands for one run."""

    def __init__(
        self,
        spec: RunSpec,
        listener: Listener,
        on_reaped: Callable[[process_tree.Reaped], None],
    ) -> None:
        self._spec, self._listener, self._on_reaped = spec, listener, on_reaped
        # What the child wrote may run in it: for our own verbs it is a sub-agent, too.
        ours = {MARKER_VARIABLE: spec.run_id, CHILD_VARIABLE: "1"}
        self._env = {**environment_for(spec), **ours}

    def run(
        self, command: str, is_ending: Callable[[], bool], *, confined: bool = True
    ) -> CommandEnd:
        """Run one to its end, or until the run is to end."""
        began = time.monotonic()
        own = frozenset(process_tree.descendants(os.getpid()))
        writes_in = self._spec.child.writes_in if confined else ()
        try:
            process = self._started(shlex.split(command), writes_in)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return CommandEnd(None, str(error))
        code, tail = self._followed(process, is_ending, began + LIMIT_S)
        end_orphans(own, self._on_reaped)
        return CommandEnd(code, tail, time.monotonic() - began)

    def _started(self, argv: list[str], writes_in: Iterable[str]) -> subprocess.Popen[bytes]:
        with ExitStack() as resources:
            prepare = None
            if there := [each for each in writes_in if Path(each).exists()]:
                from pi_subagents.system.landlock import Confinement

                confinement = Confinement(there)
                resources.callback(confinement.close)
                prepare = confinement.in_child()
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                cwd=self._spec.child.cwd,
                env=self._env,
                start_new_session=True,
                preexec_fn=prepare,  # noqa: PLW1509 - the supervisor has one thread
            )

    def _followed(
        self, process: subprocess.Popen[bytes], is_ending: Callable[[], bool], deadline: float
    ) -> tuple[int | None, str]:
        assert process.stdout is not None
        output, pipe = bytearray(), process.stdout.fileno()
        os.set_blocking(pipe, False)

        def keep(data: bytes) -> None:
            output.extend(data)
            del output[:-_TAIL_BYTES]

        self._listener.add_stream(pipe, keep)
        while pipe in self._listener.selector.get_map() and not is_ending():
            if time.monotonic() >= deadline:
                break
            self._listener.serve(min(max(deadline - time.monotonic(), 0), 1))
            if process.poll() is not None and not _more(pipe, keep):
                break  # something that it started holds the pipe
        self._listener.remove(pipe)
        if not is_ending():  # its output may end before it does
            with suppress(subprocess.TimeoutExpired):
                process.wait(min(max(deadline - time.monotonic(), 0), _END_LIMIT_S))
        code = _ended(process)
        process.stdout.close()
        return code, output.decode("utf-8", "replace")


def _more(pipe: int, keep: Callable[[bytes], None]) -> bool:
    """Take what is left in the pipe; return whether there was anything."""
    with suppress(BlockingIOError):
        if data := os.read(pipe, 64 * 1024):
            keep(data)
            return True
    return False


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    """End its whole group; return its exit code, None where it had not ended by itself."""
    code = process.poll()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if code is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_LIMIT_S)
    return code

"""
The check of a task: run where the child works, after its answer; the child hears of a failure.

In: a command line, split as a shell would, but run without one.  Out: how it ended, with the end of
what it printed.  Meanwhile everybody else is listened to, so that a stop is taken at once; whatever
it started and left is ended with the rest of the run.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.checked import Checked
from pi_subagents.core.run.files import MARKER_VARIABLE
from pi_subagents.core.value import replace
from pi_subagents.supervisor import messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.run.outcome import Outcome
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.engines.conversation import Conversation
    from pi_subagents.supervisor.intake import Intake
    from pi_subagents.supervisor.listener import Listener

LIMIT_S = 1800.0
_TAIL_BYTES = 4000
_END_LIMIT_S = 2.0


class WorkCheck:
    """What is checked, what it came to, and how often the child was told to mend its work."""

    def __init__(
        self, spec: RunSpec, env: dict[str, str], intake: Intake, listener: Listener
    ) -> None:
        self._command, self._rounds_left = spec.check.command, spec.check.rounds
        self._cwd, self._env = spec.child.cwd, {**env, MARKER_VARIABLE: spec.run_id}
        self._intake, self._listener = intake, listener
        self.result: Checked | None = None

    def asks_again(self, talk: Conversation, is_ending: Callable[[], bool]) -> bool:
        """Check what was done; have the child mend it once; return whether it is to."""
        if not self._intake.fold.answered() or is_ending():
            return False
        self.result = self._run(is_ending)
        if self.result.passed or is_ending() or not (self._rounds_left and talk.can_go_on):
            return False
        self._rounds_left -= 1
        failed, self.result = self.result, None
        talk.go_on(messages.check_failed(failed.command, failed.exit_code, failed.tail))
        return True

    def judge(self, outcome: Outcome) -> Outcome:
        """Return what a run came to, now that its work is checked."""
        if outcome.status != "completed":
            self.result = None  # there is nothing that claims to be done
            return outcome
        if self.result is None:
            self.result = self._run(lambda: False)
        if self.result.passed:
            return outcome
        why = messages.check_not_passed(self.result.command, self.result.exit_code)
        return replace(outcome, status="failed", error_message=why)

    def _run(self, is_ending: Callable[[], bool]) -> Checked:
        output = bytearray()
        try:
            process = subprocess.Popen(
                shlex.split(self._command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                cwd=self._cwd,
                env=self._env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return self._noted(Checked(self._command, None, str(error)))
        assert process.stdout is not None
        pipe = process.stdout.fileno()
        os.set_blocking(pipe, False)

        def keep(data: bytes) -> None:
            output.extend(data)
            del output[:-_TAIL_BYTES]

        deadline = time.monotonic() + LIMIT_S
        self._listener.add_stream(pipe, keep)
        while pipe in self._listener.selector.get_map() and not is_ending():
            if time.monotonic() >= deadline:
                break
            self._listener.serve(min(max(deadline - time.monotonic(), 0), 1))
            if process.poll() is not None and not self._more(pipe, keep):
                break  # something that it started holds the pipe
        self._listener.remove(pipe)
        if not is_ending():  # its output may end before it does
            with suppress(subprocess.TimeoutExpired):
                process.wait(min(max(deadline - time.monotonic(), 0), _END_LIMIT_S))
        code = _ended(process)
        process.stdout.close()
        return self._noted(Checked(self._command, code, output.decode("utf-8", "replace")))

    def _more(self, pipe: int, keep: Callable[[bytes], None]) -> bool:
        """Take what is left in the pipe; return whether there was anything."""
        with suppress(BlockingIOError):
            if data := os.read(pipe, 64 * 1024):
                keep(data)
                return True
        return False

    def _noted(self, checked: Checked) -> Checked:
        self._intake.record(ev.Note(messages.checked(checked.command, checked.exit_code)))
        return checked


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    """End its whole group; return its exit code, None where it had not ended by itself."""
    code = process.poll()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if code is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_LIMIT_S)
    return code

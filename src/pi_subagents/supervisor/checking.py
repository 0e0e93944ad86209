"""
The check of a task: run where the child works, after its answer; the child hears of a failure.

In: a command line.  Out: how it ended, with the end of what it printed; what the run came to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.checked import Checked
from pi_subagents.core.value import replace
from pi_subagents.supervisor import messages
from pi_subagents.system import crash_points

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.run.outcome import Outcome
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.engines.conversation import Conversation
    from pi_subagents.supervisor.commands import Commands
    from pi_subagents.supervisor.intake import Intake


class WorkCheck:
    """What is checked, what it came to, and how often the child was told to mend its work."""

    def __init__(self, spec: RunSpec, intake: Intake, commands: Commands) -> None:
        self._command, self._rounds_left = spec.check.command, spec.check.rounds
        self._intake, self._commands = intake, commands
        self.result: Checked | None = None
        self._failed: Checked | None = None  # what the child was told of, until it passes

    def asks_again(self, talk: Conversation, is_ending: Callable[[], bool]) -> bool:
        """Check what was done; have the child mend it once; return whether it is to."""
        if not self._intake.fold.answered() or is_ending():
            return False
        self.result = self._run(is_ending)
        if self.result.passed or is_ending() or not (self._rounds_left and talk.can_go_on):
            return False
        self._rounds_left -= 1
        failed, self.result = self.result, None
        self._failed = failed
        talk.go_on(messages.check_failed(failed.command, failed.exit_code, failed.tail))
        return True

    def judge(self, outcome: Outcome, is_ending: Callable[[], bool]) -> Outcome:
        """Return what a run came to, now that its work is checked."""
        if outcome.status != "completed":
            # Nothing claims to be done; but what failed before it could be mended is known.
            self.result = self._failed
            return outcome
        if self.result is None:
            ended_before = is_ending()  # what was said in time counts: only a new stop does
            self.result = self._run(lambda: is_ending() and not ended_before)
        if self.result.passed:
            return outcome
        why = messages.check_not_passed(self.result.command, self.result.exit_code)
        return replace(outcome, status="failed", error_message=why)

    def _run(self, is_ending: Callable[[], bool]) -> Checked:
        ended = self._commands.run(self._command, is_ending)
        checked = Checked(self._command, ended.exit_code, ended.tail)
        crash_points.reach(crash_points.CHECKED)
        self._intake.record(ev.Note(messages.checked(checked.command, checked.exit_code)))
        return checked

"""
What can be done to a run that is watched: stop, steer, answer, resume it; see and take its changes.

In: run ids.  Out: a report for the user at once; what turns out later goes to a callback.  Nothing
here raises for what a user can cause.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.answering import AnswerRequest, checked_answer
from pi_subagents.core.run.steer import DEFAULT_WAIT_S
from pi_subagents.core.value import value
from pi_subagents.errors import RunNotActive, SubagentsError
from pi_subagents.service import messages
from pi_subagents.service.questions.answering import answer_now
from pi_subagents.service.runs import Runs
from pi_subagents.service.session.follow_up import follow_up
from pi_subagents.service.steering import steer
from pi_subagents.system.launch import Ended, show, start_own_command
from pi_subagents.view.states import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.service.session.follow_up import FollowUp

REFUSED = 2
MAX_NAME = 60


@value
class ActionReport:
    """A line for the user."""

    text: str
    bad: bool = False


class FleetActions:
    """Act on watched runs."""

    def __init__(
        self,
        cwd: Path,
        env: Mapping[str, str],
        on_report: Callable[[ActionReport], None],
        *,
        steer_wait_s: float = DEFAULT_WAIT_S,
    ) -> None:
        self._cwd = cwd
        self._env = env
        self._on_report = on_report
        self._steer_wait_s = steer_wait_s

    def stop(self, run_id: str) -> ActionReport:
        """End a run with its whole process tree; wait until it is gone."""
        try:
            runs = Runs(self._cwd, self._env)
            run = runs.find(run_id)
            ended = runs.stop(run, force=False)
        except RunNotActive:
            return ActionReport(messages.RUN_IS_OVER)
        except (SubagentsError, OSError) as error:
            return ActionReport(str(error), bad=True)
        return ActionReport(messages.stopped(_name(ended), state_of(ended).word))

    def steer(self, run_id: str, message: str) -> ActionReport:
        """Send a message to an active run; wait a while until it is read."""
        try:
            steered = asyncio.run(
                steer(
                    run_id, message, wait_seconds=self._steer_wait_s, cwd=self._cwd, env=self._env
                )
            )
        except (SubagentsError, OSError) as error:
            return ActionReport(str(error), bad=True)
        return ActionReport(steered.text, bad=steered.status == "refused")

    def answer(self, run_id: str, text: str, question: str = "") -> ActionReport:
        """Answer what an active run asks."""
        try:
            request = AnswerRequest(run_id, checked_answer(text), question)
            report = answer_now(request, Runs(self._cwd, self._env))
        except (SubagentsError, OSError) as error:
            return ActionReport(str(error), bad=True)
        return ActionReport(report.text, bad=report.status == "refused")

    def resume(self, run_id: str, prompt: str) -> ActionReport:
        """Resume a run's session in a process that outlives us; a refusal is reported later."""
        if not prompt.strip():
            return ActionReport(messages.PROMPT_IS_EMPTY, bad=True)
        try:
            runs = Runs(self._cwd, self._env)
            run = runs.find(run_id)
            self._start(follow_up(runs, run.session_id, prompt))
        except (SubagentsError, OSError) as error:
            return ActionReport(messages.not_resumed(str(error)), bad=True)
        text = messages.resumed(_name(run))
        if preset := run.meta.preset:
            text += " " + messages.without_preset(preset)
        return ActionReport(text)

    def changes(self, run_id: str) -> ActionReport:
        """Return what a run changed in its worktree: warnings, files and the patch, as text."""
        from pi_subagents.service.workspaces.taking import see_changes
        from pi_subagents.view.taken import changes_text

        try:
            seen = see_changes(Runs(self._cwd, self._env), run_id, self._env)
        except (SubagentsError, OSError) as error:
            return ActionReport(str(error), bad=True)
        work = seen.run.work or seen.changes.summary
        return ActionReport(changes_text(work, seen.changes, seen.warnings, seen.patch))

    def apply(self, run_id: str) -> ActionReport:
        """Take what a run changed into the checkout it was made for."""
        from pi_subagents.service.workspaces.taking import take_changes
        from pi_subagents.view.taken import taken_text

        try:
            taken = take_changes(Runs(self._cwd, self._env), [run_id], self._env)
        except (SubagentsError, OSError) as error:
            return ActionReport(str(error), bad=True)
        done = taken_text(taken.files, taken.commits, check=False)
        return ActionReport("\n".join([done, *taken.warnings]))

    def discard(self, run_id: str) -> ActionReport:
        """Throw away what a run changed."""
        from pi_subagents.service.workspaces.taking import throw_away

        try:
            throw_away(Runs(self._cwd, self._env), run_id, self._env)
        except (SubagentsError, OSError) as error:
            return ActionReport(str(error), bad=True)
        return ActionReport(messages.changes_discarded(run_id))

    def open_on_desktop(self, target: str) -> bool:
        """Show a run's directory, or a page, on the desktop; return whether there is one."""
        return show(target, self._env)

    def _start(self, going_on: FollowUp) -> None:
        start_own_command(
            ["-q", "resume", "--plain", "--", going_on.run.session_id, "-"],
            going_on.task.prompt,
            cwd=str(going_on.project or self._cwd),
            env=self._env,
            on_end=self._report_refusal,
        )

    def _report_refusal(self, ended: Ended) -> None:
        """Report why nothing was started; a run that failed is in the list."""
        if ended.code >= REFUSED:
            self._on_report(ActionReport(messages.not_resumed(ended.error_output), bad=True))


def _name(run: RunRecord) -> str:
    return one_line(run.title, MAX_NAME)

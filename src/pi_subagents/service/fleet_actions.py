"""
What can be done to a run that is watched: stop it, steer it, resume it.

In: run ids.  Out: a report for the user at once; what turns out later goes to a callback.  Nothing
here raises for what a user can cause.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.errors import RunNotActive, SubagentsError
from pi_subagents.service import messages
from pi_subagents.service.runs import Runs
from pi_subagents.service.sessions import sessions_to_resume
from pi_subagents.service.steering import steer
from pi_subagents.system.home import PROJECT_RUNS
from pi_subagents.system.launch import Ended, show, start_own_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.run.record import RunRecord

REFUSED = 2


@value
class ActionReport:
    """A line for the user."""

    text: str
    bad: bool = False


class FleetActions:
    """Act on watched runs."""

    def __init__(
        self, cwd: Path, env: Mapping[str, str], on_report: Callable[[ActionReport], None]
    ) -> None:
        self._cwd = cwd
        self._env = env
        self._on_report = on_report

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
        return ActionReport(messages.stopped(_name(ended), ended.status))

    def steer(self, run_id: str, message: str) -> ActionReport:
        """Send a message to an active run; wait a while until it is read."""
        try:
            steered = asyncio.run(steer(run_id, message, cwd=self._cwd, env=self._env))
        except (SubagentsError, OSError) as error:
            return ActionReport(str(error), bad=True)
        return ActionReport(steered.text, bad=steered.status == "refused")

    def resume(self, run_id: str, prompt: str) -> ActionReport:
        """Resume a run's session in a process that outlives us; a refusal is reported later."""
        if not prompt.strip():
            return ActionReport(messages.PROMPT_IS_EMPTY, bad=True)
        try:
            runs = Runs(self._cwd, self._env)
            run = runs.find(run_id)
            sessions_to_resume(runs, [run.session_id])
            self._start(run, prompt)
        except (SubagentsError, OSError) as error:
            return ActionReport(messages.not_resumed(str(error)), bad=True)
        text = messages.resumed(_name(run))
        if preset := run.meta.preset:
            text += " " + messages.without_preset(preset)
        return ActionReport(text)

    def open_on_desktop(self, target: str) -> bool:
        """Show a run's directory, or a page, on the desktop; return whether there is one."""
        return show(target, self._env)

    def _start(self, run: RunRecord, prompt: str) -> None:
        offline = ["--offline"] if run.meta.offline else []
        start_own_command(
            ["-q", "run", "--task-file", "-", "--plain", *offline],
            json.dumps({"tasks": [_task(run, prompt)]}),
            cwd=_project(run),
            env=self._env,
            on_end=self._report_refusal,
        )

    def _report_refusal(self, ended: Ended) -> None:
        """Report why nothing was started; a run that failed is in the list."""
        if ended.code >= REFUSED:
            self._on_report(ActionReport(messages.not_resumed(ended.error_output), bad=True))


def _task(run: RunRecord, prompt: str) -> dict[str, object]:
    task: dict[str, object] = {
        "name": _name(run),
        "prompt": prompt,
        "cwd": run.meta.cwd,
        "resume": run.session_id,
    }
    if run.meta.timeout_s is not None:
        task["timeout"] = run.meta.timeout_s
    if profile := run.meta.profile:
        task["profile"] = profile
    return task


def _project(run: RunRecord) -> str:
    """Return the project that keeps a run, so that it keeps the next one too."""
    *project, top, middle, last, _ = Path(run.path).parts
    in_project = (top, middle, last) == PROJECT_RUNS
    return str(Path(*project)) if in_project else run.meta.cwd


def _name(run: RunRecord) -> str:
    return run.name or run.run_id[:12]

"""
The composition root of what can be done to a run that is watched: stop it, steer it, go on with it.

In: run ids.  Out: a word for the user, right away; what turns out later is told through `tell`.
Nothing here raises for what a user can cause.  Whatever else may be done to a run one day joins
here, for every face at once.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import watch_messages
from pi_subagents.errors import RunNotActive, SubagentsError
from pi_subagents.procs.desktop import show
from pi_subagents.procs.own_command import Ended, start_own_command
from pi_subagents.runs import Runs
from pi_subagents.sessions import sessions_to_resume
from pi_subagents.steering import steer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.delegation.run_view import RunView

REFUSED = 2


@dataclass(frozen=True, slots=True)
class Told:
    """Something to say to the user."""

    text: str
    bad: bool = False


class FleetActions:
    """Act on runs, for whoever watches them."""

    def __init__(self, cwd: Path, env: Mapping[str, str], tell: Callable[[Told], None]) -> None:
        self._cwd = cwd
        self._env = env
        self._tell = tell

    def stop(self, run_id: str) -> Told:
        """End a run with its whole process tree; wait until it is gone."""
        try:
            runs = Runs(self._cwd, self._env)
            view = runs.find(run_id)
            ended = runs.stop(view, force=False)
        except RunNotActive:
            return Told(watch_messages.RUN_IS_OVER)
        except (SubagentsError, OSError) as error:
            return Told(str(error), bad=True)
        return Told(watch_messages.stopped(_name(ended), ended.status))

    def steer(self, run_id: str, message: str) -> Told:
        """Tell a run something while it works; wait a while until it has read that."""
        try:
            told = asyncio.run(steer(run_id, message, cwd=self._cwd, env=self._env))
        except (SubagentsError, OSError) as error:
            return Told(str(error), bad=True)
        return Told(told.text, bad=told.status == "refused")

    def resume(self, run_id: str, prompt: str) -> Told:
        """Go on with a run's session, in a process that outlives us; a refusal is told later."""
        if not prompt.strip():
            return Told(watch_messages.PROMPT_IS_EMPTY, bad=True)
        try:
            runs = Runs(self._cwd, self._env)
            view = runs.find(run_id)
            sessions_to_resume(runs, [view.text("sessionId")])
            self._start(view, prompt)
        except (SubagentsError, OSError) as error:
            return Told(watch_messages.not_resumed(str(error)), bad=True)
        told = watch_messages.resumed(_name(view))
        if preset := view.text("preset"):
            told += " " + watch_messages.without_preset(preset)
        return Told(told)

    def open_directory(self, path: str) -> bool:
        """Show a run's directory on the desktop; tell whether there is one."""
        return show(path, self._env)

    def _start(self, view: RunView, prompt: str) -> None:
        offline = ["--offline"] if view.meta.get("offline") is True else []
        start_own_command(
            ["-q", "run", "--task-file", "-", "--plain", *offline],
            json.dumps({"tasks": [_task(view, prompt)]}),
            cwd=_project(view),
            env=self._env,
            on_end=self._tell_refusal,
        )

    def _tell_refusal(self, ended: Ended) -> None:
        """Tell why nothing was started; a run that failed is in the list."""
        if ended.code >= REFUSED:
            self._tell(Told(watch_messages.not_resumed(ended.said), bad=True))


def _task(view: RunView, prompt: str) -> dict[str, object]:
    task: dict[str, object] = {
        "name": _name(view),
        "prompt": prompt,
        "cwd": view.text("cwd"),
        "resume": view.text("sessionId"),
    }
    timeout = view.meta.get("timeoutS")
    if isinstance(timeout, int | float):
        task["timeout"] = timeout
    if profile := view.text("profile"):
        task["profile"] = profile
    return task


def _project(view: RunView) -> str:
    """Return the project that keeps a run, so that it keeps the next one too."""
    *project, dot_pi, subagents, runs, _ = view.run_dir.path.parts
    in_project = (dot_pi, subagents, runs) == (".pi", "subagents", "runs")
    return str(Path(*project)) if in_project else view.text("cwd")


def _name(view: RunView) -> str:
    return view.text("name") or view.run_dir.run_id[:12]

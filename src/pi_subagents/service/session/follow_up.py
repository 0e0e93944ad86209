"""
What it means to go on with a run: the same name, directory and profile, in the same project.

In: a run by any of its names, and what to do next.  Out: a task that resumes its session, or forks
it there, and where that is to be called.  Refuses what the call itself would refuse.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.task.request import DEFAULT_TIMEOUT_S, Task, is_unnamed, unnamed
from pi_subagents.core.value import value
from pi_subagents.service.inside import refuse_inside_subagent
from pi_subagents.service.sessions import session_to_fork, sessions_to_resume
from pi_subagents.system.home import PROJECT_RUNS

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.service.runs import Runs

GO_ON = "Go on."


@value
class FollowUp:
    """A task that goes on with a run."""

    run: RunRecord
    task: Task
    project: Path | None  # which keeps the run and will keep the next one; None: the caller's


def follow_up(runs: Runs, wanted: str, prompt: str, *, fork: bool = False) -> FollowUp:
    """Return the task that goes on with what is called so."""
    refuse_inside_subagent(runs.env)
    found = runs.find(wanted)
    if fork:
        session_id = found.run_id
        *_, run = session_to_fork(runs, session_id)
    else:
        session_id = found.session_id
        *_, run = sessions_to_resume(runs, [session_id])[session_id]
    task = Task(
        name=unnamed(0) if is_unnamed(run.name, run.meta.preset) else run.name,
        prompt=prompt,
        cwd=run.meta.cwd if os.path.isdir(run.meta.cwd) else None,  # noqa: PTH112 - any text
        timeout_s=run.meta.timeout_s or DEFAULT_TIMEOUT_S,
        profile=run.meta.profile or None,
        resume=session_id,
        fork=fork,
    )
    return FollowUp(run, task, project_of(run))


def project_of(run: RunRecord) -> Path | None:
    """Return the project that keeps a run; where none does, the directory it worked in, if any."""
    *project, top, middle, last, _ = Path(run.path).parts
    in_project = (top, middle, last) == PROJECT_RUNS
    place = Path(*project) if in_project else Path(run.meta.cwd)
    return place if place.is_dir() else None

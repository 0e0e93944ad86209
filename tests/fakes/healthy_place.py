"""A place where the doctor finds nothing wrong, and ways to spoil it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakes.fake_node import write_fake_node, write_script

from pi_subagents.core.run.result import RunResult
from pi_subagents.core.value import replace
from pi_subagents.service.runs import Runs
from pi_subagents.system.home import CheckedPlace

if TYPE_CHECKING:
    from pi_subagents.store.run_dir import RunDir

TABLE = "provider  model\nacme      big\nacme      small\nother     one\n"
FAKE_PI = """\
#!/bin/sh
case "$*" in
  *--version*) {version} ;;
  *--list-models*) {models} ;;
esac
"""


def healthy_place(root: Path) -> CheckedPlace:
    """Make one: a fake pi and Node on PATH, an agent directory, a project."""
    (root / "home/.pi/agent").mkdir(parents=True)
    (root / "project/.pi").mkdir(parents=True)
    write_fake_node(root / "usr", "24.19.0")
    write_script(root / "usr/bin/tmux", "")
    made = CheckedPlace(
        root / "project",
        {
            "HOME": str(root / "home"),
            "PI_SUBAGENTS_DATA": str(root / "data"),
            "PATH": f"{root}/usr/bin:/usr/bin:/bin",
        },
    )
    write_pi(made)
    return made


def with_env(place: CheckedPlace, **env: str) -> CheckedPlace:
    return replace(place, env={**place.env, **env})


def write_pi(
    place: CheckedPlace, version: str = "echo 1.5.0", models: str = f"printf '{TABLE}'"
) -> Path:
    """Put a pi on PATH that answers so."""
    path = place.cwd.parent / "usr/bin/pi"
    return write_script(path, FAKE_PI.format(version=version, models=models.replace("\n", "\\n")))


def write_settings(place: CheckedPlace, content: object, *, project: bool = False) -> Path:
    path = (place.cwd / ".pi" if project else agent_dir(place)) / "settings.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def agent_dir(place: CheckedPlace) -> Path:
    return Path(place.env["HOME"]) / ".pi/agent"


def runs_of(place: CheckedPlace) -> Runs:
    return Runs(place.cwd, place.env)


def make_run(place: CheckedPlace, run_id: str, *, finished: bool = True) -> RunDir:
    """Make a run directory that the index does not know."""
    runs = runs_of(place)
    runs.store.prepare()
    run = runs.store.run_dir(run_id)
    os.close(run.begin({"runId": run_id, "sessionId": "5" * 16, "createdAt": 7}, b""))
    if finished:
        run.write_result(
            RunResult(run_id=run_id, session_id="5" * 16, name="n", status="completed")
        )
    return run

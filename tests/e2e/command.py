"""Run the real command in a process of its own, as a shell would."""

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from tests.e2e.conftest import Project
from tests.fakes import canary

ENTRY = [sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()"]


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def start(project: Project, *arguments: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*ENTRY, *arguments],
        cwd=project.path,
        env={**project.env, **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def subagents(project: Project, *arguments: str, stdin: str = "", **env: str) -> Ran:
    process = start(project, *arguments, **env)
    out, err = process.communicate(stdin)
    assert canary.heard(out, err) == []
    return Ran(process.returncode, out, err)


def heard(process: subprocess.Popen[str], said: str, times: int = 1) -> str:
    """Return the progress as soon as it has said something so often, or ended."""
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if sum(said in each for each in lines) == times:
            break
    return "".join(lines)


def ended(process: subprocess.Popen[str], so_far: str = "") -> Ran:
    """Return what a command came to, with what had been heard of it before."""
    out, err = process.communicate()
    return Ran(process.returncode, out, so_far + err)

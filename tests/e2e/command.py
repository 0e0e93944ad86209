"""Run the real command in a process of its own, as a shell would."""

import json
import signal
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


def interrupt_when(process: subprocess.Popen[str], said: str, times: int, *signals: int) -> Ran:
    """Wait until the progress has said something so often, then send the signals."""
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if sum(said in each for each in seen) == times:
            break
    for number in signals or (signal.SIGINT,):
        process.send_signal(number)
    out, err = process.communicate()
    return Ran(process.returncode, out, "".join(seen) + err)

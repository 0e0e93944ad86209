"""A project and a home of its own for every test with the real pi."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.fakes import canary

from pi_subagents import Delegation, Task, delegate
from pi_subagents.core.offline.script import parse_script
from pi_subagents.core.settings import CHILD_MODES


@dataclass
class Project:
    """A directory to delegate in, and the environment to do it with."""

    path: Path
    env: dict[str, str]
    profile: str | None = canary.PROFILE

    @property
    def agent_dir(self) -> Path:
        return Path(self.env["HOME"]) / ".pi" / "agent"

    def configure(self, **settings: object) -> None:
        """Set these of our settings for the user."""
        path = self.agent_dir / "settings.json"
        content = json.loads(path.read_text())
        content["subagents"] = {**content.get("subagents", {}), **settings}
        path.write_text(json.dumps(content))

    async def delegate(
        self, *tasks: Task, script: object = None, concurrency: int | None = None
    ) -> Delegation:
        """Delegate on the offline model: a script, or its rules."""
        offline = True if script is None else parse_script(script)
        return await delegate(
            tasks,
            cwd=self.path,
            env=self.env,
            offline=offline,
            concurrency=concurrency,
            profile=self.profile,
        )


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    agent = tmp_path / "home" / ".pi" / "agent"
    agent.mkdir(parents=True)
    # pi waits two seconds before it asks its model again; the tests do not want to.
    (agent / "settings.json").write_text('{"retry": {"baseDelayMs": 10}}')
    path = tmp_path / "project"
    (path / ".pi").mkdir(parents=True)
    private = {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": str(tmp_path / "home" / "data")}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PI_", "NO_COLOR"))}
    pi = {"PI_SUBAGENTS_PI": os.environ.get("PI_SUBAGENTS_PI", "")}
    yield Project(path, {**kept, **private, **pi, **canary.plant(agent)})
    assert canary.hunt([tmp_path]) == []


@pytest.fixture(params=CHILD_MODES)
def child_mode(request: pytest.FixtureRequest, project: Project) -> str:
    """Have a test run once for each way in which children are spoken to."""
    mode: str = request.param
    project.configure(child_mode=mode)
    return mode

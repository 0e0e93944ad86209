"""A sub-agent of the real pi that cleans up the project costs nobody an answer, nor its own."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.command import subagents
from tests.e2e.conftest import Project
from tests.fakes.child_modes import takes_long_with_pi

from pi_subagents import Task, call_tool
from pi_subagents.core.offline.script import parse_script
from pi_subagents.service.runs import Runs
from pi_subagents.store.run_records import directory_of

pytestmark = pytest.mark.pi

CLEANING = {
    "rm -rf .pi": "rm -rf .pi",
    "git clean": "git init -q . && git clean -ffdxq",
    "moved": "mv .pi .elsewhere",
}
# Whoever works beside it is at work when it happens, and not done before.
UNTIL_CLEANED = "until [ -e ../cleaned ]; do sleep 0.05; done"
PRESET = "---\nname: cleaner\ndescription: Cleans.\ntools: bash\n---\nYou clean."


def script(command: str) -> object:
    def turns(shell: str, answer: str) -> list[object]:
        call = {"name": "bash", "arguments": {"command": shell}}
        return [{"toolCalls": [call]}, {"text": answer}]

    return {
        "conversations": [
            {"match": "clean", "turns": turns(f"{command}; touch ../cleaned", "all clean")},
            {"match": "beside", "turns": turns(UNTIL_CLEANED, "unharmed")},
        ]
    }


@pytest.mark.parametrize("how", CLEANING)
@takes_long_with_pi
@pytest.mark.usefixtures("child_mode")
async def test_tasks_survive_a_sibling_that_cleans_the_project(project: Project, how: str) -> None:
    names = ["clean", "beside 1", "beside 2", "beside 3"]
    done = await project.delegate(
        *(Task(name, name) for name in names), script=script(CLEANING[how]), concurrency=2
    )
    assert [(result.status, result.output) for result in done.results] == [
        ("completed", "all clean"),
        *[("completed", "unharmed")] * 3,
    ]
    for result in done.results:
        assert Runs(Path(project.env["HOME"]), project.env).find(result.run_id).result == result


@pytest.mark.parametrize("how", CLEANING)
@takes_long_with_pi
@pytest.mark.usefixtures("child_mode")
async def test_presets_keep_their_sessions_though_the_project_was_cleaned(
    project: Project, how: str
) -> None:
    """pi writes its session after every message, and fails where that is impossible."""
    presets = project.agent_dir / "subagents"
    presets.mkdir()
    (presets / "cleaner.md").write_text(PRESET)
    answer = await call_tool(
        "subagent",
        {"tasks": [{"preset": "cleaner", "task": name} for name in ("clean", "beside")]},
        cwd=project.path,
        env=project.env,
        offline=parse_script(script(CLEANING[how])),
    )
    details: Any = answer["details"]
    results = details["results"]
    assert [(each["status"], each["output"]) for each in results] == [
        ("completed", "all clean"),
        ("completed", "unharmed"),
    ]
    for each in results:
        run = directory_of(Runs(Path(project.env["HOME"]), project.env).find(each["runId"]))
        lines = [json.loads(line) for line in run.child_session.read_text().splitlines()]
        assert lines[0]["type"] == "session"
        assert each["output"] in json.dumps(lines[-1])
    listed = subagents(project, "runs", "--json").json
    assert {run["status"] for run in listed["runs"]} <= {"completed"}

"""Background runs and the tool `subagent` with the real pi, on a model that is served here."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.command import ENTRY, Ran, subagents
from tests.e2e.conftest import Project
from tests.e2e.served_models import serving

from pi_subagents import Task, start
from pi_subagents.api import call_tool
from pi_subagents.config.preset_files import global_presets_dir, invalidate_presets_cache
from pi_subagents.engines.offline.server import OfflineModel

pytestmark = pytest.mark.pi

PROMPT = "You are a scout, and brief."
SHELL = """
for number in $(seq "$1"); do
  "${@:2}" background start scout "Task $number." --json || exit 1
done
echo started
read -r _ < "$HOLD"
"""


@dataclass
class Served:
    """A project whose pi has the models `one` and `two`, and whose user has the preset `scout`."""

    project: Project
    model: OfflineModel

    def subagents(self, *arguments: str) -> Ran:
        return subagents(self.project, *arguments)

    def started(self, *arguments: str) -> dict[str, Any]:
        ran = self.subagents("background", "start", *arguments, "--json")
        assert ran.code == 0, ran
        details: dict[str, Any] = ran.json["details"]
        return details

    async def call(self, tool: str, **parameters: Any) -> dict[str, Any]:
        project = self.project
        answer = await call_tool(tool, parameters, cwd=project.path, env=project.env)
        assert not answer["isError"], answer
        return answer

    def sessions(self) -> list[Path]:
        """Return what pi would list as the user's own sessions."""
        return list(self.project.agent_dir.glob("sessions/**/*.jsonl"))


@pytest.fixture
def served(project: Project) -> Iterator[Served]:
    with serving(project.agent_dir, {"id": "one"}, {"id": "two"}) as model:
        directory = global_presets_dir(project.env)
        directory.mkdir()
        fields = "name: scout\ndescription: Looks around\nmodel: one\ntools: read,grep"
        (directory / "scout.md").write_text(f"---\n{fields}\n---\n{PROMPT}\n")
        invalidate_presets_cache()
        project.env["PI_OFFLINE"] = "1"
        yield Served(project, model)


def assert_is_a_pi_session(path: str, question: str, answer: str) -> None:
    first, *entries = (json.loads(line) for line in Path(path).read_text().splitlines())
    assert (first["type"], first["cwd"]) == ("session", str(Path(path).parents[4]))
    said = [
        (entry["message"]["role"], part["text"])
        for entry in entries
        if entry["type"] == "message" and entry["message"]["role"] in ("user", "assistant")
        for part in entry["message"]["content"]
        if part["type"] == "text"
    ]
    assert said == [("user", question), ("assistant", answer)]


def test_runs_outlive_the_shell_that_started_them_and_are_found_from_elsewhere(
    served: Served, tmp_path: Path
) -> None:
    hold = tmp_path / "hold"
    os.mkfifo(hold)
    shell = subprocess.Popen(
        ["bash", "-c", SHELL, "bash", "4", *ENTRY],
        cwd=served.project.path,
        env={**served.project.env, "HOLD": str(hold)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert shell.stdout is not None
    with shell.stdout:
        started = "".join(iter(shell.stdout.readline, "started\n"))
    os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()
    assert started.count('"runId"') == 4

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = Served(Project(elsewhere, served.project.env), served.model)
    waited = other.subagents("background", "wait")
    assert waited.code == 0, waited
    details = other.subagents("background", "status", "--all", "--json").json["details"]
    assert details["counts"] == {
        "running": 0, "completed": 4, "failed": 0, "aborted": 0, "total": 4,
    }  # fmt: skip
    questions = [f"Task {number}." for number in range(1, 5)]
    assert sorted((run["task"], run["output"]) for run in details["runs"]) == sorted(
        zip(questions, questions, strict=True)
    )
    for run in details["runs"]:
        assert_is_a_pi_session(run["paths"]["childSession"], run["task"], run["output"])
    assert served.sessions() == []


@pytest.mark.usefixtures("child_mode")
def test_a_child_has_the_prompt_tools_model_and_session_of_its_preset(served: Served) -> None:
    run_id = served.started("scout", "Hello.")["runId"]
    assert served.subagents("background", "wait", run_id).code == 0
    session = served.project.path / f".pi/subagents/runs/{run_id}/child-session.jsonl"
    assert_is_a_pi_session(str(session), "Hello.", "Hello.")
    assert (session.stat().st_mode & 0o777, served.sessions()) == (0o600, [])
    (request,) = served.model.requests("all")
    system = str(request["messages"][0]["content"])
    assert request["model"] == "one"
    assert sorted(tool["function"]["name"] for tool in request["tools"]) == ["grep", "read"]
    assert PROMPT in system
    assert not system.startswith(PROMPT)
    told = served.subagents("background", "status", run_id[:8])
    assert told.out.startswith("✓ Hello.: completed after ")
    assert told.out.endswith(f"\nin {served.project.path}\n\nHello.\n")


def test_a_calls_model_is_the_one_that_answers(served: Served) -> None:
    details = served.started("scout", "Hello.", "--model", "scripted/two")
    assert (details["requestedModel"], details["resolvedModel"]) == ("scripted/two",) * 2
    assert served.subagents("background", "wait", details["runId"]).code == 0
    assert [request["model"] for request in served.model.requests("all")] == ["two"]


async def test_several_presets_answer_in_one_call(served: Served) -> None:
    tasks = [
        {"preset": "scout", "task": "One."},
        {"preset": "scout", "task": "Two.", "model": "two"},
        {"preset": "nobody", "task": "Three."},
    ]
    details = (await served.call("subagent", tasks=tasks))["details"]
    assert [(r["status"], r["output"], r["resolvedModel"]) for r in details["results"]] == [
        ("completed", "One.", "scripted/one"),
        ("completed", "Two.", "scripted/two"),
        ("failed", "", None),
    ]
    assert served.sessions() == []


def test_the_offline_model_serves_a_run_that_nobody_stays_with(served: Served) -> None:
    (served.project.path / "a.md").write_text("Land in sight")
    run_id = served.started("scout", "read a.md", "--offline")["runId"]
    assert served.subagents("background", "wait", run_id).code == 0
    heard = served.subagents("background", "status", run_id, "--json").json["details"]["runs"]
    assert [(run["status"], run["output"], run["resolvedModel"]) for run in heard] == [
        ("completed", "I read 1 line of a.md:\n\nLand in sight", None)
    ]
    assert served.model.requests("all") == []


def test_a_run_is_stopped_by_the_beginning_of_its_id(served: Served) -> None:
    models = served.project.agent_dir / "models.json"
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it listens, and never answers
        providers = json.loads(models.read_text())["providers"]
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        providers["silent"] = {**providers["scripted"], "baseUrl": address}
        models.write_text(json.dumps({"providers": providers}))
        run_id = served.started("scout", "Hello.", "--model", "silent/one")["runId"]
        stopped = served.subagents("background", "stop", run_id[:10])
    assert stopped.code == 0, stopped
    again = served.subagents("background", "stop", run_id[:10])
    assert (again.code, again.out) == (2, "")
    assert f'Run "{run_id[:8]}" is not running (status: stopped)' in again.err


def test_the_log_of_a_run_can_be_followed_to_its_end(served: Served) -> None:
    run_id = served.started("scout", "Hello.")["runId"]
    followed = served.subagents("background", "logs", "-f", run_id[:10])
    transcript = Path(served.project.path / ".pi/subagents/runs" / run_id / "transcript.log")
    assert followed.out == transcript.read_text()
    assert followed.err == f"Run {run_id[:8]}: completed\n"


async def test_a_program_starts_any_task_in_the_background(project: Project) -> None:
    (project.path / "one.py").write_text("")
    task = Task("count", "Count the Python files in .", tools=("bash",), thinking="low")
    (run,) = await start(task, cwd=project.path, env=project.env, offline=True)
    assert (run.name, run.active, run.meta.attached) == ("count", True, False)
    waited = subagents(project, "background", "wait", run.run_id)
    assert waited.code == 0
    shown = subagents(project, "background", "status", run.run_id)
    assert "There is 1 Python file in ." in shown.out

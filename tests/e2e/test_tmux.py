"""The real pi in a tmux window: its transcript is there while it works."""

import json
import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.command import start, subagents
from tests.e2e.conftest import Project
from tests.fakes.private_tmux import needs_tmux, private_tmux

pytestmark = [pytest.mark.pi, needs_tmux]


def test_the_window_shows_the_transcript_while_the_run_goes_on(
    project: Project, tmp_path: Path
) -> None:
    os.mkfifo(project.path / "here")
    os.mkfifo(project.path / "go-on")
    runs = project.path / ".pi" / "subagents" / "runs"
    script = tmp_path / "script.json"
    turns = [
        {
            "text": "I look around first.",
            "toolCalls": [
                {"name": "bash", "arguments": {"command": "echo > here; cat go-on"}},
            ],
        },
        {"text": "All is well."},
    ]
    script.write_text(json.dumps(turns))
    arguments = ("run", "--runner", "tmux", "--offline-script", str(script), "Look around")
    # Should something fail, the end of its tmux ends the run, and so the command.
    with (
        ExitStack() as ended_last,
        private_tmux() as tmux,
    ):
        process = ended_last.enter_context(start(project, *arguments, **tmux.env, TMUX=""))
        (project.path / "here").read_bytes()  # until the child's tool is at work
        (run,) = (path.parent for path in runs.glob("*/meta.json"))
        shown = tmux.own.wait_until_shown(run.name, "echo > here")
        assert process.poll() is None
        assert not (run / "result.json").exists()
        (project.path / "go-on").write_text("enough\n")
        out, err = process.communicate()
    assert shown.splitlines() == [
        f"# task-1 (run {run.name})",
        "I look around first.",
        "echo > here; cat go-on",
    ]
    assert (process.returncode, "All is well." in out) == (0, True)
    assert f"tmux -S {tmux.own.socket} attach" in err
    assert (run / "transcript.log").read_text() == (
        f"{shown}\nCommand finished: echo > here; cat go-on\nAll is well.\n"
    )


def test_without_tmux_the_command_says_what_to_do(project: Project, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    arguments = ("run", "--runner", "tmux", "--offline", "Hello")
    ran = subagents(project, *arguments, PATH=str(tmp_path / "bin"))
    assert ran.code == 2
    assert "apt-get install tmux" in ran.err
    assert '`subagents.runner` to "process"' in ran.err


def test_a_called_tool_is_refused_without_tmux_too(project: Project, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    tasks = json.dumps({"tasks": [{"name": "greet", "prompt": "Hello"}]})
    arguments = ("call", "delegate_to_subagents", tasks, "--runner", "tmux", "--offline")
    ran = subagents(project, *arguments, PATH=str(tmp_path / "bin"))
    assert (ran.code, ran.json["isError"]) == (2, True)
    assert ran.json["content"][0]["text"].startswith("The tmux runner is chosen, but no tmux")


def test_another_runner_than_the_two_is_refused(project: Project) -> None:
    ran = subagents(project, "run", "--runner", "screen", "--offline", "Hello")
    assert ran.code == 2
    assert "'screen' is not one of 'process', 'tmux'" in ran.err

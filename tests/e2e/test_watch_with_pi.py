"""`subagents watch` in a real terminal over runs of the real pi."""

import json
import os
import shlex
from pathlib import Path

import pytest
from scripts.screenshot_tmux import screen_of_our_own
from tests.e2e.command import ENTRY, start
from tests.e2e.conftest import Project
from tests.fakes.private_tmux import needs_tmux, private_tmux, watched

pytestmark = [pytest.mark.pi, needs_tmux]


def test_a_run_is_watched_stopped_and_resumed(project: Project, tmp_path: Path) -> None:
    os.mkfifo(project.path / "here")
    os.mkfifo(project.path / "never")
    script = tmp_path / "script.json"
    call = {"name": "bash", "arguments": {"command": "echo > here; cat never"}}
    script.write_text(json.dumps([{"text": "I look around first.", "toolCalls": [call]}]))
    env = {**project.env, "PS1": "$ ", "LC_ALL": "C.UTF-8", "TERM": "screen", "TMUX": ""}
    with (
        private_tmux() as tmux,
        start(project, "run", "--offline-script", str(script), "Look around", "--name", "look") as run,
        screen_of_our_own(tmux.runtime, cwd=project.path, env=env, columns=100, rows=24) as screen,
    ):  # fmt: skip
        (project.path / "here").read_bytes()  # until the child's tool is at work
        screen.see("$")
        screen.type(f"exec {shlex.join(ENTRY)} watch")
        screen.see("1 active", "● running", "look", "echo > here; cat never", "q Leave")
        screen.press("Enter")
        screen.see("I look around first.")
        screen.press("s")
        screen.see("Stop look?")
        screen.press("y")
        screen.see("■ stopped")
        run.communicate()
        assert run.returncode == 1
        screen.press("r")
        screen.see("What should it do now?")
        screen.press("Count the Python files in .", "Enter")
        screen.see("continues as a new run")
        screen.press("q")
        screen.see("✓ completed", "└ look", "There are 0 Python files")
        pid = int(screen.tmux("display-message", "-p", "#{pane_pid}"))
        with watched(pid):  # the terminal is closed: nothing is left of the view
            screen.tmux("kill-session")

"""The windows of real children, on a terminal."""

import json
import re

import pytest
from tests.e2e.conftest import Project
from tests.fakes.profile_home import write_preset
from tests.fakes.pty_command import SUBAGENTS, ended, on_a_terminal

pytestmark = pytest.mark.pi

TASKS = [
    {"preset": "scout", "task": "Count the Python files in ."},
    {"preset": "scout", "task": "List the files in ."},
]


async def test_tasks_with_a_preset_have_windows_and_standard_output_one_object(
    project: Project,
) -> None:
    presets = project.agent_dir / "subagents"
    presets.mkdir()
    write_preset(presets, "scout", "tools: bash,ls", body="You look around.")
    (project.path / "one.py").write_text("")
    output = project.path / "answer.json"
    argv = [*SUBAGENTS, "call", "subagent", json.dumps({"tasks": TASKS}), "--offline"]
    env = {**project.env, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    on_terminal = on_a_terminal(argv, cwd=project.path, env=env, output=output, columns=100)
    async with on_terminal as (watcher, process, _):
        await watcher.until(lambda: watcher.terminal.in_program)
        assert await ended(process) == 0
        left = await watcher.sees("To continue")
        assert not watcher.terminal.in_program
    answer = json.loads(output.read_text())
    assert [each["status"] for each in answer["details"]["results"]] == ["completed"] * 2
    sessions = [each["sessionId"] for each in answer["details"]["results"]]
    assert [re.sub(r"[\d.]+(k?) tokens · \d+s", "9\\1 tokens · 9s", row) for row in left[-4:]] == [
        "✓ scout-1 · 1 call · 9k tokens · 9s",
        "✓ scout-2 · 1 call · 9k tokens · 9s",
        f'To continue scout-1: subagents resume {sessions[0][:8]} "..."',
        "",
    ]

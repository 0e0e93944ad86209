"""Where answers go with real children before a person: on the screen once, or alone into a file."""

import pytest
from tests.e2e.conftest import Project
from tests.fakes.pty_command import SUBAGENTS, ended, on_a_terminal

pytestmark = pytest.mark.pi

MOST_ROWS = 40


def on_screen(project: Project) -> dict[str, str]:
    return {**project.env, "TERM": "xterm", "LC_ALL": "C.UTF-8"}


async def test_the_demo_shows_parallel_work_and_leaves_a_screen_that_fits(project: Project) -> None:
    for number in range(60):
        (project.path / f"a-file-with-a-rather-long-name-{number}.md").write_text("x\n")
    argv = [*SUBAGENTS, "demo"]
    terminal = on_a_terminal(argv, cwd=project.path, env=on_screen(project), rows=MOST_ROWS + 1)
    async with terminal as (watcher, process, _):
        await watcher.sees("Sub-agents: 3 running")
        await watcher.until(lambda: all(name in watcher.sent for name in ("list", "count", "find")))
        assert await ended(process) == 0
        left = await watcher.sees("What to type next:")
    shown = "\n".join(left).rstrip().split("\n")
    assert "Three sub-agents work in" in left[0], "nothing was scrolled away"
    assert len(shown) <= MOST_ROWS
    assert sum("more lines)" in row for row in shown) == 2


async def test_windows_are_shown_beside_an_answer_that_goes_elsewhere(project: Project) -> None:
    (project.path / "one.py").write_text("")
    output = project.path / "answer.txt"
    argv = [*SUBAGENTS, "run", "--offline", "Count the Python files in ."]
    terminal = on_a_terminal(argv, cwd=project.path, env=on_screen(project), output=output)
    async with terminal as (watcher, process, _):
        await watcher.until(lambda: watcher.terminal.in_program)
        assert await ended(process) == 0
        left = await watcher.sees("✓ Count the Python files in .")
    assert not any("There is 1 Python file" in row for row in left)
    answer = output.read_text()
    assert answer.startswith("There is 1 Python file in .")
    assert answer.count("\n") == 1

"""
A task that tries to leave code for the next task of its process: through Node's debugger, through
the commands that its pi takes, through the limits of the process.
"""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.test_reused_children import Place, tasks

from pi_subagents.core.offline.script import parse_script
from pi_subagents.engines.offline.server import OfflineModel
from pi_subagents.engines.pi.command import resolve_pi_command

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

pytestmark = [
    pytest.mark.pi,
    pytest.mark.skipif(sys.platform != "linux", reason="the tasks look into /proc"),
]

# Opens the debugger of its own pi, as anybody may who may send it a signal, and runs code in it.
DEBUGGER = """
process.kill(Number(process.argv[2]), "SIGUSR1");
for (let tries = 0; tries < 20; tries += 1) {
  try {
    const [target] = await (await fetch("http://127.0.0.1:9229/json")).json();
    const socket = new WebSocket(target.webSocketDebuggerUrl);
    await new Promise((open, fail) => { socket.onopen = open; socket.onerror = fail; });
    const expression = "process.env.PLANTED = 'nightingale'";
    socket.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } }));
    console.log("planted", await new Promise((heard) => { socket.onmessage = heard; }));
    process.exit();
  } catch {
    await new Promise((later) => setTimeout(later, 20));
  }
}
"""
THINK = json.dumps({"type": "set_thinking_level", "level": "high"})


def turns(word: str, command: str) -> dict[str, Any]:
    call = {"name": "bash", "arguments": {"command": command}}
    return {"match": word, "turns": [{"toolCalls": [call]}, {"text": f"done: {word}"}]}


async def planted_and_looked(project: Project, plant: str) -> tuple[list[int], str, str]:
    """Have one task plant and the next one look; return their children, and what each was told."""
    look = "env | grep PLANTED; grep 'open files' /proc/$PPID/limits; echo looked"
    script = {"conversations": [turns("plant", plant), turns("look", look)]}
    with OfflineModel(parse_script(script)) as model:
        place = Place(project, model)
        done = await place.delegate(*tasks("plant", "look"))
        assert [result.output for result in done.results] == ["done: plant", "done: look"]
        children = [place.child_of(result) for result in done.results]
        tried, seen = place.requests("plant"), place.requests("look")
    assert "looked" in seen
    return children, tried, seen


async def test_the_debugger_of_a_shared_pi_stays_closed(project: Project) -> None:
    node, *_ = resolve_pi_command(project.env, project.path, None).argv
    (project.path / "plant.mjs").write_text(DEBUGGER)
    plant = f"{shlex.quote(node)} plant.mjs $PPID; echo tried"
    children, tried, seen = await planted_and_looked(project, plant)
    assert "tried" in tried
    assert "nightingale" not in seen
    assert len(set(children)) == 1  # it did not even notice


async def test_nobody_else_gives_commands_to_a_shared_pi(project: Project) -> None:
    plant = f"echo {shlex.quote(THINK)} > /proc/$PPID/fd/0"
    children, tried, _ = await planted_and_looked(project, plant)
    assert "No such device or address" in tried
    assert len(set(children)) == 1


async def test_a_pi_whose_limits_a_task_changed_serves_no_other(project: Project) -> None:
    set_limit = (
        "import resource, os; resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (77, 77))"
    )
    plant = f"exec {shlex.quote(sys.executable)} -c {shlex.quote(set_limit)}"
    children, _, seen = await planted_and_looked(project, plant)
    assert len(set(children)) == 2
    assert "77" not in seen.split("open files")[1].split("looked")[0]

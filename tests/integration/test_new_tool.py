"""
A tool is a file and a line: every face has it, and none of them is touched.

A copy of our sources gets both, and the real commands run from that copy.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.command import ENTRY
from tests.fakes.bridge_host import MAIN, open_bridge
from tests.fakes.driver import PATIENCE_S
from tests.fakes.mcp_host import SOURCES, McpHost, text_of, value_of

from pi_subagents.core.messages import NEEDS_STRING
from pi_subagents.errors import InvalidRequest
from pi_subagents.service.tools.registry import TOOLS

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

DEMO = Path(__file__).parents[1] / "fakes" / "demo_tool.py"
LINE = '    "count_words": "pi_subagents.service.tools.count_words",\n}\n'
THREE = {"text": "one two three"}
TOLD = "3 words."


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Our sources with one more tool."""
    copy = Path(shutil.copytree(SOURCES / "pi_subagents", tmp_path / "src" / "pi_subagents"))
    tools = copy / "service" / "tools"
    shutil.copy(DEMO, tools / "count_words.py")
    registry = tools / "registry.py"
    table, end, functions = registry.read_text("utf-8").partition("\n}\n")
    assert end
    registry.write_text(f"{table}\n{LINE}{functions}", "utf-8")
    return copy.parent


def ran(place: Workplace, sources: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    env = {**place.env, "PYTHONPATH": str(sources)}
    return subprocess.run(
        argv,
        cwd=place.project,
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_the_command_line_lists_and_calls_it(place: Workplace, sources: Path) -> None:
    listed = json.loads(ran(place, sources, *ENTRY, "tools", "--json").stdout)["tools"]
    assert [tool["name"] for tool in listed] == [*TOOLS, "count_words"]
    assert listed[-1] == {
        "name": "count_words",
        "description": "Count the words of a text.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    }
    done = ran(place, sources, *ENTRY, "call", "count_words", json.dumps(THREE))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "schemaVersion": 1,
        "content": [{"type": "text", "text": TOLD}],
        "details": {"count": 3, "cwd": ""},
        "isError": False,
    }
    refused = ran(place, sources, *ENTRY, "call", "count_words", '{"words": 1}')
    assert refused.returncode == 2
    assert json.loads(refused.stdout)["isError"] is True


async def test_an_mcp_host_is_told_of_it_and_gets_its_value(
    place: Workplace, sources: Path, tmp_path: Path
) -> None:
    host = McpHost(place.project, place.env, tmp_path / "stderr")
    async with host.stdio(PYTHONPATH=str(sources)) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [*TOOLS, "count_words"]
        annotations = tools[-1].annotations
        assert annotations is not None
        assert (annotations.read_only_hint, annotations.open_world_hint) == (True, False)
        assert client.instructions is not None
        assert client.instructions.endswith("\nDo not count yourself: count_words does it.")
        result = await client.call_tool("count_words", THREE)
        assert text_of(result) == TOLD
        assert value_of(result)["count"] == 3
        refused = await client.call_tool("count_words", {})
        assert refused.is_error is True
        assert text_of(refused) == str(InvalidRequest("text", NEEDS_STRING))


async def test_pi_registers_and_calls_it(place: Workplace, sources: Path) -> None:
    here = f"import sys; sys.path.insert(0, {str(sources)!r})\n"
    writing = (
        f"{here}import json\n"
        "from pi_subagents.faces.bridge.extension_tools import tools_to_json\n"
        "print(json.dumps(tools_to_json()['tools'][-1]))"
    )
    registered: Any = json.loads(ran(place, sources, sys.executable, "-c", writing).stdout)
    assert (registered["name"], registered["snippet"]) == ("count_words", "Count words")
    assert [said["path"] for said in registered["call"]] == [["text"]]
    async with open_bridge(place.project, place.env, here + MAIN) as host:
        await host.open()
        assert host.offer["tools"]["count_words"] == "Count the words of a text."
        answer = await host.call("count_words", THREE)
        assert answer == {
            "content": [{"type": "text", "text": TOLD}],
            "details": {"count": 3, "cwd": str(place.project)},
            "isError": False,
        }
        assert await host.bye() == 0

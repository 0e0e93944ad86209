"""MCP servers and codemode in children of the real pi: only where asked for, and shown as it is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.pi_under_test import TRAITS, needs_mcp, needs_no_mcp
from tests.e2e.test_profiles_with_pi import PI_DEFAULT_TOOLS, Served, served, tools
from tests.fakes.auditor import read_journal

from pi_subagents import Task
from pi_subagents.core.run import events as ev
from pi_subagents.engines.pi.messages import no_known_tool, note_unknown_tools
from pi_subagents.errors import ProfileRefused
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

pytestmark = pytest.mark.pi
SERVER = Path(__file__).parents[1] / "fakes" / "mcp_stdio_server.py"
__all__ = ["served"]


def has_server(project: Project) -> Path:
    """Give the user an MCP server whose tool the model is told of; return where it notes starts."""
    notes = project.agent_dir.parents[1] / "starts"
    server = {"command": sys.executable, "args": [str(SERVER), str(notes)], "exposure": "direct"}
    (project.agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": {"s": server}}))
    return notes


@needs_mcp
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("tools: read", ["read"]),
        ("noTools: true", []),
        ("mcp: none", PI_DEFAULT_TOOLS),
        ("excludeTools: bash", ["edit", "read", "write"]),
    ],
)
async def test_a_child_that_cannot_use_servers_starts_none(
    served: Served, fields: str, expected: list[str]
) -> None:
    if not TRAITS.has_no_mcp_option:
        pytest.skip(f"{TRAITS.shown} cannot leave servers out")
    notes = has_server(served.project)
    assert tools(await served.received(served.profile("bare", fields))) == expected
    assert tools(await served.received(None)) == PI_DEFAULT_TOOLS
    assert not notes.exists()


@needs_mcp
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("mcp: all", sorted([*PI_DEFAULT_TOOLS, "mcp__s__put"])),
        ("tools: read, mcp__s__put", ["mcp__s__put", "read"]),
        ("tools: [read, mcp__s__*]", ["mcp__s__put", "read"]),
        ("tools: [read, codemode]", ["codemode", "read"]),
        (
            "noExtensions: true\nextensions: builtin:mcp",
            sorted([*PI_DEFAULT_TOOLS, "mcp__s__put"]),
        ),
    ],
)
async def test_a_child_that_asks_for_servers_has_them(
    served: Served, fields: str, expected: list[str]
) -> None:
    if "*" in fields and not TRAITS.has_tool_patterns:
        pytest.skip(f"{TRAITS.shown} knows no patterns of tools")
    notes = has_server(served.project)
    assert tools(await served.received(served.profile("server", fields))) == expected
    assert len(notes.read_text().splitlines()) >= 1


@needs_no_mcp
async def test_a_pi_without_mcp_refuses_a_profile_that_wants_it(served: Served) -> None:
    name = served.profile("server", "mcp: all")
    with pytest.raises(ProfileRefused, match='because of "mcp"'):
        await served.run(Task("task", "Hello."), profile=name)
    assert served.model.requests("all") == []


@pytest.mark.parametrize("listed", ["+grep", "-bash", "*", "read, -bash", "gr*p", "\ufeff+grep"])
async def test_no_list_of_tools_fails_open(served: Served, listed: str) -> None:
    name = served.profile("open", f'tools: "{listed}"')
    with pytest.raises(ProfileRefused, match='because of "tools"'):
        await served.run(Task("task", "Hello."), profile=name)


@needs_mcp
async def test_codemode_without_its_extension_is_refused_or_mentioned_and_never_missing_in_silence(
    served: Served,
) -> None:
    alone = served.profile("alone", "noExtensions: true\ntools: codemode")
    (result,) = (await served.run(Task("task", "Hello."), profile=alone)).results
    assert (result.status, served.model.requests("all")) == ("failed", [])
    assert result.error_message == no_known_tool("alone", ("codemode",))
    beside = served.profile("beside", "noExtensions: true\ntools: read, codemode")
    (result,) = (await served.run(Task("task", "Hello."), profile=beside)).results
    assert note_unknown_tools("profile", ("codemode",)) in result.notes
    named = served.profile(
        "named", "noExtensions: true\nextensions: builtin:codemode\ntools: read, codemode"
    )
    assert tools(await served.received(named)) == ["codemode", "read"]


@needs_mcp
async def test_a_script_that_repeats_a_call_is_no_loop_and_its_calls_are_shown_below_it(
    project: Project, child_mode: str
) -> None:
    del child_mode
    directory = project.agent_dir / "agent-profiles"
    directory.mkdir(exist_ok=True)
    (directory / "coder.md").write_text("---\nname: coder\ntools: read, bash, codemode\n---\n")
    project.profile = "coder"
    code = "for (let i = 0; i < 7; i++) await tools.bash({command: 'echo same'});"
    script = [
        {"toolCalls": [{"name": "codemode", "arguments": {"code": code}}]},
        {"text": "Seven times the same."},
    ]
    delegation = await project.delegate(Task("script", "Go."), script=script)
    (result,) = delegation.results
    assert (result.status, result.output, result.notes) == (
        "completed",
        "Seven times the same.",
        (),
    )
    assert (result.tool_call_count, result.message_count) == (1, 4)
    run_dir = Runs(project.path, project.env).store.run_dir(result.run_id)
    events = [entry.event for entry in read_journal(run_dir)]
    parents = [each.call.parent_id for each in events if isinstance(each, ev.ToolStarted)]
    assert parents == ["", *[parents[1]] * 7]
    assert parents[1]
    shown = [line.text for line in delegation.windows[0].history if line.kind == "tool"]
    assert shown[1:] == ["↳ bash → echo same"] * 7
    transcript = run_dir.transcript.read_text().splitlines()
    assert transcript.count("  echo same") == 7
    assert b"tool_execution_update" not in run_dir.stdout.read_bytes()

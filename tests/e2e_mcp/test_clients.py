"""The MCP server and clients that we did not write: the SDK's, the inspector, the conformance tool."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests import tool_names
from tests.e2e.command import ENTRY
from tests.e2e.conftest import Project, project
from tests.e2e_mcp.npm_tools import npm_tool, run, with_token
from tests.fakes import canary
from tests.fakes.mcp_host import NEWEST, McpHost, Progress, text_of, value_of
from tests.fakes.samples import first_as_sample

from pi_subagents.faces.mcp_server.prompts import PROMPTS
from pi_subagents.service.tools.registry import TOOLS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.pi
__all__ = ["project"]  # a fixture

# The others ask for tools, prompts and resources of the tool's own example server.
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)
COUNT = {"tasks": [{"name": "count", "prompt": "Count the files in ."}]}


@pytest.fixture
def host(project: Project, tmp_path: Path) -> McpHost:
    (project.path / "one.txt").write_text("1\n")
    return McpHost(project.path, project.env, tmp_path / "stderr")


# The SDK's own client, with the real pi


@pytest.mark.parametrize("mode", first_as_sample(["legacy", "auto"]))
async def test_the_sdk_delegates_over_stdio(host: McpHost, mode: str) -> None:
    progress = Progress()
    async with host.stdio("--offline", mode=mode) as client:
        result = await client.call_tool(tool_names.DELEGATE, COUNT, progress_callback=progress)
        (entry,) = value_of(result)["results"]
        assert (entry["status"], "1" in entry["output"]) == ("completed", True), entry
        heard = await client.call_tool(tool_names.GET_SESSION, {"sessionId": entry["sessionId"]})
        assert "Count the files" in text_of(heard)
        assert (client.protocol_version == NEWEST) == (mode == "auto")
    assert progress.lines


@pytest.mark.parametrize("mode", first_as_sample(["legacy", "auto"]))
async def test_the_sdk_delegates_over_http(host: McpHost, mode: str) -> None:
    async with host.http("--offline") as server, server.client(mode) as client:
        result = await client.call_tool(tool_names.DELEGATE, COUNT)
        (entry,) = value_of(result)["results"]
        assert entry["status"] == "completed"
        found = await client.read_resource(f"subagents://sessions/{entry['sessionId']}/result")
        assert entry["output"] in json.loads(found.contents[0].text)["text"]  # type: ignore[union-attr]  # it is a text


# The official inspector, as a command


async def inspected(host: McpHost, target: list[str], *arguments: str) -> Any:
    argv = [*npm_tool("inspector"), "--cli", *target, *arguments]
    code, out, err = await run(argv, host.project, host.notes.parent)
    assert code == 0, (out, err)
    return json.loads(out)


@pytest.fixture(params=["stdio", "http"])
async def target(request: pytest.FixtureRequest, host: McpHost, tmp_path: Path) -> Any:
    """The server as the inspector is told of it."""
    if request.param == "stdio":
        # The inspector keeps its configuration in a file, which is no place for a secret.
        variables = {k: v for k, v in host.environment.items() if v != canary.IN_ENVIRONMENT}
        entry = {"command": ENTRY[0], "args": [*ENTRY[1:], "mcp", "--offline"], "env": variables}
        config = tmp_path / "servers.json"
        config.write_text(json.dumps({"mcpServers": {"ours": entry}}))
        yield ["--config", str(config), "--server", "ours"]
        return
    async with host.http("--offline") as server:
        header = f"Authorization: Bearer {server.token}"
        yield ["--server-url", server.url, "--transport", "http", "--header", header]


async def test_the_inspector_lists_calls_and_reads(host: McpHost, target: list[str]) -> None:
    listed = await inspected(host, target, "--method", "tools/list")
    assert [tool["name"] for tool in listed["tools"]] == list(TOOLS)
    tasks = f"tasks={json.dumps(COUNT['tasks'])}"
    call = ("--method", "tools/call", "--tool-name", tool_names.DELEGATE, "--tool-arg", tasks)
    called = await inspected(host, target, *call)
    (entry,) = called["structuredContent"]["results"]
    assert entry["status"] == "completed"
    uri = f"subagents://sessions/{entry['sessionId']}/result"
    read = await inspected(host, target, "--method", "resources/read", "--uri", uri)
    assert json.loads(read["contents"][0]["text"])["text"] == entry["output"]
    prompts = await inspected(host, target, "--method", "prompts/list")
    assert [each["name"] for each in prompts["prompts"]] == [each.name for each in PROMPTS]
    templates = await inspected(host, target, "--method", "resources/templates/list")
    assert len(templates["resourceTemplates"]) == 4


async def test_the_inspector_finds_nothing_wrong_with_the_schemas(
    host: McpHost, target: list[str]
) -> None:
    argv = [*npm_tool("inspector"), "--cli", *target, "--method", "tools/list", "--strict"]
    code, _, err = await run(argv, host.project, host.notes.parent)
    assert code == 0, err


# The official conformance tool


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_conformance_tool_is_content(host: McpHost, scenario: str) -> None:
    argv = npm_tool("conformance")
    async with host.http("--offline") as server, with_token(server) as url:
        asked = ("server", "--url", url, "--scenario", scenario)
        code, out, err = await run([*argv, *asked], host.project, host.notes.parent)
    assert code == 0, (out, err)
    assert re.search(r"Passed: (\d+)/\1, 0 failed, 0 warnings", out), out

"""What a preset says, observed in what the model of a real pi receives."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Project
from tests.e2e.served_models import serving

from pi_subagents.config.preset_files import (
    global_presets_dir,
    invalidate_presets_cache,
    load_presets,
)
from pi_subagents.core.preset.preset import preset_profile
from pi_subagents.engines.offline.server import OfflineModel
from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.engines.pi.profile.options import profile_invocation
from pi_subagents.engines.pi.versions import traits_of

pytestmark = pytest.mark.pi

EXTENSION = """export default (pi) => pi.registerTool({
  name: "shout", label: "Shout", description: "Shouts.",
  parameters: { type: "object", properties: {} },
  async execute() { return { content: [], details: {} }; },
});
"""


@pytest.fixture
def model(project: Project) -> Iterator[OfflineModel]:
    """Give the project's pi a model `one` to be asked for by name, and an extension with a tool."""
    agent = project.agent_dir
    with serving(agent, {"id": "one"}) as served:
        (agent / "extensions").mkdir()
        (agent / "extensions/shout.js").write_text(EXTENSION)
        yield served


def received(project: Project, model: OfflineModel, fields: str) -> dict[str, Any]:
    """Run pi as a preset with these fields wants it, and return what its model was asked."""
    directory = global_presets_dir(project.env)
    directory.mkdir()
    text = f"---\nname: x\ndescription: d\nmodel: scripted/one\n{fields}\n---\nYou are a scout."
    (directory / "x.md").write_text(text)
    invalidate_presets_cache()
    preset = load_presets(project.path, project.env).by_name["x"].preset
    prompt_file = Path(project.env["HOME"]) / "append.md"
    prompt_file.write_text(preset.prompt)
    made = profile_invocation(
        preset_profile(preset),
        system_prompt_file=None,
        append_prompt_file=str(prompt_file),
        skill_paths=(),
        parent_tools=None,
        traits=traits_of(resolve_pi_command(project.env, project.path, "").version),
    )
    pi = resolve_pi_command(project.env, project.path, "").argv
    subprocess.run(
        [*pi, "--mode", "json", "-p", "--no-session", *made.argv],
        cwd=project.path,
        env={**project.env, "PI_OFFLINE": "1"},
        input="Hello.",
        capture_output=True,
        text=True,
        check=True,
    )
    (request,) = model.requests("all")
    return request


def tools(request: dict[str, Any]) -> list[str]:
    return sorted(tool["function"]["name"] for tool in request.get("tools", ()))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("tools: read,grep", ["grep", "read"]),
        ("tools: read,shout", ["read", "shout"]),
        ("tools: []", []),
    ],
)
def test_tools_limit_what_pi_has_of_its_own_and_what_extensions_add(
    project: Project, model: OfflineModel, fields: str, expected: list[str]
) -> None:
    assert tools(received(project, model, fields)) == expected


def test_the_body_follows_pis_own_prompt_and_every_tool_is_there(
    project: Project, model: OfflineModel
) -> None:
    request = received(project, model, "")
    assert tools(request) == ["bash", "edit", "read", "shout", "write"]
    prompt = str(request["messages"][0]["content"])
    assert request["model"] == "one"
    assert "You are a scout." in prompt
    assert not prompt.startswith("You are a scout.")

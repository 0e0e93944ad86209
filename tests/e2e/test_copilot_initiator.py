"""What a sub-agent asks GitHub Copilot was begun by an agent."""

import json
from collections.abc import Iterator

import pytest
from tests.e2e.conftest import Project
from tests.e2e.listening import listening_for

from pi_subagents import call_tool
from pi_subagents.engines.pi.invocation import initiator_extensions

pytestmark = pytest.mark.pi


@pytest.fixture
def seen(project: Project) -> Iterator[list[str | None]]:
    with listening_for("X-Initiator") as server:
        provider = {
            "baseUrl": server.url,
            "api": "openai-completions",
            "apiKey": "x",
            "models": [{"id": "one"}],
        }
        providers = {"github-copilot": provider, "other": provider}
        (project.agent_dir / "models.json").write_text(json.dumps({"providers": providers}))
        presets = project.agent_dir / "subagents"
        presets.mkdir()
        (presets / "scout.md").write_text("---\nname: scout\ndescription: Scout.\n---\nScout.\n")
        project.env |= {"NO_PROXY": "127.0.0.1", "PI_OFFLINE": "1"}
        yield server.seen


@pytest.mark.parametrize(
    ("model", "initiator"), [("github-copilot/one", "agent"), ("other/one", None)]
)
async def test_the_initiator_follows_the_effective_model(
    project: Project, seen: list[str | None], model: str, initiator: str | None
) -> None:
    parameters = {"preset": "scout", "task": "Hello.", "model": model}
    answer = await call_tool("subagent", parameters, cwd=project.path, env=project.env)
    details = answer["details"]
    assert isinstance(details, dict)
    (result,) = details["results"]
    assert (result["resolvedModel"], result["status"]) == (model, "failed")
    assert seen == [initiator]


def test_only_copilot_needs_an_extension() -> None:
    assert [bool(initiator_extensions(model)) for model in ("github-copilot/x", "a/x", None)] == [
        True,
        False,
        False,
    ]

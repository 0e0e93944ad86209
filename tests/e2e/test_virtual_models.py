"""A model that an extension of the user provides by routing: a child has it, unless it is bare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.e2e.command import subagents
from tests.e2e.pi_under_test import needs_mcp
from tests.e2e.test_profiles_with_pi import Served, served

from pi_subagents import Task
from pi_subagents.engines.pi import messages

if TYPE_CHECKING:
    from pathlib import Path

# Virtual models came with the built-in extensions.
pytestmark = [pytest.mark.pi, needs_mcp]
__all__ = ["served"]

ROUTER = """\
export default function (pi) {
  pi.registerVirtualModel({
    provider: "router", id: "auto", name: "Auto",
    route(request, ctx) {
      return { model: ctx.modelRegistry.find("scripted", "two"), thinkingLevel: "off" };
    },
  });
}
"""


@pytest.fixture
def router(served: Served) -> Path:
    path = served.project.agent_dir / "extensions" / "router.js"
    path.parent.mkdir()
    path.write_text(ROUTER)
    return path


async def test_a_child_uses_a_virtual_model_and_tells_the_one_behind_it(
    served: Served, router: Path
) -> None:
    assert router.exists()
    name = served.profile("routed", "model: router/auto")
    (result,) = (await served.run(Task("task", "Hello."), profile=name)).results
    assert (result.status, result.output) == ("completed", "Hello.")
    assert (result.provider, result.model) == ("scripted", "two")
    assert [request["model"] for request in served.model.requests("all")] == ["two"]
    listed = subagents(served.project, "models", "--json").json["models"]
    assert {"router/auto", "scripted/one", "scripted/two"} <= {
        f"{each['provider']}/{each['id']}" for each in listed
    }


async def test_without_extensions_it_is_gone_and_lint_says_so_beforehand(
    served: Served, router: Path
) -> None:
    name = served.profile("bare", "model: router/auto\nnoExtensions: true")
    (result,) = (await served.run(Task("task", "Hello."), profile=name)).results
    assert (result.status, served.model.requests("all")) == ("failed", [])
    linted = subagents(served.project, "profile", "lint")
    assert messages.NO_BUILTIN_EXTENSIONS in f"{linted.out}{linted.err}"
    named = served.profile("named", f"model: router/auto\nnoExtensions: true\nextensions: {router}")
    assert (await served.received(named))["model"] == "two"

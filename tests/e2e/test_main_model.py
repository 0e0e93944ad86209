"""What the main model of the real pi is told of us: tools, how to use them, what can be named."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.pi_under_test import TRAITS
from tests.fakes.main_pi import CHILDREN, MAIN, main_pi, rpc

from pi_subagents.service.tools.offer import (
    MAX_GUIDANCE_TOKENS,
    MAX_TOKENS,
    make_offer,
    tokens,
)
from pi_subagents.service.tools.registry import TOOLS, all_tools, find_tool

if TYPE_CHECKING:
    from tests.e2e.conftest import Project
    from tests.fakes.main_pi import MainPi

pytestmark = pytest.mark.pi

ALL = list(TOOLS)
MUTE = Path(__file__).parents[1] / "fakes" / "mute_core.py"
HELLO = {"text": "hello", "repeat": True}


def write_preset(project: Project, name: str, about: str = "Looks around") -> None:
    path = project.agent_dir / "subagents" / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    model = f"model: {CHILDREN}/{CHILDREN}"
    path.write_text(f"---\nname: {name}\ndescription: {about}\n{model}\n---\nLook.\n")


def write_profile(project: Project, name: str, prompt: str) -> None:
    path = project.agent_dir / "agent-profiles" / f"{name}.md"
    path.write_text(f"---\nname: {name}\n---\n{prompt}\n")


def guidance(names: list[str]) -> list[str]:
    """Return the lines that pi makes of what each of these tools says of itself."""
    tools = [find_tool(name) for name in names]
    lines = [f"- {tool.name}: {tool.snippet}" for tool in tools]
    return lines + [f"- {rule}" for tool in tools for rule in tool.rules]


def ours(pi: MainPi) -> list[str]:
    return [name for name in pi.offered_tools() if name in ALL]


def mentioned(pi: MainPi) -> list[str]:
    """Return the tools of ours that any line of the system prompt names."""
    prompt = pi.system_prompt()
    words = {word.strip(".,:;") for word in prompt.split()}
    return [name for name in ALL if name in words or f"- {name}:" in prompt]


def test_the_main_model_is_told_how_to_use_us_and_what_can_be_named(project: Project) -> None:
    write_preset(project, "scout")
    write_profile(project, "careful", "You review with care.\nAlways.")
    with main_pi(project, HELLO) as pi:
        pi.ran("-p", "who are you")
        prompt, described = pi.system_prompt().splitlines(), pi.described_tools()
        sizes = [
            json.dumps([name, described[name], parameters], separators=(",", ":"))
            for name, parameters in pi.offered_tools().items()
            if name in ALL
        ]
    heard = [line for line in guidance(ALL) if line in prompt]
    assert heard == guidance(ALL)
    assert tokens("\n".join(heard)) <= MAX_GUIDANCE_TOKENS
    listed = "careful (You review with care.), keyed (provider=anthropic, model=any)."
    assert described["delegate_to_subagents"].endswith(f" Profiles: {listed}")
    assert described["subagent"].endswith(" Presets: scout (Looks around).")
    assert tokens("\n".join([*sizes, *heard])) <= MAX_TOKENS


@pytest.mark.parametrize("family", ["profiles", "presets"])
def test_a_family_that_is_left_out_is_neither_offered_nor_mentioned(
    project: Project, family: str
) -> None:
    with main_pi(project, HELLO) as pi:
        project.configure(tools=family)
        pi.ran("-p", "who are you")
        assert ours(pi) == mentioned(pi) == list(make_offer(family).names)


def test_a_tool_that_pi_was_told_to_leave_out_stays_out_and_is_not_mentioned(
    project: Project,
) -> None:
    with main_pi(project, HELLO) as pi:
        pi.ran("-p", "who are you", "--exclude-tools", "steer_subagent,subagent")
        left = [name for name in ALL if name not in ("steer_subagent", "subagent")]
        assert ours(pi) == mentioned(pi) == left


def test_what_a_model_was_told_stays_as_it_is_for_the_session(project: Project) -> None:
    write_preset(project, "scout")
    with main_pi(project, HELLO) as host, rpc(host) as pi:
        for preset in ("early", "late"):
            pi.send(type="prompt", message="who are you")
            pi.wait_for(type="agent_settled")
            write_preset(project, preset)
        first, second = (
            (request["tools"], request["messages"][0]) for request in host.model.requests(MAIN)
        )
    assert second == first
    assert "Presets: scout (Looks around)." in json.dumps(first)


def test_very_many_models_are_not_listed(project: Project) -> None:
    with main_pi(project, HELLO) as pi:
        path = project.agent_dir / "models.json"
        providers = json.loads(path.read_text())
        providers["providers"][CHILDREN]["models"] += [{"id": f"model-{n}"} for n in range(300)]
        path.write_text(json.dumps(providers))
        pi.ran("-p", "who are you")
        offered = pi.offered_tools()
    assert offered["subagent"]["properties"]["model"]["type"] == "string"
    assert "model-299" not in json.dumps([offered[name] for name in ALL])


def test_a_core_that_never_answers_keeps_nobody_from_asking_the_model(project: Project) -> None:
    with main_pi(project, HELLO) as pi:
        done = pi.ran("-p", "who are you", PI_SUBAGENTS_CORE=f"{sys.executable} {MUTE}")
        assert ours(pi) == ALL
    assert done.stdout == "hello\n"


@pytest.mark.skipif(not TRAITS.has_mcp, reason=f"{TRAITS.shown} has no codemode")
@pytest.mark.parametrize("mode", ["on", "only"])
def test_where_scripts_call_the_tools_ours_are_still_the_models_alone(
    project: Project, mode: str
) -> None:
    with main_pi(project, HELLO) as pi:
        path = project.agent_dir / "settings.json"
        scripts = {"defaultTools": ["+codemode"], "codemode": {"mode": mode}}
        path.write_text(json.dumps({**json.loads(path.read_text()), **scripts}))
        pi.ran("-p", "who are you")
        described = pi.described_tools()
        assert ours(pi) == mentioned(pi) == ALL
    own = ["codemode"] if mode == "only" else ["read", "bash", "edit", "write", "codemode"]
    assert [name for name in described if name not in ALL] == own
    assert "delegate_to_subagents" not in described["codemode"]
    plain = {tool.name: tool.description for tool in all_tools()}
    assert [name for name in ALL if not described[name].startswith(plain[name])] == []
    assert [name for name in ALL if "codemode" in described[name]] == []

"""Which tools hosts have, and what their models are told can be named in them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mcp.shared.exceptions import MCPError
from tests import tool_names
from tests.fakes import canary
from tests.fakes.bridge_host import open_bridge
from tests.fakes.driver import PATIENCE_S
from tests.fakes.mcp_host import in_process, tasks, text_of
from tests.fakes.preset_place import MODEL, PresetPlace

from pi_subagents.config.profile_files import invalidate_profiles_cache
from pi_subagents.service.tools.offer import (
    MAX_TOKENS,
    instructions,
    make_offer,
    mcp_context,
    offered_tools,
    tokens,
)
from pi_subagents.service.tools.registry import TOOLS, all_tools
from pi_subagents.view import messages

if TYPE_CHECKING:
    from tests.fakes.bridge_host import BridgeHost
    from tests.fakes.workplace import Workplace

ALL = list(TOOLS)
PROFILES = [
    "delegate_to_subagents", "get_subagent_output", "get_subagent_session",
    "list_subagent_profiles", "steer_subagent", "answer_subagent", "apply_subagent_changes",
]  # fmt: skip


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    """A user with a preset, and a project with a profile."""
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}")
    profile(place, "careful", "You review\nwith care.")
    return made


def profile(place: Workplace, name: str, body: str) -> None:
    path = place.project / ".pi/agent-profiles" / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"---\nname: {name}\n---\n{body}\n")
    invalidate_profiles_cache()


def known(place: Workplace, *, trusted: bool = False) -> dict[str, str]:
    offer = offered_tools(place.project, place.env, trusted=trusted)
    return {tool.name: tool.description for tool in offer.tools}


def test_profiles_and_presets_are_listed_with_a_line_each(here: PresetPlace) -> None:
    noted = known(here.work)
    listed = "Profiles: careful (You review), keyed (provider=anthropic, model=any)."
    assert noted["delegate_to_subagents"].endswith(f" {listed}")
    assert noted["subagent"].endswith(" Presets: scout (For tests).")
    assert canary.heard(str(noted)) == []


@pytest.mark.parametrize(
    ("policy", "trusted", "noted"),
    [
        ("allow", False, "careful (You review), keyed (provider=anthropic, model=any)"),
        ("ask", False, "careful, keyed (provider=anthropic, model=any)"),
        ("deny", False, "keyed (provider=anthropic, model=any)"),
        ("deny", True, "careful (You review), keyed (provider=anthropic, model=any)"),
    ],
)
def test_what_a_project_defines_is_told_as_far_as_the_user_lets_it_count(
    here: PresetPlace, policy: str, trusted: bool, noted: str
) -> None:
    here.work.settings(project_definitions=policy)
    description = known(here.work, trusted=trusted)["delegate_to_subagents"]
    assert description.endswith(f" Profiles: {noted}.")


async def test_what_pi_decided_of_the_project_counts_for_what_its_model_is_told(
    here: PresetPlace,
) -> None:
    here.work.settings(project_definitions="deny")
    for trusted in (True, False):
        async with open_bridge(here.work.project, here.work.env) as host:
            await host.open(trusted=trusted)
            assert ("careful" in host.offer["tools"]["delegate_to_subagents"]) == trusted


# MCP


async def test_an_mcp_host_is_told_of_them_in_the_tools_and_they_stay_as_they_are(
    here: PresetPlace,
) -> None:
    async with in_process(here.work) as client:
        before = (await client.list_tools()).tools
        here.preset("late", f"model: {MODEL}")
        after = (await client.list_tools()).tools
        assert client.instructions == instructions(all_tools())
    assert after == before
    assert {tool.name: tool.description for tool in before} == {
        **{tool.name: tool.description for tool in all_tools()},
        **{name: text.replace("late (For tests), ", "") for name, text in known(here.work).items()},
    }


@pytest.mark.parametrize("family", ["profiles", "presets"])
async def test_a_family_that_is_left_out_is_neither_listed_nor_called(
    here: PresetPlace, family: str
) -> None:
    here.work.settings(tools=family)
    left_out = {"profiles": "background_agent_status", "presets": "list_subagent_profiles"}
    async with in_process(here.work) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        offer = make_offer(family)
        assert listed == list(offer.names)
        assert client.instructions == instructions(offer.tools)
        with pytest.raises(MCPError, match=f"Unknown tool: {left_out[family]}"):
            await client.call_tool(left_out[family], {})
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
    assert prompts == {
        "profiles": ["parallel-review", "scout-then-work"],
        "presets": ["in-the-background"],
    }[family]  # fmt: skip


async def test_an_answer_that_comes_before_the_end_names_no_tool_that_is_left_out(
    here: PresetPlace,
) -> None:
    here.work.settings(tools="profiles")
    async with in_process(here.work, within_s=0.01) as client, asyncio.timeout(PATIENCE_S):
        result = await client.call_tool(tool_names.DELEGATE, tasks("slow"))
        child = await here.work.child("slow")
        last = text_of(result).splitlines()[-1]
        assert last == messages.how_to_get_the_rest(0.01, can_stop=False)
        assert "background_agent_stop" not in last
        await child.answer_and_exit("done")


# pi


async def test_pi_is_told_when_it_greets_and_the_same_when_it_greets_again(
    here: PresetPlace,
) -> None:
    place = here.work
    place.settings(tools="profiles")
    async with open_bridge(place.project, place.env) as host:
        first = await greeted(host)
        assert list(first["tools"]) == PROFILES
        assert first["tools"] == {name: known(place)[name] for name in PROFILES}
        assert (
            first["modelsRoom"]
            == offered_tools(place.project, place.env, trusted=False).models_room
        )
        profile(place, "late", "Too late.")
        assert await greeted(host) == first
        assert await host.bye() == 0
    async with open_bridge(place.project, place.env) as host:
        later = await greeted(host)
        assert "late (Too late.)" in later["tools"]["delegate_to_subagents"]
        assert await host.bye() == 0


async def greeted(host: BridgeHost) -> dict[str, Any]:
    await host.open()
    return host.offer


def test_a_hundred_definitions_do_not_make_it_long(here: PresetPlace) -> None:
    for number in range(100):
        profile(here.work, f"profile-{number}", "A long line. " * 20)
    offer = offered_tools(here.work.project, here.work.env, trusted=True)
    assert offer.tools[0].description.endswith(" more.")
    assert tokens(mcp_context(offer)) < MAX_TOKENS

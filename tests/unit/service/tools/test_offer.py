"""What a main model is told of us: short, whatever there is, and of nothing that is switched off."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly, texts

from pi_subagents.core.settings import TOOL_FAMILIES
from pi_subagents.faces.mcp_server.server import tool_list
from pi_subagents.service.tools.offer import (
    ENUM_BYTES,
    MAX_GUIDANCE_TOKENS,
    MAX_LIST_BYTES,
    MAX_RETURNED_TOKENS,
    MAX_TOKENS,
    instructions,
    make_offer,
    mcp_context,
    named,
    pi_context,
    tokens,
)
from pi_subagents.service.tools.registry import TOOLS, all_tools, find_tool

ALL = list(TOOLS)
SHARED = [
    "get_subagent_output",
    "get_subagent_session",
    "steer_subagent",
    "answer_subagent",
    "apply_subagent_changes",
]
families = st.sampled_from(TOOL_FAMILIES)
names = st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True)
definitions = st.none() | st.dictionaries(names, texts, max_size=60)


def of(family: str) -> list[str]:
    return list(make_offer(family).names)


# What is offered


def test_a_family_has_its_own_tools_and_those_of_both() -> None:
    assert of("all") == ALL
    profiles = ["delegate_to_subagents", "list_subagent_profiles"]
    assert of("profiles") == [name for name in ALL if name in (*profiles, *SHARED)]
    assert of("presets") == [name for name in ALL if name not in profiles]


@pytest.mark.parametrize("family", TOOL_FAMILIES)
def test_what_is_left_out_is_mentioned_nowhere(family: str) -> None:
    offer = make_offer(family, {"careful": "Reviews"}, {"scout": "Looks"})
    heard = f"{pi_context(offer)}\n{mcp_context(offer)}"
    mentioned = {name for name in ALL if re.search(rf"\b{name}\b", heard)}
    assert mentioned == set(offer.names)


@pytest.mark.parametrize("tool", ALL)
def test_a_text_of_a_tool_names_no_other_tool(tool: str) -> None:
    """A host may switch off any single one of them."""
    ours = find_tool(tool)
    said = f"{ours.description} {ours.parameters} {ours.snippet} {' '.join(ours.rules)}"
    others = [name for name in ALL if name != tool and re.search(rf"\b{name}s?\b", said)]
    assert others == []


@pytest.mark.parametrize("tool", ALL)
def test_every_tool_has_a_few_words_and_each_rule_says_which_tool_it_is_about(tool: str) -> None:
    ours = find_tool(tool)
    assert ours.snippet
    assert [rule for rule in ours.rules if not re.search(rf"\b{tool}\b", rule)] == []


def test_when_to_use_which_family_is_said() -> None:
    said = instructions(all_tools())
    for word in ("independent parts", "with a profile if one fits", "when a preset fits"):
        assert word in said


# Profiles and presets


def test_what_can_be_named_stands_in_the_description_of_the_tool_that_takes_it() -> None:
    offer = make_offer("all", {"fast": "", "careful": "Reviews\ncode"}, {"scout": "Looks around"})
    heard = {tool.name: tool.description for tool in offer.tools}
    assert heard["delegate_to_subagents"].endswith(" Profiles: careful (Reviews code), fast.")
    assert heard["subagent"].endswith(" Presets: scout (Looks around).")
    plain = {tool.name: tool.description for tool in all_tools()}
    changed = [name for name in heard if heard[name] != plain[name]]
    assert changed == ["delegate_to_subagents", "subagent"]


def test_that_there_are_none_is_said_and_what_is_not_known_is_not() -> None:
    none = make_offer("all", {}, {})
    assert none.tools[0].description.endswith(" Profiles: none.")
    assert none.tools[4].description.endswith(" Presets: none.")
    assert make_offer().tools == all_tools()


def test_names_come_before_lines_and_lines_share_the_room() -> None:
    there = dict.fromkeys("abc", "a line that is long enough to be cut somewhere, I think")
    assert named("P", there, 400) == f"P: {', '.join(f'{n} ({there[n]})' for n in 'abc')}."
    short = "a line that is long enough to be cut so…"
    assert named("P", there, 160) == f"P: {', '.join(f'{n} ({short})' for n in 'abc')}."
    assert named("P", there, 60) == "P: a (a line that is long eno…), b, c."
    assert named("P", there, 12) == "P: a, b, c."
    assert named("P", there, 18) == "P: a, b, c."
    many = {f"n{number:02}": "x" for number in range(50)}
    assert named("P", many, 37) == "P: n00, n01, n02, n03, and 46 more."
    assert named("P", many, 10) == ""


@briefly
@given(st.dictionaries(names, texts, max_size=60), st.integers(0, 1000))
def test_a_list_fits_its_room_and_says_how_many_it_leaves_out(
    there: dict[str, str], most: int
) -> None:
    heard = named("Presets", there, most)
    if not heard or not there:
        return
    assert len(heard.encode()) <= most
    assert "\n" not in heard
    left_out = re.search(r"and (\d+) more\.$", heard)
    assert sum(1 for name in there if name in heard) >= len(there) - int(
        left_out[1] if left_out else 0
    )


# How much it is


def test_guidance_is_at_most_450_tokens() -> None:
    offer = make_offer()
    schemas, *guidance = pi_context(offer).split("\n")
    assert [tool["name"] for tool in json.loads(schemas)] == ALL
    assert tokens("\n".join(guidance)) <= MAX_GUIDANCE_TOKENS == 450
    assert tokens(instructions(offer.tools)) <= MAX_GUIDANCE_TOKENS


def test_what_is_static_leaves_room_for_both_lists() -> None:
    """Whoever adds a tool or a word shortens another."""
    offer = make_offer()
    room = MAX_TOKENS - max(tokens(pi_context(offer)), tokens(mcp_context(offer)))
    assert room >= tokens("x" * 2 * MAX_LIST_BYTES)


@briefly
@given(families, definitions, definitions, st.lists(texts, max_size=40))
def test_everything_we_put_into_a_main_models_context_is_at_most_2000_tokens(
    family: str,
    profiles: dict[str, str] | None,
    presets: dict[str, str] | None,
    models: list[str],
) -> None:
    offer = make_offer(family, profiles, presets)
    places = sum(str(tool.parameters).count("'model':") for tool in offer.tools)
    enum = min(len(str(models)), offer.models_room) + ENUM_BYTES  # a longer one is left out
    assert MAX_TOKENS == 2000
    assert tokens(pi_context(offer)) + places * enum / 3.5 <= MAX_TOKENS
    assert tokens(mcp_context(offer)) <= MAX_TOKENS


@briefly
@given(families, definitions, definitions)
def test_what_an_mcp_host_is_sent_of_all_tools_is_counted(
    family: str, profiles: dict[str, str] | None, presets: dict[str, str] | None
) -> None:
    offer = make_offer(family, profiles, presets)
    sent = [tool.model_dump(by_alias=True, exclude_none=True) for tool in tool_list(offer)]
    shown = [{key: value for key, value in tool.items() if key != "annotations"} for tool in sent]
    listed = json.dumps(shown, separators=(",", ":"), ensure_ascii=False)
    assert [set(tool) for tool in shown] == [
        {"name", "description", "inputSchema", "outputSchema"} for _ in offer.tools
    ]
    assert tokens(f"{listed}\n{instructions(offer.tools)}") <= MAX_TOKENS


def test_schemas_of_values_are_at_most_100_tokens() -> None:
    sent = [tool.output_schema for tool in tool_list(make_offer())]
    assert tokens(json.dumps(sent)) <= MAX_RETURNED_TOKENS == 100


def test_a_token_is_three_and_a_half_bytes() -> None:
    assert (tokens("x" * 7), tokens("ü" * 7)) == (2, 4)

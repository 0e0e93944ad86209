from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.value import as_dict
from pi_subagents.engines.pi.versions import PINNED_PI_VERSION, TESTED_VERSIONS, PiTraits, traits_of

FILES = (
    "models.json", "auth.json", "settings.json", "trust.json", "SYSTEM.md", "APPEND_SYSTEM.md",
)  # fmt: skip
TOOLS = ("read", "bash", "edit", "write", "grep", "find", "ls")


def test_the_oldest_that_is_tested() -> None:
    assert traits_of("0.87.1") == PiTraits(
        version="0.87.1",
        has_mcp=False,
        has_no_mcp_option=False,
        has_tool_patterns=False,
        provider_needs_model=False,
        has_slashed_providers=False,
        renamed_providers={"azure": "azure-openai-responses"},
        tools=TOOLS,
        flags=(),
        files=FILES,
        self_contained=False,
        is_newer=False,
    )


def test_the_newest_that_is_tested() -> None:
    assert traits_of("1.5.0") == PiTraits(
        version="1.5.0",
        has_mcp=True,
        has_no_mcp_option=True,
        has_tool_patterns=True,
        provider_needs_model=True,
        has_slashed_providers=True,
        renamed_providers={"azure-openai-responses": "azure"},
        tools=(*TOOLS, "codemode", "tool_search"),
        flags=("--no-mcp",),
        files=(*FILES, "mcp.json"),
        self_contained=True,
        is_newer=False,
    )


@pytest.mark.parametrize(
    ("before", "since", "changed"),
    [
        ("0.98.9", "0.99.0", {"has_mcp", "tools", "files", "self_contained"}),
        ("0.99.2", "1.0.0", {"provider_needs_model"}),
        ("1.0.2", "1.0.3", {"renamed_providers"}),
        ("1.0.3", "1.0.4", {"has_no_mcp_option", "has_tool_patterns", "flags"}),
        ("1.4.0", "1.5.0", {"has_slashed_providers"}),
        ("1.5.0", "1.5.1", {"is_newer"}),
        ("1.5.1", "12.0.0", set()),
    ],
)
def test_what_changed_when(before: str, since: str, changed: set[str]) -> None:
    old, new = as_dict(traits_of(before)), as_dict(traits_of(since))
    assert {name for name in old if old[name] != new[name]} == {"version", *changed}


def test_a_version_that_nobody_knows_gets_nothing_an_old_pi_would_refuse() -> None:
    unknown = traits_of(None)
    assert as_dict(unknown) == {**as_dict(traits_of("0.87.1")), "version": ""}
    assert (unknown.shown, unknown.without_mcp) == ("this pi", ())


def test_the_pin_is_tested_and_a_prefix_or_suffix_does_no_harm() -> None:
    assert PINNED_PI_VERSION in TESTED_VERSIONS
    assert traits_of("v1.5.0").has_mcp
    assert traits_of("1.6.0-beta.1").is_newer


@thoroughly
@given(st.text() | st.from_regex(r"\d+\.\d+\.\d+"))
def test_any_version_has_traits(version: str) -> None:
    assert traits_of(version).version == version

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.golden.documented_profiles import PROFILES
from tests.unit.core.given_values import texts, thoroughly

from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.value import replace
from pi_subagents.engines.pi import messages as pi_messages
from pi_subagents.engines.pi.invocation import Invocation
from pi_subagents.engines.pi.profile.options import (
    is_plain,
    profile_invocation,
    tools_problem,
    unknown_tools,
)
from pi_subagents.engines.pi.versions import OWN_TOOLS, PiTraits, traits_of

OLD, NEW = traits_of("0.87.1"), traits_of("1.5.0")
PARENT = ("read", "bash", "edit", "write", "web_search")


def invocation(
    profile: Profile,
    *,
    system_prompt_file: str | None = None,
    append_prompt_file: str | None = None,
    skill_paths: tuple[str, ...] = (),
    parent_tools: tuple[str, ...] | None = None,
    traits: PiTraits = OLD,
) -> Invocation:
    return profile_invocation(
        profile,
        system_prompt_file=system_prompt_file,
        append_prompt_file=append_prompt_file,
        skill_paths=skill_paths,
        parent_tools=parent_tools,
        traits=traits,
    )


def arguments(profile: Profile, parent: tuple[str, ...] | None = None) -> tuple[str, ...]:
    return invocation(profile, parent_tools=parent).argv


def test_the_example_of_the_seeds_with_a_file_for_its_prompt() -> None:
    reviewer = Profile(
        "reviewer",
        provider="anthropic",
        model="claude-sonnet-4-5",
        thinking_level="high",
        system_prompt="You are a code reviewer.",
        tools=("read", "bash", "grep"),
        no_extensions=True,
        api_key="sk-test-abc123",
        extra_args=("--verbose",),
    )
    assert invocation(reviewer, system_prompt_file="/run/system-prompt.md") == Invocation(
        (
            "--provider", "anthropic",
            "--model", "claude-sonnet-4-5",
            "--system-prompt", "/run/system-prompt.md",
            "--thinking", "high",
            "--tools", "read,bash,grep",
            "--no-extensions",
            "--verbose",
        ),
        {
            "PI_API_KEY": "sk-test-abc123",
            "ANTHROPIC_API_KEY": "sk-test-abc123",
            "ANTHROPIC_AUTH_TOKEN": "",
            "ANTHROPIC_OAUTH_TOKEN": "",
        },
    )  # fmt: skip


def test_everything_that_can_be_said_stands_in_the_documented_order() -> None:
    profile = Profile(
        "all",
        provider="p",
        model="m",
        thinking_level="low",
        tools=("read",),
        no_extensions=True,
        extensions=("/a.js", "/b.js"),
        no_skills=True,
        no_context_files=True,
        extra_args=("--theme", "x", "--verbose"),
    )
    everything = invocation(
        profile, system_prompt_file="/s", append_prompt_file="/a", skill_paths=("/k1", "/k2")
    )
    assert everything == Invocation(
        (
            "--provider", "p", "--model", "m", "--system-prompt", "/s",
            "--append-system-prompt", "/a", "--thinking", "low", "--tools", "read",
            "--no-extensions", "--extension", "/a.js", "--extension", "/b.js",
            "--no-skills", "--skill", "/k1", "--skill", "/k2", "--no-context-files",
            "--theme", "x", "--verbose",
        ),
        {},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (Profile("x"), ()),
        (Profile("x", provider="p"), ("--provider", "p")),
        (Profile("x", model="a/m:high"), ("--model", "a/m:high")),
        (Profile("x", thinking_level="off"), ("--thinking", "off")),
        (Profile("x", no_extensions=True), ("--no-extensions",)),
        (Profile("x", extensions=("a", "b")), ("--extension", "a", "--extension", "b")),
        (Profile("x", no_skills=True), ("--no-skills",)),
        (Profile("x", no_context_files=True), ("--no-context-files",)),
        (Profile("x", extra_args=("--a", "b=c d")), ("--a", "b=c d")),
        # texts and names of skills come as files and paths, never as they stand
        (Profile("x", system_prompt="s", append_system_prompt="a"), ()),
        (Profile("x", suggested_skills=("s",), load_skills=("l",)), ()),
        (Profile("x", api_key="k"), ()),
    ],
)
def test_each_field_becomes_its_option(profile: Profile, expected: tuple[str, ...]) -> None:
    assert arguments(profile) == expected


@pytest.mark.parametrize(
    ("profile", "parent", "expected"),
    [
        (Profile("x"), PARENT, ()),
        (Profile("x", tools=("read", "bash")), None, ("--tools", "read,bash")),
        (Profile("x", tools=("read", "bash")), ("read",), ("--tools", "read,bash")),
        (Profile("x", tools=()), None, ("--no-tools",)),
        (Profile("x", tools=("", " , ")), None, ("--no-tools",)),
        (Profile("x", tools=(" a ", "b, c", "a")), None, ("--tools", "a,b,c")),
        (Profile("x", no_tools=True), None, ("--no-tools",)),
        (Profile("x", no_tools=True, tools=("a",), exclude_tools=("b",)), PARENT, ("--no-tools",)),
        (Profile("x", tools=("a",), exclude_tools=("a",)), PARENT, ("--tools", "a")),
        (Profile("x", tools=(), exclude_tools=("a",)), PARENT, ("--no-tools",)),
        (Profile("x", exclude_tools=("write", "edit")), None, ("--exclude-tools", "write,edit")),
        (Profile("x", exclude_tools=()), None, ()),
        (Profile("x", exclude_tools=(" ",)), None, ()),
        (
            Profile("x", exclude_tools=("write", "edit")),
            PARENT,
            ("--tools", "read,bash,web_search,grep,find,ls"),
        ),
        (Profile("x", exclude_tools=("write, bash",)), PARENT, ("--tools", "read,edit,web_search,grep,find,ls")),
        (Profile("x", exclude_tools=("x",)), ("b", "ls", "a"), ("--tools", "b,ls,a,read,bash,edit,write,grep,find")),
        (Profile("x", exclude_tools=("find",)), OWN_TOOLS, ("--tools", "read,bash,edit,write,grep,ls")),
        (Profile("x", exclude_tools=()), ("b",), ("--tools", f"b,{','.join(OWN_TOOLS)}")),
        (Profile("x", exclude_tools=(*PARENT, *OWN_TOOLS)), PARENT, ("--no-tools",)),
        (Profile("x", exclude_tools=(*OWN_TOOLS,)), (), ("--no-tools",)),
        (Profile("x", exclude_tools=("a", *OWN_TOOLS)), ("a,b",), ("--tools", "b")),
    ],
)  # fmt: skip
def test_tools_are_none_or_a_list_or_what_an_exclusion_leaves(
    profile: Profile, parent: tuple[str, ...] | None, expected: tuple[str, ...]
) -> None:
    assert arguments(profile, parent) == expected


def test_the_documented_read_only_worker_can_read_and_search_and_change_nothing() -> None:
    (worker,) = [each for each in PROFILES if each.name == "read-only-worker"]
    found = arguments(worker, ("read", "bash", "edit", "write"))  # what pi has active by default
    assert found[-2:] == ("--tools", "read,grep,find,ls")


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (Profile("x", provider="openai"), {}),
        (Profile("x", api_key="k"), {"PI_API_KEY": "k"}),
        (Profile("x", provider="mine", api_key="k"), {"PI_API_KEY": "k"}),
        (
            Profile("x", provider="openai", api_key="k"),
            {"PI_API_KEY": "k", "OPENAI_API_KEY": "k"},
        ),
        (
            Profile("x", model="openai/gpt-4o", api_key="k"),
            {"PI_API_KEY": "k", "OPENAI_API_KEY": "k"},
        ),
    ],
)
def test_a_key_is_handed_over_in_the_environment(
    profile: Profile, expected: dict[str, str]
) -> None:
    assert invocation(profile).environment == expected


@pytest.mark.parametrize(
    ("profile", "parent", "expected"),
    [
        (Profile("x"), None, ()),
        (Profile("x", tools=OLD.tools), None, ()),
        (Profile("x", tools=("read", "reed", "web_search")), None, ("reed", "web_search")),
        (Profile("x", tools=("read", "reed", "web_search")), PARENT, ("reed",)),
        (Profile("x", exclude_tools=("wirte",)), None, ("wirte",)),
        (Profile("x", exclude_tools=("wirte", "web_search")), PARENT, ("wirte",)),
        (Profile("x", no_tools=True, tools=("reed",)), None, ()),
        (Profile("x", tools=("read",), exclude_tools=("wirte",)), None, ()),
    ],
)
def test_names_that_neither_pi_nor_the_parent_knows_are_found(
    profile: Profile, parent: tuple[str, ...] | None, expected: tuple[str, ...]
) -> None:
    assert unknown_tools(profile, parent, OLD) == expected


def test_a_note_tells_that_pi_will_not_mention_them() -> None:
    assert pi_messages.note_unknown_tools("profile", ("reed", "wirte")) == (
        "The profile names unknown tools: reed, wirte. pi ignores them in silence unless an "
        "extension of the sub-agent provides them."
    )


TYPOS = Profile("x", tools=("reed", "web_search"), no_extensions=True)


def test_allowing_only_what_does_not_exist_is_an_error() -> None:
    assert tools_problem(TYPOS, None, OLD) == (
        'Profile "x" allows only tools that do not exist: reed, web_search. It loads no extension '
        "that could provide them. For no tools at all, use `noTools`."
    )


@pytest.mark.parametrize(
    ("profile", "parent"),
    [
        (TYPOS, PARENT),
        (replace(TYPOS, tools=("reed", "read")), None),
        (replace(TYPOS, tools=()), None),
        (replace(TYPOS, tools=None), None),
        (replace(TYPOS, tools=None, exclude_tools=("wirte",)), None),
        (replace(TYPOS, no_tools=True), None),
        (replace(TYPOS, no_extensions=False), None),
        (replace(TYPOS, extensions=("/search.js",)), None),
        (replace(TYPOS, extra_args=("-e", "/search.js")), None),
        (replace(TYPOS, extra_args=("--extension", "/search.js")), None),
    ],
)
def test_it_is_none_where_a_tool_may_be_left_or_none_is_wanted(
    profile: Profile, parent: tuple[str, ...] | None
) -> None:
    assert tools_problem(profile, parent, OLD) == ""


KEY = "sk-canary"
odd = ("\ufeffread\ufeff", "\u0085read", "read\x1f,\ufeff")
names = texts | st.sampled_from([*OLD.tools, "a,b", "--approve", "@x", "read, bash", *odd])
lists = st.lists(names, max_size=3).map(tuple)
profiles = st.builds(
    Profile,
    name=names,
    provider=names | st.just("anthropic"),
    model=names,
    thinking_level=names,
    system_prompt=st.just(KEY) | names,
    append_system_prompt=names,
    api_key=st.just(KEY),
    tools=st.none() | lists,
    exclude_tools=st.none() | lists,
    no_tools=st.booleans(),
    no_extensions=st.booleans(),
    extensions=lists,
    no_skills=st.booleans(),
    no_context_files=st.booleans(),
    extra_args=lists,
)
parents = st.none() | lists


@thoroughly
@given(profiles, parents)
def test_a_key_never_stands_in_the_arguments_or_a_printed_value(
    profile: Profile, parent: tuple[str, ...] | None
) -> None:
    made = invocation(profile, parent_tools=parent)
    assert KEY not in "\n".join(made.argv)
    assert KEY not in repr(made)
    assert made.environment["PI_API_KEY"] == KEY


def split(text: str) -> set[str]:
    """Return the names as JavaScript would cut them."""
    blank = re.compile(r"[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*")
    trimmed = re.compile(f"{blank.pattern}(.*?){blank.pattern}", re.DOTALL)
    return {found[1] for name in text.split(",") if (found := trimmed.fullmatch(name))} - {""}


@thoroughly
@given(profiles, parents)
def test_a_restriction_never_falls_away(profile: Profile, parent: tuple[str, ...] | None) -> None:
    plain = replace(profile, provider="", model="", thinking_level="", extensions=(), extra_args=())
    found = arguments(plain, parent)
    excluded = split(",".join(profile.exclude_tools or ()))
    if profile.no_tools:
        assert found[0] == "--no-tools"
    elif profile.tools is not None:
        wanted = split(",".join(profile.tools))
        assert found[0] == ("--tools" if wanted else "--no-tools")
        assert not wanted or split(found[1]) == wanted
    elif profile.exclude_tools is not None and parent is not None:
        there = {*split(",".join(parent)), *OWN_TOOLS}
        left = {name for name in there - excluded if is_plain(name)}
        assert found[0] == ("--tools" if left else "--no-tools")
        assert not left or split(found[1]) == left
    elif excluded:
        assert (found[0], split(found[1])) == ("--exclude-tools", excluded)
    for flag in ("no_extensions", "no_skills", "no_context_files"):
        option = f"--{flag.replace('_', '-')}"
        assert (option in found) == getattr(profile, flag)


# MCP servers: a pi that can leave them out does, unless they are asked for


@pytest.mark.parametrize(
    ("profile", "parent"),
    [
        (Profile("p"), None),
        (Profile("p", tools=("read",)), None),
        (Profile("p", no_tools=True), None),
        (Profile("p", no_tools=True, mcp="all"), None),
        (Profile("p", mcp="none", tools=("read", "codemode")), None),
        (Profile("p", exclude_tools=("bash",)), PARENT),
        (Profile("p", exclude_tools=("codemode",)), None),
    ],
)
def test_a_child_that_asks_for_no_server_starts_none(
    profile: Profile, parent: tuple[str, ...] | None
) -> None:
    made = invocation(profile, parent_tools=parent, traits=NEW).argv
    assert made.count("--no-mcp") == 1
    assert tuple(each for each in made if each != "--no-mcp") == arguments(profile, parent)


@pytest.mark.parametrize(
    ("profile", "parent"),
    [
        (Profile("p", mcp="all"), None),
        (Profile("p", mcp="all", tools=("read",)), None),
        (Profile("p", tools=("read", "codemode")), None),
        (Profile("p", tools=("read, tool_search",)), None),
        (Profile("p", tools=("mcp__github__*",)), None),
        (Profile("p", tools=("read_mcp_resource",)), None),
        (Profile("p", no_extensions=True, extensions=("builtin:mcp",)), None),
        (Profile("p", extra_args=("--tools", "read,codemode")), None),
        (Profile("p", exclude_tools=("bash",)), (*PARENT, "codemode")),
    ],
)
def test_a_child_that_asks_for_servers_has_them(
    profile: Profile, parent: tuple[str, ...] | None
) -> None:
    made = invocation(profile, parent_tools=parent, traits=NEW).argv
    assert made == arguments(profile, parent)
    assert "--no-mcp" not in made


def test_a_parents_tools_are_left_out_by_pattern_and_none_of_them_can_change_the_list() -> None:
    parent = ("read", "mcp__a__x", "mcp__b__y", "+odd", "-odd", "*", "\ufeff+bash", "a,\ufeff-bash")
    profile = Profile("p", exclude_tools=("mcp__a__*",))
    made = invocation(profile, parent_tools=parent, traits=NEW).argv
    assert made == ("--tools", "read,mcp__b__y,a,bash,edit,write,grep,find,ls")


def test_tools_that_newer_pis_bring_are_known_there() -> None:
    profile = Profile("p", tools=("codemode", "tool_search", "mcp__a__b", "list_mcp_resources"))
    assert unknown_tools(profile, None, NEW) == ()
    assert unknown_tools(profile, None, OLD) == profile.tools


BUILTIN = ("codemode", "tool_search", "mcp__a__b")


@pytest.mark.parametrize(
    ("fields", "unknown"),
    [
        ({"no_extensions": True}, BUILTIN),
        ({"extra_args": ("--no-extensions",)}, BUILTIN),
        ({"extra_args": ("--verbose", "-ne")}, BUILTIN),
        ({"no_extensions": True, "extensions": ("/my.ts",)}, BUILTIN),
        ({"no_extensions": True, "extensions": ("builtin:mcp",)}, BUILTIN[:2]),
        ({"no_extensions": True, "extensions": ("builtin:codemode",)}, BUILTIN[1:]),
        ({"no_extensions": True, "extra_args": ("-e", "builtin:tool-search")}, (BUILTIN[0], BUILTIN[2])),
        ({"no_extensions": True, "extensions": ("builtin:mcp", "builtin:codemode", "builtin:tool-search")}, ()),
        ({"extensions": ("builtin:mcp",)}, ()),
    ],
)  # fmt: skip
def test_tools_of_built_in_extensions_are_unknown_where_those_are_left_out(
    fields: dict[str, Any], unknown: tuple[str, ...]
) -> None:
    profile = Profile("p", tools=("read", *BUILTIN), **fields)
    assert unknown_tools(profile, None, NEW) == unknown
    assert unknown_tools(profile, BUILTIN, NEW) == unknown, "whatever the parent has"
    assert unknown_tools(profile, BUILTIN, OLD) == (), "there they can only be an extension's"


def test_leaving_such_a_tool_out_as_well_is_nothing_to_mention() -> None:
    profile = Profile("p", exclude_tools=BUILTIN, no_extensions=True)
    assert unknown_tools(profile, None, NEW) == ()


def test_allowing_only_tools_of_extensions_that_are_left_out_is_an_error() -> None:
    profile = Profile("x", tools=("codemode", "mcp__a__*"), no_extensions=True)
    problem = pi_messages.no_known_tool("x", ("codemode", "mcp__a__*"))
    assert tools_problem(profile, None, NEW) == problem
    left_out_by_hand = replace(profile, no_extensions=False, extra_args=("-ne",))
    assert tools_problem(left_out_by_hand, ("codemode",), NEW) == problem
    assert tools_problem(replace(profile, extensions=("builtin:codemode",)), None, NEW) == ""
    assert tools_problem(replace(profile, tools=("codemode", "read")), None, NEW) == ""
    assert tools_problem(replace(profile, no_extensions=False), None, NEW) == ""

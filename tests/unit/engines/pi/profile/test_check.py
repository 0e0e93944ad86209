from __future__ import annotations

import pytest

from pi_subagents.core.profile.profile import Profile
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.profile.check import (
    find_conflict,
    profile_notes,
    profile_refusal,
    profile_warnings,
)
from pi_subagents.engines.pi.versions import traits_of

OLD, NEW = traits_of("0.87.1"), traits_of("1.5.0")
SUGGESTED = (
    'Profile "name" has both "suggestedSkills" and "noSkills" set. '
    "These are mutually exclusive — --no-skills would override --skill flags."
)
LOADED = (
    'Profile "name" has both "loadSkills" and "noSkills" set. '
    "These are mutually exclusive — --no-skills disables skill discovery."
)
TOOLS = (
    'Profile "name" has both "tools" and "excludeTools" set. '
    "These are mutually exclusive — use one of them."
)


@pytest.mark.parametrize(
    ("profile", "refusal", "fields"),
    [
        (Profile("name", no_skills=True, suggested_skills=("a",)), SUGGESTED, ("suggestedSkills", "noSkills")),
        (Profile("name", no_skills=True, load_skills=("a",)), LOADED, ("loadSkills", "noSkills")),
        (Profile("name", no_skills=True, load_skills=("a",), suggested_skills=("b",)), SUGGESTED, ("suggestedSkills", "noSkills")),
        (Profile("name", tools=("read",), exclude_tools=("bash",)), TOOLS, ("tools", "excludeTools")),
        (Profile("name", tools=(), exclude_tools=("bash",)), TOOLS, ("tools", "excludeTools")),
        (Profile("name", tools=("read",), exclude_tools=()), TOOLS, ("tools", "excludeTools")),
        (Profile("name", no_tools=True, no_skills=True, load_skills=("a",)), LOADED, ("loadSkills", "noSkills")),
    ],
)  # fmt: skip
def test_fields_that_contradict_each_other_refuse_the_call(
    profile: Profile, refusal: str, fields: tuple[str, str]
) -> None:
    assert (profile_refusal(profile, OLD)[1], find_conflict(profile)[0]) == (refusal, fields)


@pytest.mark.parametrize(
    "profile",
    [
        Profile("name"),
        Profile("name", no_skills=True),
        Profile("name", suggested_skills=("a",), load_skills=("a",)),
        Profile("name", tools=()),
        Profile("name", exclude_tools=("bash",)),
        Profile("name", tools=("read",), exclude_tools=("bash",), no_tools=True),
    ],
)
def test_other_fields_stand_together(profile: Profile) -> None:
    assert (profile_refusal(profile, OLD)[1], find_conflict(profile)) == ("", (None, ""))


def test_fields_that_the_real_pi_would_not_use_are_named() -> None:
    assert profile_warnings(Profile("p", provider="groq"), OLD) == (
        ("provider", 'pi ignores the provider "groq" without a model. Set `model` too.'),
    )
    assert profile_warnings(Profile("p", provider="mine", model="m", api_key="sk-secret"), OLD) == (
        ("apiKey", messages.KEY_NEEDS_MODELS_JSON),
    )
    assert profile_warnings(Profile("p", extra_args=("--verbose", "hello", "there")), OLD) == (
        ("extraArgs", messages.note_extra_words(("hello", "there"))),
    )
    assert (
        profile_warnings(Profile("p", provider="groq", model="m", api_key="sk-secret"), OLD) == ()
    )
    assert profile_warnings(Profile("p", model="groq/m", api_key="sk-secret"), OLD) == ()


MIXED = (
    '"-bash" is not the name of a tool. Newer pis read + and - as changes of their default tools. '
    "Write the names of the tools alone"
)
STAR = (
    '"ba*" may stand for any tool. Write each name; a pattern is only taken for the tools of MCP '
    "servers, such as mcp__github__*"
)
PATTERN = '"mcp__a__*" is a pattern, and pi 0.87.1 knows none. Write each name, or use a newer pi'


@pytest.mark.parametrize(
    ("profile", "version", "field", "why"),
    [
        (Profile("p", tools=("read", "-bash")), "1.5.0", "tools", MIXED),
        (Profile("p", tools=("read,-bash",)), "0.87.1", "tools", MIXED),
        (Profile("p", exclude_tools=("-bash",)), "1.5.0", "excludeTools", MIXED),
        # JavaScript trims U+FEFF and U+3000, and with them what hides a sign.
        (Profile("p", tools=("\ufeff-bash",)), "1.5.0", "tools", MIXED),
        (Profile("p", tools=("read,\u3000\ufeff -bash\ufeff",)), "1.5.0", "tools", MIXED),
        (Profile("p", exclude_tools=("\ufeff-bash",)), "1.5.0", "excludeTools", MIXED),
        (Profile("p", exclude_tools=("ba*",)), "1.5.0", "excludeTools", STAR),
        (Profile("p", tools=("mcp__a__*",)), "0.87.1", "tools", PATTERN),
        (
            Profile("p", mcp="all"), "0.87.1",
            "mcp", "pi 0.87.1 cannot do that; pi 0.99.0 or newer can",
        ),
        (
            Profile("p", mcp="none"), "1.0.3",
            "mcp", "pi 1.0.3 cannot do that; pi 1.0.4 or newer can",
        ),
        (
            Profile("p", mcp="none", tools=("read", "mcp__a__b")), "1.5.0",
            "mcp", 'it is "none", but "tools" names mcp__a__b, a tool of an MCP server',
        ),
        (
            Profile("p", extensions=("builtin:mcp",)), "0.87.1",
            "extensions", "pi 0.87.1 cannot do that; pi 0.99.0 or newer can",
        ),
        (
            Profile("p", provider="groq"), "1.5.0",
            "provider", 'pi 1.5.0 takes a provider only together with a model. Set "model" too',
        ),
    ],
)  # fmt: skip
def test_what_this_pi_cannot_honour_refuses_the_call_and_names_the_field(
    profile: Profile, version: str, field: str, why: str
) -> None:
    assert profile_refusal(profile, traits_of(version)) == (
        field,
        f'Profile "p" cannot be used because of "{field}": {why}.',
    )


@pytest.mark.parametrize(
    ("profile", "version"),
    [
        (Profile("p", tools=("mcp__a__*", "codemode", "read")), "1.5.0"),
        (Profile("p", exclude_tools=("mcp__*",)), "1.5.0"),
        (Profile("p", mcp="none"), "0.87.1"),
        (Profile("p", mcp="none", tools=("codemode",)), "1.5.0"),
        (Profile("p", mcp="all"), "0.99.0"),
        (Profile("p", extensions=("builtin:mcp", "/x.ts")), "1.5.0"),
        (Profile("p", provider="groq"), "0.99.2"),
        (Profile("p", provider="groq", extra_args=("--model", "x")), "1.5.0"),
        (Profile("p", no_tools=True, tools=("+grep",)), "1.5.0"),
    ],
)
def test_what_it_can_honour_is_let_through(profile: Profile, version: str) -> None:
    assert profile_refusal(profile, traits_of(version)) == ("", "")


def test_fields_that_do_more_or_less_than_they_say_are_named() -> None:
    out_of_reach = (("mcp", messages.MCP_OUT_OF_REACH),)
    bare = (("noExtensions", messages.NO_BUILTIN_EXTENSIONS),)
    assert profile_warnings(Profile("p", no_extensions=True), NEW) == ()
    assert profile_notes(Profile("p", no_extensions=True), NEW) == bare
    assert profile_notes(Profile("p", no_extensions=True), OLD) == ()
    assert profile_warnings(Profile("p", mcp="all", tools=("read",)), NEW) == out_of_reach
    assert profile_warnings(Profile("p", mcp="all", tools=("read", "codemode")), NEW) == ()
    assert profile_warnings(Profile("p", mcp="all"), NEW) == ()

from __future__ import annotations

import pytest

from pi_subagents import profile_messages
from pi_subagents.core.profile import Profile
from pi_subagents.core.profile_check import find_conflict, profile_conflict, profile_warnings

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
    assert (profile_conflict(profile), find_conflict(profile)[0]) == (refusal, fields)


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
    assert (profile_conflict(profile), find_conflict(profile)) == ("", (None, ""))


def test_fields_that_the_real_pi_would_not_use_are_named() -> None:
    assert profile_warnings(Profile("p", provider="groq")) == (
        ("provider", 'pi ignores the provider "groq" without a model. Set `model` too.'),
    )
    assert profile_warnings(Profile("p", provider="mine", model="m", api_key="sk-secret")) == (
        ("apiKey", profile_messages.KEY_NEEDS_MODELS_JSON),
    )
    assert profile_warnings(Profile("p", provider="groq", model="m", api_key="sk-secret")) == ()
    assert profile_warnings(Profile("p", model="groq/m", api_key="sk-secret")) == ()

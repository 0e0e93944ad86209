"""
Which fields of a profile no call may use: they contradict each other, or this pi lacks the means.

In: a Profile, and what this pi has.  Out: the refusal, to the character of the seeds where they
have one, or nothing; and warnings about fields that may not do what they seem to.  A preset is
checked as the profile that it comes to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.profile.profile import ALL_MCP, NO_MCP, REFUSE_QUESTIONS
from pi_subagents.engines.base import NOTE, REFUSED, WARNING, Finding
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi import versions as pi_versions
from pi_subagents.engines.pi.profile.existence import unknown_names
from pi_subagents.engines.pi.profile.extra_args import extra_args_problem, words_of_no_option
from pi_subagents.engines.pi.profile.options import named_tools, tool_name_problem
from pi_subagents.engines.pi.profile.providers import key_variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pi_subagents.core.engine_values import Model
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.pi.versions import PiTraits


def check_profile(
    profile: Profile, traits: PiTraits, models: Sequence[Model] = ()
) -> tuple[Finding, ...]:
    """Return all there is to say of a profile, what keeps calls from using it first."""
    refusals = (
        profile_refusal(profile, traits),
        ("extraArgs", extra_args_problem(profile, traits)),
    )
    return (
        *(Finding(field, why, REFUSED) for field, why in refusals if why),
        *(Finding(field, why, WARNING) for field, why in profile_warnings(profile, traits)),
        *(Finding(field, why, NOTE) for field, why in profile_notes(profile, traits)),
        *unknown_names(profile, traits, models),
    )


def check_preset(
    profile: Profile, traits: PiTraits, models: Sequence[Model] = ()
) -> tuple[Finding, ...]:
    """Return why no call may use a preset, for the sake of its tools, and what it names in vain."""
    refusals = (
        Finding("tools", messages.preset_tool_refused(profile.name, problem), REFUSED)
        for name in named_tools(profile)
        if (problem := tool_name_problem(name, traits))
    )
    return (*refusals, *unknown_names(profile, traits, models))


def profile_refusal(profile: Profile, traits: PiTraits) -> tuple[str, str]:
    """Return the field for which the whole call is refused, and why; or nothing."""
    fields, why = find_conflict(profile)
    if fields:
        return fields[1], messages.fields_conflict(profile.name, fields, why)
    field, why = next(_unmet(profile, traits), ("", ""))
    return field, messages.field_refused(profile.name, field, why) if field else ""


def _unmet(profile: Profile, traits: PiTraits) -> Iterator[tuple[str, str]]:
    """Yield the fields that this pi cannot honour, or that would not restrict what they name."""
    listed = "excludeTools" if profile.tools is None else "tools"
    for name in named_tools(profile):
        if problem := tool_name_problem(name, traits):
            yield listed, problem
    no_mcp = profile.mcp == NO_MCP
    builtin = any(each.startswith(pi_versions.BUILTIN_PREFIX) for each in profile.extensions)
    for field, asked, had, since in (
        ("mcp", profile.mcp == ALL_MCP, traits.has_mcp, pi_versions.MCP_SINCE),
        ("mcp", no_mcp and traits.has_mcp, traits.has_no_mcp_option, pi_versions.NO_MCP_SINCE),
        ("extensions", builtin, traits.has_mcp, pi_versions.MCP_SINCE),
    ):
        if asked and not had:
            needed = pi_versions.version_text(since)
            yield field, messages.needs_newer_pi(traits.shown, needed)
    if no_mcp and profile.tools is not None:
        servers = [name for name in named_tools(profile) if pi_versions.is_mcp_tool(name)]
        if servers:
            yield "mcp", messages.no_mcp_but_tools(servers[0])
    if traits.provider_needs_model and profile.provider and not names_model(profile):
        yield "provider", messages.provider_needs_model(traits.shown)


def names_model(profile: Profile) -> bool:
    """Return whether a profile says which model of its provider is meant."""
    return bool(profile.model) or "--model" in profile.extra_args


def profile_warnings(profile: Profile, traits: PiTraits) -> tuple[tuple[str, str], ...]:
    """Return the fields that may have no effect in this pi, or more than they say, and why."""
    found = []
    alone = profile.provider and not names_model(profile)
    if alone and not traits.provider_needs_model:  # where it does, that is a refusal
        found.append(("provider", messages.note_provider_alone(profile.provider)))
    if profile.mcp == ALL_MCP and not _reaches_mcp(profile):
        found.append(("mcp", messages.MCP_OUT_OF_REACH))
    if profile.api_key and key_variables(profile.provider, profile.model) is None:
        found.append(("apiKey", messages.KEY_NEEDS_MODELS_JSON))
    refused = extra_args_problem(profile, traits)
    words = () if refused else words_of_no_option(profile, traits)
    if words:
        found.append(("extraArgs", messages.note_extra_words(words)))
    return tuple(found)


def profile_notes(profile: Profile, traits: PiTraits) -> tuple[tuple[str, str], ...]:
    """Return the fields that are right, and do more than many expect."""
    if profile.no_extensions and traits.has_mcp:
        return (("noExtensions", messages.NO_BUILTIN_EXTENSIONS),)
    return ()


def _reaches_mcp(profile: Profile) -> bool:
    if profile.no_tools or (profile.no_extensions and "builtin:mcp" not in profile.extensions):
        return False
    return profile.tools is None or pi_versions.needs_mcp(named_tools(profile))


def find_conflict(profile: Profile) -> tuple[tuple[str, str] | None, str]:
    """Return two fields that cannot stand together and why, if there are such."""
    if profile.no_skills and profile.suggested_skills:
        return ("suggestedSkills", "noSkills"), messages.SUGGESTED_BUT_NO_SKILLS
    if profile.no_skills and profile.load_skills:
        return ("loadSkills", "noSkills"), messages.LOADED_BUT_NO_SKILLS
    if profile.questions == REFUSE_QUESTIONS and profile.permissions.asks:
        return ("permissions", "questions"), messages.REFUSED_BUT_ASKS
    both = profile.tools is not None and profile.exclude_tools is not None
    if both and not profile.no_tools:
        return ("tools", "excludeTools"), messages.ALLOWED_AND_EXCLUDED
    return None, ""

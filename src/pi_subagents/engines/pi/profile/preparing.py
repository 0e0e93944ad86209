"""
What a profile or preset comes to with the pi of a call: checked, and its skills found.

In: a profile that may take effect where it comes from.  Out: the profile as its child will have it,
with notes; RequestError where the whole call is refused, a refusal where only the task is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.value import replace
from pi_subagents.engines.base import REFUSED, PreparedProfile
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.invocation import initiator_extensions
from pi_subagents.engines.pi.models.config import configured_providers
from pi_subagents.engines.pi.profile import options as profile_options
from pi_subagents.engines.pi.profile.check import check_preset, names_model, profile_refusal
from pi_subagents.engines.pi.profile.extra_args import check_extra_args, words_of_no_option
from pi_subagents.engines.pi.profile.providers import renamed_provider, with_provider
from pi_subagents.engines.pi.skills.skill import resolve_skills, with_loaded_skills
from pi_subagents.errors import ProfileRefused, SkillUnreadable, UnknownSkills, UntrustedSkills

if TYPE_CHECKING:
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.base import CallPlace
    from pi_subagents.engines.pi.skills.skill import FindSkills
    from pi_subagents.engines.pi.versions import PiTraits


def prepare_profile(
    profile: Profile,
    notes: tuple[str, ...],
    place: CallPlace,
    traits: PiTraits,
    *,
    skills: FindSkills,
    trusted: bool,
) -> PreparedProfile:
    """Return the profile as its child will have it; ProfileRefused refuses the whole call."""
    parent_tools = place.parent_tools
    if problem := profile_refusal(profile, traits)[1]:
        raise ProfileRefused(problem)
    check_extra_args(profile, traits)
    if problem := profile_options.tools_problem(profile, parent_tools, traits):
        return PreparedProfile(profile, notes, problem)
    renamed = renamed_provider(profile, traits)
    if renamed and renamed[0].lower() not in map(str.lower, configured_providers(place.env)):
        profile = with_provider(profile, *renamed)
        notes += (messages.note_renamed_provider(*renamed, traits.shown),)
    if profile.provider and not names_model(profile):
        notes += (messages.note_provider_alone(profile.provider),)
    if words := words_of_no_option(profile, traits):
        notes += (messages.note_extra_words(words),)
    if unknown := profile_options.unknown_tools(profile, parent_tools, traits):
        kind = "profile" if profile.name else "task"
        notes += (messages.note_unknown_tools(kind, unknown),)
    return _with_skills(PreparedProfile(profile, notes), skills, trusted=trusted)


def prepare_preset(
    profile: Profile, model: str | None, parent_tools: tuple[str, ...] | None, traits: PiTraits
) -> PreparedProfile:
    """Return what a preset comes to, with its model; ProfileRefused where a tool means nothing."""
    for found in check_preset(profile, traits):
        if found.kind == REFUSED:
            raise ProfileRefused(found.text)
    unknown = profile_options.unknown_tools(profile, parent_tools, traits)
    notes = (messages.note_unknown_tools("preset", unknown),) if unknown else ()
    return PreparedProfile(
        replace(profile, model=model or "", extensions=initiator_extensions(model)), notes
    )


def _with_skills(
    prepared: PreparedProfile, skills: FindSkills, *, trusted: bool
) -> PreparedProfile:
    profile = prepared.profile
    if not (profile.suggested_skills or profile.load_skills):
        return prepared
    try:
        found = resolve_skills(profile, skills, trusted=trusted)
    except (UnknownSkills, UntrustedSkills, SkillUnreadable) as problem:
        return replace(prepared, refusal=str(problem))
    prompt = with_loaded_skills(profile.append_system_prompt, found.blocks)
    return replace(
        prepared,
        profile=replace(profile, append_system_prompt=prompt),
        skill_paths=found.paths,
    )

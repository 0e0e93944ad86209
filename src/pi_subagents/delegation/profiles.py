"""
Resolve what tasks name before anything starts: profiles, and what their skills bring along.

In: a request, the profiles of the caller's directory, whether the project is trusted.  Out: one
Preparation per task.  What contradicts itself refuses the whole call; an unknown profile, or a
skill that is unknown or cannot be read, is its task's refusal alone.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pi_subagents import profile_messages
from pi_subagents.core.definition import PROJECT
from pi_subagents.core.extra_args import check_extra_args, words_of_no_option
from pi_subagents.core.profile_check import names_model, profile_refusal
from pi_subagents.core.profile_invocation import tools_problem, unknown_tools
from pi_subagents.core.project_definitions import Choice
from pi_subagents.core.provider_names import renamed_provider, with_provider
from pi_subagents.core.skill import with_loaded_skills
from pi_subagents.core.value import replace
from pi_subagents.delegation.preparation import Preparation
from pi_subagents.delegation.profile_skills import resolve_skills
from pi_subagents.errors import ProfileRefused, SkillUnreadable, UnknownSkills, UntrustedSkills

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.pi_versions import PiTraits
    from pi_subagents.core.profile import LoadedProfile, Profile
    from pi_subagents.core.request import DelegateRequest
    from pi_subagents.delegation.profile_skills import FindSkills
    from pi_subagents.disk.profile_files import Profiles

# What only a trusted project may decide: code, options and keys.
_NEEDS_TRUST = {"extensions": (), "extra_args": (), "api_key": ""}
_SPELLED = {"extensions": "extensions", "extra_args": "extraArgs", "api_key": "apiKey"}


def prepare_profiles(
    request: DelegateRequest,
    profiles: Profiles,
    *,
    trusted: bool,
    parent_tools: tuple[str, ...] | None,
    traits: PiTraits,
    own_providers: Callable[[], frozenset[str]],
    skills: FindSkills,
    choose: Callable[[Profiles, str], Choice[LoadedProfile]] = lambda found, name: Choice(
        found.get(name)
    ),
) -> tuple[Preparation, ...]:
    """Resolve the profile of every task; RequestError where the whole call must be refused."""

    @cache
    def resolved(name: str) -> Preparation:
        chosen = choose(profiles, name)
        if chosen.refusal:
            return Preparation(refusal=chosen.refusal)
        loaded = chosen.loaded
        if loaded is None:
            broken = tuple(str(each) for each in profiles.problems if each.fatal)
            available = tuple(profiles.by_name)
            refusal = profile_messages.unknown_profile(name, available)
            return Preparation(refusal=refusal, notes=broken)
        profile, notes = _permitted(loaded, trusted=trusted)
        if chosen.note:
            notes = (chosen.note, *notes)
        if problem := profile_refusal(profile, traits)[1]:
            raise ProfileRefused(problem)
        check_extra_args(profile, traits)
        if problem := tools_problem(profile, parent_tools, traits):
            return Preparation(profile, refusal=problem, notes=notes)
        if (named := renamed_provider(profile, traits)) and named[0] not in own_providers():
            profile = with_provider(profile, *named)
            notes = (*notes, profile_messages.note_renamed_provider(*named, traits.shown))
        if profile.provider and not names_model(profile):
            notes = (*notes, profile_messages.note_provider_alone(profile.provider))
        if words := words_of_no_option(profile, traits):
            notes = (*notes, profile_messages.note_extra_words(words))
        if unknown := unknown_tools(profile, parent_tools, traits):
            notes = (*notes, profile_messages.note_unknown_tools("profile", unknown))
        return _with_skills(Preparation(profile, notes=notes), skills, trusted=trusted)

    names = [request.profile_of(task) for task in request.tasks]
    return tuple(resolved(name) if name else Preparation() for name in names)


def _permitted(loaded: LoadedProfile, *, trusted: bool) -> tuple[Profile, tuple[str, ...]]:
    """Return the profile without what its origin may not decide, and the note that says so."""
    profile = loaded.profile
    if loaded.scope != PROJECT or trusted:
        return profile, ()
    left_out = tuple(
        _SPELLED[name] for name, none in _NEEDS_TRUST.items() if getattr(profile, name) != none
    )
    if not left_out:
        return profile, ()
    note = profile_messages.note_untrusted_profile(profile.name, left_out)
    return replace(profile, extensions=(), extra_args=(), api_key=""), (note,)


def _with_skills(preparation: Preparation, skills: FindSkills, *, trusted: bool) -> Preparation:
    profile = preparation.profile
    assert profile is not None
    if not (profile.suggested_skills or profile.load_skills):
        return preparation
    try:
        found = resolve_skills(profile, skills, trusted=trusted)
    except (UnknownSkills, UntrustedSkills, SkillUnreadable) as problem:
        return replace(preparation, refusal=str(problem))
    prompt = with_loaded_skills(profile.append_system_prompt, found.blocks)
    return replace(
        preparation,
        profile=replace(profile, append_system_prompt=prompt),
        skill_paths=found.paths,
    )

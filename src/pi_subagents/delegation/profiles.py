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
from pi_subagents.core.extra_args import check_extra_args
from pi_subagents.core.profile_check import profile_conflict
from pi_subagents.core.profile_invocation import tools_problem, unknown_tools
from pi_subagents.core.skill import with_loaded_skills
from pi_subagents.core.value import replace
from pi_subagents.delegation.preparation import Preparation
from pi_subagents.delegation.profile_skills import resolve_skills
from pi_subagents.errors import ProfileRefused, SkillUnreadable, UnknownSkills

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.profile import LoadedProfile, Profile
    from pi_subagents.core.request import DelegateRequest
    from pi_subagents.disk.profile_files import Profiles
    from pi_subagents.disk.skill_files import Skills

# What only a trusted project may decide: code, options and keys.
_NEEDS_TRUST = {"extensions": (), "extra_args": (), "api_key": ""}
_SPELLED = {"extensions": "extensions", "extra_args": "extraArgs", "api_key": "apiKey"}


def prepare_profiles(
    request: DelegateRequest,
    profiles: Profiles,
    *,
    trusted: bool,
    parent_tools: tuple[str, ...] | None,
    skills: Callable[[], Skills],
) -> tuple[Preparation, ...]:
    """Resolve the profile of every task; RequestError where the whole call must be refused."""

    @cache
    def resolved(name: str) -> Preparation:
        loaded = profiles.get(name)
        if loaded is None:
            broken = tuple(str(each) for each in profiles.problems if each.fatal)
            available = tuple(profiles.by_name)
            refusal = profile_messages.unknown_profile(name, available)
            return Preparation(refusal=refusal, notes=broken)
        profile, notes = _permitted(loaded, trusted=trusted)
        if problem := profile_conflict(profile):
            raise ProfileRefused(problem)
        check_extra_args(profile)
        if problem := tools_problem(profile, parent_tools):
            return Preparation(profile, refusal=problem, notes=notes)
        if profile.provider and not profile.model:
            notes = (*notes, profile_messages.note_provider_alone(profile.provider))
        if unknown := unknown_tools(profile, parent_tools):
            notes = (*notes, profile_messages.note_unknown_tools("profile", unknown))
        return _with_skills(Preparation(profile, notes=notes), skills)

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


def _with_skills(preparation: Preparation, skills: Callable[[], Skills]) -> Preparation:
    profile = preparation.profile
    assert profile is not None
    if not (profile.suggested_skills or profile.load_skills):
        return preparation
    try:
        found = resolve_skills(profile, skills())
    except (UnknownSkills, SkillUnreadable) as problem:
        return replace(preparation, refusal=str(problem))
    prompt = with_loaded_skills(profile.append_system_prompt, found.blocks)
    return replace(
        preparation,
        profile=replace(profile, append_system_prompt=prompt),
        skill_paths=found.paths,
    )

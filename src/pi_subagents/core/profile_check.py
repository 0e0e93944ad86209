"""
Which fields of a profile contradict each other, so that no call may use it.

In: a Profile.  Out: the refusal, to the character of the seeds, or nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents import profile_messages
from pi_subagents.core.provider_keys import key_variables

if TYPE_CHECKING:
    from pi_subagents.core.profile import Profile


def profile_conflict(profile: Profile) -> str:
    """Return why the whole call is refused, or nothing."""
    fields, why = find_conflict(profile)
    return profile_messages.fields_conflict(profile.name, fields, why) if fields else ""


def profile_warnings(profile: Profile) -> tuple[tuple[str, str], ...]:
    """Return the fields that may have no effect in the real pi, and why."""
    found = []
    if profile.provider and not profile.model:
        found.append(("provider", profile_messages.note_provider_alone(profile.provider)))
    if profile.api_key and key_variables(profile.provider, profile.model) is None:
        found.append(("apiKey", profile_messages.KEY_NEEDS_MODELS_JSON))
    return tuple(found)


def find_conflict(profile: Profile) -> tuple[tuple[str, str] | None, str]:
    """Return two fields that cannot stand together and why, if there are such."""
    if profile.no_skills and profile.suggested_skills:
        return ("suggestedSkills", "noSkills"), profile_messages.SUGGESTED_BUT_NO_SKILLS
    if profile.no_skills and profile.load_skills:
        return ("loadSkills", "noSkills"), profile_messages.LOADED_BUT_NO_SKILLS
    both = profile.tools is not None and profile.exclude_tools is not None
    if both and not profile.no_tools:
        return ("tools", "excludeTools"), profile_messages.ALLOWED_AND_EXCLUDED
    return None, ""

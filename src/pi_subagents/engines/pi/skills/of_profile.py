"""
Turn the skill names of a profile into what the child is given.

In: a profile and a search for the skills there are.  Out: paths to suggest and blocks to append to
the system prompt; UnknownSkills names every skill that is not there, UntrustedSkills those that
only a trusted project would have, SkillUnreadable one that cannot be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pi_subagents.core.value import value
from pi_subagents.engines.pi.skills.files import read_skill_body
from pi_subagents.engines.pi.skills.skill import loaded_skill_block
from pi_subagents.errors import UnknownSkills, UntrustedSkills

if TYPE_CHECKING:
    from collections.abc import Container

    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.pi.skills.files import Skills


@value
class ResolvedSkills:
    """Files for `--skill`, and blocks for the system prompt; each skill once."""

    paths: tuple[str, ...]
    blocks: tuple[str, ...]


class FindSkills(Protocol):
    """Looks for skills, those of the project included or not."""

    def __call__(self, *, trusted: bool) -> Skills:
        """Return what there is for a project that is trusted, or not."""


def resolve_skills(profile: Profile, find: FindSkills, *, trusted: bool) -> ResolvedSkills:
    """Look up both lists of a profile before a single body is read."""
    skills = find(trusted=trusted)
    suggested = dict.fromkeys(profile.suggested_skills)
    loaded = dict.fromkeys(profile.load_skills)
    unknown = tuple(name for name in suggested | loaded if name not in skills.by_name)
    if unknown:
        raise _refusal(unknown, skills, () if trusted else find(trusted=True).by_name)
    return ResolvedSkills(
        paths=tuple(skills.by_name[name].path for name in suggested),
        blocks=tuple(
            loaded_skill_block(name, read_skill_body(skills.by_name[name])) for name in loaded
        ),
    )


def _refusal(
    missing: tuple[str, ...], skills: Skills, of_project: Container[str]
) -> UnknownSkills | UntrustedSkills:
    """Return why the skills that a profile names are not to be had."""
    withheld = tuple(name for name in missing if name in of_project)
    nowhere = tuple(name for name in missing if name not in of_project)
    unknown = UnknownSkills(nowhere, tuple(skills.by_name))
    return UntrustedSkills(withheld, unknown if nowhere else None) if withheld else unknown

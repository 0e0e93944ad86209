"""
Turn the skill names of a profile into what the child is given.

In: a profile and the skills there are.  Out: paths to suggest and blocks to append to the system
prompt; UnknownSkills names every skill that is not there, SkillUnreadable one that cannot be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents.core.skill import loaded_skill_block
from pi_subagents.disk.skill_files import read_skill_body
from pi_subagents.errors import UnknownSkills

if TYPE_CHECKING:
    from pi_subagents.core.profile import Profile
    from pi_subagents.disk.skill_files import Skills


@dataclass(frozen=True, slots=True)
class ResolvedSkills:
    """Files for `--skill`, and blocks for the system prompt; each skill once."""

    paths: tuple[str, ...]
    blocks: tuple[str, ...]


def resolve_skills(profile: Profile, skills: Skills) -> ResolvedSkills:
    """Look up both lists of a profile before a single body is read."""
    suggested = dict.fromkeys(profile.suggested_skills)
    loaded = dict.fromkeys(profile.load_skills)
    unknown = tuple(name for name in suggested | loaded if name not in skills.by_name)
    if unknown:
        raise UnknownSkills(unknown, tuple(skills.by_name))
    return ResolvedSkills(
        paths=tuple(skills.by_name[name].path for name in suggested),
        blocks=tuple(
            loaded_skill_block(name, read_skill_body(skills.by_name[name])) for name in loaded
        ),
    )

"""
A skill: instructions under a name, as pi knows them, and what a child is given of them.

In: the text of a skill file; a profile and a search for the skills there are.  Out: a Skill; paths
to suggest and blocks to append to the system prompt.  A block ends where we end it: nothing inside
can close or imitate it.  UnknownSkills names every skill that is not there, UntrustedSkills those
that only a trusted project would have, SkillUnreadable one that cannot be read.
"""

from __future__ import annotations

import posixpath
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pi_subagents.core.definitions.frontmatter import parse_frontmatter
from pi_subagents.core.value import value
from pi_subagents.errors import FrontmatterError, SkillUnreadable, UnknownSkills, UntrustedSkills
from pi_subagents.system.safe_io import read_bounded

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.pi.skills.files import Skills

MAX_SKILL_BYTES = 256 * 1024
UNREADABLE = (OSError, ValueError, RuntimeError)
# Blanks are all that shows as nothing: white space, controls, and characters without a width.
_BLANK = r"[\s\x00-\x1f\x7f-\x9f\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]*+"
# Possessive, and a slash between two runs of them: no run is ever divided in every possible way.
_TAG = re.compile(rf"<(?={_BLANK}(?:/{_BLANK})?loaded_skill)", re.IGNORECASE)


@value
class Skill:
    """A skill that can be used, and the file that holds it."""

    name: str
    description: str
    path: str


@value
class ResolvedSkills:
    """Files for `--skill`, and blocks for the system prompt; each skill once."""

    paths: tuple[str, ...]
    blocks: tuple[str, ...]


class FindSkills(Protocol):
    """Looks for skills, those of the project included or not."""

    def __call__(self, *, trusted: bool) -> Skills:
        """Return what there is for a project that is trusted, or not."""


def parse_skill(text: str, path: str) -> Skill | None:
    """Return the skill of a file, None if it has no description; FrontmatterError if broken."""
    fields = parse_frontmatter(text).fields
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(description, str) or not description.strip():
        return None
    if not isinstance(name, str) or not name:
        name = posixpath.basename(posixpath.dirname(path))
    return Skill(name, description, path)


def read_skill_body(skill: Skill) -> str:
    """Return the text of a skill, without its front matter."""
    try:
        content = read_bounded(Path(skill.path).resolve(), MAX_SKILL_BYTES)
        return parse_frontmatter(content.decode(errors="replace")).body
    except (*UNREADABLE, FrontmatterError) as error:
        raise SkillUnreadable(skill.name, skill.path, str(error)) from error


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


def loaded_skill_block(name: str, body: str) -> str:
    """Return a skill as the model reads it, in one pair of tags that the body cannot close."""
    attribute = escape(" ".join(name.split()))
    return f'<loaded_skill name="{attribute}">\n{_TAG.sub("&lt;", body)}\n</loaded_skill>'


def with_loaded_skills(append_system_prompt: str, blocks: Sequence[str]) -> str:
    """Return the text to append to the system prompt: what there is, then the blocks."""
    return "\n\n".join(part for part in (append_system_prompt, *blocks) if part)


def _refusal(
    missing: tuple[str, ...], skills: Skills, of_project: Container[str]
) -> UnknownSkills | UntrustedSkills:
    """Return why the skills that a profile names are not to be had."""
    withheld = tuple(name for name in missing if name in of_project)
    nowhere = tuple(name for name in missing if name not in of_project)
    unknown = UnknownSkills(nowhere, tuple(skills.by_name))
    return UntrustedSkills(withheld, unknown if nowhere else None) if withheld else unknown

"""
A skill: instructions under a name, as pi knows them, and how they stand in a system prompt.

In: the text of a skill file, later its body.  Out: a Skill, or the block in which a loaded skill
reaches the model.  The block ends where we end it: nothing inside can close or imitate it.
"""

from __future__ import annotations

import posixpath
import re
from html import escape
from typing import TYPE_CHECKING

from pi_subagents.core.definitions.frontmatter import parse_frontmatter
from pi_subagents.core.value import value
from pi_subagents.errors import UnknownSkills

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


def parse_skill(text: str, path: str) -> Skill | None:
    """Return the skill of a file, None if it has no description; FrontmatterError if broken."""
    fields = parse_frontmatter(text).fields
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(description, str) or not description.strip():
        return None
    if not isinstance(name, str) or not name:
        name = posixpath.basename(posixpath.dirname(path))
    return Skill(name, description, path)


def loaded_skill_block(name: str, body: str) -> str:
    """Return a skill as the model reads it, in one pair of tags that the body cannot close."""
    attribute = escape(" ".join(name.split()))
    return f'<loaded_skill name="{attribute}">\n{_TAG.sub("&lt;", body)}\n</loaded_skill>'


def with_loaded_skills(append_system_prompt: str, blocks: Sequence[str]) -> str:
    """Return the text to append to the system prompt: what there is, then the blocks."""
    return "\n\n".join(part for part in (append_system_prompt, *blocks) if part)


def unknown_skills_message(unknown: Sequence[str], available: Iterable[str]) -> str:
    """Return which skills are not known, and which are."""
    return str(UnknownSkills(tuple(unknown), tuple(available)))

"""
Load a profile from the content of one file, `agent-profiles/*.md`.

In: a file, its scope and what it holds.  Out: the profile, and what is wrong with the file: also a
key that others could read.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pi_subagents.config import messages
from pi_subagents.config.definition_dir import DefinitionKind
from pi_subagents.core.definitions.definition import FileProblem
from pi_subagents.core.plain_text import printable
from pi_subagents.core.profile.profile import LoadedProfile, parse_profile

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.definitions.frontmatter import Frontmatter

_READABLE_BY_OTHERS = 0o044


def _load(
    path: Path, scope: str, content: Frontmatter
) -> tuple[LoadedProfile | None, tuple[FileProblem, ...]]:
    profile, problems = parse_profile(str(path), content)
    if profile is None:
        return None, problems
    if profile.api_key and _others_can_read(path):
        problem = messages.key_readable_by_others(shlex.quote(printable(str(path))))
        exposed = FileProblem(str(path), content.lines["apiKey"], problem, fatal=False)
        problems = (*problems, exposed)
    return LoadedProfile(profile, scope, str(path)), problems


def _others_can_read(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _READABLE_BY_OTHERS)
    except OSError:  # gone meanwhile
        return False


PROFILES: DefinitionKind[LoadedProfile] = DefinitionKind("profile", _load)

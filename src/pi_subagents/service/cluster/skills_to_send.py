"""
The skills of a task as they travel: the text files of each, by name.

In: paths of skills on this machine.  Out: TravelSkills, and a note for each file that stays here;
CannotTravel where a skill cannot be read, or all of them are too large.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.cluster.order import (
    MAX_SKILL_FILES,
    MAX_SKILLS,
    MAX_SKILLS_BYTES,
    MAX_TEXT,
    TravelFile,
    TravelSkill,
)
from pi_subagents.core.cluster.order_json import inside
from pi_subagents.errors import CannotTravel
from pi_subagents.service.cluster import messages
from pi_subagents.system.safe_io import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SKILL = "SKILL.md"


def skills_to_send(
    task: str, paths: Sequence[str]
) -> tuple[tuple[TravelSkill, ...], tuple[str, ...]]:
    """Return the skills of a task, and what is to be said about them."""
    if len(paths) > MAX_SKILLS:
        raise CannotTravel(task, messages.ITS_SKILLS, messages.more_than(MAX_SKILLS))
    skills: dict[str, TravelSkill] = {}
    notes: list[str] = []
    size = 0
    for each in paths:
        path = Path(each)
        home = path.parent if path.name == _SKILL else path
        name, files = home.name if home.is_dir() else home.stem, []
        try:
            found = list(_files(home)) if home.is_dir() else [(_SKILL, path)]
            for below, file in found:
                text = _text(file) if inside(below) == below else None
                if text is None:
                    notes.append(messages.stays_of_skill(below, name))
                else:
                    files.append(TravelFile(below, text))
                    size += len(text.encode())
        except OSError as error:
            raise CannotTravel(task, messages.skill(name), error.strerror or str(error)) from error
        while name in skills:
            name += "-"
        skills[name] = TravelSkill(name, tuple(files))
    if size > MAX_SKILLS_BYTES:
        raise CannotTravel(task, messages.ITS_SKILLS, messages.too_large(size))
    return tuple(skills.values()), tuple(notes)


def _files(home: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a skill, each with its path below; not through links, and not too many."""
    count = 0
    for place, directories, names in os.walk(home):
        directories[:] = sorted(each for each in directories if not each.startswith("."))
        for name in sorted(names):
            file = Path(place, name)
            if file.is_symlink() or not file.is_file():
                continue
            count += 1
            if count > MAX_SKILL_FILES:
                return
            yield str(file.relative_to(home)), file


def _text(path: Path) -> str | None:
    """Return what is in a file; None where it is not text, or too large."""
    try:
        text = read_bounded(path, MAX_TEXT).decode()
    except ValueError:
        return None
    return None if "\0" in text else text

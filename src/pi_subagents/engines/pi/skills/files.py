"""
Find the skills that pi finds, in its order.

In: a directory, an environment, and whether the project is trusted.  Out: skills by name, the
first of a name wins, and what is wrong with the rest.  Places, highest first: the project's
settings, its `.pi/skills` and the `.agents/skills` up to the repository's root (all these only if
trusted), the user's settings, the agent directory's `skills`, `~/.agents/skills`, packages.
Skills that an extension adds while pi runs are not known here.
"""

from __future__ import annotations

import os
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.config.settings_files import (
    MAX_SETTINGS_BYTES,
    global_settings_file,
    project_settings_file,
)
from pi_subagents.core import messages as core_messages
from pi_subagents.core.value import value
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.skills.packages import Scope, files_of, package_skills, resolved_path
from pi_subagents.engines.pi.skills.path_patterns import (
    SKILL_FILE,
    is_enabled,
    is_glob,
    is_override,
    selected,
)
from pi_subagents.engines.pi.skills.settings import SkillSettings, parse_skill_settings
from pi_subagents.engines.pi.skills.skill import MAX_SKILL_BYTES, UNREADABLE, Skill, parse_skill
from pi_subagents.engines.pi.skills.tree import SkillWalk, mode_of
from pi_subagents.errors import FrontmatterError
from pi_subagents.system.home import agent_dir, home_dir
from pi_subagents.system.safe_io import open_regular, read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@value
class Skills:
    """The skills there are, and what is wrong with files that might be some."""

    by_name: Mapping[str, Skill]
    problems: tuple[str, ...]


def discover_skills(cwd: Path, env: Mapping[str, str], *, trusted: bool) -> Skills:
    """Return the skills that a pi started in `cwd` would have."""
    problems: list[str] = []
    walk = SkillWalk()
    # A process in a linked directory sees the real one, and so do its ancestors.
    paths = _enabled_paths(Path(os.path.realpath(cwd)), env, walk, problems, trusted=trusted)
    if walk.cut:
        problems.append(f"{walk.cut}: {messages.SKILL_SEARCH_CUT}")
    return Skills(_loaded(paths, problems), tuple(problems))


class _Rank(IntEnum):
    """Which place wins when two skills have one name: the lowest."""

    PROJECT_SETTINGS = 0
    PROJECT = 1
    USER_SETTINGS = 2
    USER = 3
    PACKAGE = 4


def _enabled_paths(
    cwd: Path, env: Mapping[str, str], walk: SkillWalk, problems: list[str], *, trusted: bool
) -> list[Path]:
    """Return the files in use that may be skills, in the order in which they win."""
    user_base, project_base = agent_dir(env), cwd / ".pi"
    of_user = _settings(global_settings_file(env), problems)
    of_project = (
        _settings(project_settings_file(cwd), problems) if trusted else parse_skill_settings(None)
    )
    # Where a file is met first decides its rank and its use.
    candidates: dict[Path, tuple[_Rank, bool]] = {}

    def add(rank: _Rank, found: Iterable[tuple[Path, bool]]) -> None:
        for path, enabled in found:
            candidates.setdefault(path, (rank, enabled))

    def add_found(rank: _Rank, place: Path, settings: SkillSettings, *, shared: bool) -> None:
        paths = walk.skill_files(place, loose_below=shared)
        base = str(place.parent)
        add(rank, ((path, is_enabled(str(path), settings.entries, base)) for path in paths))

    scopes = Scope(project_base, of_project.packages), Scope(user_base, of_user.packages)
    add(_Rank.PACKAGE, package_skills(*scopes, env, walk, problems))
    add(_Rank.PROJECT_SETTINGS, _listed(of_project.entries, project_base, env, walk))
    add(_Rank.USER_SETTINGS, _listed(of_user.entries, user_base, env, walk))
    users_shared = home_dir(env) / ".agents" / "skills"
    if trusted:
        add_found(_Rank.PROJECT, project_base / "skills", of_project, shared=False)
        for directory in _up_to_repository(cwd):
            place = directory / ".agents" / "skills"
            if place != users_shared:
                add_found(_Rank.PROJECT, place, of_project, shared=True)
    add_found(_Rank.USER, user_base / "skills", of_user, shared=False)
    add_found(_Rank.USER, users_shared, of_user, shared=True)
    # One path for each file: one that a higher place switched off stays off.
    files: dict[str, tuple[Path, bool]] = {}
    for path, (_, enabled) in sorted(candidates.items(), key=lambda each: each[1][0]):
        files.setdefault(os.path.realpath(path), (path, enabled))
    return [path for path, enabled in files.values() if enabled]


def _settings(path: Path, problems: list[str]) -> SkillSettings:
    try:
        content = read_json(path.resolve(), MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        content = None
    except UNREADABLE as error:
        problems.append(f"{path}: {core_messages.file_unusable(str(error))}")
        content = None
    settings = parse_skill_settings(content)
    problems += [f"{path}: {problem}" for problem in settings.problems]
    return settings


def _listed(
    entries: Iterable[str], base: Path, env: Mapping[str, str], walk: SkillWalk
) -> list[tuple[Path, bool]]:
    """Return the files that settings name, and whether the patterns beside leave them in use."""
    patterns = [entry for entry in entries if is_override(entry) or is_glob(entry)]
    plain = [resolved_path(each, base, env) for each in entries if each not in patterns]
    files = files_of(plain, walk)
    kept = selected([str(path) for path in files], patterns, str(base))
    return [(path, str(path) in kept) for path in files]


def _up_to_repository(cwd: Path) -> list[Path]:
    """Return the directory and its ancestors, up to the repository's root if there is one."""
    ancestors = [cwd, *cwd.parents]
    root = next((i for i, place in enumerate(ancestors) if mode_of(place / ".git")), None)
    return ancestors if root is None else ancestors[: root + 1]


def _loaded(paths: Iterable[Path], problems: list[str]) -> dict[str, Skill]:
    skills: dict[str, Skill] = {}
    for path in paths:
        skill = _read(path, problems) if path.name.endswith(".md") else None
        if skill is None:
            continue
        first = skills.setdefault(skill.name, skill)
        if first is not skill:
            problems.append(f"{path}: {messages.SKILL_NAME_TAKEN} {first.path}")
    return skills


def _read(path: Path, problems: list[str]) -> Skill | None:
    """Return the skill of a file; a loose Markdown file that is none is no problem."""
    declared = path.name == SKILL_FILE
    try:
        skill = parse_skill(_head(path), str(path))
    except (*UNREADABLE, FrontmatterError) as error:
        if declared or not isinstance(error, FrontmatterError):
            problems.append(f"{path}: {core_messages.file_unusable(str(error))}")
        return None
    if skill is None and declared:
        problems.append(f"{path}: {messages.SKILL_NEEDS_DESCRIPTION}")
    return skill


def _head(path: Path) -> str:
    """Return the beginning, which holds all of any front matter that is accepted."""
    with os.fdopen(open_regular(path.resolve()), "rb") as file:
        return file.read(MAX_SKILL_BYTES).decode(errors="replace")

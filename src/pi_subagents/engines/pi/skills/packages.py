"""
Find the skills of packages that pi's settings name, as far as they are on this disk.

In: the packages of both settings files.  Out: skill files and whether each is in use.  A package
that pi would have to fetch first is reported: nothing is installed here, and no program is asked.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pi_subagents.core.value import value
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.skills.path_patterns import is_glob, is_override, selected, switched
from pi_subagents.engines.pi.skills.settings import (
    GIT,
    LOCAL,
    NPM,
    PackageEntry,
    parse_manifest,
    parse_package_source,
)
from pi_subagents.engines.pi.skills.tree import SkillWalk, mode_of
from pi_subagents.system.home import home_dir
from pi_subagents.system.safe_io import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_MANIFEST_BYTES = 1024 * 1024
CONVENTIONAL = "skills"


@value
class Scope:
    """Whose settings: their base directory, against which paths in them are read."""

    base: Path
    packages: tuple[PackageEntry, ...]


def resolved_path(text: str, base: Path, env: Mapping[str, str]) -> Path:
    """Return a path of a settings file: `~`, `file:` and relative ones made absolute."""
    text = text.strip()
    if text.startswith("file://"):
        text = unquote(text.removeprefix("file://"))
    if text == "~" or text.startswith("~/"):
        text = str(home_dir(env)) + text[1:]
    # Lexical, as in pi: links stay as the user wrote them.
    return Path(os.path.normpath(base / text))


def package_skills(
    project: Scope, user: Scope, env: Mapping[str, str], walk: SkillWalk, problems: list[str]
) -> Iterator[tuple[Path, bool]]:
    """Yield the skill files of all packages, and whether each is in use."""
    # Of one package, the last entry of the project counts, else the first of the user.
    of_project = {_identity(each, project.base, env): each for each in project.packages}
    of_user: dict[str, PackageEntry] = {}
    for each in user.packages:
        of_user.setdefault(_identity(each, user.base, env), each)
    for identity, entry in of_project.items():
        # One that does not load by itself says how the project differs from the user's own.
        differs = not entry.autoload and identity in of_user
        base, located = (user.base, of_user[identity]) if differs else (project.base, entry)
        yield from _skills_of(entry, _directory(located, base, env), walk, problems)
    for identity, entry in of_user.items():
        if identity not in of_project or not of_project[identity].autoload:
            yield from _skills_of(entry, _directory(entry, user.base, env), walk, problems)


def files_of(paths: list[Path], walk: SkillWalk) -> list[Path]:
    """Return files as they are, and the skills in directories."""
    found: list[Path] = []
    for path in paths:
        if stat.S_ISREG(mode_of(path)):
            found.append(path)
        else:
            found += walk.skill_files(path)
    return found


def _identity(entry: PackageEntry, base: Path, env: Mapping[str, str]) -> str:
    source = parse_package_source(entry.source)
    place = str(resolved_path(source.place, base, env)) if source.kind == LOCAL else source.place
    return f"{source.kind}:{place}"


def _directory(entry: PackageEntry, base: Path, env: Mapping[str, str]) -> Path:
    source = parse_package_source(entry.source)
    if source.kind == NPM:
        return base / "npm" / "node_modules" / source.place
    if source.kind == GIT:
        return base / "git" / source.place
    return resolved_path(source.place, base, env)


def _skills_of(
    entry: PackageEntry, root: Path, walk: SkillWalk, problems: list[str]
) -> Iterator[tuple[Path, bool]]:
    if not stat.S_ISDIR(mode_of(root)):
        if parse_package_source(entry.source).kind != LOCAL:
            problems.append(f"{entry.source}: {messages.PACKAGE_NOT_HERE}")
        return
    declared, listed = parse_manifest(_manifest(root))
    if not entry.filtered and declared:
        listed = listed or ()  # a package that declares anything has what it declares
    if entry.autoload and entry.chosen is None:
        yield from ((path, True) for path in _offered(root, listed, walk))
        return
    offered = _offered(root, listed or None, walk)
    names = [str(path) for path in offered]
    chosen = entry.chosen or ()
    if not entry.autoload:
        states = switched(names, chosen, str(root))
        yield from ((Path(name), on) for name, on in states.items())
        return
    kept = selected(names, chosen, str(root)) if chosen else frozenset()
    yield from ((path, name in kept) for path, name in zip(offered, names, strict=True))


def _offered(root: Path, listed: tuple[str, ...] | None, walk: SkillWalk) -> list[Path]:
    """Return the skills that a package offers: those it lists, else those in `skills`."""
    if listed is None:
        return walk.skill_files(root / CONVENTIONAL)
    places: list[Path] = []
    for entry in listed:
        if is_glob(entry) and not is_override(entry):
            places += walk.expand(root, entry)
        elif not is_override(entry):
            places.append(Path(os.path.normpath(root / entry)))
    files = files_of(places, walk)
    overrides = [entry for entry in listed if is_override(entry)]
    kept = selected([str(path) for path in files], overrides, str(root))
    return [path for path in files if str(path) in kept]


def _manifest(root: Path) -> object:
    try:
        return read_json((root / "package.json").resolve(), MAX_MANIFEST_BYTES)
    except (OSError, ValueError, RuntimeError):
        return None

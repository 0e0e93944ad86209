"""
The presets of a directory: the user's, and those of the nearest project that has any.

In: a working directory and the environment.  Out: presets by name, where a project's override
global ones, and the problems of their files.  Nothing is written.  A project needs no trust for
its presets: they choose among what a sub-agent could use anyway, and hold neither code nor keys.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.definition import GLOBAL, PROJECT, FileProblem
from pi_subagents.core.preset import LoadedPreset, parse_preset
from pi_subagents.core.tool_names import tool_name_problem, tool_names
from pi_subagents.core.value import replace
from pi_subagents.disk.config_home import agent_dir, project_root
from pi_subagents.disk.definition_dir import (
    DefinitionsDir,
    Kind,
    holds_definitions,
    read_directory,
)
from pi_subagents.disk.definition_files import Definitions, Recent, is_same_dir
from pi_subagents.profile_messages import preset_tool_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.frontmatter import Frontmatter
    from pi_subagents.core.pi_versions import PiTraits

DIRECTORY = "subagents"


@dataclass(frozen=True, slots=True)
class Presets(Definitions[LoadedPreset]):
    """The presets that callers in a directory may name, and where the project's were found."""

    project_dir: Path | None = None


_cache: Recent[Presets] = Recent()


def global_presets_dir(env: Mapping[str, str]) -> Path:
    """Return where the user's own presets are kept."""
    return agent_dir(env) / DIRECTORY


def project_presets_dir(cwd: Path, env: Mapping[str, str]) -> Path | None:
    """Return the nearest directory of presets, here or above, that is not the user's own."""
    here = Path(os.path.abspath(cwd))  # noqa: PTH100 - a path that climbs has other parents
    user = global_presets_dir(env)
    for ancestor in (here, *here.parents):
        directory = ancestor / ".pi" / DIRECTORY
        # Runs are kept below the same directory, so that it is there proves nothing.
        if holds_definitions(directory) and not is_same_dir(directory, user):
            return directory
    return None


def new_project_presets_dir(cwd: Path) -> Path:
    """Return where a project that has no presets yet would keep them: where its runs are."""
    return project_root(cwd.absolute()) / ".pi" / DIRECTORY


def load_presets(
    cwd: Path, env: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic
) -> Presets:
    """Return the presets for callers in `cwd`; at most five seconds old."""
    key = (cwd.absolute(), agent_dir(env))
    return _cache.get(key, clock(), lambda: _load(cwd, env))


def invalidate_presets_cache() -> None:
    """Forget what was read: the next call looks again."""
    _cache.clear()


def lint_presets(cwd: Path, env: Mapping[str, str], traits: PiTraits) -> tuple[FileProblem, ...]:
    """Return everything wrong with every file, as it is now, by path and line."""
    found = _load(cwd, env)
    refused = [
        FileProblem(each.path, 1, preset_tool_refused(each.name, problem), fatal=True)
        for each in found.by_name.values()
        for name in tool_names(each.preset.tools)
        if (problem := tool_name_problem(name, traits))
    ]
    return tuple(sorted((*found.problems, *refused), key=lambda each: (each.path, each.line)))


def _load(cwd: Path, env: Mapping[str, str]) -> Presets:
    user = read_directory(_PRESETS, global_presets_dir(env), GLOBAL)
    directory = project_presets_dir(cwd, env)
    project: DefinitionsDir[LoadedPreset] = DefinitionsDir()
    if directory:
        project = read_directory(_PRESETS, directory, PROJECT)
    return replace(Presets.merged(user, project), project_dir=directory)


def _loaded(
    path: Path, scope: str, content: Frontmatter
) -> tuple[LoadedPreset | None, tuple[FileProblem, ...]]:
    preset, problems = parse_preset(str(path), content)
    return (LoadedPreset(preset, scope, str(path)) if preset else None), problems


_PRESETS: Kind[LoadedPreset] = Kind("preset", _loaded)

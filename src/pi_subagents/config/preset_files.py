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

from pi_subagents.config.definition_dir import (
    DefinitionKind,
    Recent,
    holds_definitions,
    is_same_dir,
    read_directory,
)
from pi_subagents.core.definitions.definition import GLOBAL, PROJECT
from pi_subagents.core.definitions.found import Definitions, DefinitionsDir
from pi_subagents.core.preset.preset import LoadedPreset, parse_preset
from pi_subagents.core.value import replace
from pi_subagents.system.home import PROJECT_DIR, agent_dir, project_root

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.definitions.definition import FileProblem
    from pi_subagents.core.definitions.frontmatter import Frontmatter

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
        directory = ancestor / PROJECT_DIR / DIRECTORY
        # Runs are kept below the same directory, so that it is there proves nothing.
        if holds_definitions(directory) and not is_same_dir(directory, user):
            return directory
    return None


def new_project_presets_dir(cwd: Path) -> Path:
    """Return where a project that has no presets yet would keep them: where its runs are."""
    return project_root(cwd.absolute()) / PROJECT_DIR / DIRECTORY


def load_presets(
    cwd: Path, env: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic
) -> Presets:
    """Return the presets for callers in `cwd`; at most five seconds old."""
    key = (cwd.absolute(), agent_dir(env))
    return _cache.get(key, clock(), lambda: read_presets(cwd, env))


def invalidate_presets_cache() -> None:
    """Forget what was read: the next call looks again."""
    _cache.clear()


def read_presets(cwd: Path, env: Mapping[str, str]) -> Presets:
    """Return the presets for callers in `cwd` as they are now."""
    user, project = read_preset_dirs(cwd, env)
    return replace(Presets.merged(user, project), project_dir=project_presets_dir(cwd, env))


def read_preset_dirs(
    cwd: Path, env: Mapping[str, str]
) -> tuple[DefinitionsDir[LoadedPreset], DefinitionsDir[LoadedPreset]]:
    """Return what the user's files define, and those of the project, as they are now."""
    user = read_directory(_PRESETS, global_presets_dir(env), GLOBAL)
    directory = project_presets_dir(cwd, env)
    return user, read_directory(_PRESETS, directory, PROJECT) if directory else DefinitionsDir()


def _loaded(
    path: Path, scope: str, content: Frontmatter
) -> tuple[LoadedPreset | None, tuple[FileProblem, ...]]:
    preset, problems = parse_preset(str(path), content)
    return (LoadedPreset(preset, scope, str(path)) if preset else None), problems


_PRESETS: DefinitionKind[LoadedPreset] = DefinitionKind("preset", _loaded)

"""
What is wrong with profiles and presets: what their files say, and what the engine says of it.

In: what was read, and an engine.  Out: problems by path and line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.config.preset_files import read_presets
from pi_subagents.config.profile_files import read_profile_dirs
from pi_subagents.core.definitions.definition import FileProblem
from pi_subagents.core.preset.preset import preset_profile
from pi_subagents.engines.base import NOTE, REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pi_subagents.engines.base import EngineCall, Finding


def lint_profiles(cwd: Path, env: Mapping[str, str], engine: EngineCall) -> tuple[FileProblem, ...]:
    """Return everything wrong with every file, as it is now, by path and line."""
    problems: list[FileProblem] = []
    for directory in read_profile_dirs(cwd, env):
        problems += directory.problems
        for file in directory.files:
            found = engine.check_profile(file.loaded.profile)
            problems += _problems(file.loaded.path, file.lines, found)
    return _sorted(problems)


def lint_presets(cwd: Path, env: Mapping[str, str], engine: EngineCall) -> tuple[FileProblem, ...]:
    """Return everything wrong with every file, as it is now, by path and line."""
    presets = read_presets(cwd, env)
    problems = list(presets.problems)
    for loaded in presets.by_name.values():
        problems += _problems(loaded.path, {}, engine.check_preset(preset_profile(loaded.preset)))
    return _sorted(problems)


def _problems(path: str, lines: Mapping[str, int], found: Iterable[Finding]) -> list[FileProblem]:
    """Return why a call would be refused, or the file not do what it seems to."""
    return [
        FileProblem(
            path,
            lines.get(each.field, 1),
            each.text,
            fatal=each.kind == REFUSED,
            is_note=each.kind == NOTE,
        )
        for each in found
    ]


def _sorted(problems: Iterable[FileProblem]) -> tuple[FileProblem, ...]:
    return tuple(sorted(problems, key=lambda found: (found.path, found.line)))

"""
Find programs on PATH, never inside the working directory.

In: a name, an environment, the working directory.  Out: absolute paths, nothing is run.
A repository must not decide which pi or Node runs merely because someone works in it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@value
class Candidate:
    """A runnable file of the wanted name on PATH."""

    path: Path
    inside_cwd: bool


@value
class ProgramSearch:
    """The first acceptable program, and those before it that lie inside the cwd."""

    found: Path | None
    left_out: tuple[Path, ...]


def search_program(name: str, env: Mapping[str, str], cwd: Path) -> ProgramSearch:
    """Return the first `name` on PATH that is not inside the working directory."""
    left_out: list[Path] = []
    for candidate in candidates_on_path(name, env, cwd):
        if not candidate.inside_cwd:
            return ProgramSearch(candidate.path, tuple(left_out))
        left_out.append(candidate.path)
    return ProgramSearch(None, tuple(left_out))


def candidates_on_path(name: str, env: Mapping[str, str], cwd: Path) -> Iterator[Candidate]:
    """Yield every runnable `name` on PATH in order, each acceptable file once."""
    seen: set[str] = set()
    for entry in env.get("PATH", os.defpath).split(os.pathsep):
        # An empty or relative entry means "wherever I happen to be": always inside the cwd.
        path = cwd / entry / name
        if not is_runnable(path):
            continue
        if not Path(entry).is_absolute() or is_inside(path.parent, cwd) or is_inside(path, cwd):
            yield Candidate(path, inside_cwd=True)
        elif (real := os.path.realpath(path)) not in seen:
            seen.add(real)
            yield Candidate(path, inside_cwd=False)


def is_runnable(path: Path) -> bool:
    """Return whether the path is a regular file this user may execute."""
    try:
        return path.is_file() and os.access(path, os.X_OK)
    except (OSError, ValueError):  # a name too long, a NUL in a configured command
        return False


def is_inside(path: Path, directory: Path) -> bool:
    """Return whether the path, links followed, is the directory or below it."""
    real = Path(os.path.realpath(path))
    return real.is_relative_to(os.path.realpath(directory))

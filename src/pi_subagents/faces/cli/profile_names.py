"""
Find profiles by name, and tell what is wrong with their files, for the verbs of `profile`.

In: what a person typed.  Out: a loaded profile, ProfileNotFound, or ProfileNameInvalid before any
file is looked at.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click

    from pi_subagents.core.profile import LoadedProfile, ProfileProblem
    from pi_subagents.disk.profile_files import Profiles
    from pi_subagents.faces.cli.console import Console


def checked_name(name: str) -> str:
    """Return the name if a profile may be called so."""
    from pi_subagents.core.profile import is_profile_name
    from pi_subagents.errors import ProfileNameInvalid

    if not is_profile_name(name):
        raise ProfileNameInvalid(name)
    return name


def find_profile(
    console: Console, name: str, found: Profiles, scope: str | None = None
) -> LoadedProfile:
    """Return the profile of a name, in one scope or in whichever counts."""
    from pi_subagents.errors import ProfileNotFound

    for loaded in candidates(name, found):
        if scope in (None, loaded.scope):
            return loaded
    # Perhaps it is there, but cannot be read.
    tell_problems(console, [problem for problem in found.problems if problem.fatal])
    every = (*found.by_name.values(), *found.overridden)
    available = {each.profile.name for each in every if scope in (None, each.scope)}
    raise ProfileNotFound(name, tuple(sorted(available)))


def candidates(name: str, found: Profiles) -> tuple[LoadedProfile, ...]:
    """Return the profiles of a name, the one that counts first."""
    every = (*found.by_name.values(), *found.overridden)
    return tuple(loaded for loaded in every if loaded.profile.name == name)


def overridden(loaded: LoadedProfile, found: Profiles) -> str | None:
    """Return the global file that a project's profile stands in front of."""
    same = candidates(loaded.profile.name, found)
    return next((each.path for each in same if each != loaded), None)


def complete_names(
    _ctx: click.Context, _parameter: click.Parameter | None, incomplete: str
) -> list[str]:
    """Return the names that a shell may offer."""
    from pi_subagents.disk.profile_files import load_profiles

    names = load_profiles(Path.cwd(), os.environ).by_name
    return [name for name in names if name.startswith(incomplete)]


def tell_problems(console: Console, problems: Iterable[ProfileProblem]) -> None:
    """Say, beside what was asked for, which files are not as they should be."""
    for problem in problems:
        console.notice(f"{'Not loaded' if problem.fatal else 'Warning'}: {problem}")


def problem_to_json(problem: ProfileProblem) -> dict[str, object]:
    """Return a problem for a script."""
    return {
        "path": problem.path,
        "line": problem.line,
        "problem": problem.problem,
        "fatal": problem.fatal,
    }

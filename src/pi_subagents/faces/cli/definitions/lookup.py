"""
Find profiles and presets by name; show where they come from and what is wrong with their files.

In: what a person typed.  Out: what was found, or an error; a name that nothing may have is refused
before any file is looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pi_subagents.core.messages import NO_PROFILES
from pi_subagents.errors import (
    PresetNameInvalid,
    ProfileNameInvalid,
    ProfileNotFound,
    UnknownPreset,
)
from pi_subagents.faces.cli.console import Console
from pi_subagents.faces.cli.messages import NO_PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    from pi_subagents.core.definitions.definition import FileProblem, Loaded
    from pi_subagents.core.definitions.found import Definitions
    from pi_subagents.core.preset.preset import LoadedPreset
    from pi_subagents.core.profile.profile import LoadedProfile
    from pi_subagents.errors import SubagentsError
    from pi_subagents.service.definitions.files import PresetFiles, ProfileFiles

L = TypeVar("L", bound="Loaded")


class DefinitionFiles(Protocol[L]):
    """Where definitions of one kind are, and what is there."""

    def load(self) -> Definitions[L]:
        """Return what there is."""

    def lint(self) -> tuple[FileProblem, ...]:
        """Return everything wrong with every file."""

    def directories(self) -> dict[str, Path]:
        """Return where the files of each scope are, or would be."""


class Catalogue(ABC, Generic[L]):
    """All of one kind, profiles or presets, that can be named in the working directory."""

    noun: str
    none_found: str
    name_invalid: Callable[[str], SubagentsError]
    not_found: Callable[[str, tuple[str, ...]], SubagentsError]

    @abstractmethod
    def files(self, console: Console) -> DefinitionFiles[L]:
        """Return the files of the working directory, as a host of the console knows it."""

    @abstractmethod
    def summary(self, loaded: L) -> str:
        """Return one on a line."""

    def load(self) -> Definitions[L]:
        """Return what can be named."""
        return self.files(Console()).load()

    def check_name(self, name: str) -> None:
        """Refuse a name that nothing may have."""
        from pi_subagents.core.definitions.definition import is_definition_name

        if not is_definition_name(name):
            raise self.name_invalid(name)

    def find(
        self, console: Console, name: str, found: Definitions[L], scope: str | None = None
    ) -> L:
        """Return what has the name, in one scope or in whichever counts."""
        self.check_name(name)
        for loaded in candidates(name, found):
            if scope in (None, loaded.scope):
                return loaded
        # Perhaps it is there, but cannot be read.
        print_problems(console, [problem for problem in found.problems if problem.fatal])
        every = (*found.by_name.values(), *found.overridden)
        available = {each.name for each in every if scope in (None, each.scope)}
        raise self.not_found(name, tuple(sorted(available)))

    def complete(
        self, _ctx: click.Context, _parameter: click.Parameter | None, incomplete: str
    ) -> list[str]:
        """Return the names that a shell may offer."""
        return [name for name in self.load().by_name if name.startswith(incomplete)]


class _ProfileCatalogue(Catalogue["LoadedProfile"]):
    noun = "profile"
    none_found = NO_PROFILES
    name_invalid = ProfileNameInvalid
    not_found = ProfileNotFound

    def files(self, console: Console) -> ProfileFiles:
        from pi_subagents.service.definitions.files import ProfileFiles

        return ProfileFiles(console.place(Path.cwd()))

    def summary(self, loaded: LoadedProfile) -> str:
        from pi_subagents.core.profile.text import profile_summary

        return profile_summary(loaded.profile)


class _PresetCatalogue(Catalogue["LoadedPreset"]):
    noun = "preset"
    none_found = NO_PRESETS
    name_invalid = PresetNameInvalid
    not_found = UnknownPreset

    def files(self, console: Console) -> PresetFiles:
        from pi_subagents.service.definitions.files import PresetFiles

        return PresetFiles(console.place(Path.cwd()))

    def summary(self, loaded: LoadedPreset) -> str:
        from pi_subagents.core.preset.preset import preset_summary

        return preset_summary(loaded.preset)


PROFILES = _ProfileCatalogue()
PRESETS = _PresetCatalogue()


def candidates(name: str, found: Definitions[L]) -> tuple[L, ...]:
    """Return all of a name, the one that counts first."""
    every = (*found.by_name.values(), *found.overridden)
    return tuple(loaded for loaded in every if loaded.name == name)


def overridden(loaded: L, found: Definitions[L]) -> str | None:
    """Return the global file that a project's stands in front of."""
    return next((each.path for each in candidates(loaded.name, found) if each != loaded), None)


def print_detail(console: Console, detail: str, loaded: L, found: Definitions[L]) -> None:
    """Print what is known of one, then where it comes from."""
    from pi_subagents.core.definitions.text import detail_line

    other = overridden(loaded, found)
    origin = f"{loaded.scope}, overrides {other}" if other else loaded.scope
    console.answer(detail)
    console.answer(detail_line("scope", origin))
    console.answer(detail_line("path", loaded.path))


def origin_to_json(loaded: L, found: Definitions[L]) -> dict[str, object]:
    """Return for a script which one it is and where it comes from."""
    return {
        "name": loaded.name,
        "scope": loaded.scope,
        "path": loaded.path,
        "overrides": overridden(loaded, found),
    }


def problems_of(loaded: L, found: Definitions[L]) -> list[FileProblem]:
    """Return what is wrong with the file of one."""
    return [each for each in found.problems if each.path == loaded.path]


def print_problems(console: Console, problems: Iterable[FileProblem]) -> None:
    """Print, beside what was asked for, which files are not as they should be."""
    for problem in problems:
        console.notice(f"{'Not loaded' if problem.fatal else 'Warning'}: {problem}")


def problem_to_json(problem: FileProblem) -> dict[str, object]:
    """Return a problem for a script."""
    return {
        "path": problem.path,
        "line": problem.line,
        "problem": problem.problem,
        "fatal": problem.fatal,
        **({"note": True} if problem.is_note else {}),
    }

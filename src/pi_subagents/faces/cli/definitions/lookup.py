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
from pi_subagents.faces.cli.messages import ADD_PRESET, ADD_PROFILE, NO_PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import click

    from pi_subagents.core.definitions.definition import FileProblem, Loaded
    from pi_subagents.core.definitions.found import Choice, Definitions
    from pi_subagents.core.engine_values import Model
    from pi_subagents.core.preset.preset import LoadedPreset
    from pi_subagents.core.profile.profile import LoadedProfile
    from pi_subagents.errors import SubagentsError
    from pi_subagents.service.definitions.files import PresetFiles, ProfileFiles

L = TypeVar("L", bound="Loaded")


class DefinitionFiles(Protocol[L]):
    """Where definitions of one kind are, and what is there."""

    def load(self) -> Definitions[L]:
        """Return what there is."""

    def choices(self) -> dict[str, Choice[L]]:
        """Return what a task gets by each name."""

    def lint(self, models: Sequence[Model] = ()) -> tuple[FileProblem, ...]:
        """Return everything wrong with every file."""

    def models_to_check(self) -> tuple[tuple[Model, ...], str]:
        """Return the models there are, if any file names one, or why they are not known."""

    def add(self, template: str, name: str, scope: str, *, model: str, force: bool) -> Path:
        """Write a file from a template, and return it."""

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

    def find_used(self, console: Console, name: str, found: Definitions[L]) -> tuple[L, str]:
        """Return what tasks get by this name, and what is said of that; else what there is."""
        loaded = self.find(console, name, found)
        choice = self.files(console).choices().get(name)
        return (choice.loaded or loaded, choice.note or choice.refusal) if choice else (loaded, "")

    def complete(
        self, _ctx: click.Context | None, _parameter: click.Parameter | None, incomplete: str
    ) -> list[str]:
        """Return the names that a shell may offer."""
        return [name for name in self.load().by_name if name.startswith(incomplete)]


class _ProfileCatalogue(Catalogue["LoadedProfile"]):
    noun = "profile"
    none_found = f"{NO_PROFILES}\n{ADD_PROFILE}"
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
    none_found = f"{NO_PRESETS}\n{ADD_PRESET}"
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
    own = found.get_overridden(loaded.name)
    return own.path if own and own != loaded else None


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

"""
The profiles and presets of a place: list, check, write and remove them.

In: a place.  Out: what is there, where, and what is wrong with it, by path and line.  A profile is
written whole, after a proof that it will be read as it is; warnings about it are returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.config import preset_files, profile_files
from pi_subagents.config.new_definitions import save_definition, template_text
from pi_subagents.core.definitions.definition import GLOBAL, PROJECT, FileProblem
from pi_subagents.core.definitions.found import PRESET, PROFILE
from pi_subagents.core.messages import NOTE_NO_MODEL
from pi_subagents.core.preset.preset import preset_profile
from pi_subagents.engines.base import NOTE, REFUSED, UNKNOWN, WARNING
from pi_subagents.errors import ProfileRefused, SubagentsError
from pi_subagents.service.answer_schemas import schema_findings
from pi_subagents.service.engines.checking import check_definition
from pi_subagents.system.safe_io import read_bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pi_subagents.config.preset_files import Presets
    from pi_subagents.config.profile_files import Profiles
    from pi_subagents.core.definitions.found import Choice
    from pi_subagents.core.engine_values import Model
    from pi_subagents.core.preset.preset import LoadedPreset
    from pi_subagents.core.profile.profile import LoadedProfile, Profile
    from pi_subagents.engines.base import EngineCall, Finding
    from pi_subagents.service.looking import LookingPlace

    Previewed = Callable[[str], EngineCall]


class PresetFiles:
    """The presets that can be named in a place."""

    def __init__(self, place: LookingPlace) -> None:
        self._place = place

    def load(self) -> Presets:
        """Return what there is; at most five seconds old."""
        return preset_files.load_presets(self._place.cwd, self._place.env)

    def choices(self) -> dict[str, Choice[LoadedPreset]]:
        """Return what a task gets by each name: the project's, the user's own, or nothing."""
        return self._place.rules.choose_all(PRESET, self.load())

    def add(self, template: str, name: str, scope: str, *, model: str, force: bool) -> Path:
        """Write a file from a template, and return it; DefinitionExists if one is there."""
        text = template_text(PRESET, template, name, {"model": model} if model else {})
        return self.save(name, text, scope, force=force)

    def save(self, name: str, text: str, scope: str, *, force: bool) -> Path:
        """Write the text of a file, and return where it is."""
        return save_definition(PRESET, name, text, self.directories()[scope], replace=force)

    def lint(self, models: Sequence[Model] = ()) -> tuple[FileProblem, ...]:
        """Return everything wrong with every file; which models are missing only if some are."""
        return lint_presets(self._place.cwd, self._place.env, self._place.preview, models)

    def models_to_check(self) -> tuple[tuple[Model, ...], str]:
        """Return the models there are, if any file names one, or why they are not known."""
        every = (*self.load().by_name.values(), *self.load().overridden)
        return known_models(self._place, (preset_profile(each.preset) for each in every))

    def directories(self) -> dict[str, Path]:
        """Return where the files of each scope are, or would be."""
        cwd, env = self._place.cwd, self._place.env
        found = preset_files.project_presets_dir(cwd, env)
        return {
            GLOBAL: preset_files.global_presets_dir(env),
            PROJECT: found or preset_files.new_project_presets_dir(cwd),
        }


class ProfileFiles:
    """The profiles that can be named in a place."""

    def __init__(self, place: LookingPlace) -> None:
        self._place = place

    def load(self) -> Profiles:
        """Return what there is; at most five seconds old."""
        return profile_files.load_profiles(self._place.cwd, self._place.env)

    def choices(self) -> dict[str, Choice[LoadedProfile]]:
        """Return what a task gets by each name: the project's, the user's own, or nothing."""
        return self._place.rules.choose_all(PROFILE, self.load())

    def add(self, template: str, name: str, scope: str, *, model: str, force: bool) -> Path:
        """Write a file from a template, and return it; DefinitionExists if one is there."""
        text = template_text(PROFILE, template, name, {"model": model} if model else {})
        return self.save(name, text, scope, force=force)

    def save(self, name: str, text: str, scope: str, *, force: bool) -> Path:
        """Write the text of a file, and return where it is."""
        return save_definition(PROFILE, name, text, self.directories()[scope], replace=force)

    def lint(self, models: Sequence[Model] = ()) -> tuple[FileProblem, ...]:
        """Return everything wrong with every file; which models are missing only if some are."""
        return lint_profiles(self._place.cwd, self._place.env, self._place.preview, models)

    def models_to_check(self) -> tuple[tuple[Model, ...], str]:
        """Return the models there are, if any file names one, or why they are not known."""
        every = (*self.load().by_name.values(), *self.load().overridden)
        return known_models(self._place, (each.profile for each in every))

    def directories(self) -> dict[str, Path]:
        """Return where the files of each scope are, or would be."""
        return {
            scope: profile_files.profiles_dir(scope, self._place.cwd, self._place.env)
            for scope in (GLOBAL, PROJECT)
        }

    def free_file(self, name: str, scope: str) -> Path:
        """Return the file a new profile will have; ProfileExists if something is there."""
        return profile_files.new_profile_file(name, scope, self._place.cwd, self._place.env)

    def text_of(self, loaded: LoadedProfile) -> str:
        """Return the file of a profile, to be changed; ProfileNotSaved where it cannot be."""
        return profile_files.profile_file_text(loaded)

    def refuse_useless(self, profile: Profile) -> None:
        """Refuse a profile if every call that names it would be refused."""
        for found in check_definition(PROFILE, profile, self._place.preview):
            if found.kind == REFUSED:
                raise ProfileRefused(found.text)

    def create(self, profile: Profile, scope: str, template: str = "") -> tuple[str, ...]:
        """Write a profile to a file of its own; return the warnings about it."""
        profile_files.save_new_profile(profile, scope, self._place.cwd, self._place.env, template)
        return self._warnings(profile)

    def change(self, profile: Profile, loaded: LoadedProfile, before: str) -> tuple[str, ...]:
        """Change a profile in its file, in which `before` was read; return the warnings."""
        profile_files.save_edited_profile(profile, loaded, before)
        return self._warnings(profile)

    def delete(self, loaded: LoadedProfile) -> None:
        """Remove the one file a profile came from; what a link leads to stays."""
        profile_files.delete_profile(loaded)

    def _warnings(self, profile: Profile) -> tuple[str, ...]:
        found = check_definition(PROFILE, profile, self._place.preview)
        return tuple(each.text for each in found if each.kind in (WARNING, UNKNOWN))


def known_models(place: LookingPlace, profiles: Iterable[Profile]) -> tuple[tuple[Model, ...], str]:
    """Return the models of a place, if a profile names one, or why they are not known."""
    if not any(profile.provider or profile.model for profile in profiles):
        return (), ""
    try:
        found = place.models().models
    except SubagentsError as error:
        return (), str(error)
    return found, "" if found else NOTE_NO_MODEL


def field_text(path: Path, most_bytes: int) -> str:
    """Return the text of a file that a field is to have; OSError or ValueError if it has none."""
    return read_bounded(path.resolve(), most_bytes).decode()


def lint_profiles(
    cwd: Path, env: Mapping[str, str], engine_of: Previewed, models: Sequence[Model] = ()
) -> tuple[FileProblem, ...]:
    """Return everything wrong with every file, as it is now, by path and line."""
    problems: list[FileProblem] = []
    for directory in profile_files.read_profile_dirs(cwd, env):
        problems += directory.problems
        for file in directory.files:
            profile = file.loaded.profile
            found = check_definition(PROFILE, profile, engine_of, models)
            found += schema_findings(profile)
            problems += _problems(file.loaded.path, file.lines, found)
    return _sorted(problems)


def lint_presets(
    cwd: Path, env: Mapping[str, str], engine_of: Previewed, models: Sequence[Model] = ()
) -> tuple[FileProblem, ...]:
    """Return everything wrong with every file, as it is now, by path and line."""
    problems: list[FileProblem] = []
    for directory in preset_files.read_preset_dirs(cwd, env):
        problems += directory.problems
        for file in directory.files:
            profile = preset_profile(file.loaded.preset)
            found = check_definition(PRESET, profile, engine_of, models)
            found += schema_findings(profile)
            problems += _problems(file.loaded.path, file.lines, found)
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

"""
The presets of the working directory, as the verbs of `subagents preset` ask for them.

In: names that a person typed.  Out: loaded presets; UnknownPreset, or PresetNameInvalid before any
file is looked at.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.faces.cli.definitions import Catalogue

if TYPE_CHECKING:
    from pi_subagents.core.definition import FileProblem
    from pi_subagents.core.preset import LoadedPreset
    from pi_subagents.disk.preset_files import Presets
    from pi_subagents.errors import SubagentsError


class _PresetCatalogue(Catalogue["LoadedPreset"]):
    noun = "preset"

    def load(self) -> Presets:
        from pi_subagents.disk.preset_files import load_presets

        return load_presets(Path.cwd(), os.environ)

    def lint(self) -> tuple[FileProblem, ...]:
        from pi_subagents.disk.preset_files import lint_presets
        from pi_subagents.engines.pi_command import traits_here

        return lint_presets(Path.cwd(), os.environ, traits_here(os.environ, Path.cwd()))

    def directories(self) -> dict[str, Path]:
        from pi_subagents.core.definition import GLOBAL, PROJECT
        from pi_subagents.disk import preset_files

        cwd, env = Path.cwd(), os.environ
        found = preset_files.project_presets_dir(cwd, env)
        return {
            GLOBAL: preset_files.global_presets_dir(env),
            PROJECT: found or preset_files.new_project_presets_dir(cwd),
        }

    def summary(self, loaded: LoadedPreset) -> str:
        from pi_subagents.core.preset_text import preset_summary

        return preset_summary(loaded.preset)

    def none_found(self) -> str:
        from pi_subagents.profile_messages import NO_PRESETS

        return NO_PRESETS

    def name_invalid(self, name: str) -> SubagentsError:
        from pi_subagents.errors import PresetNameInvalid

        return PresetNameInvalid(name)

    def not_found(self, name: str, available: tuple[str, ...]) -> SubagentsError:
        from pi_subagents.errors import UnknownPreset

        return UnknownPreset(name, available)


PRESETS = _PresetCatalogue()

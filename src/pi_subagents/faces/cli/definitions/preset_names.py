"""
The presets of the working directory, as the verbs of `subagents preset` ask for them.

In: names that a person typed.  Out: loaded presets; UnknownPreset, or PresetNameInvalid before any
file is looked at.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.faces.cli.definitions.lookup import Catalogue

if TYPE_CHECKING:
    from pi_subagents.core.preset.preset import LoadedPreset
    from pi_subagents.errors import SubagentsError
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.definitions.files import PresetFiles


class _PresetCatalogue(Catalogue["LoadedPreset"]):
    noun = "preset"

    def files(self, console: Console) -> PresetFiles:
        """Return the files of the working directory."""
        from pi_subagents.service.definitions.files import PresetFiles

        return PresetFiles(console.place(Path.cwd()))

    def summary(self, loaded: LoadedPreset) -> str:
        from pi_subagents.core.preset.text import preset_summary

        return preset_summary(loaded.preset)

    def none_found(self) -> str:
        from pi_subagents.faces.cli.messages import NO_PRESETS

        return NO_PRESETS

    def name_invalid(self, name: str) -> SubagentsError:
        from pi_subagents.errors import PresetNameInvalid

        return PresetNameInvalid(name)

    def not_found(self, name: str, available: tuple[str, ...]) -> SubagentsError:
        from pi_subagents.errors import UnknownPreset

        return UnknownPreset(name, available)


PRESETS = _PresetCatalogue()

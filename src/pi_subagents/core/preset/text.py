"""
A preset as text: one line for lists, all of it for a person.

In: a Preset.  Out: printable text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.definitions.text import MAX_WIDTH, definition_detail
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.preset.preset import preset_profile
from pi_subagents.core.profile.text import summary_parts
from pi_subagents.core.value import as_dict

if TYPE_CHECKING:
    from pi_subagents.core.preset.preset import Preset

_UNSET = ("", None)


def preset_summary(preset: Preset) -> str:
    """Return the preset on one line: what it is for, then what it sets."""
    purpose = one_line(preset.description, MAX_WIDTH)
    parts = [f"preset: {preset.name} — {purpose}", *summary_parts(preset_profile(preset))]
    return ", ".join(parts)


def preset_line(preset: Preset) -> str:
    """Return what the preset is for, on one line."""
    return one_line(preset.description, MAX_WIDTH)


def preset_detail(preset: Preset) -> str:
    """Return everything that is set, one per line."""
    fields = [(key, value) for key, value in preset_fields(preset).items() if key != "name"]
    return definition_detail(f"Preset: {preset.name}", fields, ("prompt",))


def preset_fields(preset: Preset) -> dict[str, object]:
    """Return what is set, as a file calls it; the body is `prompt`."""
    return {key: value for key, value in as_dict(preset).items() if value not in _UNSET}

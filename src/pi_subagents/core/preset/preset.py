"""
A preset: a kind of sub-agent that a call can name, with a prompt, tools and a model of its own.

In: the front matter and body of one `subagents/*.md`.  Out: a Preset and what is wrong with the
file.  As with profiles, a restriction that cannot be read never falls away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core import messages
from pi_subagents.core.definitions.definition import (
    name_field,
    names_field,
    read_fields,
    text_field,
)
from pi_subagents.core.definitions.text import MAX_WIDTH, definition_detail
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.profile.text import summary_parts
from pi_subagents.core.value import as_dict, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.definitions.definition import FileProblem
    from pi_subagents.core.definitions.frontmatter import Frontmatter, Value


@value
class Preset:
    """The content of a file; `tools` of None means pi's usual ones, an empty list none at all."""

    name: str
    description: str
    model: str = ""
    tools: tuple[str, ...] | None = None
    prompt: str = ""


@value
class LoadedPreset:
    """A preset and where it came from: `scope` is GLOBAL or PROJECT."""

    preset: Preset
    scope: str
    path: str

    @property
    def name(self) -> str:
        """The preset's name."""
        return self.preset.name


def parse_preset(path: str, content: Frontmatter) -> tuple[Preset | None, tuple[FileProblem, ...]]:
    """Return the preset, or None after a fatal problem, and all that is wrong with the file."""
    reading = read_fields(path, content, _READERS, required=("name", "description"))
    if reading.failed:
        return None, reading.problems
    return Preset(prompt=content.body, **reading.values), reading.problems  # type: ignore[arg-type]  # fields by name, of many types


def preset_profile(preset: Preset) -> Profile:
    """Return the profile that starts a child as the preset wants it."""
    return Profile(
        preset.name,
        model=preset.model,
        tools=preset.tools,
        append_system_prompt=preset.prompt,
    )


def _description(given: Value) -> str:
    """Return a text that tells a main agent when to choose the preset, so it must say something."""
    text = text_field(given).strip()
    if not text:
        raise TypeError(messages.NEEDS_DESCRIPTION)
    return text


# Every field but the prompt, which is the body.
_READERS: Mapping[str, Callable[[Value], object]] = {
    "name": name_field,
    "description": _description,
    "model": text_field,
    "tools": names_field,
}


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

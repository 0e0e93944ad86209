"""
A preset: a kind of sub-agent that a call can name, with a prompt, tools and a model of its own.

In: the front matter and body of one `subagents/*.md`.  Out: a Preset and what is wrong with the
file.  As with profiles, a restriction that cannot be read never falls away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core import messages
from pi_subagents.core.definitions.definition import (
    budget_field,
    name_field,
    names_field,
    read_fields,
    schema_field,
    text_field,
)
from pi_subagents.core.definitions.text import MAX_WIDTH, definition_detail
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.profile.permissions import (
    Permissions,
    permissions_field,
    permissions_to_file,
)
from pi_subagents.core.profile.profile import QUESTION_CHOICES, REFUSE_QUESTIONS, Profile
from pi_subagents.core.profile.text import fields_to_yaml, summary_parts
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
    questions: str = ""
    permissions: Permissions = Permissions()
    output_schema: str = ""  # JSON, on one line
    budget: str = ""
    engine: str = ""


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
    if reading.values.get("questions", "") not in ("", *QUESTION_CHOICES):
        reading.values["questions"] = REFUSE_QUESTIONS
        reading.report("questions", messages.wrong_questions(QUESTION_CHOICES), fatal=False)
    if reading.failed:
        return None, reading.problems
    values = {_FIELDS.get(key, key): value for key, value in reading.values.items()}
    return Preset(prompt=content.body, **values), reading.problems  # type: ignore[arg-type]  # fields by name, of many types


def preset_profile(preset: Preset) -> Profile:
    """Return the profile that starts a child as the preset wants it."""
    return Profile(
        preset.name,
        engine=preset.engine,
        model=preset.model,
        tools=preset.tools,
        budget=preset.budget,
        append_system_prompt=preset.prompt,
        questions=preset.questions,
        permissions=preset.permissions,
        output_schema=preset.output_schema,
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
    "engine": text_field,
    "model": text_field,
    "tools": names_field,
    "questions": text_field,
    "permissions": permissions_field,
    "outputSchema": schema_field,
    "budget": budget_field,
}
_FIELDS = {"outputSchema": "output_schema"}  # what a Preset calls them


_UNSET = ("", None, Permissions())


def preset_to_markdown(preset: Preset) -> str:
    """Return the file of a preset."""
    content = preset_fields(preset)
    content.pop("prompt", None)
    body = preset.prompt.strip()
    return f"---\n{fields_to_yaml(content)}---\n" + (f"\n{body}\n" if body else "")


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
    spelled = {name: key for key, name in _FIELDS.items()}
    fields = {
        spelled.get(name, name): value
        for name, value in as_dict(preset).items()
        if value not in _UNSET
    }
    if "permissions" in fields:
        fields["permissions"] = permissions_to_file(preset.permissions)
    return fields

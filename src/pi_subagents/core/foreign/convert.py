"""
Make a profile or preset of another program's agent.

In: a ForeignAgent, and what exists here.  Out: the text of our file, and a row for every field of
theirs.  A model is carried over only if pi lists it, a skill only if it is there; both are named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.foreign import messages
from pi_subagents.core.foreign.agent import FieldRow
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.preset.preset import Preset, preset_to_markdown
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.profile.text import profile_to_markdown
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from pi_subagents.core.foreign.agent import ForeignAgent

_INHERIT = ("", "inherit", "default")


@value
class KnownNames:
    """What exists here: models as `provider/id`, tools and skills by name."""

    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


@value
class Converted:
    """Our file, and what became of each field."""

    name: str
    text: str
    rows: tuple[FieldRow, ...]


def to_profile(agent: ForeignAgent, known: KnownNames) -> Converted:
    """Return the agent as a profile."""
    model = _model(agent.model, known)
    tools, excluded = _tools(agent)
    skills = tuple(name for name in agent.skills if name in known.skills)
    profile = Profile(
        agent.name,
        model=model,
        thinking_level=agent.thinking_level,
        system_prompt=agent.prompt.replace("\0", ""),
        tools=tools,
        exclude_tools=excluded or None,
        load_skills=skills,
    )
    said = {
        "description": messages.left_out(messages.NO_DESCRIPTION),
        "model": _model_row(agent.model, model),
        "skills": _skills_row(agent.skills, skills),
        messages.BODY: messages.SYSTEM_PROMPT,
    }
    level = f"thinkingLevel: {agent.thinking_level}"
    return Converted(agent.name, profile_to_markdown(profile), _rows(agent, said, level))


def to_preset(agent: ForeignAgent, known: KnownNames, program: str) -> Converted:
    """Return the agent as a preset."""
    model = _model(agent.model, known)
    tools, excluded = _tools(agent)
    if excluded:
        tools = tuple(name for name in known.tools if name not in excluded)
    description = one_line(agent.description, 1000) or messages.imported_from(program)
    prompt = agent.prompt.replace("\0", "")
    preset = Preset(agent.name, description, model, tools, prompt)
    said = {
        "description": "description",
        "model": _model_row(agent.model, model),
        "skills": messages.left_out(messages.NO_SKILLS),
        messages.BODY: messages.APPENDED_PROMPT,
    }
    level = messages.left_out(messages.NO_THINKING)
    return Converted(agent.name, preset_to_markdown(preset), _rows(agent, said, level))


def _rows(agent: ForeignAgent, said: dict[str, str], level: str) -> tuple[FieldRow, ...]:
    """Return the parser's rows, with what only the kind of our file decides."""
    shown = (
        FieldRow(each.field, each.becomes or said.get(each.field, level)) for each in agent.rows
    )
    return tuple(row for row in shown if row.field != messages.BODY or agent.prompt)


def _tools(agent: ForeignAgent) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return what is allowed and what is excluded; never both."""
    if agent.tools is None:
        return None, agent.exclude_tools
    return tuple(name for name in agent.tools if name not in agent.exclude_tools), ()


def _model(wanted: str, known: KnownNames) -> str:
    sought = wanted.strip().lower()
    found = [m for m in known.models if sought in (m.lower(), m.partition("/")[2].lower())]
    return found[0] if len(found) == 1 else ""


def _model_row(wanted: str, model: str) -> str:
    if model:
        return f"model: {model}"
    if wanted.strip().lower() in _INHERIT:
        return messages.INHERITS
    return messages.model_not_known(one_line(wanted, 100))


def _skills_row(wanted: tuple[str, ...], kept: tuple[str, ...]) -> str:
    missing = tuple(name for name in wanted if name not in kept)
    parts = [f"loadSkills: {', '.join(kept)}"] if kept else []
    if missing:
        parts.append(messages.skills_not_known(missing))
    return "; ".join(parts) or messages.left_out(messages.NOT_HERE)

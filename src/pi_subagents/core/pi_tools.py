"""
The tools as the extension in pi registers them, before the core runs.

In: nothing but the definitions.  Out: the content of `pi_extension/tools.json`, which is written by
`scripts/update_docs.py`: every tool with what is said of a call above its result, how a plain text
is shown, and what is said where there is no core.  Which models there are only pi knows: `model`
stays a plain string.

What is said of a call is data, since pi paints it while its arguments are still streamed: the words
at a path in the arguments (a list on the way means each of its items), in a role, and perhaps in a
text with `{}` for them.  Words that are not there say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents import host_messages
from pi_subagents.core import tool_defs
from pi_subagents.core.picture import SHOWN_LINES, Layout, layout_to_json
from pi_subagents.core.tool_offer import guide_of, make_offer

if TYPE_CHECKING:
    from pi_subagents.core.picture import Role
    from pi_subagents.core.tool_defs import ToolDef

# Those of the second system are of no use without a model.
NEED_MODELS = (
    tool_defs.SUBAGENT,
    tool_defs.BACKGROUND,
    tool_defs.BACKGROUND_STATUS,
    tool_defs.BACKGROUND_STOP,
)
# What one of these answers is a list, and half of it would mislead.
SHOWN_WHOLE = (tool_defs.LIST_PROFILES,)
# The list whose items the core is told of while a call is still being written.  What else shapes
# their children has to be known before.
AHEAD = {tool_defs.DELEGATE: "tasks"}


@dataclass(frozen=True, slots=True)
class Said:
    """Something a call says; how many there are, if there are words for one and for several."""

    path: tuple[str, ...]
    role: Role = "accent"
    text: str = "{}"
    counted: tuple[str, ...] = ()
    distinct: bool = False


_ANYTHING = (
    Said(("sessionId",)),
    Said(("preset",)),
    Said(("tasks", "preset")),
    Said(("runId",)),
    Said(("task",), "muted"),
    Said(("message",), "muted"),
)
_CALLS = {
    tool_defs.DELEGATE: (
        Said(("tasks",), counted=host_messages.CALL_SUB_AGENTS),
        Said(("profile",), "dim", host_messages.CALL_DEFAULT_PROFILE),
        Said(("tasks", "profile"), "dim", host_messages.CALL_PROFILES, distinct=True),
    ),
}


def tools_to_json() -> dict[str, object]:
    """Return every tool in the order in which hosts list them, and how texts are shown."""
    text = Layout("wrap", first=SHOWN_LINES, more=host_messages.MORE_LINES)
    return {
        "words": host_messages.SHIM_WORDS,
        "modelsRoom": make_offer().models_room,
        "text": layout_to_json(text),
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "snippet": guide_of(tool.name).snippet,
                "rules": list(guide_of(tool.name).rules),
                "parameters": _parameters(tool),
                "needsModels": tool.name in NEED_MODELS,
                "shownWhole": tool.name in SHOWN_WHOLE,
                "ahead": AHEAD.get(tool.name, ""),
                "call": [_said_to_json(said) for said in _said_by(tool)],
            }
            for tool in tool_defs.TOOLS
        ],
    }


def _parameters(tool: ToolDef) -> dict[str, object]:
    """Return them in the order in which a model should write: what is told ahead comes last."""
    known = _properties(tool)
    order = sorted(known, key=lambda name: name == AHEAD.get(tool.name))
    return {**tool.parameters, "properties": {name: known[name] for name in order}}


def _properties(tool: ToolDef) -> Mapping[str, object]:
    known = tool.parameters["properties"]
    assert isinstance(known, Mapping)
    return known


def _said_by(tool: ToolDef) -> Iterable[Said]:
    """Return what a call of a tool can say: only of parameters it has."""
    known = _properties(tool)
    said = _CALLS.get(tool.name, _ANYTHING)
    return [each for each in said if each.path[0] in known]


def _said_to_json(said: Said) -> dict[str, object]:
    return {
        "path": list(said.path),
        "role": said.role,
        "text": said.text,
        "counted": list(said.counted),
        "distinct": said.distinct,
    }

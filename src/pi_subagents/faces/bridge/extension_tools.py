"""
The tools as the extension in pi registers them, before the core runs.

In: nothing but the registry.  Out: the content of `pi_extension/tools.json`, which is written by
`scripts/update_docs.py`: the commands; every tool with what is said of a call above its result;
how a plain text is shown, and what is said where there is no core.  Which models there are only pi
knows: `model` stays a plain string.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pi_subagents.core.settings import PRESET_TOOLS
from pi_subagents.faces.bridge import messages
from pi_subagents.service.tools.offer import make_offer
from pi_subagents.service.tools.registry import all_tools
from pi_subagents.view import messages as view_messages
from pi_subagents.view.picture import SHOWN_LINES, Layout, layout_to_json

if TYPE_CHECKING:
    from pi_subagents.service.tools.tool import Tool


_COMPLETED = ("profile",)  # the core knows what may follow it


def tools_to_json() -> dict[str, object]:
    """Return every tool in the order in which hosts list them, and how texts are shown."""
    text = Layout("wrap", first=SHOWN_LINES, more=view_messages.MORE_LINES)
    return {
        "words": messages.SHIM_WORDS,
        "commands": [
            {"name": name, "description": about, "completed": name in _COMPLETED}
            for name, about in messages.COMMANDS.items()
        ],
        "modelsRoom": make_offer().models_room,
        "text": layout_to_json(text),
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "snippet": tool.snippet,
                "rules": list(tool.rules),
                "parameters": _parameters(tool),
                # Those of the second system are of no use without a model.
                "needsModels": tool.family == PRESET_TOOLS,
                "shownWhole": tool.shown_whole,
                "prewarm": _prewarmed(tool),
                "call": _call_words(tool),
            }
            for tool in all_tools()
        ],
    }


def _prewarmed(tool: Tool[Any]) -> str | None:
    """Return the list whose items are sent to the core while a call is still being written."""
    return None if tool.prewarming is None else tool.prewarming.parameter


def _parameters(tool: Tool[Any]) -> dict[str, object]:
    """Return them in the order in which a model should write: what prewarms comes last."""
    known = _properties(tool)
    order = sorted(known, key=lambda name: name == _prewarmed(tool))
    return {**tool.parameters, "properties": {name: known[name] for name in order}}


def _properties(tool: Tool[Any]) -> Mapping[str, object]:
    known = tool.parameters["properties"]
    assert isinstance(known, Mapping)
    return known


def _call_words(tool: Tool[Any]) -> list[dict[str, object]]:
    """Return the words above the result of a call, only of parameters that the tool has."""
    known = _properties(tool)
    return [
        {
            "path": list(words.path),
            "role": words.role,
            "text": words.text,
            "counted": list(words.counted),
            "distinct": words.distinct,
        }
        for words in tool.headline
        if words.path[0] in known
    ]

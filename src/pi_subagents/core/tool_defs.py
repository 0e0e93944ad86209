"""
The tools we offer, defined once for every face: name, text for the model, JSON schema.

Schemas stay permissive where our own parser has the better message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

DELEGATE = "delegate_to_subagents"


@dataclass(frozen=True, slots=True)
class ToolDef:
    """What a host has to know about one tool."""

    name: str
    description: str
    parameters: Mapping[str, object]


_TASK = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Display name of this sub-agent."},
        "prompt": {"type": "string", "description": "The task, complete in itself."},
        "cwd": {"type": "string", "description": "Absolute working directory."},
        "timeout": {"type": "number", "description": "Seconds, default 600."},
        "files": {
            "type": "array",
            "items": {},
            "description": "Files to put before the prompt: a path, or {path, start?, end?}, "
            "{path, head}, {path, tail} (lines from 1).",
        },
    },
    "required": ["name", "prompt"],
}

TOOLS: tuple[ToolDef, ...] = (
    ToolDef(
        DELEGATE,
        "Run 1 to 16 independent tasks in parallel, each in a sub-agent with its own process and "
        "context window. Returns a line and a session id per task.",
        {
            "type": "object",
            "properties": {"tasks": {"type": "array", "items": _TASK}},
            "required": ["tasks"],
        },
    ),
)

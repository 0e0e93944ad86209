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
GET_OUTPUT = "get_subagent_output"
GET_SESSION = "get_subagent_session"
LIST_PROFILES = "list_subagent_profiles"
SUBAGENT = "subagent"
BACKGROUND = "background_agent"
BACKGROUND_STATUS = "background_agent_status"
BACKGROUND_STOP = "background_agent_stop"
STEER = "steer_subagent"


@dataclass(frozen=True, slots=True)
class ToolDef:
    """What a host has to know about one tool."""

    name: str
    description: str
    parameters: Mapping[str, object]


_SESSION_ID = {"type": "string", "description": "Id returned by delegate_to_subagents."}
_TASK = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Display name of this sub-agent."},
        "prompt": {"type": "string", "description": "The task, complete in itself."},
        "cwd": {"type": "string", "description": "Absolute working directory."},
        "profile": {"type": "string", "description": "Named profile, instead of the default."},
        "timeout": {"type": "number", "description": "Seconds, default 600."},
        "resume": {"type": "string", "description": "Session id to continue, with its history."},
        "files": {
            "type": "array",
            "items": {},
            "description": "Files to put before the prompt: a path, or {path, start?, end?}, "
            "{path, head}, {path, tail} (lines from 1).",
        },
    },
    "required": ["name", "prompt"],
}

_PRESET_TASK = {
    "preset": {"type": "string", "description": "Name of the preset."},
    "task": {"type": "string", "description": "The task, complete in itself."},
    "model": {"type": "string", "description": "Model, instead of the preset's."},
    "cwd": {"type": "string", "description": "Working directory."},
}

TOOLS: tuple[ToolDef, ...] = (
    ToolDef(
        DELEGATE,
        "Run 1 to 16 independent tasks in parallel, each in a sub-agent with its own process and "
        "context window. Returns a line and a session id per task.",
        {
            "type": "object",
            "properties": {
                "tasks": {"type": "array", "items": _TASK},
                "profile": {"type": "string", "description": "Default profile for all tasks."},
            },
            "required": ["tasks"],
        },
    ),
    ToolDef(
        GET_OUTPUT,
        "Get the final text of a sub-agent session (its latest run). Says whether it is still "
        "running.",
        {
            "type": "object",
            "properties": {
                "sessionId": _SESSION_ID,
                "waitSeconds": {"type": "number", "description": "Wait so long for its end."},
                "offset": {"type": "number", "description": "Skip so many characters."},
                "limit": {"type": "number", "description": "At most so many characters."},
                "tail": {"type": "number", "description": "Only the last so many characters."},
            },
            "required": ["sessionId"],
        },
    ),
    ToolDef(
        GET_SESSION,
        "Get the complete transcript of a sub-agent session: all runs with messages, tool calls "
        "and shortened tool results.",
        {
            "type": "object",
            "properties": {"sessionId": _SESSION_ID},
            "required": ["sessionId"],
        },
    ),
    ToolDef(
        LIST_PROFILES,
        "List the named profiles (model, tools, instructions) that tasks can run with.",
        {"type": "object", "properties": {}},
    ),
    ToolDef(
        SUBAGENT,
        "Run a task with a named preset and return its answer, or up to 16 in parallel (`tasks`), "
        "each with its own preset.",
        {
            "type": "object",
            "properties": {
                **_PRESET_TASK,
                "tasks": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": _PRESET_TASK,
                        "required": ["preset", "task"],
                    },
                },
            },
        },
    ),
    ToolDef(
        BACKGROUND,
        "Start a task with a preset in the background and return at once with its run id.",
        {"type": "object", "properties": _PRESET_TASK, "required": ["preset", "task"]},
    ),
    ToolDef(
        BACKGROUND_STATUS,
        "Tell how background runs stand: counts, active runs, and the result of an ended one.",
        {
            "type": "object",
            "properties": {
                "runId": {"type": "string", "description": "Only this run."},
                "includeCompleted": {"type": "boolean", "description": "Ended ones too."},
                "waitSeconds": {
                    "type": "number",
                    "description": "Wait so long for its end, or for the first active one's.",
                },
            },
        },
    ),
    ToolDef(
        BACKGROUND_STOP,
        "Stop one background run, or all.",
        {
            "type": "object",
            "properties": {
                "runId": {"type": "string", "description": "Only this run: its id or session id."}
            },
        },
    ),
    ToolDef(
        STEER,
        "Send a message to a sub-agent that is at work. It reads it after its current step; the "
        "answer says whether it did.",
        {
            "type": "object",
            "properties": {
                "sessionId": {"type": "string", "description": "Its session id or run id."},
                "message": {"type": "string", "description": "What it is to know or do now."},
                "waitSeconds": {"type": "number", "description": "Wait so long, default 30."},
            },
            "required": ["sessionId", "message"],
        },
    ),
)

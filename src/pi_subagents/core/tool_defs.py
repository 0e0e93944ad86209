"""
The tools we offer, defined once for every face: name, text for the model, JSON schema.

Schemas draw the limits that the parsers draw; words they leave to the parsers, whose messages are
better.  Every character is read by a model with each request, so that nothing is said twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents.core.request import MAX_TASKS, MAX_TIMEOUT_S, MIN_TIMEOUT_S
from pi_subagents.core.retrieval import MAX_WAIT_S

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


def _count(what: str = "", least: int = 0) -> dict[str, object]:
    schema: dict[str, object] = {"type": "integer", "minimum": least}
    return {**schema, "description": what} if what else schema


def _seconds(what: str, least: float = 0, most: float = MAX_WAIT_S) -> dict[str, object]:
    limits = {"minimum": int(least), "maximum": int(most)}
    return {"type": "number", **limits, "description": what}


def _tasks(item: Mapping[str, object]) -> dict[str, object]:
    return {"type": "array", "minItems": 1, "maxItems": MAX_TASKS, "items": item}


_LINE = _count(least=1)
_FILE = {
    "type": "object",
    "properties": {
        "path": {"type": "string"}, "start": _LINE, "end": _LINE, "head": _LINE, "tail": _LINE,
    },
    "required": ["path"],
    "additionalProperties": False,
}  # fmt: skip
_SESSION_ID = {"type": "string", "description": "Its session id."}
_TASK = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Display name."},
        "prompt": {"type": "string", "description": "The task, complete in itself."},
        "cwd": {"type": "string", "description": "Absolute working directory."},
        "profile": {"type": "string", "description": "Instead of the default profile."},
        "timeout": _seconds("Seconds, default 600.", MIN_TIMEOUT_S, MAX_TIMEOUT_S),
        "resume": {"type": "string", "description": "Session id to continue, with its history."},
        "files": {
            "type": "array",
            "items": {"anyOf": [{"type": "string"}, _FILE]},
            "description": "Put before the prompt: paths, or lines start to end, the first (head) "
            "or last (tail).",
        },
    },
    "required": ["name", "prompt"],
}

_PRESET_TASK = {
    "preset": {"type": "string", "description": "Its name."},
    "task": {"type": "string", "description": "Complete in itself."},
    "model": {"type": "string", "description": "Instead of the preset's."},
    "cwd": {"type": "string"},
}
# The same once more: what they mean was said.
_LISTED_PRESET_TASK: Mapping[str, object] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in _PRESET_TASK},
    "required": ["preset", "task"],
}

TOOLS: tuple[ToolDef, ...] = (
    ToolDef(
        DELEGATE,
        "Run 1 to 16 independent tasks in parallel, each in a sub-agent with its own process and "
        "context window. Returns a line and a session id per task.",
        {
            "type": "object",
            "properties": {
                "tasks": _tasks(_TASK),
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
                "waitSeconds": _seconds("Wait so long for its end."),
                "offset": _count("Skip so many characters."),
                "limit": _count("At most so many."),
                "tail": _count("Only the last so many."),
            },
            "required": ["sessionId"],
        },
    ),
    ToolDef(
        GET_SESSION,
        "Get the complete transcript of a sub-agent session: all runs with messages, tool calls "
        "and shortened results.",
        {
            "type": "object",
            "properties": {"sessionId": {"type": "string"}},
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
                "tasks": _tasks(_LISTED_PRESET_TASK),
            },
        },
    ),
    ToolDef(
        BACKGROUND,
        "Start a task with a preset in the background and return at once with its run id.",
        _LISTED_PRESET_TASK,
    ),
    ToolDef(
        BACKGROUND_STATUS,
        "Tell how background runs stand: counts, active runs, and the result of an ended one.",
        {
            "type": "object",
            "properties": {
                "runId": {"type": "string", "description": "Only this run."},
                "includeCompleted": {"type": "boolean", "description": "Ended ones too."},
                "waitSeconds": _seconds("Wait so long for its end, or the first active one's."),
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
                "waitSeconds": _seconds("Wait so long, default 30."),
            },
            "required": ["sessionId", "message"],
        },
    ),
)

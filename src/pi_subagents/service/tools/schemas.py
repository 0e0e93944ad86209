"""
Pieces of JSON schema that several tools share: what they take, and the values they give.

What a tool takes is read by a model with every request: a description says what its name does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.session.retrieval import MAX_WAIT_S
from pi_subagents.core.task.request import MAX_TASKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.value import JsonObject

# What they take


def count(what: str = "", least: int = 0) -> JsonObject:
    """Return the schema of a whole number."""
    schema: JsonObject = {"type": "integer", "minimum": least}
    return {**schema, "description": what} if what else schema


def seconds(what: str = "", least: float = 0, most: float = MAX_WAIT_S) -> JsonObject:
    """Return the schema of a time."""
    limits = {"minimum": int(least), "maximum": int(most)}
    schema: JsonObject = {"type": "number", **limits}
    return {**schema, "description": what} if what else schema


def task_list(item: Mapping[str, object]) -> JsonObject:
    """Return the schema of as many tasks as one call may have."""
    return {"type": "array", "minItems": 1, "maxItems": MAX_TASKS, "items": item}


ANSWER_SCHEMA: JsonObject = {"type": "object", "description": "JSON Schema of the answer."}
PRESET_TASK: Mapping[str, JsonObject] = {
    "preset": {"type": "string"},
    "task": {"type": "string", "description": "Complete in itself."},
    "model": {"type": "string"},
    "engine": {"type": "string"},
    "cwd": {"type": "string"},
    "outputSchema": {"type": "object"},
}
# The same once more: what they mean was said.
LISTED_PRESET_TASK: Mapping[str, object] = {
    "type": "object",
    "properties": {name: {"type": each["type"]} for name, each in PRESET_TASK.items()},
    "required": ["preset", "task"],
}
LISTED_PART: Mapping[str, object] = {
    **{name: count() for name in ("offset", "limit", "tail", "context")},
    "grep": {"type": "string"},
    "regex": {"type": "boolean"},
}

# What they give


def record(properties: Mapping[str, object], *optional: str) -> JsonObject:
    """Return the schema of an object; what is not optional is always there."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


def compact_record(properties: Mapping[str, object], *required: str) -> JsonObject:
    """Return the schema of an object that leaves out what is empty; what is named never is."""
    return {"type": "object", "properties": dict(properties), "required": list(required)}


TEXT: JsonObject = {"type": "string"}
COUNT: JsonObject = {"type": "integer"}
TEXTS: JsonObject = {"type": "array", "items": TEXT}
USAGE: JsonObject = {"type": "object", "description": "Tokens and cost, as far as the child told."}
PROFILE_STATUS: JsonObject = {"type": "string", "enum": ["running", "completed", "error"]}
_PRESET_STATES = ["running", "completed", "failed", "aborted"]
PRESET_STATUS: JsonObject = {"type": "string", "enum": _PRESET_STATES}

WAITING_FOR: JsonObject = {
    "type": "object",
    "description": "A question (answer_subagent), or a limit, a place.",
    "properties": {"kind": TEXT, "until": COUNT, "text": TEXT, "options": TEXTS, "id": TEXT},
}

OUTPUT: JsonObject = {
    "output": {"type": "string", "description": "What it said last; its answer if completed."},
    "outputTruncated": {"type": "boolean", "description": "A line in it says how to read on."},
    "value": {"description": "The answer, where it had to fit a schema."},
    "valueLeftOut": {"type": "boolean", "description": "It is too large to stand here."},
}
WORK: JsonObject = {
    "changes": {"type": "string", "description": "What it changed in its worktree."},
    "checked": {"type": "object", "description": "What its check said; without, it only claims."},
}
ENDING: JsonObject = {
    "errorMessage": TEXT,
    "nextCall": {"type": "string", "description": "How to go on with it, as it is."},
    "exitCode": COUNT,
    "durationMs": COUNT,
    "model": {"type": "string", "description": "The one that answered."},
    "usage": USAGE,
    "notes": TEXTS,
    **WORK,
}
RESUMED: JsonObject = {"resumed": TEXT}
PLACE: JsonObject = {"preset": TEXT, "task": TEXT, "cwd": TEXT}
MODELS: JsonObject = {"requestedModel": TEXT, "resolvedModel": TEXT}
TIMES: JsonObject = {"startedAt": COUNT, "finishedAt": COUNT}
RUN: JsonObject = {"sessionId": TEXT, "runId": TEXT}
SESSION: JsonObject = {
    "sessionId": TEXT, "status": PROFILE_STATUS, "errorMessage": TEXT, "nextCall": TEXT,
    "taskName": TEXT, "runCount": COUNT, "model": TEXT, "usage": USAGE, **WORK, "work": TEXT,
}  # fmt: skip
PART: JsonObject = {
    "totalCharacters": COUNT, "shownCharacters": COUNT, "matchingLines": COUNT, "text": TEXT,
}  # fmt: skip

COUNTS = compact_record(dict.fromkeys((*_PRESET_STATES, "total"), COUNT))
BACKGROUND_RUN: JsonObject = {
    **RUN, **PLACE, **MODELS, "status": PRESET_STATUS, "createdAt": COUNT, **TIMES,
    "stopReason": TEXT, "runDir": TEXT, **OUTPUT, **ENDING, **RESUMED,
    "waitingFor": WAITING_FOR,
}  # fmt: skip
BACKGROUND_RUN_IDS = ("runId", "sessionId", "status")
BACKGROUND_RUNS = record(
    {
        "counts": COUNTS,
        "runs": {"type": "array", "items": compact_record(BACKGROUND_RUN, *BACKGROUND_RUN_IDS)},
    }
)

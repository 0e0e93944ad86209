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


def seconds(what: str, least: float = 0, most: float = MAX_WAIT_S) -> JsonObject:
    """Return the schema of a time."""
    limits = {"minimum": int(least), "maximum": int(most)}
    return {"type": "number", **limits, "description": what}


def task_list(item: Mapping[str, object]) -> JsonObject:
    """Return the schema of as many tasks as one call may have."""
    return {"type": "array", "minItems": 1, "maxItems": MAX_TASKS, "items": item}


PRESET_TASK: Mapping[str, object] = {
    "preset": {"type": "string", "description": "Its name."},
    "task": {"type": "string", "description": "Complete in itself."},
    "model": {"type": "string", "description": "Instead of the preset's."},
    "cwd": {"type": "string"},
}
# The same once more: what they mean was said.
LISTED_PRESET_TASK: Mapping[str, object] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in PRESET_TASK},
    "required": ["preset", "task"],
}

# What they give


def record(properties: Mapping[str, object], *optional: str) -> JsonObject:
    """Return the schema of an object; what is not optional is always there."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


TEXT: JsonObject = {"type": "string"}
OPTIONAL_TEXT: JsonObject = {"type": ["string", "null"]}
COUNT: JsonObject = {"type": "integer"}
OPTIONAL_COUNT: JsonObject = {"type": ["integer", "null"]}
TEXTS: JsonObject = {"type": "array", "items": TEXT}
USAGE: JsonObject = {"type": "object", "description": "Tokens and cost, as far as the child told."}
PROFILE_STATUS: JsonObject = {"type": "string", "enum": ["running", "completed", "error"]}
_PRESET_STATES = ["running", "completed", "failed", "aborted"]
PRESET_STATUS: JsonObject = {"type": "string", "enum": _PRESET_STATES}

OUTPUT: JsonObject = {
    "output": {"type": "string", "description": "The final text, or its beginning."},
    "outputTruncated": {"type": "boolean", "description": "get_subagent_output has the rest."},
}
ENDING: JsonObject = {
    "errorMessage": OPTIONAL_TEXT,
    "exitCode": OPTIONAL_COUNT,
    "durationMs": COUNT,
    "usage": USAGE,
    "notes": TEXTS,
}
PLACE: JsonObject = {"preset": TEXT, "task": TEXT, "cwd": TEXT}
MODELS: JsonObject = {"requestedModel": OPTIONAL_TEXT, "resolvedModel": OPTIONAL_TEXT}
TIMES: JsonObject = {"startedAt": OPTIONAL_COUNT, "finishedAt": OPTIONAL_COUNT}
RUN: JsonObject = {"sessionId": TEXT, "runId": TEXT}
SESSION: JsonObject = {
    "sessionId": TEXT, "status": PROFILE_STATUS, "errorMessage": TEXT, "taskName": TEXT,
    "runCount": COUNT,
}  # fmt: skip

COUNTS = record(dict.fromkeys((*_PRESET_STATES, "total"), COUNT))
BACKGROUND_RUN: JsonObject = {
    **RUN, **PLACE, **MODELS, "status": PRESET_STATUS, "createdAt": COUNT, **TIMES,
    "stopReason": TEXT, "runDir": TEXT, **OUTPUT, **ENDING,
}  # fmt: skip
BACKGROUND_RUN_OPTIONAL = ("outputTruncated", "runDir")
BACKGROUND_RUNS = record(
    {
        "counts": COUNTS,
        "runs": {"type": "array", "items": record(BACKGROUND_RUN, *BACKGROUND_RUN_OPTIONAL)},
    }
)

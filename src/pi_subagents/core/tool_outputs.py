"""
What hosts that take values instead of texts get: a schema per tool, and a value of bounded size.

In: a tool's answer as `tool_calls` returns it.  Out: its structured value.  What is left out is
for painting only (windows, paths beside the run directory); a text that is cut says so, and what
Unicode cannot encode is replaced: half a character from a child must not cost the connection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from pi_subagents.core import tool_defs
from pi_subagents.core.bounded_details import MAX_LISTED_OUTPUT, MAX_OUTPUT, with_short_output
from pi_subagents.core.subagent_result import MAX_TOLD

Json = dict[str, object]
_Value = TypeVar("_Value")
_SURROGATES = re.compile("[\ud800-\udfff]")

_TEXT: Json = {"type": "string"}
_OPTIONAL_TEXT: Json = {"type": ["string", "null"]}
_COUNT: Json = {"type": "integer"}
_OPTIONAL_COUNT: Json = {"type": ["integer", "null"]}
_TEXTS: Json = {"type": "array", "items": _TEXT}
_USAGE: Json = {"type": "object", "description": "Tokens and cost, as far as the child told."}
_SYSTEM_A: Json = {"type": "string", "enum": ["running", "completed", "error"]}
_SYSTEM_B: Json = {"type": "string", "enum": ["running", "completed", "failed", "aborted"]}


def _object(properties: Json, *optional: str) -> Json:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


_OUTPUT: Json = {
    "output": {"type": "string", "description": "The final text, or its beginning."},
    "outputTruncated": {"type": "boolean", "description": "get_subagent_output has the rest."},
}
_ENDING: Json = {
    "errorMessage": _OPTIONAL_TEXT,
    "exitCode": _OPTIONAL_COUNT,
    "durationMs": _COUNT,
    "usage": _USAGE,
    "notes": _TEXTS,
}
_PLACE: Json = {"preset": _TEXT, "task": _TEXT, "cwd": _TEXT}
_MODELS: Json = {"requestedModel": _OPTIONAL_TEXT, "resolvedModel": _OPTIONAL_TEXT}
_TIMES: Json = {"startedAt": _OPTIONAL_COUNT, "finishedAt": _OPTIONAL_COUNT}
_RUN: Json = {"sessionId": _TEXT, "runId": _TEXT}
_COUNTS = _object(dict.fromkeys(("running", "completed", "failed", "aborted", "total"), _COUNT))
_ROW = _object(
    {
        **_RUN, **_PLACE, **_MODELS, "status": _SYSTEM_B, "createdAt": _COUNT, **_TIMES,
        "stopReason": _TEXT, "runDir": _TEXT, **_OUTPUT, **_ENDING,
    },
    "outputTruncated", "runDir",
)  # fmt: skip
_SESSION: Json = {
    "sessionId": _TEXT, "status": _SYSTEM_A, "errorMessage": _TEXT, "taskName": _TEXT,
    "runCount": _COUNT,
}  # fmt: skip

SCHEMAS: Mapping[str, Json] = {
    tool_defs.DELEGATE: _object(
        {
            "status": {"type": "string", "enum": ["running", "done"]},
            "sessionIds": _TEXTS,
            "results": {
                "type": "array",
                "items": _object(
                    {"name": _TEXT, **_RUN, "status": _SYSTEM_A, **_OUTPUT, **_ENDING},
                    "runId", "outputTruncated", "exitCode", "durationMs", "usage", "notes",
                ),
            },
        }
    ),
    tool_defs.GET_OUTPUT: _object(
        {**_SESSION, "totalCharacters": _COUNT, "shownCharacters": _COUNT, "text": _TEXT},
        "errorMessage", "shownCharacters",
    ),
    tool_defs.GET_SESSION: _object(
        {
            **_SESSION, "messageCount": _COUNT, "exitCode": _OPTIONAL_COUNT,
            "model": _OPTIONAL_TEXT, "totalCharacters": _COUNT, "shownCharacters": _COUNT,
            "text": _TEXT,
        },
        "errorMessage", "totalCharacters", "shownCharacters",
    ),
    tool_defs.LIST_PROFILES: _object(
        {
            "count": _COUNT,
            "profiles": {"type": "object", "additionalProperties": _TEXT},
            "scopes": {"type": "object", "additionalProperties": _TEXT},
            "problems": _TEXTS,
        },
        "profiles", "scopes", "problems",
    ),
    tool_defs.SUBAGENT: _object(
        {
            "mode": {"type": "string", "enum": ["single", "parallel"]},
            "results": {
                "type": "array",
                "items": _object(
                    {
                        **_PLACE, **_MODELS, **_RUN, "status": _SYSTEM_B, **_OUTPUT,
                        "stopReason": _OPTIONAL_TEXT, **_TIMES, **_ENDING,
                    },
                    "task", "cwd", "runId", "outputTruncated", *_MODELS, *_TIMES, "stopReason",
                    "exitCode", "durationMs", "usage", "notes",
                ),
            },
        }
    ),
    tool_defs.BACKGROUND: {
        **_ROW,
        "properties": {**_ROW["properties"], "counts": _COUNTS},  # type: ignore[dict-item]  # built above
    },
    tool_defs.BACKGROUND_STATUS: _object(
        {"counts": _COUNTS, "runs": {"type": "array", "items": _ROW}}
    ),
    tool_defs.BACKGROUND_STOP: _object(
        {"counts": _COUNTS, "runs": {"type": "array", "items": _ROW}}
    ),
    tool_defs.STEER: _object(
        {
            **_RUN, "taskName": _TEXT,
            "status": {"type": "string", "enum": ["delivered", "accepted", "refused"]},
            "reason": _OPTIONAL_TEXT,
        }
    ),
}  # fmt: skip


def structured(tool: str, answer: Mapping[str, object]) -> Json:
    """Return the value of an answer that is no refusal."""
    details = _mapping(answer["details"])
    told = {key: value for key, value in details.items() if key not in ("windows", "maxLines")}
    match tool:
        case tool_defs.DELEGATE | tool_defs.SUBAGENT:
            single = len(_items(told, "results")) == 1
            most = MAX_TOLD if single else MAX_OUTPUT
            return {
                **told,
                "results": [with_short_output(each, most) for each in _items(told, "results")],
            }
        case tool_defs.GET_OUTPUT | tool_defs.GET_SESSION:
            return {**told, "text": answer_text(answer)}
        case tool_defs.BACKGROUND:
            return _row(told, MAX_TOLD)
        case tool_defs.BACKGROUND_STATUS | tool_defs.BACKGROUND_STOP:
            runs = _items(told, "runs")
            most = MAX_TOLD if len(runs) == 1 else MAX_LISTED_OUTPUT
            return {**told, "runs": [_row(run, most) for run in runs]}
    return told


def answer_text(answer: Mapping[str, object]) -> str:
    """Return the text of an answer, without what is said beside it."""
    return str(_items(answer, "content")[0]["text"])


def sendable(value: _Value) -> _Value:
    """Return a JSON value whose texts any encoder takes."""
    told: object = value
    if isinstance(value, str):
        told = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", value)
    elif isinstance(value, dict):
        told = {sendable(key): sendable(each) for key, each in value.items()}
    elif isinstance(value, list):
        told = [sendable(each) for each in value]
    return told  # type: ignore[return-value]  # of the same kind as the value


def _row(run: Mapping[str, object], most: int) -> Json:
    row = {key: value for key, value in run.items() if key != "paths"}
    return with_short_output({**row, "runDir": str(_mapping(run["paths"]).get("runDir", ""))}, most)


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, Mapping)
    return value


def _items(value: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    items = value[key]
    assert isinstance(items, list)
    return items

"""`delegate_to_subagents`: tasks of the caller's own wording, each in a sub-agent of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.definitions.found import PROFILE
from pi_subagents.core.profile.profile import QUESTION_CHOICES
from pi_subagents.core.settings import PROFILE_TOOLS
from pi_subagents.core.task.request import (
    MAX_TIMEOUT_S,
    MIN_TIMEOUT_S,
    parse_begun,
    parse_delegate,
)
from pi_subagents.core.workspace.modes import WORKSPACES
from pi_subagents.service import foreground
from pi_subagents.service.tools import messages, schemas
from pi_subagents.service.tools.outputs import short_results
from pi_subagents.service.tools.tool import LiveWork, Prewarming, Tool, ToolWords
from pi_subagents.view.progress_updates import WindowUpdates

if TYPE_CHECKING:
    from pi_subagents.core.task.request import DelegateRequest
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options

_WHEN_TO_USE_IT = (
    "Use delegate_to_subagents for work that splits into independent parts or would fill your "
    "context, with a profile if one fits; do small things yourself."
)
_LINE = schemas.count(least=1)
_FILE = {
    "type": "object",
    "properties": {
        "path": {"type": "string"}, "start": _LINE, "end": _LINE, "head": _LINE, "tail": _LINE,
    },
    "required": ["path"],
    "additionalProperties": False,
}  # fmt: skip
_TASK = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "prompt": {"type": "string", "description": "Complete in itself."},
        "cwd": {"type": "string"},
        "profile": {"type": "string"},
        "engine": {"type": "string", "description": "E.g. acp:codex."},
        "timeout": schemas.seconds("Seconds, default 600.", MIN_TIMEOUT_S, MAX_TIMEOUT_S),
        "resume": {"type": "string", "description": "Session id."},
        "budget": {"type": "object"},
        "files": {
            "type": "array",
            "items": {"anyOf": [{"type": "string"}, _FILE]},
            "description": "Before the prompt.",
        },
        "questions": {"enum": [*QUESTION_CHOICES]},
        "workspace": {"enum": [*WORKSPACES]},
        "check": {"type": "string"},
        "outputSchema": schemas.ANSWER_SCHEMA,
    },
    "required": ["name", "prompt"],
}
_RESULT = schemas.compact_record(
    {
        "name": schemas.TEXT, "sessionId": schemas.TEXT, "status": schemas.PROFILE_STATUS,
        **schemas.OUTPUT, **schemas.ENDING, **schemas.RESUMED,
    },
    "name", "sessionId", "status",
)  # fmt: skip


async def _run(request: DelegateRequest, options: Options) -> JsonObject:
    return (await foreground.delegate_request(request, options)).to_json()


TOOL = Tool(
    name="delegate_to_subagents",
    description="Run independent tasks in parallel sub-agents, each with its own context "
    "window. Returns session ids and answers.",
    parameters={
        "type": "object",
        "properties": {
            "tasks": schemas.task_list(_TASK),
            "profile": {"type": "string"},
            "budget": {"type": "object", "description": "tokens, cost, turns."},
        },
        "required": ["tasks"],
    },
    returns=schemas.record(
        {
            "status": {"type": "string", "enum": ["running", "done"]},
            "results": {"type": "array", "items": _RESULT},
        }
    ),
    parse=lambda given, _: parse_delegate(given),
    run=_run,
    effect="acts",
    snippet="Run tasks of your own wording in parallel sub-agents",
    rules=(
        _WHEN_TO_USE_IT,
        "A prompt for delegate_to_subagents says it all: no sub-agent sees this conversation.",
    ),
    family=PROFILE_TOOLS,
    lists=PROFILE,
    live=LiveWork(WindowUpdates),
    prewarming=Prewarming(
        "tasks",
        lambda given, begun, options: foreground.prewarm(*parse_begun(given, begun), options),
    ),
    structured=short_results,
    headline=(
        ToolWords(("tasks",), counted=messages.CALL_SUB_AGENTS),
        ToolWords(("profile",), "dim", messages.CALL_DEFAULT_PROFILE),
        ToolWords(("tasks", "profile"), "dim", messages.CALL_PROFILES, distinct=True),
    ),
)

"""`apply_subagent_changes`: take what sub-agents changed in worktrees of their own, all or none."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.parameters import given_parameters, optional_flag
from pi_subagents.core.value import value
from pi_subagents.errors import InvalidRequest
from pi_subagents.service.call import runs_of
from pi_subagents.service.tools import schemas
from pi_subagents.service.tools.tool import Tool
from pi_subagents.system.own_thread import in_own_thread
from pi_subagents.view.taken import taken_text, taken_to_json

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options

_KEYS = ("runIds", "check", "commit", "passed")


@value
class ApplyRequest:
    """Whose changes are to be taken, and how."""

    run_ids: tuple[str, ...]
    check: bool = False
    commit: bool = False
    passed: bool = False


def parse_apply(given: object) -> ApplyRequest:
    """Return the checked parameters."""
    parameters = given_parameters(given, _KEYS)
    ids = parameters.get("runIds")
    if not isinstance(ids, list) or not ids or not all(isinstance(each, str) for each in ids):
        raise InvalidRequest("runIds", core_messages.NEEDS_RUN_IDS)
    flags = (optional_flag(key, parameters.get(key)) for key in _KEYS[1:])
    return ApplyRequest(tuple(ids), *flags)


async def _run(request: ApplyRequest, options: Options) -> JsonObject:
    from pi_subagents.service.workspaces.taking import take_changes

    taking = partial(
        take_changes,
        runs_of(options),
        request.run_ids,
        options.get("env"),
        check=request.check,
        commit=request.commit,
        passed=request.passed,
    )
    taken = await in_own_thread("apply", taking)
    text = taken_text(taken.files, taken.commits, check=request.check)
    answer = taken_to_json(taken.files, taken.warnings, taken.commits, check=request.check)
    return {
        "content": [{"type": "text", "text": "\n".join([text, *taken.warnings])}],
        "details": answer,
        "isError": False,
    }


TOOL = Tool(
    name="apply_subagent_changes",
    description="Take changes of worktrees, all or none.",
    parameters={
        "type": "object",
        "properties": {
            "runIds": {"type": "array", "minItems": 1, "items": {"type": "string"}},
            "check": {"type": "boolean", "description": "Try."},
            "passed": {"type": "boolean"},
        },
        "required": ["runIds"],
    },
    returns=schemas.record(
        {
            "status": {"type": "string", "enum": ["fits", "applied"]},
            "summary": schemas.TEXT,
            "files": {"type": "array", "items": {"type": "object"}},
            "warnings": {"type": "array", "items": schemas.TEXT},
            "commits": {"type": "array", "items": schemas.TEXT},
        }
    ),
    parse=lambda given, _: parse_apply(given),
    run=_run,
    effect="acts",
    snippet="Take their changes",
)

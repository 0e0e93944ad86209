"""`background_agent_status`: how the caller's background runs stand, perhaps after waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.preset.request import StatusRequest, parse_status
from pi_subagents.core.settings import PRESET_TOOLS
from pi_subagents.core.value import replace
from pi_subagents.service.call import switch_of
from pi_subagents.service.tools import schemas
from pi_subagents.service.tools.outputs import short_runs
from pi_subagents.service.tools.tool import Tool
from pi_subagents.view.answers import with_short_rows
from pi_subagents.view.background import status_to_json

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options


async def _run(request: StatusRequest, options: Options) -> JsonObject:
    from pi_subagents.service.background import known_runs_of

    known = known_runs_of(options)
    if request.run_id is not None:
        request = replace(request, run_id=known.find(request.run_id))
    runs, counted = await known.wait(request, switch_of(options))
    return status_to_json(runs, request, counted)


TOOL = Tool(
    name="background_agent_status",
    description="Tell how background runs stand: counts, active runs, and the result of an ended "
    "one.",
    parameters={
        "type": "object",
        "properties": {
            "runId": {"type": "string", "description": "Only this run."},
            "includeCompleted": {"type": "boolean", "description": "Ended ones too."},
            "waitSeconds": schemas.seconds("Wait so long for its end, or the first active one's."),
        },
    },
    returns=schemas.BACKGROUND_RUNS,
    parse=lambda given, _: parse_status(given),
    run=_run,
    effect="reads",
    snippet="See how background runs stand",
    rules=("Do not poll with background_agent_status: ask once, with waitSeconds if you need it.",),
    family=PRESET_TOOLS,
    default_wait_s=0.0,
    structured=short_runs,
    logged=with_short_rows,
    settles_usage=True,
)

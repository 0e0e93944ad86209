"""`background_agent_status`: how the caller's background runs stand, perhaps after waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.preset.request import StatusRequest, parse_status
from pi_subagents.core.settings import PRESET_TOOLS
from pi_subagents.core.value import replace
from pi_subagents.service.call import settings_of, switch_of
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
    return status_to_json(runs, request, settings_of(options).tools, counted)


TOOL = Tool(
    name="background_agent_status",
    description="Show background runs: counts, active ones, one's result.",
    parameters={
        "type": "object",
        "properties": {
            "runId": {"type": "string"},
            "includeCompleted": {"type": "boolean"},
            "waitSeconds": schemas.seconds("Wait for an end."),
        },
    },
    returns=schemas.BACKGROUND_RUNS,
    parse=lambda given, _: parse_status(given),
    run=_run,
    effect="reads",
    snippet="See how background runs stand",
    rules=("Do not poll with background_agent_status: ask once, with waitSeconds.",),
    family=PRESET_TOOLS,
    default_wait_s=0.0,
    structured=short_runs,
    logged=with_short_rows,
    settles_usage=True,
)

"""`background_agent_stop`: end one background run, or all of the caller's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.preset.request import parse_stop
from pi_subagents.core.settings import PRESET_TOOLS
from pi_subagents.service.call import settings_of
from pi_subagents.service.tools import schemas
from pi_subagents.service.tools.outputs import short_runs
from pi_subagents.service.tools.tool import Tool
from pi_subagents.view.answers import with_short_rows
from pi_subagents.view.background import stopped_to_json

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options


async def _run(run_id: str | None, options: Options) -> JsonObject:
    from pi_subagents.service.background import known_runs_of

    stopped, counted = await known_runs_of(options).stop(run_id)
    return stopped_to_json(stopped, counted, settings_of(options).tools)


TOOL = Tool(
    name="background_agent_stop",
    description="Stop a background run, or all.",
    parameters={
        "type": "object",
        "properties": {"runId": {"type": "string"}},
    },
    returns=schemas.BACKGROUND_RUNS,
    parse=lambda given, _: parse_stop(given),
    run=_run,
    effect="stops",
    snippet="Stop background runs",
    family=PRESET_TOOLS,
    structured=short_runs,
    logged=with_short_rows,
)

"""`background_agent`: a task with a preset that nobody waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.preset.request import PresetTask, parse_background
from pi_subagents.core.settings import PRESET_TOOLS
from pi_subagents.service.call import place_of
from pi_subagents.service.tools import schemas
from pi_subagents.service.tools.outputs import short_run
from pi_subagents.service.tools.tool import Tool
from pi_subagents.view.background import started_to_json

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options


async def _run(task: PresetTask, options: Options) -> JsonObject:
    from pi_subagents.service.background import ask_and_start, known_runs_of

    run = await ask_and_start(task, options)
    return started_to_json(run, known_runs_of(options).began(run))


TOOL = Tool(
    name="background_agent",
    description="Start a task with a preset in the background; returns its run id.",
    parameters=schemas.LISTED_PRESET_TASK,
    returns=schemas.compact_record(
        {**schemas.BACKGROUND_RUN, "counts": schemas.COUNTS}, *schemas.BACKGROUND_RUN_IDS
    ),
    parse=lambda given, options: parse_background(given, str(place_of(options)[0])),
    run=_run,
    effect="acts",
    snippet="Start a task with a preset and go on",
    rules=("Use background_agent when a preset fits and nobody waits for the answer.",),
    family=PRESET_TOOLS,
    structured=short_run,
)

"""`subagent`: a task with a preset, or several side by side, and their whole answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.definitions.found import PRESET
from pi_subagents.core.preset.request import SubagentRequest, parse_subagent
from pi_subagents.core.settings import PRESET_TOOLS
from pi_subagents.service import foreground
from pi_subagents.service.call import place_of
from pi_subagents.service.tools import schemas
from pi_subagents.service.tools.outputs import short_results
from pi_subagents.service.tools.tool import LiveWork, Prewarming, Tool
from pi_subagents.view.progress_updates import WordUpdates

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options

_RESULT = schemas.compact_record(
    {
        "preset": schemas.TEXT, "sessionId": schemas.TEXT, "status": schemas.PRESET_STATUS,
        **schemas.OUTPUT, "stopReason": schemas.TEXT, **schemas.TIMES, **schemas.ENDING,
    },
    "preset", "sessionId", "status",
)  # fmt: skip


async def _run(request: SubagentRequest, options: Options) -> JsonObject:
    from pi_subagents.service.presets import run_subagent

    return await run_subagent(request, options)


TOOL = Tool(
    name="subagent",
    description="Run a task with a named preset, or up to 16 in parallel (`tasks`), and return the "
    "answers.",
    parameters={
        "type": "object",
        "properties": {
            **schemas.PRESET_TASK,
            "tasks": schemas.task_list(schemas.LISTED_PRESET_TASK),
        },
    },
    returns=schemas.record(
        {
            "mode": {"type": "string", "enum": ["single", "parallel"]},
            "results": {"type": "array", "items": _RESULT},
        }
    ),
    parse=lambda given, options: parse_subagent(given, str(place_of(options)[0])),
    run=_run,
    effect="acts",
    snippet="Run tasks with presets and get the whole answers",
    rules=("Use subagent when a preset fits and you need the answer to go on.",),
    family=PRESET_TOOLS,
    lists=PRESET,
    live=LiveWork(WordUpdates, lambda given: parse_subagent(given, "/")),  # its cwd is not known
    prewarming=Prewarming("tasks", foreground.prewarm_unknown),
    structured=short_results,
)

"""`count_words`: how many words a text has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.parameters import objects, refuse_unknown, required_text
from pi_subagents.service.tools import schemas
from pi_subagents.service.tools.tool import Tool, ToolWords

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options


def _parse(parameters: object, _options: Options) -> str:
    (given,) = objects("parameters", [parameters], "must be an object")
    refuse_unknown("parameters", given, ("text",))
    return required_text("text", given.get("text"))


async def _run(text: str, options: Options) -> JsonObject:
    count = len(text.split())
    details = {"count": count, "cwd": str(options.get("cwd", ""))}
    return {
        "content": [{"type": "text", "text": f"{count} words."}],
        "details": details,
        "isError": False,
    }


TOOL = Tool(
    name="count_words",
    description="Count the words of a text.",
    parameters={
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
    returns=schemas.record({"count": schemas.COUNT, "cwd": schemas.TEXT}),
    parse=_parse,
    run=_run,
    effect="reads",
    snippet="Count words",
    rules=("Do not count yourself: count_words does it.",),
    headline=(ToolWords(("text",), "muted"),),
)

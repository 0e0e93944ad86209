"""`list_subagent_profiles`: the profiles there are, and what each of them sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.session.retrieval import parse_list_request, profiles_to_json
from pi_subagents.core.settings import PROFILE_TOOLS
from pi_subagents.service.call import place_of
from pi_subagents.service.tools import schemas
from pi_subagents.service.tools.tool import Tool

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options

_BY_NAME: JsonObject = {"type": "object", "additionalProperties": schemas.TEXT}


async def _run(_request: None, options: Options) -> JsonObject:
    from pi_subagents.config.profile_files import load_profiles
    from pi_subagents.core.profile.text import profile_summary

    found = load_profiles(*place_of(options))
    summaries = {name: profile_summary(each.profile) for name, each in found.by_name.items()}
    scopes = {name: each.scope for name, each in found.by_name.items()}
    return profiles_to_json(summaries, scopes, tuple(map(str, found.problems)))


TOOL = Tool(
    name="list_subagent_profiles",
    description="List the named profiles (model, tools, instructions) that tasks can run with.",
    parameters={"type": "object", "properties": {}},
    returns=schemas.record(
        {
            "count": schemas.COUNT,
            "profiles": _BY_NAME,
            "scopes": _BY_NAME,
            "problems": schemas.TEXTS,
        },
        "profiles",
        "scopes",
        "problems",
    ),
    parse=lambda given, _: parse_list_request(given),
    run=_run,
    effect="reads",
    snippet="Show what each profile sets",
    family=PROFILE_TOOLS,
    shown_whole=True,
)

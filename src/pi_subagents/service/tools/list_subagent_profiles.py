"""`list_subagent_profiles`: the profiles there are, and what each of them sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.definitions.definition import PROJECT
from pi_subagents.core.session.retrieval import parse_list_request, profiles_to_json
from pi_subagents.core.settings import PROFILE_TOOLS
from pi_subagents.service.call import place_of, trust_of
from pi_subagents.service.tools import messages, schemas
from pi_subagents.service.tools.tool import Tool

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options

_BY_NAME: JsonObject = {"type": "object", "additionalProperties": schemas.TEXT}


async def _run(_request: None, options: Options) -> JsonObject:
    from pi_subagents.config.profile_files import load_profiles
    from pi_subagents.config.settings_files import load_settings
    from pi_subagents.core.definitions.found import PROFILE
    from pi_subagents.core.profile.text import profile_summary
    from pi_subagents.service.definitions.choice import DefinitionRules

    cwd, env = place_of(options)
    found = load_profiles(cwd, env)
    rules = DefinitionRules.of(load_settings(cwd, env)[0], env, trusted=trust_of(options)(cwd))
    choices = rules.choose_all(PROFILE, found)
    summaries, scopes = {}, {}
    for name, choice in choices.items():
        if choice.loaded:
            summaries[name] = profile_summary(choice.loaded.profile)
            scopes[name] = choice.loaded.scope
        elif choice.asks:
            summaries[name] = messages.profile_to_ask_about(name)
            scopes[name] = PROJECT
    said = (choice.said for choice in choices.values())
    return profiles_to_json(summaries, scopes, (*map(str, found.problems), *filter(None, said)))


TOOL = Tool(
    name="list_subagent_profiles",
    description="List the profiles (model, tools, instructions) that tasks can run with.",
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

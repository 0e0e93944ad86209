"""
What a host can read without calling a tool: sessions, profiles and presets, each at an address.

In: an address below `subagents://`.  Out: its text, or None where there is nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pi_subagents import api
from pi_subagents.core.value import value
from pi_subagents.service.call import place_of
from pi_subagents.service.tools import get_subagent_output, get_subagent_session
from pi_subagents.service.tools.outputs import answer_text, structured

if TYPE_CHECKING:
    from pi_subagents.service.call import Options

SCHEME = "subagents://"
TEXT = "text/plain"
JSON = "application/json"


@value
class ResourceEntry:
    """Something that can be read: where, what it is called, what it is."""

    address: str
    name: str
    description: str
    mime_type: str


TEMPLATES = (
    ResourceEntry("sessions/{sessionId}", "session", "All that was said in a session.", TEXT),
    ResourceEntry(
        "sessions/{sessionId}/result", "result", "How a session stands, its final text.", JSON
    ),
    ResourceEntry("profiles/{name}", "profile", "What a profile sets; keys are masked.", TEXT),
    ResourceEntry("presets/{name}", "preset", "What a preset sets.", TEXT),
)


def listed(options: Options) -> list[ResourceEntry]:
    """Return the sessions, profiles and presets there are."""
    from pi_subagents.core.preset.preset import preset_summary
    from pi_subagents.core.profile.text import profile_summary
    from pi_subagents.service.definitions.files import PresetFiles, ProfileFiles
    from pi_subagents.service.looking import LookingPlace
    from pi_subagents.service.runs import Runs
    from pi_subagents.service.sessions import session_list

    place = LookingPlace(*place_of(options))
    found = []
    for session in session_list(Runs(place.cwd, place.env)).sessions:
        latest, where = session.latest, f"sessions/{session.session_id}"
        about = f"{latest.name}: {latest.tool_status}"
        found += [
            ResourceEntry(where, f"session {session.session_id}", about, TEXT),
            ResourceEntry(f"{where}/result", f"result {session.session_id}", about, JSON),
        ]
    for name, profile in ProfileFiles(place).load().by_name.items():
        summary = profile_summary(profile.profile)
        found.append(ResourceEntry(f"profiles/{quote(name)}", f"profile {name}", summary, TEXT))
    for name, preset in PresetFiles(place).load().by_name.items():
        summary = preset_summary(preset.preset)
        found.append(ResourceEntry(f"presets/{quote(name)}", f"preset {name}", summary, TEXT))
    return found


async def read(uri: str, options: Options) -> tuple[str, str] | None:
    """Return the text at an address and its MIME type."""
    if not uri.startswith(SCHEME):
        return None
    match uri.removeprefix(SCHEME).split("/"):
        case ["sessions", session_id]:
            tool = get_subagent_session.TOOL
            answer = await api.call_tool(tool.name, {"sessionId": session_id}, **options)
            return None if answer["isError"] else (answer_text(answer), TEXT)
        case ["sessions", session_id, "result"]:
            reads = get_subagent_output.TOOL
            answer = await api.call_tool(reads.name, {"sessionId": session_id}, **options)
            if answer["isError"]:
                return None
            return json.dumps(structured(reads, answer), ensure_ascii=False), JSON
        case [("profiles" | "presets") as kind, name]:
            text = _definition(kind, unquote(name), options)
            return None if text is None else (text, TEXT)
    return None


def _definition(kind: str, name: str, options: Options) -> str | None:
    from pi_subagents.service.definitions.files import PresetFiles, ProfileFiles
    from pi_subagents.service.looking import LookingPlace

    place = LookingPlace(*place_of(options))
    if kind == "profiles":
        from pi_subagents.core.profile.text import profile_detail

        profile = ProfileFiles(place).load().get(name)
        return None if profile is None else profile_detail(profile.profile)
    from pi_subagents.core.preset.preset import preset_detail

    preset = PresetFiles(place).load().get(name)
    return None if preset is None else preset_detail(preset.preset)

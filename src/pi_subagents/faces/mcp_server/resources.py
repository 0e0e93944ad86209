"""
What a host can read without calling a tool: sessions, profiles and presets, each at an address.

In: an address below `subagents://`.  Out: its text, or None where there is nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pi_subagents import api
from pi_subagents.core import tool_defs
from pi_subagents.core.tool_outputs import answer_text, structured
from pi_subagents.launch import place_of

if TYPE_CHECKING:
    from pi_subagents.launch import Options

SCHEME = "subagents://"
TEXT = "text/plain"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that can be read: where, what it is called, what it is."""

    address: str
    name: str
    description: str
    mime_type: str


TEMPLATES = (
    Entry("sessions/{sessionId}", "session", "All that was said in a session.", TEXT),
    Entry("sessions/{sessionId}/result", "result", "How a session stands, its final text.", JSON),
    Entry("profiles/{name}", "profile", "What a profile sets; keys are masked.", TEXT),
    Entry("presets/{name}", "preset", "What a preset sets.", TEXT),
)


def listed(options: Options) -> list[Entry]:
    """Return the sessions, profiles and presets there are."""
    from pi_subagents.core.preset_text import preset_summary
    from pi_subagents.core.profile_text import profile_summary
    from pi_subagents.disk.preset_files import load_presets
    from pi_subagents.disk.profile_files import load_profiles
    from pi_subagents.runs import Runs
    from pi_subagents.sessions import session_list

    place = place_of(options)
    found = []
    for session in session_list(Runs(*place)).sessions:
        latest, where = session.latest, f"sessions/{session.session_id}"
        told = f"{latest.name}: {latest.tool_status}"
        found += [
            Entry(where, f"session {session.session_id}", told, TEXT),
            Entry(f"{where}/result", f"result {session.session_id}", told, JSON),
        ]
    for name, profile in load_profiles(*place).by_name.items():
        summary = profile_summary(profile.profile)
        found.append(Entry(f"profiles/{quote(name)}", f"profile {name}", summary, TEXT))
    for name, preset in load_presets(*place).by_name.items():
        summary = preset_summary(preset.preset)
        found.append(Entry(f"presets/{quote(name)}", f"preset {name}", summary, TEXT))
    return found


async def read(uri: str, options: Options) -> tuple[str, str] | None:
    """Return the text at an address and what kind it is."""
    if not uri.startswith(SCHEME):
        return None
    match uri.removeprefix(SCHEME).split("/"):
        case ["sessions", session_id]:
            answer = await api.call_tool(
                tool_defs.GET_SESSION, {"sessionId": session_id}, **options
            )
            return None if answer["isError"] else (answer_text(answer), TEXT)
        case ["sessions", session_id, "result"]:
            answer = await api.call_tool(tool_defs.GET_OUTPUT, {"sessionId": session_id}, **options)
            if answer["isError"]:
                return None
            return json.dumps(structured(tool_defs.GET_OUTPUT, answer), ensure_ascii=False), JSON
        case [("profiles" | "presets") as kind, name]:
            text = _definition(kind, unquote(name), options)
            return None if text is None else (text, TEXT)
    return None


def _definition(kind: str, name: str, options: Options) -> str | None:
    if kind == "profiles":
        from pi_subagents.core.profile_text import profile_detail
        from pi_subagents.disk.profile_files import load_profiles

        profile = load_profiles(*place_of(options)).by_name.get(name)
        return None if profile is None else profile_detail(profile.profile)
    from pi_subagents.core.preset_text import preset_detail
    from pi_subagents.disk.preset_files import load_presets

    preset = load_presets(*place_of(options)).by_name.get(name)
    return None if preset is None else preset_detail(preset.preset)

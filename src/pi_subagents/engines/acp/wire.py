"""
What we say to an agent: the requests of the protocol, version 1, as parameters.

Standard library only.  Every one of them is held to the official models by the tests.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi_subagents._version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROTOCOL = 1
AUTH_REQUIRED = -32000
# An agent runs a first `/word` as a command of its own: a task is data.
GUARD = "\u200b"
_COMMAND = re.compile(r"[\s\ufeff]*/")


def initialize(*, files: bool) -> dict[str, object]:
    """Return who we are and what we serve: no terminals, files only where that is wanted."""
    return {
        "protocolVersion": PROTOCOL,
        "clientCapabilities": {
            "fs": {"readTextFile": files, "writeTextFile": files},
            "terminal": False,
        },
        "clientInfo": {"name": "pi-subagents", "title": "pi-subagents", "version": __version__},
    }


def open_session(
    cwd: str, servers: Sequence[Mapping[str, object]], more: Mapping[str, object]
) -> dict[str, object]:
    """Return what opens a session; the list of servers has to be there, however empty."""
    return {"cwd": cwd, "mcpServers": list(servers), **more}


def prompt(session_id: str, text: str) -> dict[str, object]:
    """Return a prompt."""
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": as_data(text)}]}


def as_data(text: str) -> str:
    """Return a text such that no agent takes its beginning for a command."""
    return GUARD + text if _COMMAND.match(text) else text

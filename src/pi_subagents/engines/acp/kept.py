"""
What is kept of an agent's session, so that another process of it can go on: which one it is, where.

The session itself is the agent's, at the user's home.  In: an id and a place, or what was kept.
Out: the other; ValueError where it cannot be read.
"""

from __future__ import annotations

import json

from pi_subagents.core.value import value
from pi_subagents.engines.acp import messages

VERSION = 1


@value
class KeptSessionId:
    """A session of an agent: by its id, for the place that it was opened in."""

    agent: str
    session_id: str
    cwd: str


def kept_session(agent: str, session_id: str, cwd: str) -> bytes:
    """Return what is kept of a session."""
    content = {"v": VERSION, "agent": agent, "sessionId": session_id, "cwd": cwd}
    return json.dumps(content).encode("ascii") + b"\n"


def read_kept(content: bytes) -> KeptSessionId:
    """Return what was kept of a session."""
    try:
        match json.loads(content):
            case {"v": 1, "agent": str(agent), "sessionId": str(own), "cwd": str(cwd)} if own:
                return KeptSessionId(agent, own, cwd)
    except (ValueError, RecursionError):
        pass
    raise ValueError(messages.SESSION_UNREADABLE)

"""What `service/tools` says to people."""

from __future__ import annotations

MCP_INSTRUCTIONS = (
    "Hands tasks to parallel sub-agents, each a process with a context window of its own. "
    "A delegation that takes longer than this server may keep you waiting goes on by itself: the "
    "answer says so and names session ids; get the rest with get_subagent_output and waitSeconds."
)
CALL_SUB_AGENTS = ("{} sub-agent", "{} sub-agents")
CALL_DEFAULT_PROFILE = "(default profile: {})"
CALL_PROFILES = "profiles: [{}]"


def text_goes_on(start: int, end: int, total: int) -> str:
    """Return which part of a session's text was shown, and how to see more of it."""
    return f"(Characters {start} to {end} of {total}; for more: offset {end}.)"


def transcript_goes_on(shown: int, total: int, session_id: str) -> str:
    """Return where the rest of a long transcript is."""
    return (
        f"(The first {shown} of {total} characters; the whole: `subagents session {session_id}`, "
        f"or the resource subagents://sessions/{session_id}.)"
    )

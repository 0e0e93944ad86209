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


def text_goes_on(start: int, end: int, total: int, next_call: str) -> str:
    """Return which part of a session's text was shown, and how to see more of it."""
    return f"(Characters {start} to {end} of {total}; for more: {next_call})"


def profile_to_ask_about(name: str) -> str:
    """Return the line of a profile that the user has to allow first."""
    return f"profile: {name} (the project's own; the user is asked before it is used)"

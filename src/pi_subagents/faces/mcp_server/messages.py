"""What `faces/mcp_server` says to people."""

from __future__ import annotations

ASK_TITLE = "Sub-agents: a definition of this project"
NOT_JSON_RPC = "This line is no JSON-RPC 2.0 message."


def message_too_long(size: int, most: int) -> str:
    """Return why a line was passed over."""
    return f"A message of {size} bytes was passed over: at most {most} are read."


def unknown_tool(name: str) -> str:
    """Return that a host called something that is not there."""
    return f"Unknown tool: {name}"


def unknown_resource(uri: str) -> str:
    """Return that there is nothing at an address."""
    return f"There is no resource {uri}"


def unknown_prompt(name: str) -> str:
    """Return that a host asked for a prompt that is not there."""
    return f"Unknown prompt: {name}"


def prompt_needs(name: str, argument: str) -> str:
    """Return which argument of a prompt is missing."""
    return f"The prompt {name} needs the argument {argument}."


WRONG_HOST = "This server answers on loopback only."
WRONG_ORIGIN = "This server answers no web page."
NEEDS_BEARER = "A valid bearer token is needed."
BODY_TOO_LARGE = "The body of a request must not be larger than 4 MiB."
BODY_TOO_SLOW = "The body of the request did not arrive in time."

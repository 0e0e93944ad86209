"""What `faces/mcp_server` says to people."""

from __future__ import annotations

ANSWER_TITLE = "Your answer"
ASK_TITLE = "Sub-agents: a definition of this project"
NOT_JSON_RPC = "This line is not a JSON-RPC 2.0 message."


def message_too_long(size: int, most: int) -> str:
    """Return why a line was skipped."""
    return f"A message of {size} bytes was skipped: the limit is {most} bytes."


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
WRONG_ORIGIN = "This server does not answer web pages."
NEEDS_BEARER = "A valid bearer token is required."
BODY_TOO_LARGE = "The body of a request must not be larger than 4 MiB."
BODY_TOO_SLOW = "The body of the request did not arrive in time."


def asked_by(name: str, text: str, problem: str) -> str:
    """Return a sub-agent's question as a person reads it, with what was wrong before."""
    asked = f"The sub-agent {name} asks:\n\n{text}"
    return f"{problem}\n\n{asked}" if problem else asked

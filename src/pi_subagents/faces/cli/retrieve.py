"""Ask a retrieval tool and print its answer, for the verbs that do so."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from pi_subagents import api
from pi_subagents.faces.cli.main import EXIT_FAILED, EXIT_REFUSED

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console


def tell(console: Console, tool: str, parameters: dict[str, object], *, as_json: bool) -> int:
    """Print the answer, and return the exit code that goes with the session's status."""
    answer = asyncio.run(api.call_tool(tool, parameters))
    content, details = answer["content"], answer["details"]
    assert isinstance(content, list)
    assert isinstance(details, dict)
    if as_json:
        console.json(answer)
    elif answer["isError"]:
        raise click.ClickException(content[0]["text"])
    else:
        console.answer(content[0]["text"])
    if answer["isError"]:
        return EXIT_REFUSED
    if details["status"] != "completed":
        console.notice(f"Session {details['sessionId']}: {details['status']}")
        return EXIT_FAILED
    return 0

"""Ask a retrieval tool and print its answer, for the verbs that do so."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from pi_subagents import api
from pi_subagents.faces.cli.main import EXIT_FAILED, EXIT_REFUSED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.call import Options


def ask(
    console: Console,
    tool: str,
    parameters: Mapping[str, object],
    options: Options | None = None,
    *,
    as_json: bool,
) -> dict[str, object]:
    """Print the answer of a tool, and return it."""
    answer = asyncio.run(api.call_tool(tool, parameters, **(options or {})))
    content = answer["content"]
    assert isinstance(content, list)
    if as_json:
        console.json(answer)
    elif answer["isError"]:
        raise click.ClickException(content[0]["text"])
    else:
        console.answer(content[0]["text"])
    return answer


def tell(console: Console, tool: str, parameters: Mapping[str, object], *, as_json: bool) -> int:
    """Print the answer, and return the exit code that goes with the session's status."""
    answer = ask(console, tool, parameters, as_json=as_json)
    details = answer["details"]
    assert isinstance(details, dict)
    if answer["isError"]:
        return EXIT_REFUSED
    if details["status"] != "completed":
        console.notice(f"Session {details['sessionId']}: {details['status']}")
        return EXIT_FAILED
    return 0

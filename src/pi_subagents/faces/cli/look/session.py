"""`subagents session`: everything that was said in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console


@click.command("session")
@click.argument("session_id", metavar="SESSION")
@options.json_option
@click.pass_obj
def command(console: Console, *, session_id: str, as_json: bool) -> int:
    """
    Print the transcript of a SESSION: all runs with messages, tool calls and tool results.

    Tool results are shortened; `subagents show RUN` names the files that have everything.
    """
    from pi_subagents.faces.cli.look.retrieve import tell

    return tell(console, "get_subagent_session", {"sessionId": session_id}, as_json=as_json)

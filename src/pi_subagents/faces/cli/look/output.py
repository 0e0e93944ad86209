"""`subagents output`: the final text of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.given import FiniteRange

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console


@click.command("output")
@click.argument("session_id", metavar="SESSION")
@click.option(
    "--wait",
    "wait_s",
    type=FiniteRange(0, 3600),
    default=0.0,
    help="Wait so many seconds for its end.",
)
@options.json_option
@click.pass_obj
def command(console: Console, *, session_id: str, wait_s: float, as_json: bool) -> int:
    """
    Print the final text of a SESSION: what its latest run answered, whole.

    SESSION is an id from a summary line. Exit code: 0 completed, 1 ended in an error or is still
    running (which is said on standard error), 2 not found.
    """
    from pi_subagents.faces.cli.look.retrieve import tell

    parameters = {"sessionId": session_id, "waitSeconds": wait_s}
    return tell(console, "get_subagent_output", parameters, as_json=as_json)

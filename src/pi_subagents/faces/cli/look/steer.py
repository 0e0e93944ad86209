"""`subagents steer`: tell a sub-agent something while it works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.given import FiniteRange, text_or_typed

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console


@click.command("steer")
@click.argument("any_id", metavar="ID")
@click.argument("text", metavar="[TEXT|-]", default="-")
@click.option(
    "--wait",
    "wait_s",
    type=FiniteRange(0, 3600),
    default=30.0,
    help="Wait so many seconds until it has read it (default: 30).",
)
@options.json_option
@click.pass_obj
def command(console: Console, *, any_id: str, text: str, wait_s: float, as_json: bool) -> int:
    """
    Send TEXT to a sub-agent that is at work, in the foreground or the background.

    ID is a session id, or a run id from `subagents runs` or its first characters. Without TEXT, or
    with `-`, the message is read from standard input. The sub-agent reads it when the tool calls it
    is at are done, and goes on with it in mind. One that has not begun yet reads it then; one that
    has finished reads nothing any more: `subagents run --resume` goes on with its session.

    Exit code: 0 it has read the message, or will after its current step (which one is said), 1 it
    will not, 2 not found.

    \b
    Examples:
      subagents steer 3f9c "Look at the tests only."
      git diff | subagents steer 3f9c -
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    from pi_subagents.faces.cli.look.retrieve import ask
    from pi_subagents.faces.cli.main import EXIT_FAILED, EXIT_REFUSED

    message = text_or_typed(console, text, "the message")
    parameters = {"sessionId": any_id, "message": message, "waitSeconds": wait_s}
    answer = ask(console, "steer_subagent", parameters, as_json=as_json)
    details = answer["details"]
    assert isinstance(details, dict)
    if answer["isError"]:
        return EXIT_REFUSED
    return EXIT_FAILED if details["status"] == "refused" else 0

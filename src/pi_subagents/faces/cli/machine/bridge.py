"""`subagents bridge`: the core beside pi, for the extension that runs inside it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console


@click.command("bridge")
@click.pass_obj
def command(console: Console) -> None:
    """
    Serve pi's extension: JSON-RPC 2.0, a JSON object per line, on standard input and output.

    The extension starts it by itself; docs/bridge.md has the protocol. It ends when its input
    does, and with it every sub-agent of a call; background runs go on.
    """
    from pi_subagents.faces.bridge.process import run_bridge
    from pi_subagents.faces.cli.messages import BRIDGE_IS_FOR_PI

    if sys.stdin.isatty():
        console.notice(BRIDGE_IS_FOR_PI)
    run_bridge()

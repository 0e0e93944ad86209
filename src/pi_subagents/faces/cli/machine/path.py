"""`subagents path`: where things of ours are, for other programs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console


@click.command("path")
@click.argument("what", metavar="pi-extension", type=click.Choice(["pi-extension"]))
@click.pass_obj
def command(console: Console, *, what: str) -> int:
    """
    Print where the extension for pi is, to try it once: pi -e "$(subagents path pi-extension)".

    To keep it: `subagents install pi`.
    """
    from pi_subagents.service.machine.pi_extension import extension_to_try

    del what  # there is only one so far
    console.answer(str(extension_to_try(os.environ)))
    return 0

"""`subagents stop`: end a run from anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console


@click.command("stop")
@click.argument("run")
@click.option(
    "--force",
    is_flag=True,
    help="Do not wait five seconds for a clean end, and end a run that does not answer, too.",
)
@click.pass_obj
def command(console: Console, *, run: str, force: bool) -> None:
    """
    Stop one RUN and wait until its whole process tree is gone.

    The run ends as aborted; its result says so, and its siblings go on.
    """
    from pi_subagents.service.runs import Runs

    runs = Runs()
    found = runs.find(run)
    if found.active:
        console.progress(f"Stopping {found.name} ({found.run_id[:12]})...")
    ended = runs.stop(found, force=force)
    console.answer(f"{ended.name}: {ended.status}")

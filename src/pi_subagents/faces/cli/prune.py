"""`subagents prune`: remove old runs, after showing which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console

MIB = 1024 * 1024


@click.command("prune", short_help="Show, and with --yes remove, old runs.")
@click.option(
    "--days",
    type=click.FloatRange(min=0),
    help="Remove runs that ended longer ago (default: subagents.retention_days, 30).",
)
@click.option(
    "--megabytes",
    type=click.FloatRange(min=0),
    help="Remove the oldest until the rest takes less (default: subagents.retention_megabytes, "
    "2048).",
)
@click.option("--yes", is_flag=True, help="Really remove them; without it nothing is changed.")
@options.json_option
@click.pass_obj
def command(
    console: Console, *, days: float | None, megabytes: float | None, yes: bool, as_json: bool
) -> None:
    """
    Show which finished runs of this project have been kept long enough; --yes removes them.

    Runs that are not over are never removed. A limit of 0 does not limit. The same limits are
    applied by themselves, once a day, when something is delegated.
    """
    from pi_subagents.runs import Runs

    runs = Runs()
    removals = runs.choose_removals(days=days, megabytes=megabytes)
    removed = runs.remove(removals) if yes else []
    if as_json:
        console.json(
            {
                "dryRun": not yes,
                "runs": [
                    {"runId": r.run.run_id, "bytes": r.run.size, "reason": r.reason}
                    for r in removals
                ],
                "removed": removed,
            }
        )
        return
    for removal in removals:
        console.answer(
            f"{removal.run.run_id[:12]}  {removal.run.size / MIB:8.1f} MiB  too "
            f"{'old' if removal.reason == 'age' else 'much'}"
        )
    total = sum(removal.run.size for removal in removals) / MIB
    if not removals:
        console.answer("Nothing to remove.")
    elif yes:
        console.answer(f"Removed {len(removed)} runs, {total:.1f} MiB.")
    else:
        console.answer(f"{len(removals)} runs, {total:.1f} MiB. To remove them: add --yes")

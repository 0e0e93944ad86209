"""`subagents prune`: remove old runs, after showing which."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from pi_subagents.core.run.record import short_id
from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.given import FiniteRange
from pi_subagents.view.time_spent import age

if TYPE_CHECKING:
    from pi_subagents.core.run.retention import Removal
    from pi_subagents.faces.cli.console import Console

KIB = 1024
REASONS = {"age": "too old", "space": "over the space limit"}


@click.command("prune")
@click.option(
    "--days",
    metavar="DAYS",
    type=FiniteRange(min=0),
    help="Remove runs that ended more than DAYS ago (default: subagents.retention_days, 30).",
)
@click.option(
    "--megabytes",
    metavar="MEGABYTES",
    type=FiniteRange(min=0),
    help="Remove the oldest runs until the rest take at most MEGABYTES (default: "
    "subagents.retention_megabytes, 2048).",
)
@click.option("--yes", is_flag=True, help="Remove them; without this, nothing is changed.")
@options.json_option
@click.pass_obj
def prune(
    console: Console, *, days: float | None, megabytes: float | None, yes: bool, as_json: bool
) -> int:
    """
    Show which finished runs of this project are old enough to remove; --yes removes them.

    Active runs are never removed, nor are run directories that came from elsewhere (see
    `subagents doctor`). 0 means no limit. The same limits are applied automatically, once a day,
    when something is delegated.
    """
    from pi_subagents.service.runs import Runs

    runs = Runs()
    removals = runs.choose_removals(days=days, megabytes=megabytes)
    interrupted = runs.interrupted_removals()
    removed = runs.remove(removals) if yes else []
    if yes:
        runs.finish_removals()
        runs.clear_desks()
    if as_json:
        console.json(
            {
                "dryRun": not yes,
                "runs": [_removal_to_json(removal) for removal in removals],
                "removed": removed,
                "interruptedRemovals": interrupted,
            }
        )
    elif yes:
        _print_removed(console, removals, removed, interrupted)
    else:
        _print_chosen(console, removals, interrupted)
    return 1 if yes and len(removed) < len(removals) else 0


def _removal_to_json(removal: Removal) -> dict[str, object]:
    return {
        "runId": removal.run_id,
        "endedAt": removal.ended_ms,
        "bytes": removal.size,
        "reason": removal.reason,
    }


def _print_chosen(console: Console, removals: list[Removal], interrupted: int) -> None:
    if not removals and not interrupted:
        console.answer("Nothing to remove.")
        return
    _table(console, removals)
    if removals:
        console.answer(f"{_counted(removals)} can be removed.")
    if interrupted:
        console.answer(f"{_interrupted(interrupted)} not finished.")
    console.answer("Nothing was removed. Add --yes to remove.")


def _print_removed(
    console: Console, removals: list[Removal], removed: list[str], interrupted: int
) -> None:
    gone = [removal for removal in removals if removal.run_id in removed]
    _table(console, gone)
    if gone:
        console.answer(f"Removed {_counted(gone)}.")
    if interrupted:
        console.answer(f"{_interrupted(interrupted)} finished.")
    for removal in removals:
        if removal not in gone:
            console.answer(f"{short_id(removal.run_id)} could not be removed.", fg="yellow")
    if not removals and not interrupted:
        console.answer("Nothing to remove.")


def _table(console: Console, removals: list[Removal]) -> None:
    now_ms = time.time() * 1000
    if removals:
        console.answer(f"{'RUN':<8}  {'ENDED':>9}  {'SIZE':>9}  WHY", bold=True)
    for removal in removals:
        ended = f"{age(now_ms - removal.ended_ms)} ago"
        size = _size(removal.size)
        console.answer(
            f"{short_id(removal.run_id)}  {ended:>9}  {size:>9}  {REASONS[removal.reason]}"
        )


def _counted(removals: list[Removal]) -> str:
    size = _size(sum(removal.size for removal in removals))
    return f"{len(removals)} run{'' if len(removals) == 1 else 's'} ({size})"


def _size(count: int) -> str:
    for unit, bytes_each in (("GiB", KIB**3), ("MiB", KIB**2)):
        if count >= bytes_each:
            return f"{count / bytes_each:.1f} {unit}"
    return f"{count / KIB:.0f} KiB"


def _interrupted(count: int) -> str:
    return "1 interrupted removal was" if count == 1 else f"{count} interrupted removals were"

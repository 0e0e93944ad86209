"""`subagents cluster`: make a cluster's database, see how it stands, look after it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.cluster import messages
from pi_subagents.faces.cli.cluster.status_table import print_status
from pi_subagents.faces.cli.cluster.try_it import try_
from pi_subagents.faces.cli.given import FiniteRange
from pi_subagents.faces.cli.suggesting import SuggestingGroup

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.cluster.operating import Operator

KEPT_DAYS = 7.0
SHORT = 8  # characters of an id


@click.group("cluster", cls=SuggestingGroup)
def cluster() -> None:
    """
    Look after a cluster: runs go to workers on other machines, through PostgreSQL.

    Its database is named by PI_SUBAGENTS_CLUSTER, or by "cluster" under "subagents" in the global
    settings, as a URL of PostgreSQL; never by a project. The password may also stand where libpq
    looks for it (~/.pgpass, PGPASSWORD).

    \b
    From nothing to a worker:
      subagents cluster try                  see it work, on this machine alone
      subagents cluster init                 once, as the owner of a database
      subagents worker                       on each machine that is to work
      subagents cluster status               who works, what waits
      subagents run --on cluster "..."       hand a task to them
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"


@cluster.command("init")
@click.option(
    "--dsn",
    metavar="ADDRESS",
    default="",
    help="The database, where it is another than that of the environment. Everybody on this "
    "machine can read a command line: leave the password to ~/.pgpass.",
)
@options.json_option
@click.pass_obj
@options.refusals_in_json
def init(console: Console, *, dsn: str, as_json: bool) -> None:
    """
    Make a cluster in a database, or bring one up to date.

    Done twice, it changes nothing. The user of the address has to own the database, and to be
    allowed to create roles; where it may not, what somebody else has to type is printed.
    """
    operator = _operator(dsn)
    made = operator.make()
    if as_json:
        console.json(
            {
                "cluster": made.cluster_id,
                "version": made.version,
                "new": made.is_new,
                "rolesMade": list(made.roles_made),
                "address": operator.address.shown,
            }
        )
        return
    shown = operator.address.shown
    console.answer(messages.made(shown, made.version, made.roles_made, is_new=made.is_new))
    if made.is_new:
        console.progress(messages.NEXT_USERS)


@cluster.command("status")
@click.option(
    "--runs",
    type=click.IntRange(0, 1000),
    default=0,
    metavar="N",
    help="Show the latest N runs too (--json has 20 of them without this).",
)
@options.json_option
@click.pass_obj
@options.refusals_in_json
def status(console: Console, *, runs: int, as_json: bool) -> None:
    """Show workers and their load, what waits, rates, and what stands still."""
    operator = _operator()
    found = operator.overview(runs or (20 if as_json else 0))
    if as_json:
        console.json(found)
        return
    print_status(console, operator.address.shown, found)


@cluster.command("drain")
@click.argument("worker")
@click.option("--undo", is_flag=True, help="Have it take runs again, if it has not ended.")
@options.json_option
@click.pass_obj
@options.refusals_in_json
def drain(console: Console, *, worker: str, undo: bool, as_json: bool) -> None:
    """Have a worker (by its name or id) take no more runs, and end when it has none."""
    found = _operator().drain(worker, draining=not undo)
    if as_json:
        console.json({"workers": [{"id": each, "busy": busy} for each, busy in found]})
        return
    for each, busy in found:
        console.answer(messages.drained(each, busy, draining=not undo))


@cluster.command("requeue")
@click.argument("run")
@click.option("--force", is_flag=True, help="Take it from a worker that is alive.")
@options.json_option
@click.pass_obj
@options.refusals_in_json
def requeue(console: Console, *, run: str, force: bool, as_json: bool) -> int:
    """
    Have a run (the beginning of its id is enough) that was lost or stopped begin once more.

    A run that its caller was already told of as interrupted is not begun again: that one goes on
    with `subagents resume`.
    """
    found = _operator().requeue(run, force=force)
    if as_json:
        console.json({"runId": found.run_id, "was": found.was, "requeued": found.done})
    else:
        console.answer(messages.requeued(found.run_id[:SHORT], found.was, done=found.done))
    return 0 if found.done else 1


@cluster.command("prune")
@click.option(
    "--days",
    metavar="DAYS",
    type=FiniteRange(min=0, max=36_500),
    default=KEPT_DAYS,
    show_default=True,
    help="Remove what ended more than DAYS ago.",
)
@click.option("--yes", is_flag=True, help="Remove it; without this, nothing is changed.")
@options.json_option
@click.pass_obj
@options.refusals_in_json
def prune(console: Console, *, days: float, yes: bool, as_json: bool) -> None:
    """
    Show what the database keeps of runs that ended long ago; --yes removes it.

    Workers do the same by themselves after seven days. Run directories are not touched: they are
    on the machines of those who submitted.
    """
    operator = _operator()
    found = operator.prune(days) if yes else operator.prunable(days)
    if as_json:
        console.json(
            {"dryRun": not yes, "runs": found.runs, "packs": found.packs, "workers": found.workers}
        )
    elif found.runs or found.packs or found.workers:
        console.answer(messages.pruned(found.runs, found.packs, found.workers, done=yes))
        if not yes:
            console.answer(messages.PRUNES_NOTHING)
    else:
        console.answer(messages.NOTHING_TO_PRUNE)


cluster.add_command(try_)


def _operator(dsn: str = "") -> Operator:
    from pi_subagents.service.cluster.operating import Operator

    return Operator(Path.cwd(), os.environ, dsn)

"""`subagents worker`: take runs of a cluster on this machine, until a signal says otherwise."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console

DEFAULT_TAG = "default"


@click.command("worker")
@click.option(
    "-n",
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    help="Runs at once.",
)
@click.option(
    "--tags",
    default=DEFAULT_TAG,
    show_default=True,
    metavar="A,B",
    help="Whose runs it takes: a tag is a queue (subagents run --on cluster:TAG).",
)
@click.option("--name", default="", help="What it is called (default: this machine's name).")
@click.option(
    "--trust",
    "trusts",
    default="",
    metavar="ROLE,ROLE",
    help="Take orders of these roles of the database only (default: all that may submit).",
)
@click.option(
    "--shared-path",
    "shared",
    multiple=True,
    type=click.Path(file_okay=False, resolve_path=True, path_type=Path),
    help="A directory that callers have at the same path: their tasks may work in it.",
)
@click.pass_obj
def worker(
    console: Console,
    *,
    concurrency: int,
    tags: str,
    name: str,
    trusts: str,
    shared: tuple[Path, ...],
) -> None:
    """
    Take runs of a cluster on this machine.

    The cluster's database is named by PI_SUBAGENTS_CLUSTER, or by "cluster" under "subagents" in
    the global settings. Sub-agents run as this user, with this machine's pi, keys and logins, in
    worktrees of what the caller sent; nothing of the caller's environment comes along.
    SIGTERM or Ctrl+C: take no more runs, and end when those at work have ended; a second one ends
    them at once.

    \b
    Examples:
      subagents worker
      subagents worker -n 8 --tags gpu,big --trust ci
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    from pi_subagents.core.task.request import split_names
    from pi_subagents.service.cluster.working import WorkerOptions, run_worker

    options = WorkerOptions(name, concurrency, split_names(tags), split_names(trusts), shared)
    asyncio.run(run_worker(options, Path.cwd(), os.environ, console.notice))

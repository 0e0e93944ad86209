"""`subagents runs`: what ran here, and what is running."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.table import print_table

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.cli.console import Console

COLOURS = {"completed": "green", "failed": "red", "aborted": "yellow", "interrupted": "yellow"}
NEWEST = 20
NOTHING_YET = 'No runs here yet. Try: subagents run --offline "List the files"'
HEADINGS = ("RUN", "STATUS", "AGE", "DURATION", "TOKENS", "NAME")


@click.command("runs")
@click.option("--all", "show_all", is_flag=True, help="All of them, not only the newest 20.")
@click.option("--active", is_flag=True, help="Only those still running.")
@options.json_option
@click.pass_obj
def command(console: Console, *, show_all: bool, active: bool, as_json: bool) -> None:
    """
    List the runs of this project, newest first.

    The beginning of a RUN id is enough for `show` and `stop`.
    """
    from pi_subagents.errors import RunUnreadable
    from pi_subagents.service.runs import Runs

    found: list[RunRecord] = []
    for run in Runs().newest():
        if isinstance(run, RunUnreadable):
            console.notice(str(run))
        elif run.active or not active:
            found.append(run)
        if not show_all and len(found) >= NEWEST:
            break
    if as_json:
        console.json({"runs": [run_to_json(run) for run in found]})
    elif found:
        _table(console, found)
    else:
        console.answer("Nothing is running." if active else NOTHING_YET)


def run_to_json(run: RunRecord) -> dict[str, object]:
    """Return one run for a script."""
    from pi_subagents.core.usage import usage_to_json

    return {
        "runId": run.run_id,
        "sessionId": run.session_id,
        "name": run.name,
        "status": run.status,
        "createdAt": run.meta.created_at_ms,
        "durationMs": run.duration_ms,
        "usage": usage_to_json(run.usage),
        "errorMessage": run.error_message or None,
        "path": run.path,
    }


def _table(console: Console, found: list[RunRecord]) -> None:
    from pi_subagents.core.plain_text import one_line

    now = time.time() * 1000
    rows = [
        (
            run.run_id[:12],
            run.status,
            duration(now - run.meta.created_at_ms),
            duration(run.duration_ms) if run.duration_ms else "-",
            f"{run.usage.total_tokens:,}" if run.usage.total_tokens else "-",
            one_line(run.name, 50),
        )
        for run in found
    ]
    print_table(console, HEADINGS, rows, COLOURS)


def duration(milliseconds: float) -> str:
    """Return a length of time as people say it."""
    seconds = max(milliseconds, 0) / 1000
    if seconds < 60:  # noqa: PLR2004 - units of time
        return f"{seconds:.1f}s"
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    raise AssertionError

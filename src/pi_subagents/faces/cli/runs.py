"""`subagents runs`: what ran here, and what is running."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.table import print_table

if TYPE_CHECKING:
    from pi_subagents.delegation.run_view import RunView
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
    from pi_subagents.runs import Runs

    views: list[RunView] = []
    for view in Runs().newest():
        if isinstance(view, RunUnreadable):
            console.notice(str(view))
        elif view.active or not active:
            views.append(view)
        if not show_all and len(views) >= NEWEST:
            break
    if as_json:
        console.json({"runs": [run_to_json(view) for view in views]})
    elif views:
        _table(console, views)
    else:
        console.answer("Nothing is running." if active else NOTHING_YET)


def run_to_json(view: RunView) -> dict[str, object]:
    """Return one run for a script."""
    from pi_subagents.core.usage import usage_to_json

    return {
        "runId": view.run_dir.run_id,
        "sessionId": view.text("sessionId"),
        "name": view.text("name"),
        "status": view.status,
        "createdAt": view.created_at_ms,
        "durationMs": view.duration_ms,
        "usage": usage_to_json(view.usage),
        "errorMessage": view.error_message or None,
        "path": str(view.run_dir.path),
    }


def _table(console: Console, views: list[RunView]) -> None:
    from pi_subagents.core.plain_text import one_line

    now = time.time() * 1000
    rows = [
        (
            view.run_dir.run_id[:12],
            view.status,
            duration(now - view.created_at_ms),
            duration(view.duration_ms) if view.duration_ms else "-",
            f"{view.usage.total_tokens:,}" if view.usage.total_tokens else "-",
            one_line(view.text("name"), 50),
        )
        for view in views
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

"""`subagents watch`: all runs at a glance, live."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import messages, options
from pi_subagents.faces.cli.console import can_be_painted_on

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.fleet import Fleet


@click.command("watch")
@click.option("--everywhere", "machine", is_flag=True, help="Runs of all projects on this machine.")
@click.option("--web", is_flag=True, help="In a browser, on this machine only.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any free one",
    help="Port of the page.",
)
@click.option("--no-open", is_flag=True, help="Print the page's address, open no browser.")
@options.json_option
@click.pass_obj
def watch(
    console: Console, *, machine: bool, web: bool, port: int, no_open: bool, as_json: bool
) -> None:
    """
    Watch all runs of this project live, whoever started them.

    Sessions at work come first. Enter opens a transcript and follows it, `s` stops a
    run, `r` goes on with its session, `/` filters, `?` shows all keys. Leaving ends no run. Where
    there is no terminal, with TERM=dumb or with --json, the list is printed once.

    \b
    Examples:
      subagents watch
      subagents watch --everywhere --web
      subagents watch --json | jq '.totals'
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    if not web and (port or no_open):
        raise click.UsageError("--port and --no-open are for --web.")
    if as_json and web:
        raise click.UsageError("--json and --web contradict each other.")
    from pi_subagents.service import fleet as watching
    from pi_subagents.service.runs import Runs

    fleet = watching.Fleet(Runs(), machine=machine)
    if web:
        from pi_subagents.faces.watch.web import serve

        serve(console, fleet, port=port, open_browser=not no_open)
    elif as_json or not can_be_painted_on(sys.stdout):
        _print_once(console, fleet, machine=machine, as_json=as_json)
    else:
        from pi_subagents.faces.watch.app import WatchApp
        from pi_subagents.service.fleet_actions import FleetActions

        app = WatchApp(
            fleet, lambda tell: FleetActions(Path.cwd(), os.environ, tell), machine=machine
        )
        app.run()
        if app.failure is not None:
            raise app.failure


def _print_once(console: Console, fleet: Fleet, *, machine: bool, as_json: bool) -> None:
    from pi_subagents.faces.watch.once import print_json, print_list, today_ms

    rows = fleet.read_once()
    for problem in fleet.unreadable.values():
        console.notice(problem)
    if as_json:
        print_json(console, rows, today_ms())
        return
    now_ms = time.time_ns() // 1_000_000
    print_list(console, rows, now_ms=now_ms, today_ms=today_ms(), machine=machine)
    console.notice(messages.NOTHING_TO_PAINT_ON)

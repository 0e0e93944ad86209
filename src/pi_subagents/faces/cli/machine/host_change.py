"""
What `install` and `uninstall` have in common: their options, and a change that is shown and asked.

In: a planned change of a host's file.  Out: the file changed after a yes, on a terminal or by
`--yes`; otherwise nothing.  Where nobody can be asked, it is refused.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.machine.install_pi import PI
from pi_subagents.service.machine.host_files import DEFAULT_NAME, HOST_NAMES

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.faces.cli.options import Callback
    from pi_subagents.service.machine.host_files import HostEdit, HostFile


EXIT_DECLINED = 1
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def _checked_name(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not _NAME.fullmatch(value):
        raise click.BadParameter("1 to 64 letters, digits, hyphens and underscores.")
    return value


def host_options(command: Callback) -> Callback:
    """Add what both verbs take."""
    for decorate in (
        options.json_option,
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option(
            "--print", "only_print", is_flag=True, help="Only show it; nothing is written."
        ),
        click.option(
            "--name",
            default=DEFAULT_NAME,
            show_default=True,
            callback=_checked_name,
            help="Under which name the host knows the server.",
        ),
        click.option(
            "--project",
            is_flag=True,
            help="The file of this project, instead of yours for all of them.",
        ),
        click.argument("host", metavar="HOST", type=click.Choice([PI, *HOST_NAMES])),
    ):
        command = decorate(command)
    return command


def file_of(host: str, name: str, *, project: bool) -> HostFile:
    """Return the file that is meant."""
    from pi_subagents.service.machine.host_files import HostFile

    return HostFile(host, name, Path.cwd(), os.environ, project=project)


def show_difference(console: Console, change: HostEdit) -> None:
    """Write what would change, coloured where that is welcome."""
    from pi_subagents.core.plain_text import printable

    for line in change.difference():
        colour = _COLOURS.get(line[:1])
        safe = printable(line)
        console.beside(console.style(safe, sys.stderr, fg=colour) if colour else safe)
    if change.is_removal:
        console.progress(f"Nothing else is in {change.path}: it will be removed.")


def is_agreed(change: HostEdit, *, yes: bool) -> bool:
    """Ask whether the change may be made; refuse where nobody can answer."""
    from pi_subagents.core.plain_text import printable

    if yes:
        return True
    if not sys.stdin.isatty():
        raise click.UsageError(
            "Nobody can be asked: standard input is not a terminal. To change "
            f"{change.path}, add --yes; to see what would change, --print."
        )
    return click.confirm(printable(f"Change {change.path}?"), err=True)


def outcome_json(change: HostEdit, *, changed: bool, backup: Path | None) -> dict[str, Any]:
    """Return what was done, for a script."""
    return {
        "host": change.host,
        "name": change.name,
        "path": str(change.path),
        "changed": changed,
        "backup": str(backup) if backup else None,
    }

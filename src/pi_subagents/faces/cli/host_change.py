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
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pi_subagents.core.hosts import HOSTS, SERVER_NAME
from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.install_pi import PI

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.disk.host_files import Change
    from pi_subagents.faces.cli.console import Console

    Callback = TypeVar("Callback", bound="Callable[..., Any]")

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
            default=SERVER_NAME,
            show_default=True,
            callback=_checked_name,
            help="Under which name the host knows the server.",
        ),
        click.option(
            "--project",
            is_flag=True,
            help="The file of this project, instead of yours for all of them.",
        ),
        click.argument("host", metavar="HOST", type=click.Choice([PI, *HOSTS])),
    ):
        command = decorate(command)
    return command


def file_of(host: str, *, project: bool) -> Path:
    """Return the file that is meant."""
    from pi_subagents.disk.host_files import host_file

    return host_file(HOSTS[host], Path.cwd(), os.environ, project=project)


def show_difference(console: Console, change: Change) -> None:
    """Write what would change, coloured where that is welcome."""
    from pi_subagents.core.host_diff import diff_lines
    from pi_subagents.core.plain_text import printable

    shown = str(change.path)
    real = os.path.realpath(change.path)
    if change.path.is_symlink():
        shown = f"{shown} -> {real}"
    for line in diff_lines(change.before or "", change.after or "", shown):
        colour = _COLOURS.get(line[:1])
        safe = printable(line)
        console.beside(console.style(safe, sys.stderr, fg=colour) if colour else safe)
    if change.before is not None and change.after is None:
        console.progress(f"Nothing else is in {change.path}: it will be removed.")


def is_agreed(change: Change, *, yes: bool) -> bool:
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


def outcome_json(
    change: Change, *, name: str, changed: bool, backup: Path | None
) -> dict[str, Any]:
    """Return what was done, for a script."""
    return {
        "host": change.host.name,
        "name": name,
        "path": str(change.path),
        "changed": changed,
        "backup": str(backup) if backup else None,
    }

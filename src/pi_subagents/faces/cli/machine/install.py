"""
`subagents install` and `uninstall`: our MCP server in the configuration of a host, or out of it.

In: the name of a host.  Out: the host's own file with our entry or without it, after the change was
shown and agreed to, on a terminal or by `--yes`, and a copy of the old file beside it.  A change is
refused where nobody can be asked, and an entry of somebody else's is never touched.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.core.plain_text import printable
from pi_subagents.errors import McpNotInstalled
from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.machine import install_pi
from pi_subagents.service.machine.host_files import DEFAULT_NAME, HOST_NAMES, HostFile

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.faces.cli.options import Callback
    from pi_subagents.service.machine.host_files import HostEdit

EXIT_DECLINED = 1
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def _checked_name(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not _NAME.fullmatch(value):
        raise click.BadParameter("1 to 64 letters, digits, hyphens and underscores.")
    return value


def _host_options(command: Callback) -> Callback:
    """Add what both verbs take."""
    for decorate in (
        options.json_option,
        click.option("--yes", is_flag=True, help="Do not ask for confirmation."),
        click.option(
            "--print", "only_print", is_flag=True, help="Only show the change; write nothing."
        ),
        click.option(
            "--name",
            default=DEFAULT_NAME,
            show_default=True,
            callback=_checked_name,
            help="Name of the server in the host's configuration.",
        ),
        click.option(
            "--project",
            is_flag=True,
            help="Change this project's file instead of your own for all projects.",
        ),
        click.argument("host", metavar="HOST", type=click.Choice([install_pi.PI, *HOST_NAMES])),
    ):
        command = decorate(command)
    return command


@click.command("install")
@_host_options
@click.pass_obj
def install(
    console: Console,
    host: str,
    *,
    project: bool,
    name: str,
    only_print: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """
    Add our MCP server to the configuration of HOST, so that its agent can delegate.

    HOST is pi, claude-code, codex, cursor, vscode, zed, gemini, opencode or qwen-code.

    The change to the host's own file is shown first. A copy of the old file is kept beside it, and
    everything else in it stays as it is, comments included. Safe to repeat. In `pi` the extension
    is added as one of its packages instead: docs/pi.md.
    """
    if host == install_pi.PI:
        return install_pi.install(console, project=project, only_print=only_print, as_json=as_json)
    file = HostFile(host, name, Path.cwd(), os.environ, project=project)
    if only_print and as_json:
        console.json(file.facts())
        return 0
    if only_print:
        console.progress(f"For {file.path}:")
        console.answer(file.snippet().rstrip("\n"))
        return 0
    change = file.install()
    if not change.is_needed:
        there = f'"{name}" is already installed in {change.title}: {change.path}'
        return _report(console, change, there, as_json=as_json)
    _show_difference(console, change)
    if project:
        console.notice(
            "It contains a path on this machine: others who use the project need their own."
        )
    if not _is_agreed(console, change, yes=yes):
        return EXIT_DECLINED
    backup = change.apply()
    lines = [f'Installed "{name}" in {change.title}: {change.path}']
    lines += [f"The old file: {backup}"] if backup else []
    lines.append(f"Restart {change.title}, then check that it works: {change.check}")
    _report(console, change, *lines, changed=True, backup=backup, as_json=as_json)
    if not as_json and find_spec("mcp") is None:
        console.notice(str(McpNotInstalled()))
    return 0


@click.command("uninstall")
@_host_options
@click.pass_obj
def uninstall(
    console: Console,
    host: str,
    *,
    project: bool,
    name: str,
    only_print: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """
    Remove our MCP server from the configuration of HOST.

    HOST is pi, claude-code, codex, cursor, vscode, zed, gemini, opencode or qwen-code.

    The change is shown first, and a copy of the old file is kept beside it. Everything else in it
    stays as it is; a file that held only our entry, and is not a link, is removed. In `pi`, pi
    itself removes the extension.
    """
    if host == install_pi.PI:
        return install_pi.uninstall(
            console, project=project, only_print=only_print, as_json=as_json
        )
    change = HostFile(host, name, Path.cwd(), os.environ, project=project).uninstall()
    if not change.is_needed:
        absent = f'"{name}" is not installed in {change.title}: {change.path}'
        return _report(console, change, absent, as_json=as_json)
    _show_difference(console, change)
    if only_print:
        return _report(console, change, as_json=as_json)
    if not _is_agreed(console, change, yes=yes):
        return EXIT_DECLINED
    backup = change.apply()
    lines = (
        f'Removed "{name}" from {change.title}: {change.path}',
        f"The old file: {backup}",
    )
    return _report(console, change, *lines, changed=True, backup=backup, as_json=as_json)


def _show_difference(console: Console, change: HostEdit) -> None:
    for line in change.difference():
        colour = _COLOURS.get(line[:1])
        safe = printable(line)
        console.beside(console.style(safe, sys.stderr, fg=colour) if colour else safe)
    if change.is_removal:
        console.progress(f"{change.path} holds nothing else: it will be removed.")


def _is_agreed(console: Console, change: HostEdit, *, yes: bool) -> bool:
    """Ask whether the change may be made; refuse where nobody can answer."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"Cannot ask for confirmation without a terminal; add --yes to change {change.path}, "
            "or --print to see what would change."
        )
    agreed = click.confirm(printable(f"Change {change.path}?"), err=True)
    if not agreed:
        console.answer("Nothing was changed.")
    return agreed


def _report(
    console: Console,
    change: HostEdit,
    *lines: str,
    changed: bool = False,
    backup: Path | None = None,
    as_json: bool,
) -> int:
    """Print what was done, as lines for people or as an object for a script."""
    if as_json:
        console.json(
            {
                "host": change.host,
                "name": change.name,
                "path": str(change.path),
                "changed": changed,
                "backup": str(backup) if backup else None,
            }
        )
        return 0
    for line in lines:
        console.answer(line)
    return 0

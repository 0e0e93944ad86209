"""
`subagents install`: put our MCP server into the configuration of a host.

In: the name of a host.  Out: one entry more in the host's own file, after it was shown and agreed
to, and a copy of the old file beside it.  What is there already is left alone.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from pi_subagents.errors import McpNotInstalled
from pi_subagents.faces.cli.machine import host_change, install_pi
from pi_subagents.faces.cli.machine.host_change import EXIT_DECLINED, file_of, host_options

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.machine.host_files import HostEdit, HostFile


@click.command("install")
@host_options
@click.pass_obj
def command(
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
    Put our MCP server into the configuration of HOST, so that its agent can delegate.

    HOST is pi, claude-code, codex, cursor, vscode, zed, gemini, opencode or qwen-code.

    The change of the host's own file is shown first. The old file is kept beside it, and
    everything else in it stays as it is, comments included. Safe to repeat. `pi` gets the
    extension as one of its packages instead: docs/pi.md.
    """
    if host == install_pi.PI:
        return install_pi.install(console, project=project, only_print=only_print, as_json=as_json)
    file = file_of(host, name, project=project)
    if only_print:
        return _print_snippet(console, file, as_json=as_json)
    change = file.install()
    if not change.is_needed:
        return _tell(console, change, None, changed=False, as_json=as_json)
    host_change.show_difference(console, change)
    if project:
        console.notice(
            "It names a path of this machine: others who use the project need their own."
        )
    if not host_change.is_agreed(change, yes=yes):
        console.answer("Nothing was changed.")
        return EXIT_DECLINED
    backup = change.apply()
    return _tell(console, change, backup, changed=True, as_json=as_json)


def _print_snippet(console: Console, file: HostFile, *, as_json: bool) -> int:
    if as_json:
        console.json(file.facts())
        return 0
    console.progress(f"For {file.path}:")
    console.answer(file.snippet().rstrip("\n"))
    return 0


def _tell(
    console: Console,
    change: HostEdit,
    backup: Path | None,
    *,
    changed: bool,
    as_json: bool,
) -> int:
    if as_json:
        console.json(host_change.outcome_json(change, changed=changed, backup=backup))
        return 0
    name, title = change.name, change.title
    if not changed:
        console.answer(f'"{name}" is already installed in {title}: {change.path}')
        return 0
    console.answer(f'Installed "{name}" in {title}: {change.path}')
    if backup:
        console.answer(f"The old file: {backup}")
    console.answer(f"Restart {title}, then see whether it works: {change.check}")
    if find_spec("mcp") is None:
        console.notice(str(McpNotInstalled()))
    return 0

"""
`subagents uninstall`: take our MCP server out of the configuration of a host.

In: the name of a host.  Out: our entry gone from the host's own file, after it was shown and agreed
to, and a copy of the old file beside it.  An entry of somebody else's is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli.machine import host_change, install_pi
from pi_subagents.faces.cli.machine.host_change import EXIT_DECLINED, file_of, host_options

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.machine.host_files import HostEdit


@click.command("uninstall")
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
    Take our MCP server out of the configuration of HOST.

    HOST is pi, claude-code, codex, cursor, vscode, zed, gemini, opencode or qwen-code.

    The change is shown first, and the old file is kept beside it. Everything else in it stays as
    it is; a file that held nothing but our entry, and is no link, is removed. From `pi` the
    extension is removed, by pi itself.
    """
    if host == install_pi.PI:
        return install_pi.uninstall(
            console, project=project, only_print=only_print, as_json=as_json
        )
    change = file_of(host, name, project=project).uninstall()
    if change.is_needed:
        host_change.show_difference(console, change)
    if only_print or not change.is_needed:
        return _tell(console, change, None, only_print=only_print, as_json=as_json)
    if not host_change.is_agreed(change, yes=yes):
        console.answer("Nothing was changed.")
        return EXIT_DECLINED
    backup = change.apply()
    return _tell(console, change, backup, only_print=False, as_json=as_json)


def _tell(
    console: Console,
    change: HostEdit,
    backup: Path | None,
    *,
    only_print: bool,
    as_json: bool,
) -> int:
    changed = change.is_needed and not only_print
    if as_json:
        console.json(host_change.outcome_json(change, changed=changed, backup=backup))
    elif not change.is_needed:
        console.answer(f'"{change.name}" is not installed in {change.title}: {change.path}')
    elif changed:
        console.answer(f'Removed "{change.name}" from {change.title}: {change.path}')
        console.answer(f"The old file: {backup}")
    return 0

"""
`subagents install`: put our MCP server into the configuration of a host.

In: the name of a host.  Out: one entry more in the host's own file, after it was shown and agreed
to, and a copy of the old file beside it.  What is there already is left alone.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.core.hosts import HOSTS, SERVER_ARGUMENTS
from pi_subagents.errors import McpNotInstalled
from pi_subagents.faces.cli import host_change, install_pi
from pi_subagents.faces.cli.host_change import EXIT_DECLINED, file_of, host_options

if TYPE_CHECKING:
    from pi_subagents.disk.host_files import Change
    from pi_subagents.faces.cli.console import Console

PROGRAM = "subagents"


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
    from pi_subagents.disk.host_files import apply_change, plan_install

    argv = (*own_command(sys.argv[0], sys.executable), *SERVER_ARGUMENTS)
    path = file_of(host, project=project)
    if only_print:
        return _print_snippet(console, host, path, name, argv, as_json=as_json)
    change = plan_install(HOSTS[host], path, name, argv)
    if not change.is_needed:
        return _tell(console, change, name, None, changed=False, as_json=as_json)
    host_change.show_difference(console, change)
    if project:
        console.notice(
            "It names a path of this machine: others who use the project need their own."
        )
    if not host_change.is_agreed(change, yes=yes):
        console.answer("Nothing was changed.")
        return EXIT_DECLINED
    backup = apply_change(change)
    return _tell(console, change, name, backup, changed=True, as_json=as_json)


def own_command(invoked: str, python: str) -> tuple[str, ...]:
    """Return how to start this very installation again from anywhere."""
    beside_python = str(Path(python).parent / PROGRAM)
    for candidate in (invoked, beside_python):
        # Not the end of its links: those move when the package is upgraded.
        path = os.path.abspath(candidate)  # noqa: PTH100 - lexical
        if os.path.basename(path) == PROGRAM and os.access(path, os.X_OK) and os.path.isfile(path):  # noqa: PTH113, PTH119 - same
            return (path,)
    return (python, "-m", "pi_subagents")


def _print_snippet(
    console: Console, host: str, path: Path, name: str, argv: tuple[str, ...], *, as_json: bool
) -> int:
    from pi_subagents.core.host_entry import snippet

    text = snippet(HOSTS[host], name, argv)
    if as_json:
        console.json(
            {
                "host": host,
                "name": name,
                "path": str(path),
                "format": HOSTS[host].format,
                "command": list(argv),
                "entry": HOSTS[host].entry(argv),
                "snippet": text,
            }
        )
        return 0
    console.progress(f"For {path}:")
    console.answer(text.rstrip("\n"))
    return 0


def _tell(
    console: Console,
    change: Change,
    name: str,
    backup: Path | None,
    *,
    changed: bool,
    as_json: bool,
) -> int:
    if as_json:
        console.json(host_change.outcome_json(change, name=name, changed=changed, backup=backup))
        return 0
    title = change.host.title
    if not changed:
        console.answer(f'"{name}" is already installed in {title}: {change.path}')
        return 0
    console.answer(f'Installed "{name}" in {title}: {change.path}')
    if backup:
        console.answer(f"The old file: {backup}")
    console.answer(f"Restart {title}, then see whether it works: {change.host.check}")
    if find_spec("mcp") is None:
        console.notice(str(McpNotInstalled()))
    return 0

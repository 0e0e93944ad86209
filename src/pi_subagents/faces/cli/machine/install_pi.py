"""
`subagents install pi`, `uninstall pi` and `path pi-extension`: the extension as a package of pi.

In: the user's settings of pi or, with --project, this directory's.  Out: what they hold now.  pi
changes them itself; nobody is asked, since nothing but our own package is added or taken away.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import messages

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.machine.pi_extension import ExtensionOutcome, PiExtension

PI = "pi"


def install(console: Console, *, project: bool, only_print: bool, as_json: bool) -> int:
    """Make pi load the extension."""
    extension = _extension(project=project)
    if only_print:
        return _print(console, extension.install_commands())
    done = extension.install()
    if as_json:
        console.json({**_to_json(done), "rivals": list(done.rivals)})
        return 0
    console.answer(messages.pi_extension_installed(str(done.settings), str(done.folder)))
    console.answer(messages.PI_EXTENSION_NEXT)
    if project and not done.trusted:
        console.notice(messages.PI_PROJECT_NOT_TRUSTED)
    for rival in done.rivals:
        console.notice(messages.pi_rival_installed(rival))
    return 0


def uninstall(console: Console, *, project: bool, only_print: bool, as_json: bool) -> int:
    """Make pi load the extension no longer."""
    extension = _extension(project=project)
    if only_print:
        return _print(console, extension.remove_commands())
    done = extension.remove()
    if as_json:
        console.json(_to_json(done))
        return 0
    console.answer(messages.pi_extension_removed(str(done.settings), removed=done.changed))
    return 0


@click.command("path")
@click.argument("what", metavar="pi-extension", type=click.Choice(["pi-extension"]))
@click.pass_obj
def path(console: Console, *, what: str) -> None:
    """
    Print the path of the extension for pi, to try it once: pi -e "$(subagents path pi-extension)".

    To keep it: `subagents install pi`.
    """
    from pi_subagents.service.machine.pi_extension import extension_to_try

    del what  # there is only one so far
    console.answer(str(extension_to_try(os.environ)))


def _extension(*, project: bool) -> PiExtension:
    from pi_subagents.service.machine.pi_extension import PiExtension

    return PiExtension(Path.cwd(), os.environ, project=project)


def _print(console: Console, commands: list[list[str]]) -> int:
    for command in commands:
        console.answer(shlex.join(command))
    return 0


def _to_json(done: ExtensionOutcome) -> dict[str, object]:
    return {
        "host": PI,
        "path": str(done.settings),
        "folder": str(done.folder),
        "changed": done.changed,
    }

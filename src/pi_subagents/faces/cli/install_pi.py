"""
`subagents install pi` and `subagents uninstall pi`: the extension as a package of pi.

In: the user's settings of pi or, with --project, this directory's.  Out: what they say now.  pi
changes them itself; nobody is asked, since nothing but our own package is added or taken away.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import host_messages

if TYPE_CHECKING:
    from pi_subagents.engines.pi_packages import PiScope
    from pi_subagents.faces.cli.console import Console

PI = "pi"


def install(console: Console, *, project: bool, only_print: bool, as_json: bool) -> int:
    """Make pi load the extension."""
    from pi_subagents.disk.pi_extension import extension_dir, named_packages
    from pi_subagents.disk.project_trust import is_trusted
    from pi_subagents.engines.pi_packages import install_extension, package_command

    scope = _scope(project=project)
    if only_print:
        console.answer(shlex.join(package_command(scope, "install", extension_dir())))
        return 0
    before = named_packages(scope.settings, scope.env)
    named = install_extension(scope)
    if as_json:
        changed = before.ours != named.ours
        console.json({**_outcome(scope, changed=changed), "rivals": list(named.rivals)})
        return 0
    console.answer(host_messages.pi_extension_installed(str(named.path), str(extension_dir())))
    console.answer(host_messages.PI_EXTENSION_NEXT)
    if project and not is_trusted(scope.cwd, scope.env):
        console.notice(host_messages.PI_PROJECT_NOT_TRUSTED)
    for rival in named.rivals:
        console.notice(host_messages.pi_rival_installed(rival))
    return 0


def uninstall(console: Console, *, project: bool, only_print: bool, as_json: bool) -> int:
    """Make pi load the extension no longer."""
    from pi_subagents.disk.pi_extension import named_packages
    from pi_subagents.engines.pi_packages import package_command, uninstall_extension

    scope = _scope(project=project)
    if only_print:
        for folder in named_packages(scope.settings, scope.env).ours:
            console.answer(shlex.join(package_command(scope, "remove", folder)))
        return 0
    removed = uninstall_extension(scope)
    if as_json:
        console.json(_outcome(scope, changed=removed))
        return 0
    console.answer(host_messages.pi_extension_removed(str(scope.settings), removed=removed))
    return 0


def _outcome(scope: PiScope, *, changed: bool) -> dict[str, object]:
    from pi_subagents.disk.pi_extension import extension_dir

    return {
        "host": PI,
        "path": str(scope.settings),
        "folder": str(extension_dir()),
        "changed": changed,
    }


def _scope(*, project: bool) -> PiScope:
    from pi_subagents.disk.settings_files import load_settings
    from pi_subagents.engines.pi_command import resolve_pi_command
    from pi_subagents.engines.pi_packages import PiScope

    cwd = Path.cwd()
    settings, _ = load_settings(cwd, os.environ)
    pi = resolve_pi_command(os.environ, cwd, settings.pi_command)
    return PiScope(pi.argv, cwd, os.environ, project)

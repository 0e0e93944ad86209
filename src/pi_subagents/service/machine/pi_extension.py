"""
The extension as a package of pi: installed, removed, or tried once.

In: which settings of pi, the user's or this project's.  Out: what they hold now; pi changes them
itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.errors import PiNotFound
from pi_subagents.hosts.pi import packages
from pi_subagents.hosts.pi.extension import extension_dir, named_packages, remember_interpreter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@value
class ExtensionOutcome:
    """What pi's settings hold of the extension."""

    settings: Path
    folder: Path
    changed: bool
    trusted: bool  # whether pi loads what this project's settings name
    rivals: tuple[str, ...] = ()  # packages whose tools have the same names


class PiExtension:
    """The extension in the user's settings of pi, or in those of the project at `cwd`."""

    def __init__(self, cwd: Path, env: Mapping[str, str], *, project: bool) -> None:
        self._no_pi: PiNotFound | None = None
        try:
            self._scope = packages.scope_of(cwd, env, project=project)
        except PiNotFound as error:  # of no matter where the extension only has to go
            self._no_pi, self._scope = error, packages.PiScope((), cwd, env, project)

    def install_commands(self) -> list[list[str]]:
        """Return the commands that make pi load the extension."""
        if self._no_pi:
            raise self._no_pi
        return [packages.package_command(self._scope, "install", extension_dir())]

    def remove_commands(self) -> list[list[str]]:
        """Return the commands that make pi load it no longer."""
        if self._no_pi:
            raise self._no_pi
        named = named_packages(self._scope.settings, self._scope.env).ours
        return [packages.package_command(self._scope, "remove", folder) for folder in named]

    def install(self) -> ExtensionOutcome:
        """Make pi load the extension; PiPackageNotChanged where its settings say otherwise."""
        if self._no_pi:
            raise self._no_pi
        before = named_packages(self._scope.settings, self._scope.env)
        named = packages.install_extension(self._scope)
        return self._outcome(changed=before.ours != named.ours, rivals=named.rivals)

    def remove(self) -> ExtensionOutcome:
        """Make pi load it no longer, also where no pi is left that could be asked to."""
        if self._no_pi:
            return self._outcome(changed=packages.forget_extension(self._scope))
        return self._outcome(changed=packages.uninstall_extension(self._scope))

    def _outcome(self, *, changed: bool, rivals: tuple[str, ...] = ()) -> ExtensionOutcome:
        scope = self._scope
        return ExtensionOutcome(scope.settings, extension_dir(), changed, scope.is_trusted, rivals)


def extension_to_try(env: Mapping[str, str]) -> Path:
    """Return the folder of the extension, which then finds this Python."""
    remember_interpreter(env)
    return extension_dir()

"""
Put our MCP server into the configuration of a host, or take it out.

In: the name of a host, whose file is meant, and under which name the host knows the server.  Out: a
HostEdit that shows what would change; nothing is written before it is applied.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.hosts.catalogue import HOSTS, SERVER_ARGUMENTS, SERVER_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pi_subagents.hosts.files import HostChange

HOST_NAMES = tuple(HOSTS)
DEFAULT_NAME = SERVER_NAME
PROGRAM = "subagents"


@value
class HostEdit:
    """What would change in a host's file; the old one is kept beside it."""

    change: HostChange
    name: str  # under which the host knows the server
    host: str  # by the name we have for it
    title: str  # of the host, for people
    check: str  # how to see whether it works
    path: Path

    @property
    def is_needed(self) -> bool:
        """Return whether anything has to be written."""
        return self.change.is_needed

    @property
    def is_removal(self) -> bool:
        """Return whether nothing would be left in the file, so that it is removed."""
        return self.change.before is not None and self.change.after is None

    def difference(self) -> Iterable[str]:
        """Return what would change, line by line."""
        from pi_subagents.hosts.diff import diff_lines

        shown = str(self.path)
        if self.path.is_symlink():
            shown = f"{shown} -> {os.path.realpath(self.path)}"
        return diff_lines(self.change.before or "", self.change.after or "", shown)

    def apply(self) -> Path | None:
        """Write it, and return the copy of what was there, if anything was."""
        from pi_subagents.hosts.files import apply_change

        return apply_change(self.change)


class HostFile:
    """The file in which a host looks for its servers: the user's, or this project's."""

    def __init__(
        self, host: str, name: str, cwd: Path, env: Mapping[str, str], *, project: bool
    ) -> None:
        from pi_subagents.hosts.files import host_file

        self._host = HOSTS[host]
        self._name = name
        self.path = host_file(self._host, cwd, env, project=project)

    def install(self) -> HostEdit:
        """Return what puts our entry in; an entry that is not ours is refused."""
        from pi_subagents.hosts.files import plan_install

        return self._edit(plan_install(self._host, self.path, self._name, _server_command()))

    def uninstall(self) -> HostEdit:
        """Return what takes our entry out; an entry that is not ours is refused."""
        from pi_subagents.hosts.files import plan_uninstall

        return self._edit(plan_uninstall(self._host, self.path, self._name))

    def snippet(self) -> str:
        """Return our entry alone, as the file would have it."""
        from pi_subagents.hosts.entry import snippet

        return snippet(self._host, self._name, _server_command())

    def facts(self) -> dict[str, object]:
        """Return the entry's facts, for a script."""
        argv = _server_command()
        return {
            "host": self._host.name,
            "name": self._name,
            "path": str(self.path),
            "format": self._host.format,
            "command": list(argv),
            "entry": self._host.entry(argv),
            "snippet": self.snippet(),
        }

    def _edit(self, change: HostChange) -> HostEdit:
        host = change.host
        return HostEdit(change, self._name, host.name, host.title, host.check, change.path)


def own_command(invoked: str, python: str) -> tuple[str, ...]:
    """Return how to start this very installation again from anywhere."""
    beside_python = str(Path(python).parent / PROGRAM)
    for candidate in (invoked, beside_python):
        # Not the end of its links: those move when the package is upgraded.
        path = os.path.abspath(candidate)  # noqa: PTH100 - lexical
        if os.path.basename(path) == PROGRAM and os.access(path, os.X_OK) and os.path.isfile(path):  # noqa: PTH113, PTH119 - same
            return (path,)
    return (python, "-m", "pi_subagents")


def _server_command() -> tuple[str, ...]:
    return (*own_command(sys.argv[0], sys.executable), *SERVER_ARGUMENTS)

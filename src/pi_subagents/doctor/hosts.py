"""Check the hosts that start our MCP server: does the command in their files still exist."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from pi_subagents.disk.host_files import Configured, configured_hosts
from pi_subagents.doctor.check import Check, Place, Subject

if TYPE_CHECKING:
    from collections.abc import Mapping

HOSTS = Subject("mcp-hosts", "MCP hosts")


def check_hosts(place: Place) -> Check:
    """Tell which hosts start our server, and which of them name a command that is gone."""
    found = list(configured_hosts(place.cwd, place.env))
    unreadable = [each for each in found if each.problem]
    entries = [each for each in found if not each.problem]
    gone = [each for each in entries if not _exists(each, place.env)]
    titles = ", ".join(dict.fromkeys(each.host.title for each in entries)) or "none"
    if gone:
        return HOSTS.problem(
            "\n".join([titles, *(f"{each.path}: {each.argv[0]} is gone" for each in gone)]),
            "; ".join(dict.fromkeys(f"subagents install {each.host.name}" for each in gone)),
            public=f"{titles}; {len(gone)} with a command that is gone",
        )
    if unreadable:
        count = f"{len(unreadable)} file{'' if len(unreadable) == 1 else 's'}"
        return HOSTS.note(
            "\n".join([titles, *(f"{each.path}: {each.problem}" for each in unreadable)]),
            "Correct these files, if those hosts are to start our server.",
            public=f"{titles}; {count} cannot be read",
        )
    return HOSTS.ok(titles)


def _exists(entry: Configured, env: Mapping[str, str]) -> bool:
    """Tell whether a host would find the program, by its path or on PATH."""
    program = os.path.expanduser(entry.argv[0])  # noqa: PTH111 - text of a file, not yet a path
    return shutil.which(program, path=env.get("PATH", os.defpath)) is not None

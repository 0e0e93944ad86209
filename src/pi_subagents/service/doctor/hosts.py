"""Check the hosts that start our MCP server: does their command exist, and can it serve."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.check import Check, Subject
from pi_subagents.errors import McpNotInstalled
from pi_subagents.hosts.files import Configured, configured_hosts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.system.home import CheckedPlace

HOSTS = Subject("mcp-hosts", "MCP hosts")
NO_LIBRARY = "the library `mcp` is not installed here: `subagents mcp` cannot start"


def check_hosts(place: CheckedPlace) -> Check:
    """Tell which hosts start our server, and what keeps the server from starting."""
    found = list(configured_hosts(place.cwd, place.env))
    unreadable = [each for each in found if each.problem]
    entries = [each for each in found if not each.problem]
    gone = [each for each in entries if not _exists(each, place.env)]
    titles = ", ".join(dict.fromkeys(each.host.title for each in entries)) or "none"
    found_out = [f"{each.path}: {each.argv[0]} is gone" for each in gone]
    fixes = [f"subagents install {each.host.name}" for each in gone]
    public = [f"{len(gone)} with a command that is gone"] if gone else []
    if any(_is_ours(each, place.env) for each in entries) and find_spec("mcp") is None:
        found_out.append(NO_LIBRARY)
        fixes.append(str(McpNotInstalled()))
        public.append(NO_LIBRARY)
    if found_out:
        return HOSTS.problem(
            "\n".join([titles, *found_out]),
            "; ".join(dict.fromkeys(fixes)),
            public="; ".join([titles, *public]),
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
    return _program(entry, env) is not None


def _is_ours(entry: Configured, env: Mapping[str, str]) -> bool:
    """Tell whether a host starts this very installation: of others nothing is known here."""
    program = _program(entry, env)
    return program is not None and Path(program).resolve().parent == Path(sys.executable).parent


def _program(entry: Configured, env: Mapping[str, str]) -> str | None:
    """Return what a host would start, by its path or from PATH."""
    program = os.path.expanduser(entry.argv[0])  # noqa: PTH111 - text of a file, not yet a path
    return shutil.which(program, path=env.get("PATH", os.defpath))

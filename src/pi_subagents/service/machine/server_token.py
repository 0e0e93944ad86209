"""
The secret by which a host proves that it may talk to a server of ours: a private file.

In: where it is, if not in the data directory.  Out: the token, made on first use; TokenFileUnusable
where others could read it.
"""

from __future__ import annotations

import os
import secrets
import stat
from typing import TYPE_CHECKING

from pi_subagents.errors import TokenFileUnusable
from pi_subagents.service import messages
from pi_subagents.system.home import data_dir
from pi_subagents.system.safe_io import make_private_dirs, read_bounded, write_once

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TOKEN_NAME = "mcp-token"  # noqa: S105 - a file's name
_MOST = 1024
_LEAST = 16


def server_token(chosen: Path | None, env: Mapping[str, str]) -> tuple[Path, str]:
    """Return the file that counts, and the token in it."""
    path = chosen or data_dir(env) / TOKEN_NAME
    return path, access_token(path)


def access_token(path: Path) -> str:
    """Return the token in that file."""
    try:
        if not os.path.lexists(path):
            make_private_dirs(path.parent)
            write_once(path, f"{secrets.token_urlsafe(32)}\n".encode())  # or another was quicker
        facts = path.lstat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
            raise TokenFileUnusable(str(path), messages.NOT_A_PRIVATE_FILE)
        token = read_bounded(path, _MOST).decode("ascii").strip()
    except (OSError, ValueError) as error:
        raise TokenFileUnusable(str(path), str(error)) from error
    if len(token) < _LEAST or not token.isprintable() or " " in token:
        raise TokenFileUnusable(str(path), messages.token_too_short(_LEAST))
    return token

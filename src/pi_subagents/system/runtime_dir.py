"""
The directory for sockets: of this user alone, and with a path that is short enough for them.

In: an environment.  Out: a directory of mode 0700 that is ours, made if need be; RuntimeDirUnusable
where there is none.  What another user has put in its place is not used.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.errors import RuntimeDirUnusable
from pi_subagents.system.safe_io import make_private_dir

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The address of a socket has 108 bytes on Linux and 104 on macOS; a name in it takes up to 20.
MAX_PATH_BYTES = 80
SHARED = "/tmp"  # noqa: S108 - checked before it is used
_OTHERS = 0o077
_OTHERS_WRITE = 0o022


def runtime_dir(env: Mapping[str, str]) -> Path:
    """Return the first candidate that can be used."""
    tried = []
    for path in _candidates(env):
        if len(os.fsencode(path)) <= MAX_PATH_BYTES and _is_safe(path.parent) and _make(path):
            return path
        tried.append(str(path))
    raise RuntimeDirUnusable(tuple(tried))


def _candidates(env: Mapping[str, str]) -> Iterator[Path]:
    own = env.get("XDG_RUNTIME_DIR", "")
    if Path(own).is_absolute():
        yield Path(own) / "pi-subagents"
    for shared in (env.get("TMPDIR", ""), SHARED):
        if Path(shared).is_absolute():
            yield Path(shared) / f"pi-subagents-{os.geteuid()}"


def _is_safe(parent: Path) -> bool:
    """Return whether no other user can rename what we put there."""
    try:
        found = parent.stat()
    except OSError:
        return False
    ours_alone = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE
    return ours_alone or bool(found.st_mode & stat.S_ISVTX)


def _make(path: Path) -> bool:
    """Make the directory exist; return whether it is ours alone."""
    try:
        with suppress(FileExistsError):
            make_private_dir(path)
        found = path.lstat()
    except OSError:
        return False
    ours = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS
    return stat.S_ISDIR(found.st_mode) and ours

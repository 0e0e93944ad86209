"""
Notice that files and directories changed by looking at them again.

In: paths, at every look those that matter.  Out: which of them are different since the last look.
A look is one call of the kernel for each path; nothing is kept open or registered before.  A file
that is empty is as good as none: reading a database makes and removes such files.
"""

from __future__ import annotations

import stat
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Stamp = tuple[int, int, int]

# Times on disk move in steps of up to 10 ms: what changes twice within one seems to change once.
_STEP_NS = 20_000_000


class FileStamps:
    """What paths looked like at the last look."""

    def __init__(self) -> None:
        self._seen: dict[Path, Stamp | None] = {}

    def changed(self, paths: Iterable[Path]) -> set[Path]:
        """Return those that are different now, that are new to us, or that changed just now."""
        found = {path: _stamp(path) for path in paths}
        different = {path for path, stamp in found.items() if self._seen.get(path, ()) != stamp}
        just_now = time.time_ns() - _STEP_NS
        self._seen = {
            path: stamp
            for path, stamp in found.items()
            if stamp is None or not just_now < stamp[-1] < just_now + 2 * _STEP_NS
        }
        return different


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    if stat.S_ISREG(found.st_mode) and not found.st_size:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns

"""
The limit of children on this machine: a place is a locked file, and the kernel gives it back.

In: the directory of the places and how many there are.  Out: whether one is ours now, until we
leave it.  Whoever dies lets go of his place; nobody has to tidy up.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

POLL_S = 0.1
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class Slot:
    """One place among the children of this machine, for as long as it is wanted."""

    def __init__(self, directory: str, most: int) -> None:
        self._directory = directory
        self._most = most
        self._place: int | None = None

    def wait(self, pause: Callable[[float], bool]) -> bool:
        """Take the place, however long it takes; False once `pause` says not to wait longer."""
        if self._most == 0:
            return True
        try:
            while (place := take_slot(self._directory, self._most)) is None:
                if not pause(POLL_S):
                    return False
        except OSError:  # nowhere to count children: then they are not counted
            return True
        self._place = place
        return True

    def leave(self) -> None:
        """Give the place back, if there is one."""
        if self._place is not None:
            os.close(self._place)
            self._place = None


def take_slot(directory: str, most: int) -> int | None:
    """Return a held place, or None if there is none left; OSError where none can be made."""
    os.makedirs(directory, mode=0o700, exist_ok=True)  # noqa: PTH103 - a text, as specified
    for number in range(most):
        place = os.open(f"{directory}/{number}", _OPEN, 0o600)
        with suppress(BlockingIOError):
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return place
        os.close(place)
    return None

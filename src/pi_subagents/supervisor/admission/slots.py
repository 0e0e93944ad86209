"""
The limit of children on this machine: a slot is a locked file, which the kernel releases.

In: the directory of the slots and how many there are.  Out: whether one is ours now, until we
release it.  A process that dies releases its slot; nothing has to be tidied up.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_subagents.system.slots import acquire_slot

if TYPE_CHECKING:
    from collections.abc import Callable

POLL_S = 0.1


class Slot:
    """One slot among the children of this machine, for as long as it is wanted."""

    def __init__(self, directory: str, most: int) -> None:
        self._directory = directory
        self.most = most
        self._lock: int | None = None

    def acquire(self, pause: Callable[[float], bool]) -> bool:
        """Acquire the slot, however long it takes; False once `pause` returns that."""
        if self.most == 0 or self._lock is not None:
            return True
        try:
            while (lock := acquire_slot(self._directory, self.most)) is None:
                if not pause(POLL_S):
                    return False
        except OSError:  # nowhere to count children: then they are not counted
            return True
        self._lock = lock
        return True

    def release(self) -> None:
        """Release the slot, if there is one."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

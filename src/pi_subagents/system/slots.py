"""
Places of which there are only so many on this machine: each is a locked file.

A process that dies leaves its place, as the kernel releases the lock; nothing has to be tidied up.
"""

from __future__ import annotations

import os
from pathlib import Path

from pi_subagents.system.safe_io import acquire_lock


def acquire_slot(directory: str, most: int) -> int | None:
    """Return the lock of a slot, or None if there is none left; OSError where none can be made."""
    os.makedirs(directory, mode=0o700, exist_ok=True)  # noqa: PTH103 - a text, as specified
    slots = (acquire_lock(Path(directory) / str(number)) for number in range(most))
    return next((lock for lock in slots if lock is not None), None)

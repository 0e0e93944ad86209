"""
Whether there is room for one more child that waits: in memory, and among those that are guessed.

In: what a child is started from.  Out: an answer; a place that was claimed is ours until its
descriptor is closed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.system.slots import acquire_slot

if TYPE_CHECKING:
    from pi_subagents.store.local_order import LocalOrder

MAX_GUESSED = 8  # children of this user that wait for a task which is not yet written
MIN_FREE_BYTES = 512 * 1024 * 1024


def claim_guess(order: LocalOrder) -> int | None:
    """Return one of the few places for children that are started on a guess, if one is left."""
    return acquire_slot(str(Path(order.place.slots_dir).with_name("guessed")), MAX_GUESSED)


def memory_is_short() -> bool:
    """Return whether another idle process would be in the way; not where that is not known."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        available = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(available.split()[1]) * 1024 < MIN_FREE_BYTES
    except (OSError, ValueError, IndexError, StopIteration):
        return False

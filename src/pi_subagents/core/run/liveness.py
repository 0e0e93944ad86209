"""What can be said about a run from outside, before looking at what it did."""

from __future__ import annotations

from enum import Enum


class Liveness(Enum):
    """Proved, never assumed: by a lock that the kernel lets go of when its holder dies."""

    FINISHED = "finished"  # it has a result
    ALIVE = "alive"  # somebody answers for it: whoever planned it, or its supervisor
    LOST = "lost"  # whoever should have written a result is gone

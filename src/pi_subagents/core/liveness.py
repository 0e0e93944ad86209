"""What can be said about a run from outside, before looking at what it did."""

from __future__ import annotations

from enum import Enum


class Liveness(Enum):
    """Proved, never assumed: by a lock the kernel holds, or by an identity."""

    FINISHED = "finished"  # it has a result
    SUPERVISED = "supervised"  # a living supervisor holds its lock
    QUEUED = "queued"  # not started yet, and whoever planned it is alive
    LOST = "lost"  # whoever should have written a result is gone

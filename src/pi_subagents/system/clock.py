"""
The time of day as records have it: milliseconds since 1970.

Out: a number that jumps when somebody sets the clock; what waits counts by `time.monotonic`.
"""

from __future__ import annotations

import time


def now_ms() -> int:
    """Return the time of day."""
    return time.time_ns() // 1_000_000

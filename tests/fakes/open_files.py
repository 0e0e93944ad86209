"""What this process has open, as values that can be compared before and after."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress


def open_files() -> Counter[str]:
    """
    Count what the descriptors of this process lead to.

    Not their numbers: the look itself has one, and another thread can take it in between.
    """
    found: Counter[str] = Counter()
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the look's own
            found[os.readlink(f"/proc/self/fd/{number}")] += 1
    return found

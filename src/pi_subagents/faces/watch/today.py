"""When today began, where the user is."""

from __future__ import annotations

import time


def today_ms() -> int:
    """Return the last midnight of the local time zone."""
    now = time.localtime()
    midnight = (now.tm_year, now.tm_mon, now.tm_mday, 0, 0, 0, 0, 0, -1)
    return int(time.mktime(midnight)) * 1000

"""
Kill a process at one of the product's named points; callers and supervisors of tests begin here.

`CRASH_AT=<point>` kills the process that reaches the point with SIGKILL, and `CRASH_WHO=parent` its
parent instead (from a supervisor: its caller).
"""

from __future__ import annotations

import os
import signal

from pi_subagents.system import crash_points

POINT_VARIABLE = "CRASH_AT"
WHO_VARIABLE = "CRASH_WHO"
BEFORE_BOOT = (
    "import runpy, sys; sys.path.insert(0, sys.argv[1]); "
    f"runpy.run_path({__file__!r})['let_crash'](); "
)  # of a supervisor


def let_crash() -> None:
    """Let this process die at the point that its environment names, if it does."""
    wanted = os.environ.get(POINT_VARIABLE)
    victim = os.getppid() if os.environ.get(WHO_VARIABLE) == "parent" else os.getpid()

    def reach(point: str) -> None:
        # A parent that is gone was replaced by a process that has nothing to do with us.
        if point == wanted and victim in (os.getpid(), os.getppid()):
            os.kill(victim, signal.SIGKILL)

    vars(crash_points)["reach"] = reach

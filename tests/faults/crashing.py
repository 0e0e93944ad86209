"""
Kill a process at one of the product's named points; callers and supervisors of tests begin here.

`CRASH_AT=<point>` kills the process that reaches the point with SIGKILL, and `CRASH_WHO=parent` its
parent instead (from a supervisor: its caller).
"""

from __future__ import annotations

import os
import signal

from pi_subagents.system import crash_points
from pi_subagents.system.identity import process_state

POINT_VARIABLE = "CRASH_AT"
WHO_VARIABLE = "CRASH_WHO"
BEFORE_BOOT = (
    "import runpy, sys; sys.path.insert(0, sys.argv[1]); "
    f"runpy.run_path({__file__!r})['let_crash'](); "
)  # of a supervisor


def let_crash() -> None:
    """Let this process, and those it forks, die at the point that the environment names."""
    caller = os.getppid()  # also of the supervisors that a fork server makes

    def reach(point: str) -> None:
        if point != os.environ.get(POINT_VARIABLE):
            return
        if os.environ.get(WHO_VARIABLE) != "parent":
            os.kill(os.getpid(), signal.SIGKILL)
        # A caller that is gone was replaced by a process that has nothing to do with us.
        parent = os.getppid()
        above = process_state(parent)
        if caller == parent or (above is not None and caller == above.parent):
            os.kill(caller, signal.SIGKILL)

    vars(crash_points)["reach"] = reach

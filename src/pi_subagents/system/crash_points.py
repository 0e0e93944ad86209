"""
Named points at which the fault suite can kill us; outside of it they do nothing.

`PI_SUBAGENTS_CRASH_AT=<point>` kills the process that reaches the point with SIGKILL, and
`PI_SUBAGENTS_CRASH_WHO=parent` its parent instead (from a supervisor: the orchestrator).
"""

from __future__ import annotations

import os
import signal

POINT_VARIABLE = "PI_SUBAGENTS_CRASH_AT"
WHO_VARIABLE = "PI_SUBAGENTS_CRASH_WHO"

# Reached by the orchestrator, in this order.
DIR_MADE = "dir_made"
META_WRITTEN = "meta_written"
PLANNED = "planned"
INDEXED = "indexed"
SUPERVISOR_STARTED = "supervisor_started"
RESULT_READ = "result_read"
BEFORE_INDEX_UPDATE = "before_index_update"
# Reached by the supervisor, in this order.
LOCKED = "locked"
CHILD_SPAWNED = "child_spawned"
FIRST_EVENT = "first_event"
MID_LINE = "mid_line"
TOOL_CALL = "tool_call"
SETTLED = "settled"
CHILD_ENDED = "child_ended"
BEFORE_RESULT = "before_result"
AFTER_RESULT = "after_result"

_wanted = os.environ.get(POINT_VARIABLE)
_victim = os.getppid() if os.environ.get(WHO_VARIABLE) == "parent" else os.getpid()


def reach(point: str) -> None:
    """Die here if the fault suite asks for it."""
    # A parent that is gone was replaced by a process that has nothing to do with us.
    if point == _wanted and _victim in (os.getpid(), os.getppid()):
        os.kill(_victim, signal.SIGKILL)

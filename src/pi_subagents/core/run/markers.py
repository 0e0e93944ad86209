"""The environment variables by which processes of a run are known; they come with every child."""

from __future__ import annotations

CHILD_VARIABLE = "PI_SUBAGENTS_CHILD"  # 1: a sub-agent, which may not delegate
MARKER_VARIABLE = "PI_SUBAGENTS_RUN"  # the id of the run that the process was started for

"""
How a run in a cluster stands, as the database says it, and where a task is to run.

In: a row of the database, or the words of a caller.  Out: a RunState, or which workers are meant.
"""

from __future__ import annotations

import re

from pi_subagents.core.value import value

# Waiting for a worker; taken by one; at work with its prompt; and three ways to be over.
QUEUED, CLAIMED, BEGUN = ACTIVE = ("queued", "claimed", "begun")
ENDED, LOST, STOPPED = OVER = ("ended", "lost", "stopped")
# What a command to a run is.
STOP, KILL, STEER, ANSWER = COMMANDS = ("stop", "kill", "steer", "answer")

HERE, CLUSTER = "here", "cluster"
DEFAULT_TAG = "default"
_TAG = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@value
class RunState:
    """How a run stands in the cluster; times are the database's, in milliseconds since 1970."""

    run_id: str
    state: str
    attempt: int
    worker: str  # its name; empty where nobody has it
    host: str
    last_number: int  # of the pieces of this attempt
    result: bytes | None  # as ASCII JSON
    reason: str  # why it ended without a result
    submitted_ms: int
    begun_ms: int | None
    ended_ms: int | None
    behind: int  # how many runs of its tag come before it in the queue

    @property
    def is_over(self) -> bool:
        """Return whether nothing of it will change any more."""
        return self.state in OVER


def tag_of(words: str) -> str | None:
    """Return which workers `cluster[:tag]` means; None where it is something else."""
    kind, colon, tag = words.partition(":")
    if kind != CLUSTER or (colon and not _TAG.fullmatch(tag)):
        return None
    return tag or DEFAULT_TAG

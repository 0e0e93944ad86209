"""
How a run in a cluster stands, as the database says it, and where a task is to run.

In: a row of the database, or the words of a caller.  Out: a RemoteState, a Destination.
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
class RemoteState:
    """How one run stands at one look."""

    run_id: str
    state: str
    attempt: int = 0
    worker: str = ""  # what the worker is called, once one has the run
    begun_at_ms: int = 0  # by the clock of the database
    last_number: int = 0  # of the pieces that are there
    result: bytes | None = None  # `result.json` as the worker wrote it
    reason: str = ""  # why it has none

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

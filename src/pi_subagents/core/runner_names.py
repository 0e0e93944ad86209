"""
The runners there are: each name is also a module in `runners`, a setting and an option.

One that is elsewhere may be followed by a tag, which says which of its machines are meant.
"""

from __future__ import annotations

from pi_subagents.core.cluster.state import CLUSTER, tag_of

PROCESS = "process"
RUNNERS = (PROCESS, "tmux", CLUSTER)


def is_runner(words: str) -> bool:
    """Return whether a text names a runner, perhaps with a tag."""
    return words in RUNNERS or tag_of(words) is not None

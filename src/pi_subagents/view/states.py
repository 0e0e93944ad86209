"""
The words, signs and roles in which every screen says how a run stands.

In: a state of the core.  Out: the word that people read, its sign and the role of its colour.  The
seeds' tools have words of their own (`running`, `completed`, `error`); those are their business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.run.record import RunRecord

StateRole = Literal["quiet", "working", "good", "warning", "bad", "stopped", "lost"]


@value
class ShownState:
    """How a state is shown: nobody needs to see colours to tell one from another."""

    word: str
    sign: str
    role: StateRole


_RUNNING = ShownState("running", "●", "working")
_STATES: Mapping[str, ShownState] = {
    "planned": ShownState("waiting", "○", "quiet"),
    "starting": _RUNNING,
    "running": _RUNNING,
    "stopping": ShownState("stopping", "◌", "stopped"),
    "completed": ShownState("completed", "✓", "good"),
    "failed": ShownState("failed", "✗", "bad"),
    "aborted": ShownState("stopped", "■", "stopped"),
    "interrupted": ShownState("interrupted", "!", "lost"),
}
_WAITS = ShownState("waiting", "◔", "warning")
_ASKS = ShownState("asks", "?", "warning")
_NO_ANSWER = ShownState("completed", "⚠", "warning")


def shown_state(state: str, *, no_answer: bool = False) -> ShownState:
    """Return how a state is shown; a run that completed without an answer has a sign of its own."""
    if no_answer and state == "completed":
        return _NO_ANSWER
    return _STATES.get(state, _RUNNING)


def state_of(run: RunRecord) -> ShownState:
    """Return how the state of a run is shown."""
    if run.question is not None and run.status == "running":
        return _ASKS
    if run.why_it_waits:
        return _WAITS
    return shown_state(run.status, no_answer=run.no_answer)

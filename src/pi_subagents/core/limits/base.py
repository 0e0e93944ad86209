"""
What a limit is: something that may end a run, or make it hurry, by what it sees and the time.

Clock-free: a limit is told the time (monotonic seconds) and what happened, says when it next wants
to be asked, and what is to be done then.  No timers, no signals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.outcome import Cause


@value
class EndRun:
    """The run must end now."""

    cause: Cause
    why: str = ""  # where the cause alone does not say it


@value
class TellChild:
    """The child is to read a message now; `number` names it in the journal."""

    number: str
    text: str


@value
class Announce:
    """The run goes on beyond its time-out; whoever watches is to know."""

    text: str


Verdict = EndRun | TellChild | Announce


class Limit(Protocol):
    """One thing that may end or hold a run."""

    def saw(self, event: Event | None, now: float) -> None:
        """Note what the child did; None where it only gave a sign of life."""
        ...

    def deadline(self) -> float | None:
        """Return when it wants to be asked, unless something happens before."""
        ...

    def verdict(self, now: float) -> Verdict | None:
        """Return what is to be done now, if anything."""
        ...

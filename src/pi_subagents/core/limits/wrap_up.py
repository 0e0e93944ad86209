"""The word before a time-out: the child is told to finish with what it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.limits.base import TellChild
from pi_subagents.core.messages import WRAP_UP
from pi_subagents.core.run import events as ev

if TYPE_CHECKING:
    from pi_subagents.core.run.events import Event


class WrapUpLimit:
    """Tell the child to finish, once, some seconds before its time-out."""

    def __init__(self, *, started: float, timeout_s: float | None, before_s: float) -> None:
        wanted = timeout_s is not None and 0 < before_s < timeout_s
        self._due = started + timeout_s - before_s if wanted and timeout_s is not None else None

    def saw(self, event: Event | None, now: float) -> None:
        """Nothing that the child does changes it."""

    def deadline(self) -> float | None:
        """Return when the child is to be told, if it is yet to be."""
        return self._due

    def verdict(self, now: float) -> TellChild | None:
        """Tell the child, once."""
        if self._due is None or now < self._due:
            return None
        self._due = None
        return TellChild(ev.WRAP_UP, WRAP_UP)

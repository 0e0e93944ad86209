"""A switch that whoever waits can throw: stop, then force.  It only goes up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

RUNNING, STOPPING, FORCING = range(3)


class StopSwitch:
    """Shared by all runs of a delegation; listeners are called at every step up."""

    def __init__(self) -> None:
        self.level = RUNNING
        self._listeners: list[Callable[[int], None]] = []

    def stop(self) -> None:
        """Ask every run to end in good order, and start no other."""
        self._raise_to(STOPPING)

    def force(self) -> None:
        """End every run at once."""
        self._raise_to(FORCING)

    @property
    def thrown(self) -> bool:
        """Return whether somebody wants an end."""
        return self.level > RUNNING

    def listen(self, listener: Callable[[int], None]) -> Callable[[], None]:
        """Call the listener at every step, now too if one was taken; return how to leave."""
        self._listeners.append(listener)
        if self.level > RUNNING:
            listener(self.level)
        return lambda: self._listeners.remove(listener)

    def _raise_to(self, level: int) -> None:
        if level > self.level:
            self.level = level
            for listener in list(self._listeners):
                listener(level)

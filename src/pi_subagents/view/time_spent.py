"""
Where the time of a run went: with its model, and with which tools; and a length of time in words.

In: the events of its journal.  Out: TimeSpent, empty where the child reports no durations.  What a
script calls is part of the script's own call and not counted again; calls side by side count each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable


TENTHS_BELOW_MS = 10_000


@value
class ToolTime:
    """All calls of one tool."""

    name: str
    calls: int
    total_ms: int


@value
class TimeSpent:
    """How long the model and the tools took, those that took longest first."""

    model_ms: int = 0
    tools: tuple[ToolTime, ...] = ()

    @property
    def tools_ms(self) -> int:
        """The time of all tools together."""
        return sum(each.total_ms for each in self.tools)


def length(milliseconds: int) -> str:
    """Return a length of time as people say it: `3s`, `1m12s`, `2h5m`, `3d4h`."""
    seconds = max(milliseconds, 0) // 1000
    for size, unit, part, name in (
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "m"),
        (60, "m", 1, "s"),
    ):
        if seconds >= size:
            rest = seconds % size // part
            return f"{seconds // size}{unit}" + (f"{rest}{name}" if rest else "")
    return f"{seconds}s"


def part_length(milliseconds: int) -> str:
    """Return how long a part of something took, which may be less than a second: `0.4s`, `12s`."""
    if milliseconds < TENTHS_BELOW_MS:
        return f"{max(milliseconds, 0) / 1000:.1f}s"
    return length(milliseconds)


def age(milliseconds: float) -> str:
    """Return a length of time in one unit and at most four characters, for lists: `3s`, `12m`."""
    seconds = int(max(milliseconds, 0)) // 1000
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{min(seconds // size, 999)}{unit}"
    return f"{seconds}s"


def time_spent(events: Iterable[ev.Event]) -> TimeSpent:
    """Add up the durations of the events."""
    model_ms = 0
    tools: dict[str, ToolTime] = {}
    for event in events:
        match event:
            case ev.AssistantMessage():
                model_ms += event.duration_ms
            case ev.ToolFinished(name=name, parent_id="", duration_ms=took) if took:
                before = tools.get(name, ToolTime(name, 0, 0))
                tools[name] = ToolTime(name, before.calls + 1, before.total_ms + took)
    return TimeSpent(model_ms, tuple(sorted(tools.values(), key=lambda each: -each.total_ms)))

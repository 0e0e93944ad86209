"""
What definitions of two directories need beside reading: they are remembered, and told apart.

In: how to read something.  Out: it, remembered for five seconds, for callers that ask again and
again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from pathlib import Path

CACHE_S = 5.0
MAX_CACHED = 64

T = TypeVar("T")


class Recent(Generic[T]):
    """What was read less than five seconds ago, by what it was read for."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()

    def __len__(self) -> int:
        """Return how much is remembered."""
        return len(self._entries)

    def get(self, key: Hashable, now: float, read: Callable[[], T]) -> T:
        """Return what is remembered, or else read it."""
        if key in self._entries and now - self._entries[key][0] < CACHE_S:
            return self._entries[key][1]
        found = read()
        self._entries[key] = (now, found)
        self._entries.move_to_end(key)
        while len(self._entries) > MAX_CACHED:
            self._entries.popitem(last=False)  # the one that was read first
        return found

    def clear(self) -> None:
        """Forget everything: the next one to ask has it read again."""
        self._entries.clear()


def is_same_dir(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one directory, which then must not count twice."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False

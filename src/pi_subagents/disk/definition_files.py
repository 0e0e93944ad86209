"""
What two directories define together: the user's, and the project's in front of it.

In: what was read from each.  Out: one definition per name, what was overridden, and the problems of
all files; remembered for five seconds, for callers that ask again and again.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

from pi_subagents.core.definition import Loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from pathlib import Path
    from typing import Self

    from pi_subagents.core.definition import FileProblem
    from pi_subagents.disk.definition_dir import DefinitionsDir

CACHE_S = 5.0
MAX_CACHED = 64

L = TypeVar("L", bound=Loaded)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Definitions(Generic[L]):
    """What callers in a directory may name, in the order of the names."""

    by_name: Mapping[str, L]
    problems: tuple[FileProblem, ...] = ()
    overridden: tuple[L, ...] = ()

    @classmethod
    def merged(cls, user: DefinitionsDir[L], project: DefinitionsDir[L]) -> Self:
        """Put the project's in front of the user's, whole."""
        ours = {loaded.name: loaded for loaded in user.counting}
        theirs = {loaded.name: loaded for loaded in project.counting}
        return cls(
            by_name=MappingProxyType(dict(sorted({**ours, **theirs}.items()))),
            problems=(*user.problems, *project.problems),
            overridden=tuple(ours[name] for name in sorted(ours.keys() & theirs.keys())),
        )

    def get(self, name: str) -> L | None:
        """Return what has that name, if anything does."""
        return self.by_name.get(name)

    def get_overridden(self, name: str) -> L | None:
        """Return the user's own of that name, where the project's stands in front of it."""
        return next((loaded for loaded in self.overridden if loaded.name == name), None)


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
    """Tell whether two paths lead to one directory, which then must not count twice."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False

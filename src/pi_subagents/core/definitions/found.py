"""
What was found of one kind of definitions: in a file, in a directory, and in two of them together.

In: what was read.  Out: one definition per name, the project's in front of the user's, what was
overridden, and the problems of all files.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

from pi_subagents.core.definitions.definition import Loaded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from pi_subagents.core.definitions.definition import FileProblem

L = TypeVar("L", bound=Loaded)


@dataclass(frozen=True, slots=True)
class DefinitionFile(Generic[L]):
    """A file that defines something, and on which line each of its fields is."""

    loaded: L
    lines: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DefinitionsDir(Generic[L]):
    """What a directory holds: `files` are all that were read, `counting` has one per name."""

    files: tuple[DefinitionFile[L], ...] = ()
    counting: tuple[L, ...] = ()
    problems: tuple[FileProblem, ...] = ()


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

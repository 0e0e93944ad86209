"""Everything about a planned child that decides what it is, but for its prompt, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ChildShape:
    """Two children of the same shape could take each other's place."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)  # added to the caller's; may hold a key
    cwd: str
    trusted: bool
    texts: Mapping[str, bytes]  # files of its run that the arguments name, with their content
    isolation: str  # as its profile has it

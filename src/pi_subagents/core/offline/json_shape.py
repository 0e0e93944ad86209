"""
Take typed members out of a JSON object of a script, refusing by place.

In: one decoded JSON value and where it stands.  Out: members of the asked type, or
OfflineScriptError naming the member (`turns[2].error.status`).  Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.errors import OfflineScriptError

if TYPE_CHECKING:
    from collections.abc import Mapping


def index_path(where: str, index: int) -> str:
    """Return the place of a list's member."""
    return f"{where}[{index}]"


@value
class Shape:
    """A JSON object whose keys are all known; absent members have a neutral value."""

    where: str
    members: Mapping[str, object]

    @classmethod
    def of(cls, value: object, where: str, known: tuple[str, ...]) -> Shape:
        """Check that the value is an object that has only known keys."""
        if not isinstance(value, dict):
            raise OfflineScriptError(where, "must be an object")
        for key in value:
            if key not in known:
                raise OfflineScriptError(f"{where}.{key}", f"unknown; known: {', '.join(known)}")
        return cls(where, value)

    def __contains__(self, key: str) -> bool:
        return key in self.members

    def keys(self) -> tuple[str, ...]:
        """Return the keys that are there."""
        return tuple(self.members)

    def path(self, key: str) -> str:
        """Return the place of a member."""
        return f"{self.where}.{key}"

    def value(self, key: str) -> object:
        """Return a member as it stands."""
        return self.members.get(key)

    def require(self, key: str) -> None:
        """Refuse when the member is missing."""
        if key not in self.members:
            raise OfflineScriptError(self.path(key), "is missing")

    def text(self, key: str) -> str:
        """Return a string member, empty when absent."""
        value = self.members.get(key, "")
        if not isinstance(value, str):
            raise OfflineScriptError(self.path(key), "must be a string")
        return value

    def required_text(self, key: str) -> str:
        """Return a string member that must be there and not empty."""
        self.require(key)
        value = self.text(key)
        if not value:
            raise OfflineScriptError(self.path(key), "must not be empty")
        return value

    def flag(self, key: str) -> bool:
        """Return a boolean member, false when absent."""
        value = self.members.get(key, False)
        if not isinstance(value, bool):
            raise OfflineScriptError(self.path(key), "must be true or false")
        return value

    def whole(self, key: str, low: int, high: int) -> int:
        """Return a whole number within bounds; the lower bound when absent."""
        value = self.members.get(key, low)
        # bool is an int to Python, but `"delayMs": true` is a mistake
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise OfflineScriptError(self.path(key), f"must be a whole number, {low} to {high}")
        return value

    def list(self, key: str) -> list[object]:
        """Return a list member, empty when absent."""
        value = self.members.get(key, [])
        if not isinstance(value, list):
            raise OfflineScriptError(self.path(key), "must be a list")
        return value

"""
Take checked members out of a JSON object that came from another machine, refusing by place.

In: one decoded JSON value and where it stands.  Out: members of the asked type and size, or
OrderRefused that names the member.  What is not known is refused: it was meant to have an effect.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pi_subagents.core.cluster import messages
from pi_subagents.core.value import value
from pi_subagents.errors import OrderRefused

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

_SHOWN = 80


@value
class Members:
    """The members of one object; absent ones have a neutral value."""

    where: str
    content: Mapping[str, object]

    @classmethod
    def of(cls, given: object, where: str, known: Sequence[str]) -> Members:
        """Check that it is an object with known members only."""
        if not isinstance(given, dict):
            raise OrderRefused(where, messages.NEEDS_OBJECT)
        for key in given:
            if key not in known:
                raise OrderRefused(where, messages.unknown_member(str(key)[:_SHOWN]))
        return cls(where, given)

    def at(self, key: str) -> str:
        """Return the place of a member."""
        return f"{self.where}.{key}"

    def text(self, key: str, most: int, form: re.Pattern[str] | None = None) -> str:
        """Return a text of at most so many characters; one with a form has it, or is empty."""
        return checked_text(self.content.get(key, ""), self.at(key), most, form)

    def required(self, key: str, most: int, form: re.Pattern[str] | None = None) -> str:
        """Return a text that is there."""
        if not (found := self.text(key, most, form)):
            raise OrderRefused(self.at(key), messages.IS_MISSING)
        return found

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return a yes or no."""
        found = self.content.get(key, default)
        if not isinstance(found, bool):
            raise OrderRefused(self.at(key), messages.NEEDS_FLAG)
        return found

    def number(self, key: str, most: float, default: float = 0) -> float:
        """Return a number from 0 on."""
        return checked_number(self.content.get(key, default), self.at(key), most)

    def whole(self, key: str, most: int, default: int = 0) -> int:
        """Return a whole number from 0 on."""
        found = self.number(key, most, default)
        if not isinstance(found, int):
            raise OrderRefused(self.at(key), messages.NEEDS_WHOLE)
        return found

    def entries(self, key: str, most: int) -> list[tuple[str, object]]:
        """Return what a list holds, each with its place."""
        found = self.content.get(key, [])
        if not isinstance(found, list) or len(found) > most:
            raise OrderRefused(self.at(key), messages.needs_list(most))
        return [(f"{self.at(key)}[{index}]", each) for index, each in enumerate(found)]

    def texts(self, key: str, count: int, most: int) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(checked_text(each, where, most) for where, each in self.entries(key, count))

    def table(self, key: str, most: int) -> list[tuple[str, str, object]]:
        """Return what an object of any names holds: each place, name and value."""
        found = self.content.get(key, {})
        if not isinstance(found, dict) or len(found) > most:
            raise OrderRefused(self.at(key), messages.needs_table(most))
        names = [checked_text(name, self.at(key), messages.MAX_NAME) for name in found]
        return [(f"{self.at(key)}.{name}", name, found[name]) for name in names]


def checked_text(given: object, where: str, most: int, form: re.Pattern[str] | None = None) -> str:
    """Return a text that any program can store."""
    if not isinstance(given, str):
        raise OrderRefused(where, messages.NEEDS_TEXT)
    if len(given) > most:
        raise OrderRefused(where, messages.too_long(len(given), most))
    if "\0" in given or not _is_unicode(given):
        raise OrderRefused(where, messages.NEEDS_UNICODE)
    if given and form is not None and not form.fullmatch(given):
        raise OrderRefused(where, messages.HAS_WRONG_FORM)
    return given


def checked_number(given: object, where: str, most: float) -> float:
    """Return a number from 0 on."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise OrderRefused(where, messages.NEEDS_NUMBER)
    if not math.isfinite(given) or not 0 <= given <= most:
        raise OrderRefused(where, messages.out_of_range(most))
    return given


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

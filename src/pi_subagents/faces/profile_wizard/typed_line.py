"""
A line while it is typed: its text, the cursor, and which known answer is pointed at.

In: keys.  Out: the line after each, and what to paint of it.  Pure: no terminal is touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.core.value import replace, value

if TYPE_CHECKING:
    from pi_subagents.core.profile.questions import Text

MAX_OFFERED = 8


@value
class TypedLine:
    """`pointed` is the place of an offer among those that match, or None while one is typing."""

    question: Text
    text: str
    cursor: int
    pointed: int | None = None

    @classmethod
    def of(cls, question: Text) -> TypedLine:
        """Return a line that holds what was there before, the cursor behind it."""
        return cls(question, question.prefill, len(question.prefill))

    @property
    def matching(self) -> tuple[str, ...]:
        """The known answers that what is being typed could become."""
        _, typed = self._halves()
        taken = {item.strip() for item in self.text.split(",")} if self.question.is_list else set()
        sought = typed.strip().lower()
        return tuple(
            each for each in self.question.offers if sought in each.lower() and each not in taken
        )

    @property
    def offered(self) -> tuple[tuple[str, bool], ...]:
        """The few that are shown, and which of them is pointed at."""
        first = max((self.pointed or 0) - MAX_OFFERED + 1, 0)
        shown = enumerate(self.matching[first : first + MAX_OFFERED], first)
        return tuple((each, place == self.pointed) for place, each in shown)

    @property
    def ends_with_enter(self) -> bool:
        """Whether Enter answers; in a list it first takes what is pointed at."""
        return self.pointed is None or not self.question.is_list

    def answer(self) -> str:
        """Return what Enter submits."""
        return self.text if self.pointed is None else self._completed(self.pointed).text

    def after(self, key: str) -> TypedLine:
        """Return the line after one key; a key of no meaning changes nothing."""
        match key:
            case "up" | "down":
                return self._pointing(1 if key == "down" else -1)
            case "tab" | "enter":
                return self._completed(self.pointed or 0) if self.matching else self
            case "left":
                return replace(self, cursor=max(self.cursor - 1, 0))
            case "right":
                return replace(self, cursor=min(self.cursor + 1, len(self.text)))
            case "home":
                return replace(self, cursor=0)
            case "end":
                return replace(self, cursor=len(self.text))
            case "clear":
                return self._edited(0, len(self.text))
            case "backspace" if self.cursor:
                return self._edited(self.cursor - 1, self.cursor)
            case "delete":
                return self._edited(self.cursor, self.cursor + 1)
        if len(key) != 1 or printable(key) != key:
            return self
        return self._edited(self.cursor, self.cursor, key)

    def _edited(self, start: int, end: int, new: str = "") -> TypedLine:
        """Return the line with a new text in place of a part, the cursor behind it."""
        text = self.text[:start] + new + self.text[end:]
        return replace(self, text=text, cursor=start + len(new), pointed=None)

    def _pointing(self, step: int) -> TypedLine:
        count = len(self.matching)
        if not count:
            return self
        start = -1 if self.pointed is None and step > 0 else self.pointed or 0
        return replace(self, pointed=(start + step) % count)

    def _completed(self, place: int) -> TypedLine:
        before, _ = self._halves()
        text = f"{before} {self.matching[place]}" if before else self.matching[place]
        return self._edited(0, len(self.text), text)

    def _halves(self) -> tuple[str, str]:
        """Return what is complete, and what is being typed: in a list, the last item."""
        if not self.question.is_list:
            return "", self.text
        before, comma, typed = self.text.rpartition(",")
        fitting = [each for each in self.question.offers if typed.strip().lower() in each.lower()]
        if fitting == [typed.strip()]:  # nothing else can become of it: the next item begins
            return f"{self.text},", ""
        return f"{before}{comma}", typed

"""
What a model says in one message, bit by bit: some agents send a text in a hundred thousand bits.

In: texts.  Out: one text, as long as anybody reads, and whether more was said.  Its memory is that
of the text, however small the bits are.
"""

from __future__ import annotations

import io

MAX_ANSWER = 16 * 1024 * 1024  # characters; another engine's come in a line of 32 MiB at most


class Said:
    """The text of the message at hand."""

    def __init__(self) -> None:
        self._text = io.StringIO()
        self._length = 0

    def __bool__(self) -> bool:
        """Return whether anything was said."""
        return self._length > 0

    @property
    def text(self) -> str:
        """All that was said, up to the limit."""
        return self._text.getvalue()

    def add(self, text: str) -> bool:
        """Take a bit; return whether it is the first one that is cut."""
        room = MAX_ANSWER - self._length
        self._length += len(text)
        if room >= 0:
            self._text.write(text[:room])
        return room >= 0 and len(text) > room

    def clear(self) -> None:
        """Begin another message."""
        self._text, self._length = io.StringIO(), 0

"""
Read single keys from a terminal, and leave it as it was.

In: the descriptor of a terminal.  Out: one word per key (`up`, `enter`, `escape`, ...) or the
character that was typed.  Whatever ends the reading, the terminal's mode is restored.
"""

from __future__ import annotations

import codecs
import os
import select
import signal
import termios
import tty
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ESCAPE_S = 0.05  # how long the rest of a key's sequence may take; a lone Esc has none
ESCAPE = "\x1b"
# The last character of a sequence, or its number before `~`.
SEQUENCES = {
    "A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end",
    "Z": "back", "1": "home", "3": "delete", "4": "end", "7": "home", "8": "end",
}  # fmt: skip
CONTROLS = {
    "\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\b": "backspace",
    "\x03": "cancel", "\x04": "cancel", "\x01": "home", "\x05": "end", "\x15": "clear",
    "\x10": "up", "\x0e": "down",
}  # fmt: skip


@contextmanager
def key_mode(descriptor: int) -> Iterator[None]:
    """Have keys delivered one by one; also a signal that ends us restores what was."""
    before = termios.tcgetattr(descriptor)
    handlers = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        tty.setraw(descriptor, termios.TCSADRAIN)  # what was typed ahead counts
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


class Keys:
    """The keys of one terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self) -> str:
        """Wait for a key; a terminal that is gone cancels."""
        character = self._character()
        return self._sequence() if character == ESCAPE else CONTROLS.get(character, character)

    def _sequence(self) -> str:
        """Return what an escape sequence means; nothing if it is not known."""
        if not self._more():
            return "escape"
        if self._character() not in ("[", "O"):
            return ""
        number = ""
        while self._more():
            character = self._character()
            if character.isalpha() or character == "~":
                return SEQUENCES.get(number if character == "~" else character, "")
            number += character
        return ""

    def _more(self) -> bool:
        return bool(select.select([self._descriptor], [], [], ESCAPE_S)[0])

    def _character(self) -> str:
        while True:
            try:
                byte = os.read(self._descriptor, 1)
            except OSError:  # the other side of the terminal was closed
                byte = b""
            if not byte:
                return "\x04"
            if character := self._decoder.decode(byte):
                return character[-1]


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)

r"""
Own the terminal while windows are shown, understand its keys, and give it back as it was.

Opened a second time, for us alone, so that not waiting for it (O_NONBLOCK) concerns nobody else.
What is sent is never waited for until the end; a terminal that is gone swallows everything.
Ctrl+C stays a signal.  Ctrl+Z is a key: the screen has to be given back before we stand still.
Ctrl+\ is off: it would leave a shell on our screen.
"""

from __future__ import annotations

import errno
import os
import re
import select
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Key = Literal["suspend", "expand", "answer", "up", "down", "page up", "page down", "home", "end"]

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"  # a screen of our own, no cursor, no wrapping
_LEAVE = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
_FRAME = "\x1b[?2026h{}\x1b[?2026l"  # shown at once, where that is known; else passed over
_INPUT, _LOCAL, _CONTROL = 0, 3, 6  # places in what tcgetattr returns
_PIECE = 1024
_PATIENCE_S = 5.0  # nobody reads it any more: the command must end all the same
_KEYS: Mapping[bytes, Key] = {
    b"\x1a": "suspend",  # Ctrl+Z
    b"\x0f": "expand",  # Ctrl+O
    b"a": "answer",
    b"\x1b[A": "up", b"\x1bOA": "up", b"k": "up",
    b"\x1b[B": "down", b"\x1bOB": "down", b"j": "down",
    b"\x1b[5~": "page up", b"\x1b[6~": "page down", b" ": "page down",
    b"\x1b[H": "home", b"\x1bOH": "home", b"\x1b[1~": "home", b"\x1b[7~": "home", b"g": "home",
    b"\x1b[F": "end", b"\x1bOF": "end", b"\x1b[4~": "end", b"\x1b[8~": "end", b"G": "end",
}  # fmt: skip
_STROKE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO[@-~]|[^\x1b]|\x1b(?![\[O]|$)")
_BEGUN = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O)?\Z")
_LONGEST_KEY = 32


class Terminal:
    """A terminal, entered and left."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._waiting = b""
        self._before: list[Any] | None = None

    @property
    def entered(self) -> bool:
        """Whether the screen is ours."""
        return self._before is not None

    @property
    def busy(self) -> bool:
        """Whether it has not yet taken what it was sent."""
        return bool(self._waiting)

    @property
    def backlog(self) -> int:
        """Return how many bytes the terminal has not taken yet."""
        return len(self._waiting)

    def size(self) -> tuple[int, int]:
        """Return columns and rows; a terminal that knows neither has the usual ones."""
        try:
            columns, rows = os.get_terminal_size(self.descriptor)
        except OSError:
            columns = rows = 0
        return columns or 80, rows or 24

    def enter(self) -> None:
        """Take the screen and the keys."""
        self._before = termios.tcgetattr(self.descriptor)
        ours = termios.tcgetattr(self.descriptor)
        ours[_INPUT] &= ~termios.IXON
        ours[_LOCAL] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
        off = bytes([os.fpathconf(self.descriptor, "PC_VDISABLE")])
        ours[_CONTROL][termios.VSUSP] = ours[_CONTROL][termios.VQUIT] = off
        ours[_CONTROL][termios.VMIN], ours[_CONTROL][termios.VTIME] = 1, 0
        termios.tcsetattr(self.descriptor, termios.TCSANOW, ours)
        self._send(_ENTER)

    def show(self, text: str) -> None:
        """Send what changes on the screen, as one."""
        self._send(_FRAME.format(text))

    def clear(self) -> None:
        """Wipe the screen."""
        self._send("\x1b[2J")

    def flush(self) -> None:
        """Send more of what is waiting, as much as the terminal takes now."""
        try:
            while self._waiting:
                self._waiting = self._waiting[os.write(self.descriptor, self._waiting) :]
        except OSError as error:
            if error.errno != errno.EAGAIN:
                self._waiting = b""  # nobody is there any more

    def read(self) -> bytes | None:
        """Return what was typed, or None once nothing ever will be."""
        try:
            return os.read(self.descriptor, _PIECE) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def leave(self, last_words: str) -> None:
        """Give screen and keys back, and leave a text behind, for as long as it is being read."""
        self._send(_LEAVE + last_words)
        give_up_at = time.monotonic() + _PATIENCE_S
        while self.busy and (left_s := give_up_at - time.monotonic()) > 0:
            waiting = len(self._waiting)
            select.select([], [self.descriptor], [], left_s)
            self.flush()
            if len(self._waiting) < waiting:
                give_up_at = time.monotonic() + _PATIENCE_S
        with suppress(termios.error):  # a terminal that is gone has no modes
            termios.tcsetattr(self.descriptor, termios.TCSANOW, self._before or [])
        self._before = None

    def close(self) -> None:
        """Close our descriptor of it."""
        os.close(self.descriptor)

    def _send(self, text: str) -> None:
        self._waiting += text.encode("utf-8", "replace")
        self.flush()


def open_terminal(stream_descriptor: int) -> Terminal | None:
    """Open the terminal behind a stream, if it is one that is ours to paint on."""
    try:
        path = os.ttyname(stream_descriptor)
        descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        in_foreground = os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:  # not the terminal of this session: nobody's keys
        in_foreground = False
    if in_foreground:
        return Terminal(descriptor)
    os.close(descriptor)
    return None


class KeyReader:
    """Turn input, in pieces of any size, into the keys that mean something here."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Key]:
        """Return the keys that are complete now."""
        data = self._rest + data
        begun = _BEGUN.search(data)
        self._rest = begun.group() if begun and len(begun.group()) < _LONGEST_KEY else b""
        strokes = _STROKE.findall(data[: len(data) - len(self._rest)])
        return [_KEYS[stroke] for stroke in strokes if stroke in _KEYS]

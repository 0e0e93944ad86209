"""
Understand the keys a person presses while windows are shown.

In: bytes as the terminal sends them, in pieces of any size.  Out: the keys that mean something
here; whatever else is typed is passed over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Key = Literal["suspend", "expand", "up", "down", "page up", "page down", "home", "end"]

_KEYS: Mapping[bytes, Key] = {
    b"\x1a": "suspend",  # Ctrl+Z
    b"\x0f": "expand",  # Ctrl+O
    b"\x1b[A": "up", b"\x1bOA": "up", b"k": "up",
    b"\x1b[B": "down", b"\x1bOB": "down", b"j": "down",
    b"\x1b[5~": "page up", b"\x1b[6~": "page down", b" ": "page down",
    b"\x1b[H": "home", b"\x1bOH": "home", b"\x1b[1~": "home", b"\x1b[7~": "home", b"g": "home",
    b"\x1b[F": "end", b"\x1bOF": "end", b"\x1b[4~": "end", b"\x1b[8~": "end", b"G": "end",
}  # fmt: skip
_STROKE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO[@-~]|[^\x1b]|\x1b(?![\[O]|$)")
_BEGUN = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O)?\Z")
_LONGEST = 32


class KeyReader:
    """Turn pieces of input into keys."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Key]:
        """Return the keys that are complete now."""
        data = self._rest + data
        begun = _BEGUN.search(data)
        self._rest = begun.group() if begun and len(begun.group()) < _LONGEST else b""
        strokes = _STROKE.findall(data[: len(data) - len(self._rest)])
        return [_KEYS[stroke] for stroke in strokes if stroke in _KEYS]

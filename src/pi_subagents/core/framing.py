"""
Cut a byte stream into lines at LF, and only at LF.

In: chunks of any size, cut anywhere.  Out: Line (without its LF and one CR before it) or
Skipped (a line longer than the limit, never held in memory).  Splitting before decoding
keeps characters whole that straddle two chunks; U+2028 and its kin are ordinary text.
"""

from __future__ import annotations

from pi_subagents.core.value import value

MAX_LINE_BYTES = 32 * 1024 * 1024


@value
class Line:
    """One whole line; `terminated` is false for a last line the stream never ended."""

    data: bytes
    terminated: bool = True


@value
class Skipped:
    """A line over the limit, passed over unread."""

    size: int


Frame = Line | Skipped


class LineFramer:
    """Hold at most one unfinished line, and at most `max_line_bytes` of it."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max = max_line_bytes
        # One buffer, not a list of pieces: a line that drips in costs no more than its bytes.
        self._line = bytearray()
        self._size = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the lines that this chunk completes."""
        *ended, rest = chunk.split(b"\n")
        frames = [self._finish(part) for part in ended]
        self._hold(rest)
        return frames

    @property
    def empty(self) -> bool:
        """Tell whether no line is unfinished."""
        return not self._size

    def end(self) -> list[Frame]:
        """Return what the stream left unterminated, if anything."""
        if not self._size:
            return []
        frame = self._finish(b"")
        return [Line(frame.data, terminated=False)] if isinstance(frame, Line) else [frame]

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._max:
            self._line.clear()
        else:
            self._line += part

    def _finish(self, part: bytes) -> Frame:
        if self._size:
            self._hold(part)
            part, size = bytes(self._line), self._size
            self._line.clear()
            self._size = 0
        else:
            size = len(part)
        return Skipped(size) if size > self._max else Line(part.removesuffix(b"\r"))

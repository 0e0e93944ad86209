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


class LineSieve:
    """
    Leave lines out of a byte stream by how they begin; everything else passes as it is.

    At most as many bytes as the longest beginning has are held back.
    """

    def __init__(self, *beginnings: bytes) -> None:
        self._beginnings = beginnings
        self._held = b""  # the first bytes of a line that may still be one of those
        self._dropping: bool | None = None  # the line at hand; None: not yet known

    def feed(self, chunk: bytes) -> bytes:
        """Return what passes of the stream so far."""
        *ended, rest = chunk.split(b"\n")
        passed = [self._take(line + b"\n") for line in ended]
        return b"".join([*passed, self._take(rest)] if rest else passed)

    def end(self) -> bytes:
        """Return what was held back when the stream ended."""
        held, self._held = self._held, b""
        return held

    def _take(self, piece: bytes) -> bytes:
        if self._dropping is None:
            piece, self._held = self._held + piece, b""
            self._dropping = piece.startswith(self._beginnings)
            if not self._dropping and any(each.startswith(piece) for each in self._beginnings):
                self._held, self._dropping = piece, None
                return b""
        dropping = self._dropping
        if piece.endswith(b"\n"):
            self._dropping = None
        return b"" if dropping else piece


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
        """Return whether no line is unfinished."""
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

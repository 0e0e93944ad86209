"""
Cut a byte stream into lines at LF, and only at LF.

In: chunks of any size, cut anywhere.  Out: Line (without its LF and one CR before it) or
Skipped (a line longer than the limit, never held in memory).  Splitting before decoding
keeps characters whole that straddle two chunks; U+2028 and its kin are ordinary text.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_LINE_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """One whole line; `terminated` is false for a last line the stream never ended."""

    data: bytes
    terminated: bool = True


@dataclass(frozen=True, slots=True)
class Skipped:
    """A line over the limit, passed over unread."""

    size: int


Frame = Line | Skipped


class LineFramer:
    """Hold at most one unfinished line, and at most `max_line_bytes` of it."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max = max_line_bytes
        self._pieces: list[bytes] = []
        self._held = 0
        self._skipping = False

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the lines that this chunk completes."""
        *ended, rest = chunk.split(b"\n")
        frames = [self._finish(part) for part in ended]
        if rest:
            self._hold(rest)
        return frames

    def end(self) -> list[Frame]:
        """Return what the stream left unterminated, if anything."""
        if not self._held:
            return []
        frame = self._finish(b"")
        return [Line(frame.data, terminated=False)] if isinstance(frame, Line) else [frame]

    def _hold(self, part: bytes) -> None:
        self._held += len(part)
        if self._skipping or self._held > self._max:
            self._skipping = True
            self._pieces.clear()
        else:
            self._pieces.append(part)

    def _finish(self, part: bytes) -> Frame:
        self._hold(part)
        size, skipping = self._held, self._skipping
        data = b"" if skipping else b"".join(self._pieces)
        self._pieces.clear()
        self._held = 0
        self._skipping = False
        return Skipped(size) if skipping else Line(data.removesuffix(b"\r"))

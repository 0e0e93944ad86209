"""
Hear of changes in a few directories without looking at them again and again.

In: directories.  Out: what changed in which, as soon as it did; waiting costs nothing.  On Linux
the kernel tells (inotify); elsewhere, or where it has no watch left for us, every two seconds
counts as news of everything.  One thread watches and waits; any other may wake it.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["written", "closed", "entry"]  # content, end of writing, a name came or went

POLL_S = 2.0
_READ_BYTES = 64 * 1024
_MODIFY, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x2, 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_OVERFLOW, _IGNORED, _ONLY_DIRECTORIES, _NO_LINKS = 0x4000, 0x8000, 0x1000000, 0x2000000
_MASK = (
    _MODIFY | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF
    | _MOVE_SELF | _ONLY_DIRECTORIES | _NO_LINKS
)  # fmt: skip
_RECORD = struct.Struct("iIII")


@dataclass(frozen=True, slots=True)
class Change:
    """Something happened to a name in a directory, or to the directory itself (an empty name)."""

    directory: Path
    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class News:
    """What changed; `everything` where it is not known what did."""

    changes: frozenset[Change] = frozenset()
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """One record of the kernel."""

    watch: int
    mask: int
    name: str


def parse_records(data: bytes) -> list[Record]:
    """Return the whole records of a piece that was read; a torn one at its end is passed over."""
    found = []
    place = 0
    while place + _RECORD.size <= len(data):
        watch, mask, _, length = _RECORD.unpack_from(data, place)
        place += _RECORD.size
        name = data[place : place + length]
        if len(name) < length:
            break
        place += length
        found.append(Record(watch, mask, os.fsdecode(name.split(b"\0", 1)[0])))
    return found


class FileNews:
    """Ears for directories."""

    def __init__(self, *, poll: bool = False) -> None:
        self._inotify = None if poll else _Inotify.open()
        self._polled: set[Path] = set()
        self._next_poll = 0.0
        self._wake_in, self._wake_out = os.pipe()
        for descriptor in (self._wake_in, self._wake_out):
            os.set_blocking(descriptor, False)
        self._closed = False
        self._closing = threading.Lock()
        self._ears = select.poll()
        self._ears.register(self._wake_in, select.POLLIN)
        if self._inotify is not None:
            self._ears.register(self._inotify.fd, select.POLLIN)

    def watch(self, directory: Path) -> None:
        """Hear of a directory; one that is not there is passed over."""
        try:
            if self._inotify is not None:
                self._inotify.add(directory)
                return
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:  # no watches left, or not on this file system
            pass
        if not self._polled:
            self._next_poll = time.monotonic() + POLL_S
        self._polled.add(directory)

    def forget(self, directory: Path) -> None:
        """Hear no more of a directory."""
        self._polled.discard(directory)
        if self._inotify is not None:
            self._inotify.remove(directory)

    def wait(self, timeout_s: float | None = None) -> News:
        """Return what changed since the last call, waiting for it; nothing when woken or late."""
        if self._closed:
            return News()
        limit = self._patience(timeout_s)
        heard = {number for number, _ in self._ears.poll(None if limit is None else limit * 1000)}
        if self._wake_in in heard:
            os.read(self._wake_in, _READ_BYTES)
        told = News()
        if self._inotify is not None and self._inotify.fd in heard:
            told = self._inotify.news()
        return News(told.changes, everything=self._poll_is_due() or told.everything)

    def _patience(self, timeout_s: float | None) -> float | None:
        if not self._polled:
            return timeout_s
        left = max(self._next_poll - time.monotonic(), 0)
        return left if timeout_s is None else min(left, timeout_s)

    def _poll_is_due(self) -> bool:
        """Tell so once, however much is heard of other directories meanwhile."""
        now = time.monotonic()
        if not self._polled or now < self._next_poll:
            return False
        self._next_poll = now + POLL_S
        return True

    def wake(self) -> None:
        """Let whoever waits go on."""
        # Once closed, the number could be that of somebody else's file.
        with self._closing, suppress(BlockingIOError):  # a full pipe wakes as well
            if not self._closed:
                os.write(self._wake_out, b"!")

    def close(self) -> None:
        """Let go of everything; nobody may be waiting any more."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            os.close(self._wake_in)
            os.close(self._wake_out)
            if self._inotify is not None:
                os.close(self._inotify.fd)


class _Inotify:
    """The kernel's ears: three calls of the C library, and records to be read."""

    def __init__(self, descriptor: int, library: ctypes.CDLL) -> None:
        self.fd = descriptor
        self._library = library
        self._watches: dict[int, Path] = {}
        self._numbers: dict[Path, int] = {}

    @classmethod
    def open(cls) -> _Inotify | None:
        """Return ears, or None where there are none to be had."""
        if sys.platform != "linux":
            return None
        library = ctypes.CDLL(None, use_errno=True)
        if not hasattr(library, "inotify_init1"):
            return None
        descriptor = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        return None if descriptor < 0 else cls(descriptor, library)

    def add(self, directory: Path) -> None:
        number = self._library.inotify_add_watch(self.fd, os.fsencode(directory), _MASK)
        if number < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(directory))
        self._watches[number] = directory
        self._numbers[directory] = number

    def remove(self, directory: Path) -> None:
        number = self._numbers.pop(directory, None)
        if number is not None:
            self._watches.pop(number, None)
            # It is gone by itself, if its directory is.
            self._library.inotify_rm_watch(self.fd, number)

    def news(self) -> News:
        """Read what is there."""
        changes: set[Change] = set()
        everything = False
        try:
            while data := os.read(self.fd, _READ_BYTES):
                for record in parse_records(data):
                    everything |= bool(record.mask & _OVERFLOW)
                    if (change := self._change(record)) is not None:
                        changes.add(change)
        except BlockingIOError:
            pass
        return News(frozenset(changes), everything)

    def _change(self, record: Record) -> Change | None:
        directory = self._watches.get(record.watch)
        if directory is None:
            return None
        if record.mask & _IGNORED:
            self._watches.pop(record.watch, None)
            self._numbers.pop(directory, None)
            return Change(directory, "", "entry")
        return Change(directory, record.name, _kind(record.mask))


def _kind(mask: int) -> Kind:
    if mask & _CLOSE_WRITE:
        return "closed"
    return "written" if mask & _MODIFY else "entry"

"""
Write what a worker sends of a run into the run's directory here, once and in order.

In: pieces as the database gives them, and how the run stands.  Out: the same files as of a run of
this machine, and its result.  One process mirrors a run at a time; what was written stays noted on
the desk, so that whoever looks next goes on from there, and what is written twice is the same.

The files of a second attempt go behind those of the first.  Where the run's directory was taken
away, it gets another, and everything comes again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from pi_subagents.core.cluster.record import GROWING, QUESTIONS, follow_on, is_sound
from pi_subagents.core.run.files import CHILD_SESSION, EVENTS
from pi_subagents.core.value import as_dict, replace, value
from pi_subagents.store.remote.note import read_note, write_note
from pi_subagents.store.rescue import ensure_dir
from pi_subagents.system import safe_io

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pi_subagents.core.cluster.record import FilePiece
    from pi_subagents.core.cluster.state import RunState
    from pi_subagents.store.remote.note import RemoteNote
    from pi_subagents.store.run_dir import RunDir

SCHEMA_VERSION = 1
_LOCK, _STATE = "mirror.lock", "mirror.json"
_MAX_BYTES = 64 * 1024
_HOW = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@value
class Mirrored:
    """How far a run's files are here."""

    attempt: int = 0
    number: int = 0  # of the last piece
    mark: str = ""  # of the directory that they are in
    begins: Mapping[str, int] = {}  # where the attempt's part of each growing file begins


class Mirror:
    """The one process that writes a run's files; to be closed, or used in a `with` statement."""

    def __init__(self, run_dir: RunDir, note: RemoteNote, lock: int) -> None:
        self.run_dir = run_dir.now()
        self.note = note
        self._lock = lock
        self._known = self._read()

    @classmethod
    def open(cls, run_dir: RunDir, submitted: RemoteNote | None = None) -> Mirror | None:
        """
        Return the mirror of a run; None if another process has it, or there is nothing to do.

        With a note the run is about to be submitted: nobody else looks before it was.
        """
        desk = run_dir.desk
        if submitted is None and not desk.is_remote():
            return None
        try:
            lock = safe_io.acquire_lock(desk.path / _LOCK)
        except OSError:  # the desk is gone: the run has ended
            return None
        if lock is None:
            return None
        try:
            if submitted is not None:
                write_note(desk, submitted)
            note = read_note(desk)  # it may have come to its end meanwhile
        except OSError:
            note = None
        if note is None:
            os.close(lock)
            return None
        return cls(run_dir, note, lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others mirror the run; a second call changes nothing."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def after(self, attempt: int) -> int:
        """Return the number of the last piece of that attempt that is here; 0: none is."""
        self.run_dir = ensure_dir(self.run_dir)
        known = self._known
        if known.mark != self.run_dir.mark():
            return 0
        return known.number if known.attempt == attempt else 0

    def write(self, attempt: int, pieces: Sequence[FilePiece]) -> int:
        """Write what comes next; return the number of the last piece that is here then."""
        last = self.after(attempt)
        if self._known.attempt != attempt or self._known.mark != self.run_dir.mark():
            self._known = self._begun(attempt)
        for piece in follow_on(pieces, last):
            if is_sound(piece, self.note.max_bytes):
                self._put(piece)
            last = piece.number
        if last != self._known.number:
            self._known = replace(self._known, number=last)
            self._keep()
        return last

    def note_worker(self, state: RunState) -> None:
        """Note which worker has the run, and since when its child is at work."""
        known: dict[str, object] = {"worker": state.worker, "cluster": self.note.shown}
        if state.begun_ms:
            known["startedAt"] = state.begun_ms
        with suppress(OSError, ValueError):
            meta = self.run_dir.read_meta()
            if any(meta.get(key) != each for key, each in known.items()):
                self.run_dir.write_meta({**meta, **known})

    def _put(self, piece: FilePiece) -> None:
        desk = self.run_dir.desk
        if piece.file == QUESTIONS:
            _replace(desk.path / QUESTIONS, piece.data)
            return
        home = desk.path if piece.file == CHILD_SESSION else self.run_dir.path
        begin = self._known.begins.get(piece.file, 0)
        anew = piece.file not in GROWING and not piece.place
        file = os.open(home / piece.file, _HOW | (os.O_TRUNC if anew else 0), safe_io.PRIVATE_FILE)
        try:
            _write_at(file, piece.data, begin + piece.place)
        finally:
            os.close(file)

    def _begun(self, attempt: int) -> Mirrored:
        """Return the beginning of an attempt; what is there of an earlier one stays."""
        mark, begins = self.run_dir.mark(), {}
        for name in GROWING:
            path = self.run_dir.path / name
            with suppress(FileNotFoundError):
                begins[name] = _whole_lines(path) if name == EVENTS else path.lstat().st_size
        if self._known.attempt == attempt:  # only its directory is another one
            begins = {}
        return Mirrored(attempt, 0, mark, begins)

    def _read(self) -> Mirrored:
        with suppress(OSError, ValueError):
            match safe_io.read_json(self.run_dir.desk.path / _STATE, _MAX_BYTES):
                case {
                    "schemaVersion": 1,
                    "attempt": int(attempt),
                    "number": int(number),
                    "mark": str(mark),
                    "begins": dict(begins),
                } if all(isinstance(each, int) for each in begins.values()):
                    return Mirrored(attempt, number, mark, begins)
        return Mirrored()

    def _keep(self) -> None:
        content = {"schemaVersion": SCHEMA_VERSION, **as_dict(self._known)}
        path = self.run_dir.desk.path / _STATE
        # Not durable: after a power cut some pieces are written a second time.
        safe_io.replace_file(path, safe_io.to_json_bytes(content), durable=False)


def _write_at(file: int, data: bytes, place: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, place)
        view, place = view[written:], place + written


def _replace(path: Path, data: bytes) -> None:
    """Put a whole file in its place; without content there is none."""
    if data:
        safe_io.replace_file(path, data, durable=False)
    else:
        path.unlink(missing_ok=True)


def _whole_lines(path: Path) -> int:
    """Return the size of a file of lines; the last one is ended if it was not."""
    size = path.lstat().st_size
    with path.open("r+b") as file:
        file.seek(max(size - 1, 0))
        if size and file.read(1) != b"\n":
            file.write(b"\n")
            size += 1
    return size

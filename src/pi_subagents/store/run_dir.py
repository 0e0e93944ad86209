"""
One run is one directory: its files by name, how they begin and how they are read.

meta.json is written by the orchestrator, then owned by the supervisor; result.json is written
once, by the process that ends the run.  Everything else belongs to the supervisor.  It is where
people and programs look; what has to survive the directory itself is on the run's desk.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run import files
from pi_subagents.core.run.result import RunResult, result_from_json, result_to_json, value_to_json
from pi_subagents.core.value import replace, value
from pi_subagents.store import messages
from pi_subagents.store.desk import MAX_META_BYTES, REFUSED, STOPPED, Desk, NamedFile
from pi_subagents.system import crash_points, safe_io
from pi_subagents.system.calls import FileCalls
from pi_subagents.system.home import PROJECT_RUNS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAKING = ".making-"
META_VERSION = 1
_TIMES = ("createdAt", "startedAt")
_LAST_MS = 253_402_300_799_999  # the end of the year 9999
_AWAY_S = 86_400.0
RESERVED_BYTES = 64 * 1024
MAX_KEPT_IN_RESERVE = 48 * 1024
MAX_WORD_IN_RESERVE = 256  # these come from a child, and may be anything
# The longest line we parse, escaped as ASCII, and room for the rest.
MAX_RESULT_BYTES = 256 * 1024 * 1024


@value
class RunDir:
    """The files of one run, by name, and its desk."""

    path: Path
    desk: Desk

    meta = NamedFile(files.META)  # what was asked, and which processes serve it
    events = NamedFile(files.EVENTS)  # the journal: normalised, versioned records
    result = NamedFile(files.RESULT)  # how it ended
    stdout = NamedFile(files.STDOUT)  # the child's raw bytes, up to a cap
    stderr = NamedFile(files.STDERR)  # the child's raw errors, up to a cap
    transcript = NamedFile(files.TRANSCRIPT)  # what happened, in plain words
    prompt = NamedFile(files.PROMPT)  # exactly what the child is asked
    task = NamedFile(files.TASK)  # the task alone, where a resumed run's prompt has more
    system_prompt = NamedFile(files.SYSTEM_PROMPT)  # replaces the child's own, where given
    append_prompt = NamedFile(files.APPEND_PROMPT)  # is added to the child's own, where given
    child_session = NamedFile(files.CHILD_SESSION)  # the child's own session, where it keeps one
    completion = NamedFile("completion.told")  # what the user's command gets at the end
    # Space set aside at the start, so that even a full disk has room for the result.
    reserved = NamedFile(".result.reserved")

    @property
    def run_id(self) -> str:
        """The run; its directory has this name, wherever it is."""
        return self.desk.run_id

    def redirected(self) -> bool:
        """Return whether a link is where the run should be, or the store it is in."""
        for path, name in zip(
            (self.path, *self.path.parents), (self.run_id, *reversed(PROJECT_RUNS)), strict=False
        ):
            if path.name != name:
                break
            if path.is_symlink():
                return True
        return False

    def refuse_redirection(self) -> None:
        """Raise OSError rather than write where a link leads."""
        if self.redirected():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(self.path))

    @property
    def making(self) -> Path:
        """The directory while it is made: half made, it must not look like a run."""
        return self.path.with_name(f"{MAKING}{self.run_id}")

    def begin(
        self,
        meta: Mapping[str, object],
        prompt: bytes,
        texts: Mapping[str, bytes] | None = None,
        session: bytes | None = None,
    ) -> int:
        """
        Create the directory, and the desk, with what was asked; return the run's lock, held.

        A session that the child is to go on with is on the desk alone.

        The process that holds the lock, or was handed it, answers for the run: while it is held the
        run is alive, and once the kernel releases it the run has a result or is lost.
        """
        making = RunDir(self.making, self.desk)
        self.refuse_redirection()
        lock = self.desk.make()
        try:
            if session is not None:
                safe_io.write_new(self.desk.child_session, session)
            self._make(making, meta, {files.PROMPT: prompt, **(texts or {})})
        except OSError:
            self.desk.remove()
            os.close(lock)
            _remove_tree(making.path)
            raise
        return lock

    def _make(self, making: RunDir, meta: Mapping[str, object], texts: Mapping[str, bytes]) -> None:
        safe_io.make_private_dir(making.path)
        crash_points.reach(crash_points.DIR_MADE)
        safe_io.reserve(making.reserved, RESERVED_BYTES)
        for name, content in texts.items():
            safe_io.write_new(making.path / name, content)
            safe_io.write_new(self.desk.path / name, content)
        making.write_meta(meta)
        crash_points.reach(crash_points.META_WRITTEN)
        FileCalls.rename(making.path, self.path)

    def discard(self, lock: int) -> None:
        """Remove a run that was planned and never started."""
        _remove_tree(self.path)
        self.desk.remove()
        os.close(lock)

    def write_meta(self, meta: Mapping[str, object]) -> None:
        """Replace meta.json as a whole, and what the desk knows of it."""
        with suppress(FileNotFoundError):  # there is none any more
            self.desk.write_meta(meta)
        safe_io.replace_file(self.meta, safe_io.to_json_bytes(dict(meta)))

    def read_meta(self) -> dict[str, object]:
        """
        Return what is known of the run; OSError or ValueError where nothing can be trusted.

        While it is active the desk counts: its directory may be gone, or changed by others.
        """
        with suppress(OSError, ValueError):
            return self._meta(self.desk.meta)
        return self._meta(self.meta)

    def _meta(self, path: Path) -> dict[str, object]:
        value = safe_io.read_json(path, MAX_META_BYTES)
        if not isinstance(value, dict) or value.get("runId") != self.run_id:
            raise ValueError("meta.json does not describe this run")
        if value.get("schemaVersion", META_VERSION) != META_VERSION:
            raise ValueError("meta.json is of another version")
        return {k: v for k, v in value.items() if k not in _TIMES or _is_a_time(v)}

    def write_result(self, result: RunResult) -> RunResult:
        """
        Put the result in place and return it as it is kept; OSError if it cannot be kept at all.

        Only for the process that answers for the run: the lock and the turn ensure that there is
        one, so that what is in its place is not ours and is put aside.  Where there is no room any
        more, the space that was reserved at the start takes it, with as much of the output as fits.
        """
        self.refuse_redirection()
        if aside := self._put_aside_result():
            note = messages.note_result_was_there(aside)
            result = replace(result, notes=(*result.notes, note))
        try:
            safe_io.replace_file(self.result, safe_io.to_json_bytes(result_to_json(result)))
        except OSError:
            result, data = _fitting(result)
            safe_io.use_reserved(self.reserved, self.result, data)
        finally:
            with suppress(OSError):
                self.reserved.unlink()
        return result

    def amend_result(self, known: RunResult, result: RunResult) -> None:
        """Let a result say more, where it is what is known; OSError where it cannot be written."""
        if self.read_result(known.session_id) == known:
            safe_io.replace_file(self.result, safe_io.to_json_bytes(result_to_json(result)))

    def _put_aside_result(self) -> str:
        """Give what is in the place of the result another name, and return that."""
        if not os.path.lexists(self.result):
            return ""
        aside = self.result.with_name(f"{self.result.name}.put-aside-{os.urandom(4).hex()}")
        try:
            self.result.rename(aside)
        except OSError:
            return ""
        return aside.name

    def read_result(self, session_id: str = "") -> RunResult | None:
        """Return the result; None while there is none of this run, and of the session if given."""
        try:
            result = result_from_json(safe_io.read_json(self.result, MAX_RESULT_BYTES))
        except (OSError, ValueError):
            return None
        if result is None or result.run_id != self.run_id:
            return None
        return result if not session_id or result.session_id == session_id else None

    def result_is_not_ours(self, session_id: str = "") -> bool:
        """
        Return whether something is in the place of the result that we cannot have written.

        What is damaged, or of another version, may have been ours.
        """
        try:
            if not stat.S_ISREG(self.result.lstat().st_mode):
                return True
            result = result_from_json(safe_io.read_json(self.result, MAX_RESULT_BYTES))
        except (OSError, ValueError):
            return False
        return result is not None and self.read_result(session_id) is None

    def alive(self) -> bool:
        """Return whether a process answers for the run."""
        return self.desk.alive()

    def never_began(self) -> bool:
        """Return whether it was stopped or refused before it began: its planner may live on."""
        return self.desk.turn() in (STOPPED, REFUSED)

    def now(self) -> RunDir:
        """Return the run where its directory is now: it may have been moved, or replaced."""
        place = self.desk.place()
        if place is None and not os.path.lexists(self.path):
            rescued = self.desk.rescue_place(self.path)
            place = rescued if os.path.lexists(rescued) else None
        return self if place is None else replace(self, path=place)

    def exists(self) -> bool:
        """Return whether the run has a directory, or a process that answers for it."""
        return self.path.is_dir() or self.alive()

    def is_away(self) -> bool:
        """Return whether its whole project is gone, but not for long: moved, or on another disk."""
        root = self.path.parents[min(len(PROJECT_RUNS), len(self.path.parents) - 1)]
        if os.path.lexists(self.path) or os.path.lexists(root):
            return False
        try:
            return time.time() - self.desk.path.lstat().st_mtime < _AWAY_S
        except OSError:
            return False

    def mark(self) -> str:
        """Return what distinguishes this directory from any other that may take its place."""
        try:
            return mark_of(self.path.lstat())
        except OSError:
            return ""


def mark_of(found: os.stat_result) -> str:
    """Return what distinguishes a directory from every other that exists at the time."""
    return f"{found.st_dev}:{found.st_ino}"


def _is_a_time(value: object) -> bool:
    """Return whether a record from anywhere holds milliseconds that clocks and indexes can take."""
    return type(value) is int and 0 <= value <= _LAST_MS


def _remove_tree(path: Path) -> None:
    import shutil  # brings three compressors along, and the supervisor never needs it

    shutil.rmtree(path, ignore_errors=True)


def _fitting(result: RunResult) -> tuple[RunResult, bytes]:
    """Return the result, and as JSON, cut to fit the reserved space, with a note on that."""
    kept = MAX_KEPT_IN_RESERVE
    while True:
        cut = len(result.output) > kept
        fits_value = len(safe_io.to_json_bytes(value_to_json(result))) <= kept
        notes = tuple(note[:kept] for note in result.notes[:16])
        fitting = replace(
            result,
            name=result.name[:kept],
            output=result.output[:kept],
            error_message=result.error_message[:kept],
            notes=((messages.NOTE_OUTPUT_CUT,) if cut or not fits_value else ()) + notes,
            stop_reason=result.stop_reason[:MAX_WORD_IN_RESERVE],
            provider=result.provider[:MAX_WORD_IN_RESERVE],
            model=result.model[:MAX_WORD_IN_RESERVE],
            **({} if fits_value else {"value": None, "has_value": False}),
            artifacts_truncated=True,
        )
        data = safe_io.to_json_bytes(result_to_json(fitting))
        if len(data) <= RESERVED_BYTES or not kept:
            return fitting, data
        kept //= 2

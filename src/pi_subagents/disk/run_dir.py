"""
One run is one directory: its files by name, how they begin and how they are read.

meta.json is written by the orchestrator, then owned by the supervisor; result.json is
written once, by whoever ends the run.  Everything else belongs to the supervisor.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core.run_result import RunResult, result_from_json, result_to_json
from pi_subagents.core.run_spec import MAX_STEER_BYTES
from pi_subagents.core.value import replace, value
from pi_subagents.disk import crash_points, safe_io
from pi_subagents.disk.calls import Calls

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAKING = ".making-"
META_VERSION = 1
_TIMES = ("createdAt", "startedAt")
_LAST_MS = 253_402_300_799_999  # the end of the year 9999
RESERVED_BYTES = 64 * 1024
MAX_KEPT_IN_RESERVE = 48 * 1024
MAX_WORD_IN_RESERVE = 256  # a child says these, and may say anything
MAX_META_BYTES = 1024 * 1024
# Nothing is there, or what nobody of us can have locked: a link, a socket.
_NO_LOCK_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)
_STEER_NUMBER = re.compile(r"[0-9a-f]{16}")
# The longest line we parse, escaped as ASCII, and room for the rest.
MAX_RESULT_BYTES = 256 * 1024 * 1024


@value
class RunDir:
    """The files of one run, by name."""

    path: Path

    @property
    def run_id(self) -> str:
        """The directory's own name."""
        return self.path.name

    @property
    def meta(self) -> Path:
        """What was asked, of whom, and which processes serve it."""
        return self.path / "meta.json"

    @property
    def events(self) -> Path:
        """The journal: normalised, versioned records."""
        return self.path / "events.jsonl"

    @property
    def result(self) -> Path:
        """How it ended."""
        return self.path / "result.json"

    @property
    def stdout(self) -> Path:
        """The child's raw bytes, up to a cap."""
        return self.path / "stdout.log"

    @property
    def stderr(self) -> Path:
        """The child's raw errors, up to a cap."""
        return self.path / "stderr.log"

    @property
    def transcript(self) -> Path:
        """What happened, in plain words."""
        return self.path / "transcript.log"

    @property
    def prompt(self) -> Path:
        """Exactly what the child reads on its standard input."""
        return self.path / "prompt.md"

    @property
    def task(self) -> Path:
        """What was asked, where a resumed run's prompt tells of earlier runs as well."""
        return self.path / "task.md"

    @property
    def system_prompt(self) -> Path:
        """What replaces the child's own system prompt, where something does."""
        return self.path / "system-prompt.md"

    @property
    def append_prompt(self) -> Path:
        """What is added to the child's system prompt, where something is."""
        return self.path / "append-system-prompt.md"

    @property
    def child_session(self) -> Path:
        """The child's own pi session, where it keeps one."""
        return self.path / "child-session.jsonl"

    @property
    def told(self) -> Path:
        """Made by the one who tells the user's command of the end."""
        return self.path / "completion.told"

    @property
    def lock(self) -> Path:
        """Held by whoever answers for the run."""
        return self.path / "run.lock"

    @property
    def reserved(self) -> Path:
        """Space set aside at the start, so that even a full disk has room for the result."""
        return self.path / ".result.reserved"

    @property
    def control(self) -> Path:
        """A FIFO on which a living supervisor takes `stop`, `kill` and `steer`."""
        return self.path / "control"

    def steer_text(self, number: str) -> Path:
        """A message for the child at work; ValueError where the number is none."""
        if not _STEER_NUMBER.fullmatch(number):
            raise ValueError("not the number of a message")
        return self.path / f"steer-{number}.md"

    def redirected(self) -> bool:
        """Tell whether a link stands where the run should be, or the store it is in."""
        for path, name in zip(
            (self.path, *self.path.parents), (self.run_id, "runs", "subagents", ".pi"), strict=False
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

    def begin(
        self,
        meta: Mapping[str, object],
        prompt: bytes,
        texts: Mapping[Path, bytes] = MappingProxyType({}),
    ) -> int:
        """
        Create the directory with what was asked, and further texts; return its lock, held.

        Whoever holds the lock, or was handed it, answers for the run: while it is held the run is
        alive, and once the kernel lets go of it the run has a result or is lost.
        """
        # Made under another name: half made, it must not look like a run.
        making = RunDir(self.path.with_name(f"{MAKING}{self.run_id}"))
        self.refuse_redirection()
        safe_io.make_private_dir(making.path)
        crash_points.reach(crash_points.DIR_MADE)
        lock = -1
        try:
            lock = safe_io.open_new(making.lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            safe_io.reserve(making.reserved, RESERVED_BYTES)
            for path, content in {self.prompt: prompt, **texts}.items():
                safe_io.write_new(making.path / path.name, content)
            making.write_meta(meta)
            crash_points.reach(crash_points.META_WRITTEN)
            Calls.rename(making.path, self.path)
        except OSError:
            if lock >= 0:
                os.close(lock)
            _remove_tree(making.path)
            raise
        return lock

    def discard(self, lock: int) -> None:
        """Take back a run that was planned and never started."""
        _remove_tree(self.path)
        os.close(lock)

    def write_meta(self, meta: Mapping[str, object]) -> None:
        """Replace meta.json as a whole."""
        safe_io.replace_file(self.meta, safe_io.to_json_bytes(dict(meta)))

    def read_meta(self) -> dict[str, object]:
        """Return meta.json; OSError or ValueError where it cannot be trusted."""
        value = safe_io.read_json(self.meta, MAX_META_BYTES)
        if not isinstance(value, dict) or value.get("runId") != self.run_id:
            raise ValueError("meta.json does not describe this run")
        if value.get("schemaVersion", META_VERSION) != META_VERSION:
            raise ValueError("meta.json is of another version")
        return {k: v for k, v in value.items() if k not in _TIMES or _is_a_time(v)}

    def write_result(self, result: RunResult) -> bool:
        """
        Write the result unless there is one; return whether it was ours.

        Where there is no room for it any more, the space that was reserved at the start takes it,
        with as much of the output as fits.
        """
        self.refuse_redirection()
        try:
            return safe_io.write_once(self.result, safe_io.to_json_bytes(result_to_json(result)))
        except OSError:
            return safe_io.use_reserved(self.reserved, self.result, _fitting(result))
        finally:
            with suppress(OSError):
                self.reserved.unlink()

    def read_result(self) -> RunResult | None:
        """Return the result, or None while there is none that can be read."""
        try:
            return result_from_json(safe_io.read_json(self.result, MAX_RESULT_BYTES))
        except (OSError, ValueError):
            return None

    def alive(self) -> bool:
        """
        Tell whether somebody answers for the run: its planner, then its supervisor.

        Where we cannot look (no descriptor is left) somebody may: nobody else's run is concluded,
        removed or resumed on a guess.
        """
        try:
            return not self._shared_lock(fcntl.LOCK_NB)
        except OSError:
            return True

    def locked_by(self, descriptor: int) -> bool:
        """Tell whether a descriptor is this run's lock: the directory is still the one it was."""
        try:
            there = self.lock.lstat()
        except OSError:
            return False
        return not self.redirected() and os.path.samestat(there, os.fstat(descriptor))

    def wait_for_end(self) -> None:
        """Wait, without polling, until nobody holds the lock; where we cannot look, no longer."""
        with suppress(OSError):
            self._shared_lock(0)

    def _shared_lock(self, flags: int) -> bool:
        """Take the lock for an instant; return whether that was possible, OSError if unknown."""
        try:
            how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self.lock, how)
        except OSError as error:
            if error.errno in _NO_LOCK_THERE:
                return True
            raise
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | flags)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True

    def make_child_session(self) -> None:
        """Let the child's session file exist: pi would create it readable for others."""
        with suppress(FileExistsError):
            safe_io.write_new(self.child_session, b"")

    def read_asked(self, path: Path) -> str:
        """Return what a child is to be asked, whatever its size; OSError if that is no file."""
        with os.fdopen(safe_io.open_regular(path), "rb") as file:
            return file.read().decode("utf-8", "replace")

    def read_steer(self, number: str) -> str:
        """Return a message for the child; OSError or ValueError where there is none."""
        content = safe_io.read_bounded(self.steer_text(number), MAX_STEER_BYTES)
        return content.decode("utf-8", "replace")

    def waiting_steers(self) -> list[str]:
        """Return the numbers of the messages that are there, the oldest first."""
        found: list[tuple[int, str]] = []
        with suppress(OSError):
            for path in self.path.glob("steer-*.md"):
                number = path.stem.removeprefix("steer-")
                if _STEER_NUMBER.fullmatch(number):
                    found.append((path.lstat().st_mtime_ns, number))
        return [number for _, number in sorted(found)]

    def write_steer(self, text: str) -> str:
        """Keep a message for the child, and return its number."""
        self.refuse_redirection()
        number = os.urandom(8).hex()
        # Whole at once: a supervisor that begins to listen takes what is there.
        safe_io.write_once(self.steer_text(number), text.encode("utf-8", "replace"))
        return number

    def send(self, command: str) -> bool:
        """Give a living supervisor a command; return whether one was there to take it."""
        try:
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self.control, flags)
        except OSError as error:
            if error.errno in (errno.ENXIO, errno.ENOENT):
                return False
            raise
        try:
            if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                return False  # nobody listens on anything else
            os.write(descriptor, command.encode("ascii") + b"\n")
        except BrokenPipeError:  # whoever listened went in this very moment
            return False
        finally:
            os.close(descriptor)
        return True


def _is_a_time(value: object) -> bool:
    """Tell whether a record made anywhere holds milliseconds that clocks and indexes can take."""
    return type(value) is int and 0 <= value <= _LAST_MS


def _remove_tree(path: Path) -> None:
    import shutil  # brings three compressors along, and the supervisor never needs it

    shutil.rmtree(path, ignore_errors=True)


def _fitting(result: RunResult) -> bytes:
    """Return the result as JSON that fits the reserved space, saying what was cut."""
    kept = MAX_KEPT_IN_RESERVE
    while True:
        cut = len(result.output) > kept
        notes = tuple(note[:kept] for note in result.notes[:16])
        data = safe_io.to_json_bytes(
            result_to_json(
                replace(
                    result,
                    name=result.name[:kept],
                    output=result.output[:kept],
                    error_message=result.error_message[:kept],
                    notes=((messages.NOTE_OUTPUT_CUT,) if cut else ()) + notes,
                    stop_reason=result.stop_reason[:MAX_WORD_IN_RESERVE],
                    provider=result.provider[:MAX_WORD_IN_RESERVE],
                    model=result.model[:MAX_WORD_IN_RESERVE],
                    artifacts_truncated=True,
                )
            )
        )
        if len(data) <= RESERVED_BYTES or not kept:
            return data
        kept //= 2

"""
One run is one directory: its files by name, how they begin and how they are read.

meta.json is written by the orchestrator, then owned by the supervisor; result.json is
written once, by whoever ends the run.  Everything else belongs to the supervisor.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents.core.run_result import RunResult, result_from_json, result_to_json
from pi_subagents.disk import safe_io

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_META_BYTES = 1024 * 1024
# The longest line we parse, escaped as ASCII, and room for the rest.
MAX_RESULT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RunDir:
    """The files of one run (seed 002), by name."""

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
        """What happened, in the words of seed 003."""
        return self.path / "transcript.log"

    @property
    def prompt(self) -> Path:
        """Exactly what the child reads on its standard input."""
        return self.path / "prompt.md"

    @property
    def lock(self) -> Path:
        """Held by the supervisor for as long as it lives."""
        return self.path / "run.lock"

    @property
    def control(self) -> Path:
        """A FIFO on which a living supervisor takes `stop` and `kill`."""
        return self.path / "control"

    def begin(self, meta: Mapping[str, object], prompt: bytes) -> None:
        """Create the directory with what was asked."""
        safe_io.make_private_dir(self.path)
        safe_io.write_new(self.prompt, prompt)
        safe_io.write_new(self.lock, b"")
        self.write_meta(meta)

    def write_meta(self, meta: Mapping[str, object]) -> None:
        """Replace meta.json as a whole."""
        safe_io.replace_file(self.meta, safe_io.to_json_bytes(dict(meta)))

    def read_meta(self) -> dict[str, object]:
        """Return meta.json; OSError or ValueError where it cannot be trusted."""
        value = safe_io.read_json(self.meta, MAX_META_BYTES)
        if not isinstance(value, dict) or value.get("runId") != self.run_id:
            raise ValueError("meta.json does not describe this run")
        return value

    def write_result(self, result: RunResult) -> bool:
        """Write the result unless there is one; return whether it was ours."""
        return safe_io.write_once(self.result, safe_io.to_json_bytes(result_to_json(result)))

    def read_result(self) -> RunResult | None:
        """Return the result, or None while there is none that can be read."""
        try:
            return result_from_json(safe_io.read_json(self.result, MAX_RESULT_BYTES))
        except (OSError, ValueError):
            return None

    def supervised(self) -> bool:
        """Tell whether a living supervisor holds the lock."""
        return not self._shared_lock(fcntl.LOCK_NB)

    def wait_unsupervised(self) -> None:
        """Wait, without polling, until no supervisor holds the lock."""
        self._shared_lock(0)

    def _shared_lock(self, flags: int) -> bool:
        """Take the lock for an instant; return whether that was possible."""
        try:
            descriptor = os.open(self.lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | flags)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True

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
        finally:
            os.close(descriptor)
        return True

"""
The desk of a run: what has to survive whatever is done to the project, in the data directory.

Who sits at it holds its lock and answers for the run.  On it are the socket that takes orders, what
the child is asked and started with, who does the run, where its directory went if that moved, and
why it was ended.  It is there from the planning of a run to its end, and gone afterwards.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run.files import CHILD_SESSION, META, PROMPT, TASK
from pi_subagents.core.run.spec import MAX_STEER_BYTES
from pi_subagents.core.value import value
from pi_subagents.system import safe_io
from pi_subagents.system.calls import FileCalls

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

DESKS, RESCUED = "desks", "rescued"
PLACE = "place"
# Who had the first word about a run that was planned: it is begun, or it never will be.
SUPERVISOR, STOPPED, REFUSED = "supervisor", "stopped", "refused"
MAX_META_BYTES = 1024 * 1024
_MAX_WORD_BYTES = 64 * 1024
_STEER_NUMBER = re.compile(r"[0-9a-f]{16}")
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TAKE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Nothing is there, or what nobody of us can have locked: a link, a socket.
_NO_LOCK_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)
_PAUSE_S = 0.02
_STALE_S = 60.0  # one that is being made has its lock long before


@value
class Desk:
    """The files of one desk, by name."""

    path: Path

    @property
    def run_id(self) -> str:
        """The run whose desk it is."""
        return self.path.name

    @property
    def lock(self) -> Path:
        """Held by whoever answers for the run."""
        return self.path / "lock"

    @property
    def child_lock(self) -> Path:
        """Held for as long as a child that outlives the run reads and writes here."""
        return self.path / "child"

    @property
    def control(self) -> Path:
        """The socket on which a living supervisor takes `stop`, `kill` and `steer`."""
        return self.path / "control"

    @property
    def meta(self) -> Path:
        """What meta.json of the run directory says, out of reach of the project."""
        return self.path / META

    @property
    def prompt(self) -> Path:
        """Exactly what the child is asked."""
        return self.path / PROMPT

    @property
    def task(self) -> Path:
        """What was asked, where a resumed run's prompt tells of earlier runs as well."""
        return self.path / TASK

    @property
    def child_session(self) -> Path:
        """The child's own pi session, for as long as it writes to it."""
        return self.path / CHILD_SESSION

    # Who answers for the run

    def make(self) -> int:
        """Make the desk of a run that is planned, and return its lock, held; OSError otherwise."""
        self._make_parents()
        safe_io.make_private_dir(self.path)
        lock = safe_io.open_new(self.lock)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock

    def take_lock(self) -> int | None:
        """Return the lock of a run that nobody answers for, held; None if somebody has it."""
        self._make_parents()
        with suppress(FileExistsError):
            safe_io.make_private_dir(self.path)  # its supervisor may have cleared it
        lock = FileCalls.open(self.lock, _TAKE, safe_io.PRIVATE_FILE)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock

    def _make_parents(self) -> None:
        desks = self.path.parent
        if not desks.is_dir():
            safe_io.make_private_dirs(desks.parent)
            safe_io.make_private_dirs(desks)

    def alive(self) -> bool:
        """
        Return whether somebody answers for the run: its planner, then its supervisor.

        Where we cannot look (no descriptor is left) somebody may: nobody else's run is concluded,
        removed or resumed on a guess.
        """
        return _is_held(self.lock)

    def wait_for_end(self, limit_s: float) -> bool:
        """Wait until nobody answers for the run any more; return whether that came in time."""
        deadline = time.monotonic() + limit_s
        while self.alive():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_S)
        return True

    def take_turn(self, who: str) -> bool:
        """Have the first word about a planned run, or tell that somebody had it before."""
        try:
            safe_io.write_new(self.path / "turn", who.encode("ascii"))
        except FileExistsError:
            return False
        return True

    def turn(self) -> str:
        """Tell who had the first word; nothing while nobody has."""
        return self._word("turn")

    def hold_for_child(self) -> int | None:
        """Keep the desk beyond the run's end, for a child that uses it; None if that fails."""
        try:
            lock = FileCalls.open(self.child_lock, _TAKE, safe_io.PRIVATE_FILE)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        return lock

    def clear(self, *, found: bool = False) -> None:
        """
        Take the desk of a run away that is over, unless somebody still needs it.

        Where the run went, if it did, stays until it is found without that.
        """
        if not _is_held(self.lock):
            self.clear_ours(found=found)

    def clear_ours(self, *, found: bool = False) -> None:
        """Do so with the lock in our own hands."""
        if not _is_held(self.child_lock):
            self.remove(keep=() if found else (PLACE,))

    def remove(self, *, keep: tuple[str, ...] = ()) -> None:
        """Take away what is on the desk, and the desk itself if nothing was to be kept."""
        with suppress(OSError):
            for name in os.listdir(self.path):  # noqa: PTH208 - names are all that is wanted
                if name not in keep:
                    with suppress(OSError):
                        (self.path / name).unlink()
            self.path.rmdir()

    # What is known of it

    def write_meta(self, meta: Mapping[str, object]) -> None:
        """Replace what is known of the run; a power cut may take it, and ends the run as well."""
        safe_io.replace_file(self.meta, safe_io.to_json_bytes(dict(meta)), durable=False)

    def put_text(self, name: str, content: bytes) -> None:
        """Keep something that the child reads."""
        safe_io.write_new(self.path / name, content)

    def note_supervisor(self, process: Mapping[str, object]) -> None:
        """Note who does the run, so that it can be ended even if it does not answer."""
        content = safe_io.to_json_bytes(dict(process))
        safe_io.replace_file(self.path / "supervisor.json", content, durable=False)

    def read_supervisor(self) -> object:
        """Return who does the run, as it was noted; None where nothing was."""
        try:
            return safe_io.read_json(self.path / "supervisor.json", MAX_META_BYTES)
        except (OSError, ValueError):
            return None

    def note_cause(self, cause: str) -> None:
        """Note why the run is being ended, for whoever has to tell of its end."""
        with suppress(OSError):
            safe_io.replace_file(self.path / "cause", cause.encode("ascii"), durable=False)

    def cause(self) -> str:
        """Tell why the run was ended from outside; nothing where it was not."""
        return self._word("cause")

    def note_place(self, directory: Path) -> None:
        """Note where the run's directory is now."""
        safe_io.replace_file(self.path / PLACE, os.fsencode(directory), durable=False)

    def place(self) -> Path | None:
        """Tell where the run's directory went; None while it is where it was made."""
        with suppress(OSError):
            found = os.fsdecode(safe_io.read_bounded(self.path / PLACE, _MAX_WORD_BYTES))
            if os.path.isabs(found):  # noqa: PTH117 - a text
                return Path(found)
        return None

    def rescue_place(self, directory: Path) -> Path:
        """Return where a run is kept whose directory was taken away: by its store, by its id."""
        return rescued_dir(self.path.parent.parent, directory.parent) / self.run_id

    def _word(self, name: str) -> str:
        try:
            found = safe_io.read_bounded(self.path / name, _MAX_WORD_BYTES)
        except OSError:
            return ""
        return found.decode("ascii", "replace")

    # Messages for the child

    def make_child_session(self) -> None:
        """Let the child's session file exist: pi would create it readable for others."""
        with suppress(FileExistsError):
            safe_io.write_new(self.child_session, b"")

    def steer_text(self, number: str) -> Path:
        """A message for the child at work; ValueError where the number is none."""
        if not _STEER_NUMBER.fullmatch(number):
            raise ValueError("not the number of a message")
        return self.path / f"steer-{number}.md"

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
        number = os.urandom(8).hex()
        # Whole at once: a supervisor that begins to listen takes what is there.
        content = text.encode("utf-8", "replace")
        safe_io.replace_file(self.steer_text(number), content, durable=False)
        return number


def rescued_dir(data_dir: Path, store: Path) -> Path:
    """Return where the runs of a store are kept that lost their directories."""
    from hashlib import blake2b  # a supervisor seldom needs it, and starts once per child

    digest = blake2b(os.fsencode(store), digest_size=8).hexdigest()
    return data_dir / RESCUED / digest


def clear_stale_desks(data_dir: Path, known: Container[str]) -> int:
    """Take away old desks of runs that nobody answers for and no look will come to; count them."""
    cleared = 0
    with suppress(OSError), os.scandir(data_dir / DESKS) as entries:
        for entry in entries:
            with suppress(OSError):
                desk = Desk(Path(entry.path))
                old = time.time() - entry.stat(follow_symlinks=False).st_mtime >= _STALE_S
                if old and desk.run_id not in known:
                    desk.clear(found=True)
                    cleared += not os.path.lexists(desk.path)
    return cleared


def _is_held(lock: Path) -> bool:
    """Return whether somebody has a lock, or may have."""
    try:
        descriptor = os.open(lock, _LOOK)
    except OSError as error:
        return error.errno not in _NO_LOCK_THERE
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False

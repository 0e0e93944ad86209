"""
The desk of a run: what has to survive whatever is done to the project, in the data directory.

The process that holds its lock answers for the run.  On it are the socket that takes orders, what
the child is asked and started with, which process does the run, where its directory went if that
moved, and why it was ended.  It exists from the planning of a run to its end.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_subagents.core.run import question
from pi_subagents.core.run.files import (
    CHILD_SESSION,
    CONTROL,
    META,
    ORDERS,
    PROMPT,
    REMOTE,
    TASK,
)
from pi_subagents.core.run.spec import MAX_ANSWER_BYTES, MAX_STEER_BYTES
from pi_subagents.core.value import value
from pi_subagents.system import safe_io
from pi_subagents.system.calls import FileCalls

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from pi_subagents.core.run.question import WaitingFor

DESKS, RESCUED = "desks", "rescued"
PLACE = "place"
# Which of them decided about a planned run: it is begun, or it never will be.
SUPERVISOR, STOPPED, REFUSED = "supervisor", "stopped", "refused"
MAX_META_BYTES = 1024 * 1024
QUESTIONS = "questions.json"  # what the run waits for: what its child asks, a limit
MAX_QUESTIONS_BYTES = 64 * 1024 * 1024
MAX_REPLY_BYTES = 8 * MAX_ANSWER_BYTES  # whatever has to be escaped in it
MAX_ORDERS_BYTES = 1024 * 1024
_MAX_WORD_BYTES = 64 * 1024
_STEER_NUMBER = re.compile(r"[0-9a-f]{16}")
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Nothing is there, or what none of us can have locked: a link, a socket.
_NO_LOCK_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)
_PAUSE_S = 0.02
_STALE_S = 60.0  # one that is being made has its lock long before that


class NamedFile:
    """A file in a directory that has a `path`: what it is called there."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, directory: Any, _: object) -> Path:
        path: Path = directory.path / self._name
        return path


@value
class Desk:
    """The files of one desk, by name."""

    path: Path

    lock = NamedFile("lock")  # held by the process that answers for the run
    child_lock = NamedFile("child")  # held while a child that outlives the run uses the desk
    control = NamedFile(CONTROL)  # the socket on which a supervisor takes orders
    meta = NamedFile(META)  # what meta.json of the run directory has, out of the project's reach
    prompt = NamedFile(PROMPT)  # exactly what the child is asked
    task = NamedFile(TASK)  # the task alone, where a resumed run's prompt has earlier runs as well
    orders = NamedFile(ORDERS)  # what the run wants of its child beside its prompt
    remote = NamedFile(REMOTE)  # which cluster has the run, where it is not done on this machine
    child_session = NamedFile(CHILD_SESSION)  # the child's own session, while it writes to it

    @property
    def run_id(self) -> str:
        """The run whose desk it is."""
        return self.path.name

    @property
    def data_dir(self) -> Path:
        """The user's data directory, in which the desks are."""
        return self.path.parent.parent

    # Which process answers for the run

    def beside(self) -> Desk:
        """Return another desk, which is there for no run."""
        return Desk(self.path.with_name(os.urandom(16).hex()))

    def make_for_child(self) -> None:
        """Make a desk for a child that waits for its first run; OSError if that is impossible."""
        self._make_parents()
        safe_io.make_private_dir(self.path)

    def make(self) -> int:
        """Make the desk of a planned run, and return its lock, held; OSError otherwise."""
        self._make_parents()
        safe_io.make_private_dir(self.path)
        lock = safe_io.open_new(self.lock)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock

    def acquire_lock(self) -> int | None:
        """Return the lock of a run that no process answers for, held; None if one does."""
        self._make_parents()
        with suppress(FileExistsError):
            safe_io.make_private_dir(self.path)  # its supervisor may have cleared it
        return safe_io.acquire_lock(self.lock)

    def _make_parents(self) -> None:
        desks = self.path.parent
        if not desks.is_dir():
            safe_io.make_private_dirs(desks.parent)
            safe_io.make_private_dirs(desks)

    def alive(self) -> bool:
        """
        Return whether a process answers for the run: its planner, then its supervisor.

        One that is done in a cluster is alive until its end has come here.  Where we cannot look
        (no descriptor is left) one may: no run of another is concluded, removed or resumed on a
        guess.
        """
        return _is_held(self.lock) or self.is_remote()

    def is_remote(self) -> bool:
        """Return whether the run is done in a cluster, and has not come to its end here."""
        return os.path.lexists(self.remote)

    def wait_for_end(self, limit_s: float) -> bool:
        """Wait until no process answers for the run; return whether that came in time."""
        deadline = time.monotonic() + limit_s
        while self.alive():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_S)
        return True

    def take_turn(self, role: str) -> bool:
        """Decide about a planned run; return whether no other process had decided before."""
        try:
            safe_io.write_new(self.path / "turn", role.encode("ascii"))
        except FileExistsError:
            return False
        return True

    def turn(self) -> str:
        """Return which role decided about the run; nothing before that."""
        return self._word("turn")

    def hold_for_child(self) -> int | None:
        """Keep the desk beyond the run's end, for a child that uses it; None if that fails."""
        with suppress(OSError):
            return safe_io.acquire_lock(self.child_lock)
        return None

    def clear(self, *, found: bool = False) -> None:
        """
        Remove the desk of a run that is over, unless a process still needs it.

        Where the run went, if it did, stays until it is found without that.
        """
        if not self.alive():
            self.clear_ours(found=found)

    def clear_ours(self, *, found: bool = False) -> None:
        """Do so while we hold the lock."""
        if not _is_held(self.child_lock):
            self.remove(keep=() if found else (PLACE,))

    def remove(self, *, keep: tuple[str, ...] = ()) -> None:
        """Remove what is on the desk, and the desk itself if nothing was to be kept."""
        with suppress(OSError):
            for name in os.listdir(self.path):  # noqa: PTH208 - names are all that is wanted
                if name not in keep:
                    with suppress(OSError):
                        (self.path / name).unlink()
            self.path.rmdir()

    @contextmanager
    def socket_address(self, name: str) -> Iterator[str]:
        """Yield a name of a socket that is short enough, however long the path of the desk is."""
        directory = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield path_of_handle(directory, name) or str(self.path / name)
        finally:
            os.close(directory)

    # What is known of it

    def write_meta(self, meta: Mapping[str, object]) -> None:
        """Replace what is known of the run."""
        self._note(META, safe_io.to_json_bytes(dict(meta)))

    def note_supervisor(self, process: Mapping[str, object]) -> None:
        """Note which process does the run, so that it can be ended even if it does not answer."""
        self._note("supervisor.json", safe_io.to_json_bytes(dict(process)))

    def read_supervisor(self) -> object:
        """Return which process does the run, as it was noted; None where nothing was."""
        try:
            return safe_io.read_json(self.path / "supervisor.json", MAX_META_BYTES)
        except (OSError, ValueError):
            return None

    def note_cause(self, cause: str) -> None:
        """Note why the run is being ended, for the process that concludes it."""
        with suppress(OSError):
            self._note("cause", cause.encode("ascii"))

    def cause(self) -> str:
        """Return why the run was ended from outside; nothing where it was not."""
        return self._word("cause")

    def note_place(self, directory: Path) -> None:
        """Note where the run's directory is now."""
        self._note(PLACE, os.fsencode(directory))

    def place(self) -> Path | None:
        """Return where the run's directory went; None while it is where it was made."""
        with suppress(OSError):
            found = os.fsdecode(safe_io.read_bounded(self.path / PLACE, _MAX_WORD_BYTES))
            if os.path.isabs(found):  # noqa: PTH117 - a text
                return Path(found)
        return None

    def rescue_place(self, directory: Path) -> Path:
        """Return where a run is kept whose directory was taken away: by its store, by its id."""
        return rescued_dir(self.data_dir, directory.parent) / self.run_id

    def _note(self, name: str, content: bytes) -> None:
        # Not durable: a power cut, which may take it, ends the run as well.
        safe_io.replace_file(self.path / name, content, durable=False)

    def _word(self, name: str) -> str:
        try:
            found = safe_io.read_bounded(self.path / name, _MAX_WORD_BYTES)
        except OSError:
            return ""
        return found.decode("ascii", "replace")

    # Messages for the child

    def read_orders(self) -> str:
        """Return what the run wants of its child beside its prompt; OSError if it is unreadable."""
        try:
            return safe_io.read_bounded(self.orders, MAX_ORDERS_BYTES).decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def make_child_session(self) -> None:
        """Let the child's session file exist: pi would create it readable for others."""
        if not os.path.lexists(self.child_session):
            safe_io.write_new(self.child_session, b"")

    def share_child_session(self, session: Path) -> None:
        """Let a session that a child has on another desk be found on this one, too."""
        with suppress(OSError):  # without links only a crash would miss it
            self.child_session.unlink(missing_ok=True)
            FileCalls.link(session, self.child_session)

    def steer_text(self, number: str) -> Path:
        """Return the file of a message for the child; ValueError where the number is none."""
        if not _STEER_NUMBER.fullmatch(number):
            raise ValueError("not the number of a message")
        return self.path / f"steer-{number}.md"

    def read_steer(self, number: str) -> str:
        """Return a message for the child; OSError or ValueError where there is none."""
        content = safe_io.read_bounded(self.steer_text(number), MAX_STEER_BYTES)
        return content.decode("utf-8", "replace")

    def waiting_steers(self) -> list[str]:
        """Return the numbers of the messages that wait, the oldest first."""
        found: list[tuple[int, str]] = []
        with suppress(OSError):
            for path in self.path.glob("steer-*.md"):
                number = path.stem.removeprefix("steer-")
                if _STEER_NUMBER.fullmatch(number):
                    found.append((path.lstat().st_mtime_ns, number))
        return [number for _, number in sorted(found)]

    def write_steer(self, text: str, number: str = "") -> str:
        """Keep a message for the child, and return its number: a new one, if it has none yet."""
        number = number or os.urandom(8).hex()
        # Whole at once: a supervisor that begins to listen takes what is there.
        self._note(self.steer_text(number).name, text.encode("utf-8", "replace"))
        return number

    # What the child asks, and what it is answered

    def note_waits(self, waits: Sequence[WaitingFor]) -> None:
        """Keep what the run waits for; where that is nothing, no file."""
        with suppress(OSError):
            if waits:
                content = question.questions_to_json(waits)
                self._note(QUESTIONS, safe_io.to_json_bytes(content))
            else:
                (self.path / QUESTIONS).unlink()

    def questions(self) -> tuple[WaitingFor, ...]:
        """Return the questions that wait, the oldest first."""
        return tuple(each for each in self.waits() if each.asks)

    def waits(self) -> tuple[WaitingFor, ...]:
        """Return what the run waits for, the oldest first."""
        try:
            return question.questions_from_json(
                safe_io.read_json(self.path / QUESTIONS, MAX_QUESTIONS_BYTES)
            )
        except (OSError, ValueError):
            return ()

    def write_reply(self, asked: str, text: str, number: str = "") -> str:
        """Keep an answer to a question, and return its number: a new one, if it has none yet."""
        number = number or os.urandom(8).hex()
        content = safe_io.to_json_bytes({"question": asked, "text": text})
        self._note(self._reply_name(number), content)
        return number

    def read_reply(self, number: str) -> tuple[str, str]:
        """Return which question is answered, and how; OSError or ValueError where there is none."""
        path = self.path / self._reply_name(number)
        found = safe_io.read_json(path, MAX_REPLY_BYTES)
        match found:
            case {"question": str(asked), "text": str(text)}:
                return asked, text
        raise ValueError("not an answer")

    def remove_reply(self, number: str) -> None:
        """Take an answer away that nobody will read."""
        with suppress(OSError):
            (self.path / self._reply_name(number)).unlink()

    def _reply_name(self, number: str) -> str:
        if not _STEER_NUMBER.fullmatch(number):
            raise ValueError("not the number of an answer")
        return f"answer-{number}.json"


def path_of_handle(directory: int, name: str = "") -> str:
    """Return a path that leads through a handle, past any renaming or link; else nothing."""
    handles = "/proc/self/fd"
    has_handles = sys.platform == "linux" and os.path.isdir(handles)  # noqa: PTH112 - a text
    return f"{handles}/{directory}/{name}".rstrip("/") if has_handles else ""


def rescued_dir(data_dir: Path, store: Path) -> Path:
    """Return where the runs of a store are kept that lost their directories."""
    from hashlib import blake2b  # a supervisor seldom needs it, and starts once per child

    digest = blake2b(os.fsencode(store), digest_size=8).hexdigest()
    return data_dir / RESCUED / digest


def clear_stale_desks(data_dir: Path, known: Container[str]) -> int:
    """Remove old desks of runs that no process answers for and no index knows; count them."""
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
    """Return whether a process has a lock, or may have."""
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

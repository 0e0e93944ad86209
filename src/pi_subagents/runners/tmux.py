"""
Run supervisors in tmux windows, attached to this process by a socket, their transcripts in sight.

In: a run's specification.  Out: its result, as from every runner.  The window's program fetches
lock, environment and specification from a socket in a private directory; that connection then is
lifeline, command channel and wake-up at once.  Closing the window ends the run as a stop does.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import struct
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pi_subagents.runners import messages, pane
from pi_subagents.runners.attached import LocalRunner
from pi_subagents.runners.attachment import Attachment
from pi_subagents.runners.pool import LEAVE_LIMIT_S
from pi_subagents.runners.supervisor_start import PACKAGE_ROOT, order_line, supervisor_argv
from pi_subagents.runners.tmux_server import TmuxServer, check_tmux
from pi_subagents.store.local_order import LocalOrder, altered
from pi_subagents.system.identity import identify
from pi_subagents.system.runtime_dir import runtime_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.runners.table import RunnerPlace
    from pi_subagents.store.run_dir import RunDir
    from pi_subagents.system.identity import Identity

START_LIMIT_S = 30.0
ID_DIGITS = 8
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from pi_subagents.runners.pane import main; main()"
)
_CREDENTIALS = struct.Struct("3i")  # process, user, group


class TmuxRunner(LocalRunner):
    """The runner for foreground runs that can be watched; children inherit `env`."""

    def __init__(self, place: RunnerPlace) -> None:
        """Have a tmux server; SetupError where there is no tmux to use."""
        super().__init__(place)
        self._directory = runtime_dir(place.env)
        self._server = TmuxServer(check_tmux(place.env, place.cwd), place.env, self._directory)
        self._notices: set[str] = set()  # that were shown
        self._opening = asyncio.Lock()  # so that all windows of a call come into one session

    async def _attach(self, order: LocalOrder, on_event: Callable[[Event], None]) -> Attachment:
        with _listening(self._directory / f"run-{secrets.token_hex(6)}") as (listener, address):
            try:
                async with asyncio.timeout(START_LIMIT_S):
                    await self._open_window(order.spec.run_id, address)
                    connection = await _accept(listener)
                    # Now, while it waits for us: later its number may be another's.
                    pid, _ = _peer(connection)
                    supervisor = None if pid is None else identify(pid)
                    await hand_over(connection, order, self._env)
            except TimeoutError as error:
                raise OSError(messages.note_window_not_started(START_LIMIT_S)) from error
        run_dir = self._held.run_dir(order.spec.run_id)
        return _TmuxAttachment(connection, supervisor, run_dir, on_event)

    def prewarm(self, specs: Sequence[RunSpec], guessed: Sequence[RunSpec]) -> None:
        """Open no window before there is something to see in it."""

    async def settle(self) -> None:
        """Every window has ended with its run."""

    async def _open_window(self, run_id: str, address: str) -> None:
        argv = (sys.executable, "-I", "-S", "-c", _BOOT, PACKAGE_ROOT, address)
        async with self._opening:
            where = await self._server.open_window(f"sub-{run_id[:ID_DIGITS]}", argv)
        if where not in self._notices:
            self._notices.add(where)
            self._place.notice(where)


RUNNER = TmuxRunner


class _TmuxAttachment(Attachment):
    """A supervisor at the other end of a connection."""

    def __init__(
        self,
        connection: socket.socket,
        supervisor: Identity | None,
        run_dir: RunDir,
        on_event: Callable[[Event], None],
    ) -> None:
        self._connection = connection
        number = connection.fileno()
        super().__init__(
            wake=number,
            commands=number,
            run_dir=run_dir,
            on_event=on_event,
            supervisor=supervisor,
        )

    def _release(self) -> None:
        self._connection.close()
        # It is not our child, but it holds the lock as long as it lives.
        self._desk.wait_for_end(LEAVE_LIMIT_S)


@contextmanager
def _listening(path: Path) -> Iterator[tuple[socket.socket, str]]:
    """Listen in a private directory, for as long as a connection is expected."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.setblocking(False)
        listener.bind(str(path))
        try:
            listener.listen()
            yield listener, str(path)
        finally:
            path.unlink(missing_ok=True)


async def _accept(listener: socket.socket) -> socket.socket:
    """Return the first connection by a process of this user."""
    while True:
        connection, _ = await asyncio.get_running_loop().sock_accept(listener)
        if is_ours(connection):
            return connection
        connection.close()


def is_ours(connection: socket.socket) -> bool:
    """Return whether a process of this user is at the other end."""
    return _peer(connection)[1] in (None, os.geteuid())


def _peer(connection: socket.socket) -> tuple[int | None, int | None]:
    """Return the process and the user at the other end, where the kernel shows them."""
    if sys.platform != "linux":
        return None, None  # no other user can reach into the directory
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(found)
    return process, user


async def hand_over(connection: socket.socket, order: LocalOrder, env: Mapping[str, str]) -> None:
    """Send lock, command, environment and specification; the connection is closed if that fails."""
    handed = [each for each in (order.place.lock_fd, order.place.envelope_fd) if each is not None]
    there = altered(
        order,
        lock_fd=pane.LOCK,
        screen_fd=pane.SCREEN,
        envelope_fd=None if order.place.envelope_fd is None else pane.ENVELOPE,
    )
    try:
        command = pane.pack(map(os.fsencode, supervisor_argv()))
        variables = pane.pack(os.fsencode(f"{name}={value}") for name, value in env.items())
        socket.send_fds(connection, [b"."], handed)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(connection, command + variables + order_line(there))
    except BaseException:
        connection.close()
        raise

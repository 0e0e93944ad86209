"""
The first program in a pane: fetch over a socket what to run, and become it.

In: the path of a socket.  Over it come the run's lock and envelope, a command and its environment;
what follows them is left for that command.  Out: the command, in our place, with the socket as its
standard input and output, lock, envelope and the pane's terminal at fixed descriptors.  Nothing of
it was ever in a command line, or known to tmux.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import termios
from fcntl import F_DUPFD_CLOEXEC, fcntl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Where the command finds the run's lock, the terminal to show its transcript on, and the envelope
# for its result.
LOCK = 3
SCREEN = 4
ENVELOPE = 5
_ABOVE = 10  # out of the way of every fixed descriptor
_LENGTH = struct.Struct("!Q")
MAX_BLOCK = 64 * 1024 * 1024
HELD_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def main() -> None:
    """Fetch, arrange, become."""
    # Held until the supervisor listens, so that a pane closed this early aborts its run too.
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD_SIGNALS)
    _silence_keys(sys.stdin.fileno())
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(sys.argv[2])
    handed = socket.recv_fds(connection, 1, 2)[1]
    argv = unpack(connection)
    variables = unpack(connection)
    _arrange(connection.fileno(), handed)
    names_and_values = (variable.partition(b"=") for variable in variables)
    os.execve(argv[0], argv, {name: value for name, _, value in names_and_values})  # noqa: S606 - no shell is wanted


def pack(items: Iterable[bytes]) -> bytes:
    """Return the items, none of which may have a null byte, as one block with its length."""
    block = b""
    for item in items:
        if b"\0" in item:
            raise ValueError("embedded null byte")
        block += item + b"\0"
    return _LENGTH.pack(len(block)) + block


def unpack(connection: socket.socket) -> list[bytes]:
    """Return the items of the next block, and take nothing that follows it."""
    (size,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if size > MAX_BLOCK:
        raise ValueError("not a block of ours")
    return _exactly(connection, size).split(b"\0")[:-1]


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def _arrange(connection: int, handed: list[int]) -> None:
    """Put every descriptor where the command expects it."""
    screen, wire = (fcntl(each, F_DUPFD_CLOEXEC, _ABOVE) for each in (1, connection))
    held = [fcntl(each, F_DUPFD_CLOEXEC, _ABOVE) for each in handed]
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    places = [(wire, 0), (wire, 1), (nothing, 2), (screen, SCREEN)]
    places += zip(held, (LOCK, ENVELOPE), strict=False)
    for source, place in places:
        os.dup2(source, place)


def _silence_keys(terminal: int) -> None:
    """Show no typed characters between the lines, and give only Ctrl+C a meaning."""
    settings = termios.tcgetattr(terminal)
    settings[3] &= ~termios.ECHO
    for key in (termios.VQUIT, termios.VSUSP):
        settings[6][key] = b"\0"
    termios.tcsetattr(terminal, termios.TCSANOW, settings)

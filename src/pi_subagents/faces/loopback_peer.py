"""
Who owns the other end of a connection on loopback, according to the kernel.

In: the peer's address and our port.  Out: whether it is this user's, or that is not known (only
Linux says it, in `/proc/net`).
"""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
# An IPv4 address in a socket for both protocols.
_MAPPED = "0000000000000000FFFF0000"
# Once a program has closed its socket, the kernel may no longer know whose it was.
_ESTABLISHED = "01"
_LOCAL, _REMOTE, _STATE, _UID, _LEAST = 1, 2, 3, 7, 8


def is_own_peer(address: str, port: int, our_port: int) -> bool:
    """Return whether a connection from there to a port of ours may be this user's."""
    readable = False
    for table in TABLES:
        try:
            text = table.read_text("ascii", "replace")
        except OSError:
            continue
        readable = True
        if owner(text, address, port, our_port) == os.geteuid():
            return True
    return not readable


def owner(table: str, address: str, port: int, remote_port: int) -> int | None:
    """Return who owns a connected socket in a table of the kernel; None if it is not there."""
    local = f"{_as_in_table(address)}:{port:04X}"
    for line in table.splitlines():
        words = line.split()
        if (
            len(words) >= _LEAST
            and words[_LOCAL].removeprefix(_MAPPED) == local
            and words[_REMOTE].endswith(f":{remote_port:04X}")
            and words[_STATE] == _ESTABLISHED
            and words[_UID].isdecimal()
        ):
            return int(words[_UID])
    return None


def _as_in_table(address: str) -> str:
    """Return an IPv4 address as the kernel writes it: a number of this machine's byte order."""
    (number,) = struct.unpack("=I", socket.inet_aton(address))
    return f"{number:08X}"

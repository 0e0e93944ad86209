"""
Fork supervisors for one caller: a process that has loaded what they need and never takes a run.

In, on standard input, a socket: for each supervisor a line of JSON and three descriptors, what will
be its standard input, its standard output and its directory.  Out: for each its pid, and a handle
on it.  Whatever goes wrong ends this process and no other: a supervisor whose caller was not told
of it finds its standard input at its end, and the caller starts another one itself.
"""

from __future__ import annotations

import _socket
import gc
import json
import os
import resource
import signal
from array import array
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pi_subagents.engines.table import DEFAULT, load_conversations
from pi_subagents.supervisor.environment import take_environment
from pi_subagents.system import crash_points

if TYPE_CHECKING:
    from collections.abc import Iterable

# What a supervisor imports when it needs it.
_USED_LATER = ("ctypes", "encodings.ascii", "hashlib", "pi_subagents.supervisor.waiting")
MAX_REQUEST_BYTES = 16 * 1024 * 1024
_CHANNEL, _WAKE = 0, 1
_DESCRIPTORS = 3
_CHUNK = 128 * 1024
_READY = b"r"


def serve_forks() -> None:
    """Fork a supervisor for each request; return in each of them, and nowhere else."""
    _load()
    # What is loaded now is looked at by no collection, so its pages stay shared.
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, _reap)
    try:
        while not _serve_one():
            pass
    except (OSError, ValueError, EOFError):
        os._exit(0)


def _reap(*_: object) -> None:
    """Let those go that have ended; nobody asks how."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _load() -> None:
    """Import all that a supervisor may need."""
    load_conversations(DEFAULT)
    for name in _USED_LATER:
        import_module(name)


def _serve_one() -> bool:
    """Fork one supervisor; return whether we are it."""
    channel = _socket.socket(fileno=_CHANNEL)
    try:
        request, descriptors = _receive(channel)
        reader, writer = os.pipe()
        # Its number is its own until it is reaped, which is not before there is a handle on it.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        if (pid := os.fork()) == 0:
            os.close(reader)
            _become_supervisor(request, descriptors)
            os.write(writer, _READY)
            os.close(writer)
            return True
        os.close(writer)
        handle = os.pidfd_open(pid)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        crash_points.reach(crash_points.FORKED)
        if os.read(reader, 1) != _READY:
            raise EOFError
        beside = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array("i", [handle]))]
        channel.sendmsg([b"%d\n" % pid], beside)
        crash_points.reach(crash_points.FORK_ANSWERED)
        for each in (handle, reader, *descriptors):
            os.close(each)
        return False
    finally:
        channel.detach()


def _receive(channel: _socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return the next request and its descriptors; EOFError if there is none."""
    line, descriptors = b"", array("i")
    room = _socket.CMSG_LEN(_DESCRIPTORS * descriptors.itemsize)
    while not line.endswith(b"\n"):
        data, beside, *_ = channel.recvmsg(_CHUNK, room)
        if not data or len(line) > MAX_REQUEST_BYTES:
            raise EOFError
        line += data
        for level, kind, content in beside:
            if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
                descriptors.frombytes(content)
    if len(descriptors) != _DESCRIPTORS:
        raise EOFError
    return json.loads(line), descriptors.tolist()


def _become_supervisor(request: dict[str, Any], descriptors: list[int]) -> None:
    """Be what a process of its own would have been: all that was inherited at its start."""
    lifeline, wake, place = descriptors
    os.setsid()
    os.dup2(lifeline, _CHANNEL)
    os.dup2(wake, _WAKE)
    os.fchdir(place)
    for each in descriptors:
        os.close(each)
    os.umask(request["umask"])
    _set_limits(request["limits"])
    take_environment(request["env"])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _set_limits(limits: Iterable[tuple[int, int, int]]) -> None:
    for number, soft, hard in limits:
        if resource.getrlimit(number) != (soft, hard):
            resource.setrlimit(number, (soft, hard))

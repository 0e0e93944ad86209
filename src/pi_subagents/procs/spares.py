"""
Supervisors that are up before anybody knows what for.

In: how many, as soon as a command knows that it will delegate.  Out: one after the other, for the
first runs; whoever is left is ended.  A supervisor's start is Python's start and its imports, as
is our own, and both can go on at once.
"""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pi_subagents.procs.supervisor_start import start_supervisor

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping

    Supervisor = tuple[subprocess.Popen[bytes], socket.socket]


class Spares:
    """Supervisors without a specification, each with its lifeline; all have one environment."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = dict(env)
        self._waiting: list[Supervisor] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self) -> None:
        """Start one more, if there is one to be had: nobody depends on it."""
        try:
            self._waiting.append(attached_supervisor(self._env))
        except OSError:
            return

    def take(self, env: Mapping[str, str]) -> Supervisor | None:
        """Return one that has this environment."""
        return self._waiting.pop(0) if self._waiting and dict(env) == self._env else None

    def close(self) -> None:
        """End those that nobody took: they have nothing to tidy up."""
        for process, channel in self._waiting:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
            channel.close()
        self._waiting = []


@contextmanager
def spare_supervisors(count: int, env: Mapping[str, str]) -> Iterator[Spares]:
    """Have some start beside whatever is done meanwhile."""
    spares = Spares(env)
    try:
        for _ in range(count):
            spares.add()
        yield spares
    finally:
        spares.close()


def attached_supervisor(env: Mapping[str, str]) -> Supervisor:
    """Start one that is held by a socket, on which it is told what to do."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            return start_supervisor(env, stdin=theirs.fileno()), ours
        except OSError:
            ours.close()
            raise

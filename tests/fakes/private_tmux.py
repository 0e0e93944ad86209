"""
A tmux of a test's own: nothing here can reach the user's server.

`private_tmux` makes a short directory for sockets and gives what to add to a caller's environment;
`Tmux` asks the server that is started there.  At the end both are gone.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.driver import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")


@dataclass
class Tmux:
    """A server by its socket."""

    socket: Path

    def __call__(self, *arguments: str) -> str:
        """Have the server do something, and return what it says."""
        done = subprocess.run(
            ["tmux", "-S", self.socket, "-f", "/dev/null", *arguments],
            env={"PATH": os.defpath, "TERM": "screen"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        )
        return done.stdout

    @property
    def pid(self) -> int:
        return int(self("display-message", "-p", "#{pid}"))

    def windows(self) -> list[tuple[str, str]]:
        """Return session and name of every window."""
        listed = self("list-windows", "-a", "-F", "#{session_name} #{window_name}")
        return [(session, name) for session, name in map(str.split, listed.splitlines())]

    def shown_in(self, run_id: str) -> str:
        """Return what the pane of a run shows, wrapped lines joined."""
        return self("capture-pane", "-p", "-J", "-t", self._pane(run_id)).rstrip()

    def wait_until_shown(self, run_id: str, text: str) -> str:
        """Return what the pane of a run shows, as soon as a text is in it."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in (shown := self.shown_in(run_id)):
            assert time.monotonic() < deadline, f"never shown: {text!r}, but:\n{shown}"
        return shown

    def press(self, run_id: str, *keys: str) -> None:
        self("send-keys", "-t", self._pane(run_id), *keys)

    def close(self, run_id: str) -> None:
        self("kill-window", "-t", self._pane(run_id))

    def _pane(self, run_id: str) -> str:
        name = f"sub-{run_id[:8]}"
        (session,) = {session for session, window in self.windows() if window == name}
        return f"={session}:={name}"


@dataclass
class PrivateTmux:
    """A place for sockets, and the server that callers start in it."""

    runtime: Path
    own: Tmux

    @property
    def env(self) -> dict[str, str]:
        return {"XDG_RUNTIME_DIR": str(self.runtime)}

    def users(self) -> Tmux:
        """Start a server as if it was the user's, with one window, and return it."""
        tmux = Tmux(self.runtime / "users")
        tmux("new-session", "-d", "-s", "work", "-n", "editor", "cat", "-")
        return tmux


@contextmanager
def private_tmux() -> Iterator[PrivateTmux]:
    """Have such a place; every server in it is ended with it."""
    runtime = Path(tempfile.mkdtemp(prefix="tmux-"))  # a test's own directory is too long
    place = PrivateTmux(runtime, Tmux(runtime / "pi-subagents" / "tmux"))
    try:
        yield place
    finally:
        for socket in (runtime / "users", place.own.socket):
            subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, check=False)
        shutil.rmtree(runtime)


@contextmanager
def watched(pid: int) -> Iterator[None]:
    """Prove that a process, alive at the beginning, is gone at the end."""
    handle = os.pidfd_open(pid)
    try:
        yield
        assert select.select([handle], [], [], PATIENCE_S)[0], f"process {pid} is still there"
    finally:
        os.close(handle)

# ruff: noqa: INP001 - scripts are files, not a package
"""
A terminal in a tmux of our own: type into it, wait for what it shows, capture it.

In: a directory to be alone in, the environment of a shell, a size.  Out: rows with their ANSI
sequences.  Nobody else's tmux is reached, and the end of the block is the end of the server.
Nothing here sleeps: tmux passes on what the shell's programs print, and each piece is a reason to
look at the screen again.
"""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PATIENCE_S = 60.0
SHELL = ("bash", "--noprofile", "--norc")


class NeverShown(Exception):
    """A text did not appear; the message has what did."""


@dataclass(frozen=True, slots=True)
class Screen:
    """One pane, by the socket of its server, and a pipe that tells that something was printed."""

    socket: Path
    news: int

    def type(self, line: str) -> None:
        """Type a line and send it off."""
        self.tmux("send-keys", "-l", line)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press keys, by the names that tmux has for them; other words are typed."""
        self.tmux("send-keys", *keys)

    def see(self, *texts: str, patience_s: float = PATIENCE_S) -> None:
        """Wait until all of these are on the screen at once."""
        deadline = time.monotonic() + patience_s
        while missing := [
            text for text in texts if text not in (shown := self.tmux("capture-pane", "-p"))
        ]:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.news], [], [], left)[0]:
                raise NeverShown(f"never shown: {', '.join(missing)}. The screen:\n{shown}")
            os.read(self.news, 65536)

    def captured(self) -> str:
        """Return the rows of the screen with their styles."""
        return self.tmux("capture-pane", "-e", "-N", "-p")

    def tmux(self, *arguments: str) -> str:
        """Give the server a command; return what it answers."""
        return _tmux(self.socket, *arguments)


@contextmanager
def screen_of_our_own(
    place: Path, *, cwd: Path, env: Mapping[str, str], columns: int, rows: int
) -> Iterator[Screen]:
    """Have a shell on a screen of a fixed size."""
    socket, pipe = place / "tmux", place / "news"
    os.mkfifo(pipe)
    # Both ways, so that the pipe has no end before tmux has opened it.
    news = os.open(pipe, os.O_RDWR)
    size = ("-x", str(columns), "-y", str(rows))
    try:
        _tmux(
            socket, "start-server", ";", "set-option", "-g", "status", "off", ";",
            "set-option", "-s", "extended-keys", "on", ";",
            "new-session", "-d", *size, "-c", str(cwd), *SHELL, env=env,
        )  # fmt: skip
        _tmux(socket, "pipe-pane", f"exec cat > {shlex.quote(str(pipe))}")
        yield Screen(socket, news)
    finally:
        subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, check=False)
        os.close(news)


def _tmux(socket: Path, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        ["tmux", "-u", "-f", os.devnull, "-S", socket, *arguments],
        env=env or {"PATH": os.environ["PATH"], "TERM": "screen"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    return done.stdout

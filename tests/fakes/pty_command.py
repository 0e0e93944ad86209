"""
A command on a terminal of its own, and a person before it: what is seen, which keys are pressed.

`open_pty` gives the two ends of a terminal; `on_a_terminal` runs a command there as a shell would
(its own session, in the foreground).  Waiting is for what the screen shows, never for a time.
A shell starts it: the terminal it opens first becomes its own.  `preexec_fn` would do that too, but
may hang in a process with threads, and the workers of pytest-xdist have some.
"""

from __future__ import annotations

import asyncio
import codecs
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING

from tests.fakes.driver import PATIENCE_S
from tests.fakes.virtual_terminal import VirtualTerminal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tests.fakes.workplace import Workplace

SUBAGENTS = [sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()"]


class Watcher:
    """A person before a terminal."""

    def __init__(self, master: int, columns: int, rows: int) -> None:
        self.master = master
        self.terminal = VirtualTerminal(columns, rows)
        self.sent = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._news = asyncio.Event()
        self.gone = False

    def look(self) -> None:
        """Take in what has been sent so far, some of it at least."""
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the last one on the other side is gone
            data = b""
        if not data:
            self.gone = True
            asyncio.get_running_loop().remove_reader(self.master)
        text = self._decoder.decode(data)
        self.sent += text
        self.terminal.feed(text)
        self._news.set()

    async def until(self, seen: Callable[[], bool]) -> list[str]:
        """Return the screen as soon as something is true of it."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not seen():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            shown = "\n".join(self.terminal.screen.text())
            raise AssertionError(f"never seen; the screen shows:\n{shown}") from None
        return self.terminal.screen.text()

    async def sees(self, text: str) -> list[str]:
        """Return the screen as soon as a text is on it."""
        return await self.until(lambda: any(text in row for row in self.terminal.screen.text()))

    def look_away(self) -> None:
        """Read nothing any more."""
        asyncio.get_running_loop().remove_reader(self.master)

    def look_again(self) -> None:
        asyncio.get_running_loop().add_reader(self.master, self.look)

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def resize(self, columns: int, rows: int) -> None:
        self.terminal.resize(columns, rows)
        set_size(self.master, columns, rows)


def set_size(descriptor: int, columns: int, rows: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def fill(slave: int) -> None:
    """Send blanks until the terminal takes no more: for now, the kernel may still move some on."""
    os.set_blocking(slave, False)
    with suppress(BlockingIOError):
        while True:
            os.write(slave, b" " * 100)


@contextmanager
def open_pty(columns: int = 80, rows: int = 24) -> Iterator[tuple[int, int]]:
    """Have both ends of a terminal: the person's, the program's."""
    master, slave = pty.openpty()
    set_size(master, columns, rows)
    try:
        yield master, slave
    finally:
        os.close(master)
        os.close(slave)


@asynccontextmanager
async def watching(master: int, columns: int = 80, rows: int = 24) -> AsyncIterator[Watcher]:
    watcher = Watcher(master, columns, rows)
    loop = asyncio.get_running_loop()
    loop.add_reader(master, watcher.look)
    try:
        yield watcher
    finally:
        loop.remove_reader(master)


_START = 'terminal=$1 output=$2; shift 2; exec "$@" <"$terminal" 2>"$terminal" >"$output"'


@asynccontextmanager
async def on_a_terminal(
    argv: list[str],
    *,
    cwd: Path,
    env: dict[str, str],
    columns: int = 80,
    rows: int = 24,
    output: Path | None = None,
) -> AsyncIterator[tuple[Watcher, subprocess.Popen[bytes], int]]:
    """
    Run a command; give the person, the process, and the program's end of the terminal.

    Standard output goes to the terminal too, or to a file.
    """
    with open_pty(columns, rows) as (master, slave):
        terminal = os.ttyname(slave)
        process = subprocess.Popen(
            ["/bin/sh", "-c", _START, "sh", terminal, output or terminal, *argv],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            async with watching(master, columns, rows) as watcher:
                yield watcher, process, slave
        finally:
            process.kill()
            process.wait()


def subagents_on_a_terminal(
    place: Workplace,
    *arguments: str,
    size: tuple[int, int] = (80, 24),
    output: Path | None = None,
    **env: str,
) -> AbstractAsyncContextManager[tuple[Watcher, subprocess.Popen[bytes], int]]:
    """Run `subagents` in a place, on a terminal of so many columns and rows."""
    columns, rows = size
    return on_a_terminal(
        [*SUBAGENTS, *arguments],
        cwd=place.project,
        env={**place.env, "TERM": "xterm", "LC_ALL": "C.UTF-8", **env},
        columns=columns,
        rows=rows,
        output=output,
    )


async def ended(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a command, when it has one."""
    return await asyncio.to_thread(process.wait, PATIENCE_S)

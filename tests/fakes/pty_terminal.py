"""
A terminal at which somebody sits: waits for what is shown, then presses keys.

For tests without an event loop; see `pty_command` for the others, and for the terminal itself.
"""

from __future__ import annotations

import codecs
import os
import select
import subprocess
import termios
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from tests.fakes.driver import PATIENCE_S
from tests.fakes.pty_command import open_pty
from tests.fakes.virtual_terminal import VirtualTerminal

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

UP, DOWN, ENTER, ESC, CTRL_C, TAB = "\x1b[A", "\x1b[B", "\r", "\x1b", "\x03", "\t"


class PtyTerminal:
    """One program with all three streams on a terminal of its own."""

    def __init__(
        self,
        argv: list[str],
        env: dict[str, str],
        *,
        cwd: Path | None = None,
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self._opened = ExitStack()
        self._master, self._terminal = self._opened.enter_context(open_pty(columns, rows))
        self._mode = termios.tcgetattr(self._terminal)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._screen = VirtualTerminal(columns, rows)
        self._seen = 0
        self.shown = ""
        self.program = subprocess.Popen(
            argv,
            stdin=self._terminal,
            stdout=self._terminal,
            stderr=self._terminal,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.program.poll() is None:
            self.program.kill()
            self.program.wait()
        self._opened.close()

    def press(self, after: str, *keys: str) -> None:
        """Wait until something is shown behind what was waited for last, then press keys."""
        while (found := self.shown.find(after, self._seen)) < 0:
            self._read(after)
        self._seen = found + len(after)
        for key in keys:
            os.write(self._master, key.encode())

    def screen(self) -> list[str]:
        """Return the lines that a person sees, and has seen, with `{code}` where a style begins."""
        return [line.rstrip() for line in self._screen.screen.marked()]

    def ended(self) -> int:
        """Wait for the end, and return the exit code; all that was shown is in `shown`."""
        self.program.wait(PATIENCE_S)
        while select.select([self._master], [], [], 0)[0]:
            self._read("")
        return self.program.returncode

    def is_as_before(self) -> bool:
        """Tell whether the terminal's mode is what it was."""
        return termios.tcgetattr(self._terminal) == self._mode

    def _read(self, wanted: str) -> None:
        ready, _, _ = select.select([self._master], [], [], PATIENCE_S)
        assert ready, f"{wanted!r} was never shown:\n{self.shown}"
        text = self._decoder.decode(os.read(self._master, 65536))
        self.shown += text
        self._screen.feed(text)

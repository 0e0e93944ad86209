"""A terminal at which somebody sits: waits for what is shown, then presses keys."""

from __future__ import annotations

import os
import select
import subprocess
import termios
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

PATIENCE_S = 30.0
UP, DOWN, ENTER, ESC, CTRL_C, TAB = "\x1b[A", "\x1b[B", "\r", "\x1b", "\x03", "\t"


class PtyTerminal:
    """One program with all three streams on a terminal of its own."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        self._master, self._terminal = os.openpty()
        termios.tcsetwinsize(self._terminal, (24, 80))
        self.mode = termios.tcgetattr(self._terminal)
        self.shown = ""
        self._seen = 0
        self.program = subprocess.Popen(
            argv,
            stdin=self._terminal,
            stdout=self._terminal,
            stderr=self._terminal,
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
        os.close(self._master)
        os.close(self._terminal)

    def press(self, after: str, *keys: str) -> None:
        """Wait until something is shown behind what was waited for last, then press keys."""
        while (found := self.shown.find(after, self._seen)) < 0:
            self._read(after)
        self._seen = found + len(after)
        for key in keys:
            os.write(self._master, key.encode())

    def ended(self) -> int:
        """Wait for the end, and return the exit code; all that was shown is in `shown`."""
        self.program.wait(PATIENCE_S)
        while select.select([self._master], [], [], 0)[0]:
            self._read("")
        return self.program.returncode

    def is_as_before(self) -> bool:
        """Tell whether the terminal's mode is what it was."""
        return termios.tcgetattr(self._terminal) == self.mode

    def _read(self, wanted: str) -> None:
        ready, _, _ = select.select([self._master], [], [], PATIENCE_S)
        assert ready, f"{wanted!r} was never shown:\n{self.shown}"
        self.shown += os.read(self._master, 65536).decode(errors="replace")

"""
The real pi in a terminal, in a tmux of the test's own.

In: keys.  Out: what is on the screen, as soon as it says what is waited for.  At the end pi and its
tmux are gone.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakes.driver import PATIENCE_S
from tests.fakes.private_tmux import Tmux

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fakes.main_pi import MainPi

WIDTH, HEIGHT = 110, 60
# The last thing pi says of its start on a machine without these: from here on it takes prompts.
STARTED = "tmux extended-keys is off"
PATIENT = 2 * PATIENCE_S


@dataclass
class PiScreen:
    """What a person sees of pi, and types."""

    tmux: Tmux

    @property
    def shell_pid(self) -> int:
        """The shell whose only child is pi."""
        return int(self.tmux("display-message", "-p", "-t", "0", "#{pane_pid}"))

    def shown(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "0").rstrip()

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "0", *keys)

    def enter(self, text: str) -> None:
        """Type a line and send it off, once the editor shows it."""
        self.tmux("send-keys", "-t", "0", "-l", text)
        self.wait_for(text)
        self.press("Enter")

    def wait_for(self, *texts: str) -> str:
        """Return the screen as soon as all of these are on it."""
        return self.wait_until(lambda shown: all(text in shown for text in texts), str(texts))

    def wait_without(self, text: str) -> str:
        """Return the screen as soon as this is no longer on it."""
        return self.wait_until(lambda shown: text not in shown, f"without {text!r}")

    def wait_until(self, is_so: Callable[[str], bool], what: str) -> str:
        deadline = time.monotonic() + PATIENT
        while not is_so(shown := self.shown()):
            assert time.monotonic() < deadline, f"never shown: {what}, but:\n{shown}"
        return shown

    def block(self, first: str) -> list[str]:
        """Return the lines from the one with this text to the next empty pair of lines."""
        lines = [line.strip() for line in self.shown().splitlines()]
        start = next(number for number, line in enumerate(lines) if first in line)
        pairs = range(start, len(lines) - 1)
        end = next((n for n in pairs if not lines[n] and not lines[n + 1]), len(lines))
        return lines[start:end]


@contextmanager
def pi_screen(pi: MainPi, *arguments: str) -> Iterator[PiScreen]:
    """Have pi on a screen, ready for a prompt."""
    sockets = Path(tempfile.mkdtemp(prefix="tmux-"))  # a test's own directory is too long
    tmux = Tmux(sockets / "pi")
    try:
        subprocess.run(
            [
                *("tmux", "-S", tmux.socket, "-f", "/dev/null", "new-session", "-d"),
                *("-x", str(WIDTH), "-y", str(HEIGHT), "-c", pi.project.path),
                # What pi says at last stays on the screen.
                f"{shlex.join(pi.command(*arguments))}; exec cat",
            ],
            env={**pi.env, "TERM": "xterm-256color"},
            check=True,
        )
        screen = PiScreen(tmux)
        screen.wait_for(STARTED)
        yield screen
    finally:
        subprocess.run(["tmux", "-S", tmux.socket, "kill-server"], capture_output=True, check=False)
        shutil.rmtree(sockets)

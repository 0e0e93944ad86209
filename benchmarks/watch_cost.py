"""
`subagents watch` over a thousand finished runs: the first screen, and what it costs to go on.

The real command on a terminal of its own.  The first screen is there when the newest run is on it;
what it costs while nothing happens is the CPU of its process, told per second of that.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Figure, Place, Target, interleaved, peak_memory_mb, progress
from store_scan import CLI, make_runs

from pi_subagents.core.value import replace
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS, COLUMNS = 40, 120
PATIENCE_S = 60.0
IDLE_S = 5


def measure(place: Place) -> list[Figure]:
    count = place.amount(1000, 200, 20)
    section = f"Watching {count:,} runs"
    cwd, data = place.path / "watch", place.path / "watch-data"
    (cwd / ".pi").mkdir(parents=True)
    env = {**place.env, "PI_SUBAGENTS_DATA": str(data), "TERM": "xterm-256color"}
    placed = replace(place, project=cwd, env=env)
    progress(f"{section}: making them")
    make_runs(Runs(cwd, env), count)
    newest, every = f"task {count - 1}", f"{count} completed"

    def first_screen(text: str) -> float:
        with _watching(placed) as (terminal, _, begun):
            return (_seen(terminal, text) - begun) * 1000

    times = interleaved(
        place.rounds(7),
        {
            "first screen": lambda: first_screen(newest),
            "every run read and listed": lambda: first_screen(every),
        },
        section,
    )
    progress(f"{section}: while nothing happens")
    with _watching(placed) as (terminal, pid, _):
        _seen(terminal, every)
        _drained(terminal, 1.0)
        seconds = place.amount(IDLE_S, IDLE_S, 1)
        before = _cpu_ms(pid)
        _drained(terminal, seconds)
        idle = (_cpu_ms(pid) - before) / seconds
        memory = peak_memory_mb(pid) or 0.0
    return [
        Figure(section, "first screen", "ms", times["first screen"], Target(1000)),
        Figure(section, "every run read and listed", "ms", times["every run read and listed"]),
        Figure(section, "CPU per second while nothing happens", "ms", (idle,), Target(5)),
        Figure(section, "peak memory", "MB", (memory,)),
    ]


@contextmanager
def _watching(place: Place) -> Iterator[tuple[int, int, float]]:
    """Have the command on a terminal; yield that, its process and when it began."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    begun = time.monotonic()
    process = subprocess.Popen(
        (*CLI, "watch"), stdin=its, stdout=its, stderr=its, cwd=place.project, env=dict(place.env)
    )
    os.close(its)
    try:
        yield ours, process.pid, begun
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.close(ours)


def _seen(terminal: int, text: str) -> float:
    """Return when a text has been painted."""
    painted = b""
    while text.encode() not in painted:
        if not select.select([terminal], [], [], PATIENCE_S)[0]:
            raise RuntimeError(f"never shown: {text}")
        painted = painted[-4096:] + os.read(terminal, 65536)
    return time.monotonic()


def _drained(terminal: int, seconds: float) -> None:
    """Read for a while, so that nobody waits for us."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            os.read(terminal, 65536)


def _cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

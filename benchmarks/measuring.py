"""
What every benchmark needs: figures with targets, interleaved rounds, the cost of a process.

Nothing here asserts: a busy machine must not turn a measurement into a failure.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MB = 1024 * 1024
_BEGUN = time.monotonic()


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure should be: at most `limit`, or at least."""

    limit: float
    at_least: bool = False

    def met(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured quantity, all rounds of it."""

    section: str
    name: str
    unit: str
    values: tuple[float, ...]
    target: Target | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def met(self) -> bool | None:
        return None if self.target is None else self.target.met(self.median)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process and everything it waited for took."""

    wall_ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Place:
    """A scratch directory with a home and a project, and how thorough to be (a sample is quick)."""

    path: Path
    project: Path
    env: Mapping[str, str]
    quick: bool
    sample: bool = False
    own_rounds: int | None = None  # as asked for

    def rounds(self, full: int) -> int:
        return self.own_rounds or self.amount(full, 2, 1)

    def amount(self, full: int, quick: int, sample: int) -> int:
        """Return how many, or how much, of something is measured."""
        return sample if self.sample else quick if self.quick else full


def project_of_printers(path: Path) -> Path:
    """Make a project whose children only print: nothing is said to them but their prompt."""
    (path / ".pi").mkdir(parents=True, exist_ok=True)
    (path / ".pi" / "settings.json").write_text('{"subagents": {"child_mode": "json"}}')
    return path


def progress(text: str) -> None:
    """Say on standard error what is being measured."""
    print(f"[{time.monotonic() - _BEGUN:6.1f} s] {text}", file=sys.stderr, flush=True)


def interleaved(
    rounds: int, sides: Mapping[str, Callable[[], float]], what: str
) -> dict[str, tuple[float, ...]]:
    """Measure every side once per round, in alternating order; the first round only warms up."""
    values: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(-1, rounds):
        progress(f"{what}: {f'round {number + 1} of {rounds}' if number >= 0 else 'warming up'}")
        for name in names if number % 2 == 0 else reversed(names):
            value = sides[name]()
            if number >= 0:
                values[name].append(value)
    return {name: tuple(found) for name, found in values.items()}


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, ...]:
    """Return the ratio of each round: what disturbs a round disturbs both of its sides."""
    return tuple(our / their for our, their in zip(ours, theirs, strict=True))


def timed_ms(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def cpu_timed_s(work: Callable[[], object]) -> float:
    """Return the CPU seconds of this process for some work: other people's load counts less."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def cost_of(
    argv: Sequence[str],
    place: Place,
    *,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
    stderr: IO[bytes] | None = None,
) -> Cost:
    """Run a command to its end; return wall and CPU time of it and all it waited for."""
    begun = time.perf_counter()
    process = start(argv, place, stdin=stdin, stdout=stdout, stderr=stderr)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{argv[:3]} ended with {process.returncode}")
    return Cost(wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000)


def start(
    argv: Sequence[str],
    place: Place,
    *,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
    stderr: IO[bytes] | None = None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        stdin=stdin or subprocess.DEVNULL,
        stdout=stdout or subprocess.DEVNULL,
        stderr=stderr,
        cwd=place.project,
        env=dict(place.env),
    )


def peak_memory_mb(pid: int) -> float | None:
    """Return a living process's peak (VmHWM); ru_maxrss would count what it was forked from."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1]) / 1024
    return None


class PeakWatch:
    """Follow the peak memory of one process until it ends: the last look is what it came to."""

    def __init__(self, pid: int, every_s: float = 0.002) -> None:
        self.peak_mb = 0.0
        self._thread = threading.Thread(target=self._follow, args=(pid, every_s))
        self._thread.start()

    def result(self) -> float:
        self._thread.join()
        return self.peak_mb

    def _follow(self, pid: int, every_s: float) -> None:
        while (peak := peak_memory_mb(pid)) is not None:
            self.peak_mb = max(peak, self.peak_mb)
            time.sleep(every_s)

"""
What a supervisor costs: until its child runs, until its result is known, and in memory.

The child is a shell that writes one byte into a FIFO as its first act, started once by a supervisor
and once directly, in the same round: the difference is ours.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from measuring import MB, Figure, PeakWatch, Place, Target, progress
from synthetic_stream import long_line_files, shell_child

from pi_subagents.core.run.spec import ChildOrder, RunLimits, RunSpec
from pi_subagents.runners.supervisor_start import order_line, start_supervisor
from pi_subagents.store.local_order import LocalOrder, PlaceOrder
from pi_subagents.store.run_store import RunStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

SECTION = "Supervisor"
LONG_LINE = 20 * MB
WAIT_S = 60.0


def measure(place: Place) -> list[Figure]:
    """Return start, whole run and peak memory, and what a very long line costs."""
    fifo = place.path / "first-instruction"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        rounds = place.rounds(15)
        direct, first, whole, cpu, peaks = [], [], [], [], []
        for number in range(rounds + 1):  # the first warms up
            progress(f"{SECTION}: round {number} of {rounds}" if number else f"{SECTION}: warming")
            alone = _direct(fifo, reader)
            reached, ended, spent, peak = _supervised(place, fifo, reader)
            if number:
                direct.append(alone)
                first.append(reached)
                whole.append(ended)
                cpu.append(spent)
                peaks.append(peak)
    finally:
        os.close(reader)
    progress(f"{SECTION}: a line of {LONG_LINE // MB} MB")
    child = shell_child(long_line_files(place.path, LONG_LINE))
    long_peaks = [_peak_of(place, child) for _ in range(place.rounds(3))]
    bare = _bare_interpreter(place)
    return [
        Figure(SECTION, "sh started directly: to its first instruction", "ms", tuple(direct)),
        Figure(SECTION, "sh supervised: to its first instruction", "ms", tuple(first), Target(60)),
        Figure(SECTION, "sh supervised: to the result", "ms", tuple(whole)),
        Figure(SECTION, "sh supervised: CPU, shell included", "ms", tuple(cpu)),
        Figure(SECTION, "peak memory of `python -I -S -c pass`", "MB", (bare,)),
        Figure(SECTION, "peak memory of the supervisor", "MB", tuple(peaks), Target(20)),
        Figure(
            SECTION,
            "peak memory of the supervisor, a line of 20 MB",
            "MB",
            tuple(long_peaks),
            Target(120),
        ),
    ]


def _direct(fifo: Path, reader: int) -> float:
    begun = time.perf_counter()
    process = subprocess.Popen(_first_act(fifo))
    reached = _wait_for_byte(reader, begun)
    process.wait()
    return reached


def _supervised(place: Place, fifo: Path, reader: int) -> tuple[float, float, float, float]:
    # Last, the child reports the peak memory of its parent, the supervisor.
    report = "grep VmHWM /proc/$PPID/status >&2"
    order, run_dir = _begin(place, (*_first_act(fifo)[:2], f"echo >{fifo}; {report}"))
    begun = time.perf_counter()
    process = _started(order, place)
    reached = _wait_for_byte(reader, begun)
    assert process.stdout is not None
    while process.stdout.read(4096):
        pass
    _, status, usage = os.wait4(process.pid, 0)
    ended = (time.perf_counter() - begun) * 1000
    process.returncode = os.waitstatus_to_exitcode(status)
    process.communicate()
    spent = (usage.ru_utime + usage.ru_stime) * 1000
    assert run_dir.read_result() is not None
    assert order.place.lock_fd is not None
    os.close(order.place.lock_fd)
    return reached, ended, spent, float(run_dir.stderr.read_text("ascii").split()[1]) / 1024


def _started(order: LocalOrder, place: Place) -> subprocess.Popen[bytes]:
    """Start a supervisor and tell it what to do, as a caller does."""
    process = start_supervisor(place.env, lock_fd=order.place.lock_fd)
    assert process.stdin is not None
    process.stdin.write(order_line(order))
    return process


def _first_act(fifo: Path) -> tuple[str, ...]:
    return ("/bin/sh", "-c", f"echo >{fifo}")


def _wait_for_byte(reader: int, begun: float) -> float:
    if not select.select([reader], [], [], WAIT_S)[0]:
        raise TimeoutError("the child never ran")
    reached = (time.perf_counter() - begun) * 1000
    os.read(reader, 16)
    return reached


def _peak_of(place: Place, argv: Sequence[str]) -> float:
    """Return the peak memory of a supervisor around this child, followed from outside."""
    order, run_dir = _begin(place, argv)
    process = _started(order, place)
    watch = PeakWatch(process.pid)
    assert process.stdout is not None
    while process.stdout.read(4096):
        pass
    peak = watch.result()
    process.communicate()
    result = run_dir.read_result()
    assert result is not None, "no result"
    assert result.completed, result.error_message
    assert order.place.lock_fd is not None
    os.close(order.place.lock_fd)
    return peak


def _bare_interpreter(place: Place) -> float:
    code = "print(next(l for l in open('/proc/self/status') if 'VmHWM' in l).split()[1])"
    argv = (sys.executable, "-I", "-S", "-c", code)
    return float(subprocess.check_output(argv, env=dict(place.env))) / 1024


def _begin(place: Place, argv: Sequence[str]) -> tuple[LocalOrder, RunDir]:
    run_id = os.urandom(16).hex()
    store = RunStore(place.path / "supervised", place.path / "data")
    run_dir = store.run_dir(run_id)
    with suppress(FileExistsError):
        run_dir.path.parent.mkdir()
    lock = run_dir.begin({"runId": run_id}, b"")
    spec = RunSpec(
        run_id=run_id,
        session_id="0" * 16,
        name="bench",
        child=ChildOrder(tuple(argv), str(place.project), engine="pi", mode="json"),
        limits=RunLimits(looping_tool_count=0),
    )
    there = PlaceOrder(str(run_dir.path), str(run_dir.desk.path), lock_fd=lock)
    return LocalOrder(spec, there), run_dir

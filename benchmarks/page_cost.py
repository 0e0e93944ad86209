"""
The page of `subagents watch --web` over five thousand finished runs, in a real Chromium.

Its first screen counts from the start of the command until the browser, which is up already, shows
a run; what it costs while nothing happens is the CPU of the server and of the browser with all its
processes, per second of that.  Without a Chromium nothing is measured.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Figure, Place, Target, peak_memory_mb, progress
from store_scan import CLI, make_runs

sys.path.append(str(Path(__file__).parents[1]))  # the browser is that of the pictures

from scripts.screenshot_chromium import PROGRAM, a_browser

from pi_subagents.service.runs import Runs
from pi_subagents.system.calls import FileCalls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.screenshot_chromium import Browser

IDLE_S = 10
SETTLE_S = 3.0
SHOWN = "document.querySelectorAll('.entry.run .name').length > 5"


def measure(place: Place) -> list[Figure]:
    count = place.amount(5000, 500, 50)
    section = f"The page over {count:,} runs"
    if PROGRAM is None:
        progress(f"{section}: there is no chromium here")
        return []
    cwd, data = place.path / "page", place.path / "page-data"
    (cwd / ".pi").mkdir(parents=True)
    env = {**place.env, "PI_SUBAGENTS_DATA": str(data)}
    progress(f"{section}: making them")
    with _unsynced():
        make_runs(Runs(cwd, env), count)
    with a_browser() as browser:
        browser.size(1300, 900)

        all_listed = f"document.querySelector('#totals')?.textContent.includes('{count} completed')"
        first: list[float] = []
        every: list[float] = []
        for number in range(place.rounds(3)):
            progress(f"{section}: round {number + 1}")
            begun = time.monotonic()
            with _served(cwd, env) as (address, _):
                browser.open(address)
                for known, expression in ((first, SHOWN), (every, all_listed)):
                    browser.until(expression)
                    known.append((time.monotonic() - begun) * 1000)
                browser.open("about:blank")
        progress(f"{section}: while nothing happens")
        with _served(cwd, env) as (address, pid):
            browser.open(address)
            browser.until(all_listed)
            time.sleep(SETTLE_S)
            seconds = place.amount(IDLE_S, IDLE_S, 1)
            before = _cpu_ms(pid), _browser_ms(browser)
            time.sleep(seconds)
            server = (_cpu_ms(pid) - before[0]) / seconds
            shown_cost = (_browser_ms(browser) - before[1]) / seconds
            memory = peak_memory_mb(pid) or 0.0
            browser.open("about:blank")
    return [
        Figure(section, "first screen", "ms", tuple(first), Target(1000)),
        Figure(section, "every run listed", "ms", tuple(every)),
        Figure(section, "server, CPU per idle second", "ms", (server,), Target(10)),
        Figure(section, "browser, CPU per idle second", "ms", (shown_cost,), Target(30)),
        Figure(section, "server, peak memory", "MB", (memory,)),
    ]


@contextmanager
def _unsynced() -> Iterator[None]:
    """Make runs without waiting for the disk: whether they survive a crash is not the matter."""
    known = FileCalls.fsync
    FileCalls.fsync = staticmethod(lambda _: None)  # type: ignore[arg-type]
    try:
        yield
    finally:
        FileCalls.fsync = staticmethod(known)


@contextmanager
def _served(cwd: Path, env: dict[str, str]) -> Iterator[tuple[str, int]]:
    """Have the command, and yield the address it says and its process."""
    process = subprocess.Popen(
        (*CLI, "watch", "--web", "--no-open"),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=cwd, env=env, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1], process.pid
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _browser_ms(browser: Browser) -> float:
    """Return the CPU of a browser and of everything below it."""
    return sum(_cpu_ms(pid) for pid in _below(browser.pid))


def _below(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in _below(int(child)))]


def _cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

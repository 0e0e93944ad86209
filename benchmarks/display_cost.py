"""
What the windows on a terminal cost while sixteen children talk, and that no record waits for them.

Sixteen real supervisors around children that print 1,000 lines a second each, and the real command
on a terminal of its own: quiet, with lines of progress, with windows, and with windows that nobody
reads.  CPU is that of the one process that paints, per second of talk, from the moment all sixteen
talk to the command's end: what a busy machine puts off counts too.  The age of a record is the time
from a line's printing, which the line carries, to its entry in events.jsonl, which has its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shlex
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import (
    Figure,
    Place,
    Target,
    cpu_timed_s,
    progress,
    project_of_printers,
    ratios,
)
from talk import WORDS, talk_of

from pi_subagents.core.run import events as ev
from pi_subagents.faces.terminal.cells import changes
from pi_subagents.faces.terminal.painting import View, paint
from pi_subagents.store.run_store import open_store
from pi_subagents.view.window import WindowBuilder, WindowTitle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pi_subagents.faces.terminal.cells import StyledLine

SECTION = "Display"
CHILD = str(Path(__file__).with_name("talking_child.py"))
ENTRY = (sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()")
# The first terminal that the first process of a session opens is that session's own.
START = 'terminal=$1; shift; exec "$@" <"$terminal" 2>"$terminal"'
CHILDREN = 16
RATE = 1000
SECONDS = 4
LOOK_S = 0.05
COLUMNS, ROWS = 120, 40
FRAME = b"\x1b[?2026h"
QUIET, PLAIN, WINDOWS, UNREAD = "no display", "lines (--plain)", "windows", "windows nobody reads"
SIDES: Mapping[str, tuple[str, ...]] = {
    QUIET: ("-q",), PLAIN: ("--plain",), WINDOWS: (), UNREAD: (),
}  # fmt: skip
# How many updates pi prints before each record that is kept: see synthetic_stream.py.
LOADS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "as pi talks": (32, (QUIET, PLAIN, WINDOWS, UNREAD)),
    "records only": (0, (QUIET, WINDOWS)),
}


def measure(place: Place) -> list[Figure]:
    """Return what painting costs by itself, then what it costs a command under load."""
    figures = _painting(place)
    for number, (load, (updates, sides)) in enumerate(LOADS.items()):
        figures += _under_load(place, number, load, updates, sides)
    return figures


@dataclass(frozen=True, slots=True)
class Shown:
    """What one side of one round came to while every child was talking."""

    cpu_percent: float
    lines_per_child: float
    frames_per_s: float
    ages_ms: Sequence[float]


def _under_load(
    place: Place, number: int, load: str, updates: int, sides: Sequence[str]
) -> list[Figure]:
    script = place.path / f"talk-{number}.jsonl"
    script.write_bytes(b"".join(talk_of(updates)))
    found: dict[str, list[Shown]] = {side: [] for side in sides}
    rounds = place.rounds(3)
    for turn in range(rounds):
        progress(f"{SECTION}, {load}: round {turn + 1} of {rounds}")
        for side in sides if turn % 2 == 0 else reversed(sides):
            project = place.path / "display" / f"{number}-{turn}-{list(SIDES).index(side)}"
            found[side].append(_Round(place, project, script, updates).run(side))

    def figure(name: str, unit: str, tell: Callable[[Shown], float], side: str) -> Figure:
        return Figure(SECTION, f"{load}: {name}", unit, tuple(map(tell, found[side])))

    def age(side: str) -> tuple[float, ...]:
        return tuple(statistics.median(shown.ages_ms) for shown in found[side])

    cost = tuple(
        shown.cpu_percent - quiet.cpu_percent
        for shown, quiet in zip(found[WINDOWS], found[QUIET], strict=True)
    )
    return [
        *(figure(f"CPU, {side}", "%", lambda s: s.cpu_percent, side) for side in sides),
        Figure(SECTION, f"{load}: CPU, windows beyond no display", "%", cost, Target(50)),
        figure("paintings a second", "/s", lambda s: s.frames_per_s, WINDOWS),
        figure("lines a second and child", "/s", lambda s: s.lines_per_child, WINDOWS),
        *(Figure(SECTION, f"{load}: a record's age, {s}", "ms", age(s)) for s in sides),
        *(figure(f"99 % of ages, {s}", "ms", lambda x: _late(x.ages_ms), s) for s in sides),
        *(
            Figure(SECTION, f"{load}: age, {s} to none", "x", ratios(age(s), age(QUIET)))
            for s in sides
            if s != QUIET
        ),
    ]


def _late(ages: Sequence[float]) -> float:
    return sorted(ages)[len(ages) * 99 // 100]


class _Round:
    """One delegation to sixteen talking children, watched from outside."""

    def __init__(self, place: Place, project: Path, script: Path, updates: int) -> None:
        seconds = place.amount(SECONDS, SECONDS, 1)
        child = (sys.executable, "-I", "-S", CHILD, str(script), str(RATE), str(seconds))
        # One alone is at work by itself for all of its time, however busy the machine is.
        self._children = place.amount(CHILDREN, CHILDREN, 1)
        self._project = project_of_printers(project)
        self._lines_per_record = 1 + updates
        self._env = {**place.env, "PI_SUBAGENTS_PI": shlex.join(child), "TERM": "xterm"}
        self._tasks = project / "tasks.json"
        tasks = [{"name": f"talk-{number}", "prompt": "Talk."} for number in range(self._children)]
        self._tasks.write_text(json.dumps({"tasks": tasks}), "utf-8")

    def run(self, side: str) -> Shown:
        master, slave = pty.openpty()
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        argv = (*ENTRY, "run", "--task-file", str(self._tasks), "--concurrency", str(CHILDREN))
        process = subprocess.Popen(
            ("/bin/sh", "-c", START, "sh", os.ttyname(slave), *argv, *SIDES[side]),
            cwd=self._project,
            env=self._env,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        reader = _Reader(master, reads_at_once=side != UNREAD)
        clock = _Clock(process.pid)
        while process.poll() is None:
            clock.look()
            if self._all_ended():
                reader.begin()
            time.sleep(LOOK_S)
        os.close(slave)
        reader.end()
        if process.returncode != 0:
            raise RuntimeError(f"{side}: the delegation ended with {process.returncode}")
        return self._shown(clock, reader)

    def _all_ended(self) -> bool:
        runs = open_store(self._project, self._env).runs()
        return len(runs) == self._children and all(run.result.exists() for run in runs)

    def _shown(self, clock: _Clock, reader: _Reader) -> Shown:
        records = [_records(run.events) for run in open_store(self._project, self._env).runs()]
        begin = max(each[0].kept_ms for each in records)
        end = min(each[-1].kept_ms for each in records)
        during = [one for each in records for one in each if begin < one.kept_ms < end]
        seconds = (end - begin) / 1000
        return Shown(
            cpu_percent=100 * (clock.cpu_s[-1] - clock.cpu_at(begin)) / seconds,
            lines_per_child=len(during) * self._lines_per_record / self._children / seconds,
            frames_per_s=sum(begin < each < end for each in reader.frames) / seconds,
            ages_ms=[one.kept_ms - one.printed_ms for one in during if one.printed_ms],
        )


class _Reader:
    """Somebody before the terminal: reads what is shown, from the beginning or later."""

    def __init__(self, master: int, *, reads_at_once: bool) -> None:
        self.frames: list[float] = []
        self._master = master
        self._thread = threading.Thread(target=self._read)
        if reads_at_once:
            self._thread.start()

    def begin(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def end(self) -> None:
        self.begin()
        self._thread.join()
        os.close(self._master)

    def _read(self) -> None:
        try:
            while data := os.read(self._master, 65536):
                self.frames += [time.time() * 1000] * data.count(FRAME)
        except OSError:  # nobody is on the other side any more
            return


@dataclass
class _Clock:
    """The CPU time of one process, waited-for children excluded, at every look."""

    pid: int
    times_ms: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def look(self) -> None:
        spent = 0
        for path in Path(f"/proc/{self.pid}/task").glob("*/schedstat"):
            spent += int(path.read_text("ascii").split()[0])
        self.times_ms.append(time.time() * 1000)
        self.cpu_s.append(spent / 1e9)

    def cpu_at(self, time_ms: float) -> float:
        return self.cpu_s[min(bisect_left(self.times_ms, time_ms), len(self.cpu_s) - 1)]


@dataclass(frozen=True, slots=True)
class _Record:
    """When a record was printed, if it says so, and when it was kept."""

    printed_ms: float
    kept_ms: float


def _records(journal: Path) -> list[_Record]:
    """Return what a child's lines became, its first and its last word left out."""
    found = []
    for line in journal.read_text("ascii").splitlines():
        record = json.loads(line)
        if record["kind"] in ("assistant", "tool_result"):
            _, mark, rest = line.partition("time ")
            # A record has whole milliseconds: at most one is added here, none is taken away.
            found.append(_Record(int(rest[:19]) / 1e6 if mark else 0, record["t"] + 1))
    return found[:-1]


def _painting(place: Place) -> list[Figure]:
    """Return what one screen costs by itself: windows that have changed, and that have not."""
    frames = 20 if place.quick else 100
    builders = [
        WindowBuilder(WindowTitle(f"talk-{number}"), cwd="/", home="/")
        for number in range(CHILDREN)
    ]
    texts = [f"line {number}: {WORDS}" for number in range(600)]

    def screens(view: View, *, news: bool) -> None:
        shown: Sequence[StyledLine] = ()
        for frame in range(frames):
            for builder in builders if news else ():
                builder.apply(ev.AssistantMessage(f"{frame}: {WORDS}"), frame)
            painted = paint([each.window(frame) for each in builders], COLUMNS, ROWS, view).lines
            changes(shown, painted, coloured=True)
            shown = painted

    for builder in builders:
        for text in texts:
            builder.apply(ev.AssistantMessage(text), 0)
    views = {
        "one painting, everything new": (View(), True),
        "one painting, nothing new": (View(), False),
        "one painting, the whole history, everything new": (View(expanded=True), True),
    }
    return [
        Figure(
            SECTION,
            name,
            "ms",
            tuple(
                cpu_timed_s(partial(screens, view, news=news)) * 1000 / frames
                for _ in range(place.rounds(5))
            ),
        )
        for name, (view, news) in views.items()
    ]

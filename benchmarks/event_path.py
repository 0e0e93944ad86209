"""
How fast events flow: the supervisor's side, the orchestrator's side, and both for real.

The supervisor cuts the child's bytes into lines, decodes and folds them, keeps the raw output and
writes the journal; deltas end there.  The orchestrator reads the journal.  Its speed is told in
bytes of the child's output (what it keeps up with) and in bytes of the journal (what it reads).
All speeds are per CPU second of the process that does the work, over the same stream.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import (
    MB,
    Figure,
    Place,
    Target,
    cpu_timed_s,
    interleaved,
    progress,
    project_of_printers,
    start,
)
from synthetic_stream import recorded_stream, shell_child

from pi_subagents.core.framing import Line, LineFramer
from pi_subagents.core.run.outcome import RunFold
from pi_subagents.core.value import replace
from pi_subagents.engines.pi.conversation import JsonConversation
from pi_subagents.engines.pi.records import decode_pi_line
from pi_subagents.store.run_log import RunLog
from pi_subagents.store.run_store import RunStore
from pi_subagents.store.tails import JournalTail
from pi_subagents.supervisor.intake import Intake
from pi_subagents.supervisor.listener import READ_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.core.run import events as ev
    from pi_subagents.store.run_dir import RunDir

SECTION = "Event path"
DELEGATE = str(Path(__file__).with_name("delegate_tasks.py"))
STREAM = 50 * MB
SMALL, LARGE = 2 * MB, 200 * MB
BARE = "bare json.loads of every line"
DECODE = "supervisor: lines, decode, fold"
INTAKE = "supervisor: the same, raw log and journal written"
TAIL = "orchestrator: bytes of child output"
TAIL_JOURNAL = "orchestrator: bytes of journal"


def measure(place: Place) -> list[Figure]:
    """Return speeds over one synthetic stream, then the memory under a real child's flood."""
    return [*_speeds(place), *_flood(place)]


def _speeds(place: Place) -> list[Figure]:
    stream = recorded_stream().of_size(STREAM // 10 if place.quick else STREAM)
    taken = _Takes(place.path / "intake", stream)
    taken.by_intake()
    journal = taken.last.events.stat().st_size / MB
    sides = {
        BARE: lambda: cpu_timed_s(taken.bare),
        DECODE: lambda: cpu_timed_s(taken.decoded),
        INTAKE: lambda: cpu_timed_s(taken.by_intake),
        TAIL: lambda: cpu_timed_s(lambda: _read(taken.last)),
    }
    seconds = interleaved(place.rounds(7), sides, SECTION)
    size = {name: len(stream) / MB for name in sides} | {TAIL_JOURNAL: journal}
    seconds[TAIL_JOURNAL] = seconds[TAIL]
    targets = {TAIL: Target(300, at_least=True)}
    speeds = [
        Figure(
            SECTION,
            name,
            "MB/s",
            tuple(size[name] / each for each in seconds[name]),
            targets.get(name),
        )
        for name in (BARE, DECODE, INTAKE, TAIL, TAIL_JOURNAL)
    ]
    share = size[TAIL_JOURNAL] / size[TAIL] * 100
    return [*speeds, Figure(SECTION, "journal, of the child's output", "%", (share,))]


class _Takes:
    """The ways to take in one stream."""

    def __init__(self, directory: Path, stream: bytes) -> None:
        self._directory = directory
        self._stream = stream
        self._lines = stream.splitlines()
        self.last = RunStore(directory.parent, directory.parent).run_dir(directory.name)
        directory.mkdir()

    def bare(self) -> None:
        for line in self._lines:
            json.loads(line)

    def decoded(self) -> None:
        framer, fold = LineFramer(), RunFold()
        for chunk in self._chunks():
            for frame in framer.feed(chunk):
                assert isinstance(frame, Line)
                fold.apply(decode_pi_line(frame.data))
        assert fold.settled

    def by_intake(self) -> None:
        for old in self._directory.iterdir():
            old.rename(self._directory.with_name(f"old-{old.name}"))
        log = RunLog(self.last, "bench")
        intake = Intake(log, JsonConversation(), _nothing)
        for chunk in self._chunks():
            intake.output(chunk)
        log.close()
        assert intake.fold.settled
        assert not log.truncated

    def _chunks(self) -> Iterator[bytes]:
        for begin in range(0, len(self._stream), READ_SIZE):
            yield self._stream[begin : begin + READ_SIZE]


def _nothing(_: ev.Event | None) -> None:
    """Stand in for the supervisor's limits."""


def _read(run_dir: RunDir) -> None:
    tail, count = JournalTail(run_dir), 0
    for _ in tail.new_entries():
        count += 1
    tail.close()
    assert count


def _flood(place: Place) -> list[Figure]:
    """Delegate to a child that prints a lot, and look at what that does to the orchestrator."""
    stream = recorded_stream()
    large = place.amount(LARGE, LARGE // 10, 2 * SMALL)
    peaks: dict[int, list[float]] = {SMALL: [], large: []}
    cpu_s: dict[int, list[float]] = {SMALL: [], large: []}
    rounds = place.rounds(3)
    for number in range(rounds):
        for size in (SMALL, large):
            progress(f"{SECTION}: a child prints {size // MB} MB, {number + 1} of {rounds}")
            heard = _delegate(place, shell_child(stream.files(place.path, size)))
            peaks[size].append(heard["peakMb"])
            cpu_s[size].append(heard["cpuS"])
    growth = tuple(b - a for a, b in zip(peaks[SMALL], peaks[large], strict=True))
    spent = tuple(
        (large - SMALL) / MB / max(b - a, 0.001)
        for a, b in zip(cpu_s[SMALL], cpu_s[large], strict=True)
    )
    megabytes = large // MB
    return [
        Figure(
            SECTION,
            f"orchestrator while a child prints {megabytes} MB",
            "MB/s",
            spent,
            Target(300, at_least=True),
        ),
        Figure(SECTION, "orchestrator peak, child prints 2 MB", "MB", tuple(peaks[SMALL])),
        Figure(
            SECTION, f"orchestrator peak, child prints {megabytes} MB", "MB", tuple(peaks[large])
        ),
        Figure(SECTION, "growth of the orchestrator", "MB", growth, Target(2)),
    ]


def _delegate(place: Place, child: tuple[str, ...]) -> dict[str, float]:
    placed = replace(
        place,
        project=project_of_printers(place.path / "flood"),
        env={**place.env, "PI_SUBAGENTS_PI": shlex.join(child)},
    )
    report = place.path / "report.json"
    with report.open("wb") as out:
        process = start((sys.executable, DELEGATE, "1"), placed, stdout=out)
        if process.wait() != 0:
            raise RuntimeError("the delegation failed")
    heard: dict[str, float] = json.loads(report.read_bytes())
    return heard

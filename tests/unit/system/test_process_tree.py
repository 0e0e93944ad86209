"""How a tree is swept: in the moment in which a process is seen, groups at once, never without an end."""

from __future__ import annotations

import os
import signal
import sys
from itertools import count
from typing import TYPE_CHECKING

import pytest

from pi_subagents.system import identity, process_tree
from pi_subagents.system.identity import ProcessState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

US, OUR_SESSION = os.getpid(), os.getsid(0)
THEIRS = OUR_SESSION + 1
Sent = list[tuple[str, int, int]]


def swept(monkeypatch: pytest.MonkeyPatch, processes: Mapping[int, ProcessState]) -> Sent:
    """Sweep once over these processes; return which signals were sent, in their order."""
    sent: Sent = []

    def exactly(pid: int, started: str) -> None:
        assert processes[pid].started == started
        sent.append(("exactly", pid, signal.SIGKILL))

    monkeypatch.setattr(process_tree, "newest_first", lambda: list(processes))
    monkeypatch.setattr(process_tree, "process_state", processes.get)
    monkeypatch.setattr(process_tree, "kill_exactly", exactly)
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append(("kill", pid, number)))
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append(("group", group, number)))
    process_tree.kill_below_us(set())
    return sent


def test_a_living_child_is_killed_when_it_is_seen_and_what_is_below_it_by_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = swept(
        monkeypatch,
        {
            90: ProcessState("R", 80, 80, THEIRS, "9"),
            80: ProcessState("S", US, 80, THEIRS, "8"),
            70: ProcessState("S", 1, 70, 70, "7"),  # nobody of ours
        },
    )
    assert sent == [("kill", 80, signal.SIGKILL), ("exactly", 90, signal.SIGKILL)]


def test_a_dead_child_pins_its_group_which_dies_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A living one could leave its group meanwhile, and the number be given to somebody else."""
    sent = swept(monkeypatch, {80: ProcessState("Z", US, 66, THEIRS, "8")})
    assert sent == [("group", 66, signal.SIGKILL)]


def test_no_group_of_our_own_session_is_ever_signalled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert swept(monkeypatch, {80: ProcessState("Z", US, 66, OUR_SESSION, "8")}) == []


def test_children_that_end_faster_than_they_are_collected_keep_nobody_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pids = count(1000)
    monkeypatch.setattr(os, "waitpid", lambda *_: (next(pids), 0))
    statuses, any_left = process_tree.reap()
    assert (len(statuses), any_left) == (process_tree.REAPED_AT_ONCE, True)


@pytest.mark.parametrize(
    ("last", "expected"),
    [("40", [30, 20, 90, 50]), ("1", [90, 50, 30, 20]), ("", [90, 50, 30, 20])],
)
def test_the_youngest_come_first_also_where_numbers_began_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, last: str, expected: list[int]
) -> None:
    root = tmp_path
    for pid in (20, 90, 30, 50):
        (root / str(pid)).mkdir()
    (root / "sys/kernel").mkdir(parents=True)
    (root / "sys/kernel/ns_last_pid").write_text(last)
    monkeypatch.setattr(identity, "_PROC", root)
    assert identity.newest_first() == expected

"""How children are killed that live for an instant: nobody but our own is signalled, each once."""

from __future__ import annotations

import os
import signal
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pi_subagents.system import storms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
US = 10
Sent = list[tuple[str, int]]


class Kernel:
    """What a kernel tells of our children: `ours` maps each to whether it is dead."""

    def __init__(self, root: Path, ours: Mapping[int, bool], last: str, listed: str) -> None:
        self.ours = dict(ours)
        self.sessions = dict.fromkeys(ours, 50)
        self.sent: Sent = []
        self.root = root
        (root / "task" / "1").mkdir(parents=True)
        (root / "last").write_text(last)
        (root / "task" / "1" / "children").write_text(listed)

    def waitid(self, kind: int, pid: int, _: int) -> SimpleNamespace | None:
        if kind == os.P_ALL:
            dead = [child for child, is_dead in self.ours.items() if is_dead]
            return SimpleNamespace(si_pid=dead[0]) if dead else None
        if pid not in self.ours:
            raise ChildProcessError
        return SimpleNamespace(si_pid=pid) if self.ours[pid] else None

    def session(self, pid: int) -> int:
        return self.sessions[pid] if pid else US

    def replace(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(storms, "_LAST_NUMBER", self.root / "last")
        monkeypatch.setattr(storms, "_TASKS", str(self.root / "task"))
        monkeypatch.setattr(os, "waitid", self.waitid)
        monkeypatch.setattr(os, "getsid", self.session)
        monkeypatch.setattr(os, "getpgid", lambda pid: pid)
        monkeypatch.setattr(os, "kill", lambda pid, number: self._send("one", pid, number))
        monkeypatch.setattr(os, "killpg", lambda group, number: self._send("group", group, number))

    def _send(self, what: str, number: int, sent: int) -> None:
        assert sent == signal.SIGKILL
        self.sent.append((what, number))


def looked(
    monkeypatch: pytest.MonkeyPatch, kernel: Kernel, known: Sequence[int] = ()
) -> tuple[bool, Sent, set[int]]:
    kernel.replace(monkeypatch)
    seen = set(known)
    return storms.kill_children(seen), kernel.sent, seen


def test_of_the_youngest_numbers_only_our_living_children_are_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel = Kernel(tmp_path, {900: False, 898: False}, "901", "")
    assert looked(monkeypatch, kernel) == (True, [("one", 900), ("one", 898)], {900, 898})


def test_whoever_is_older_is_killed_by_the_list_the_last_one_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel = Kernel(tmp_path, {20: False, 30: False}, "9000", "20 30 ")
    assert looked(monkeypatch, kernel) == (True, [("one", 30), ("one", 20)], {20, 30})


def test_nobody_is_killed_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, {900: False, 20: False}, "901", "20 900")
    assert looked(monkeypatch, kernel, [900, 20]) == (False, [], {900, 20})


@pytest.mark.parametrize(("session", "expected"), [(50, [("group", 900)]), (US, [])])
def test_the_group_of_a_dead_child_dies_unless_it_is_of_our_own_session(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, session: int, expected: Sent
) -> None:
    kernel = Kernel(tmp_path, {900: True}, "901", "")
    kernel.sessions[900] = session
    assert looked(monkeypatch, kernel) == (False, expected, set())


@pytest.mark.parametrize(
    ("ours", "session", "expected"),
    [
        ({900: False}, 900, [("group", 900)]),
        ({900: False}, US, []),  # it never left our session: its group may be anybody's
        ({}, 900, []),  # reaped: its number may be anybody's
    ],
)
def test_a_child_dies_with_its_group_only_if_both_are_proven(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    ours: Mapping[int, bool],
    session: int,
    expected: Sent,
) -> None:
    kernel = Kernel(tmp_path, ours, "901", "")
    kernel.sessions[900] = session
    kernel.replace(monkeypatch)
    storms.kill_group_of_child(900)
    assert kernel.sent == expected


def test_a_kernel_that_tells_nothing_has_nobody_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel = Kernel(tmp_path / "there", {900: False}, "", "")
    kernel.root = tmp_path / "nowhere"
    assert looked(monkeypatch, kernel) == (False, [], set())

"""Processes that outlived their supervisor, as the doctor tells of them."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.fakes.healthy_place import make_run, runs_of

from pi_subagents.service.doctor import store
from pi_subagents.store import orphans

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from pi_subagents.system.home import CheckedPlace

A = "a" * 32
# Speaks when it runs: while a program is being loaded, its environment reads as empty.
WAITING = ["/bin/sh", "-c", "echo ready; read line"]


@contextmanager
def process_of(run_id: str) -> Iterator[int]:
    process = subprocess.Popen(
        WAITING, env={"PI_SUBAGENTS_RUN": run_id}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process.pid
    finally:
        process.communicate()


def own_orphans(monkeypatch: pytest.MonkeyPatch, pid: int) -> None:
    """Look at one process only: other tests have their own."""
    monkeypatch.setattr(orphans, "all_processes", lambda: [pid])


def test_a_process_without_a_supervisor_is_told_with_its_run(
    place: CheckedPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with process_of(A) as pid:
        own_orphans(monkeypatch, pid)
        assert store.check_orphans(runs_of(place)) == store.ORPHANS.problem(
            f"process {pid} of run {A}",
            f"Look at them, then end them: ps -fp {pid}; kill -9 {pid}",
            public="1",
        )


def test_a_process_whose_run_somebody_answers_for_is_not_left_over(
    place: CheckedPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(place, A)
    with process_of(A) as pid, run.desk.lock.open("rb") as lock:
        own_orphans(monkeypatch, pid)
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert store.check_orphans(runs_of(place)) == store.ORPHANS.ok("none")


def test_a_process_below_a_supervisor_is_not_left_over_whoever_knows_its_run() -> None:
    program = (
        "import subprocess, sys  # pi_subagents.supervisor.main\n"
        f"env, pipe = {{'PI_SUBAGENTS_RUN': {A!r}}}, subprocess.PIPE\n"
        f"child = subprocess.Popen({WAITING!r}, env=env, stdin=pipe, stdout=pipe)\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "sys.stdin.read()\n"
        "child.communicate()"
    )
    supervisor = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert supervisor.stdout is not None
    pid = int(supervisor.stdout.readline())
    try:
        assert orphans.marker_of(pid) == A
        assert pid not in [each.pid for each in orphans.find_orphans()]
    finally:
        supervisor.communicate("")


def test_only_whole_markers_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "x", A[:-1], A + "a", A.upper()):
        with process_of(value) as pid:
            assert orphans.marker_of(pid) is None


def test_without_a_process_table_nothing_is_claimed(
    place: CheckedPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "all_processes", list)
    assert store.check_orphans(runs_of(place)) == store.ORPHANS.note(
        "cannot be looked for on this system"
    )

"""A kernel before 5.3, or a sandbox that forbids handles on processes: every tree is ended all the same."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import in_both_modes
from tests.faults.aftermath import HERE, SOURCES, end_of, program
from tests.faults.no_handles import forbid_handles

from pi_subagents.core.run.files import MARKER_VARIABLE
from pi_subagents.core.value import replace
from pi_subagents.store.orphans import end_orphans
from pi_subagents.system import identity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakes.workplace import Workplace

pytestmark = [
    in_both_modes,
    pytest.mark.skipif(sys.platform != "linux", reason="seccomp is of Linux"),
]
RUN = "ab" * 16
REFUSALS = pytest.mark.parametrize("error", [errno.ENOSYS, errno.EPERM], ids=["ENOSYS", "EPERM"])


@contextmanager
def sleeper(**env: str) -> Iterator[subprocess.Popen[bytes]]:
    """Have a process that does nothing until it is killed."""
    argv = [sys.executable, "-I", "-S", "-c", "print(flush=True); input()"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it is there, with its environment
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSYS, "no handles")

    monkeypatch.setattr(os, "pidfd_open", refuse)


@REFUSALS
async def test_a_stubborn_tree_is_ended_without_handles(place: Workplace, error: int) -> None:
    before = forbid_handles(error)
    async with program(
        place, "caller.py", "attached", str(place.project), "stubborn", before=before
    ) as caller:
        child = await place.child("stubborn")
        await child.do("ignore_term")
        await child.fork_setsid()
        grandchild = await place.driver.grandchild()
        run = place.run_dir(child)
        caller.kill()
        await child.gone()
        await grandchild.gone()
        result = await end_of(run)
    assert result is not None
    assert (result.status, result.notes) == ("interrupted", ())


def test_a_process_is_proven_and_killed_by_what_else_is_known_of_it(without: None) -> None:
    with sleeper() as process:
        known = identity.identify(process.pid)
        assert known is not None
        assert (known.handle, identity.is_alive(known)) == (None, True)
        assert not identity.handles_are_offered()
        for other in (replace(known, start_ticks="1"), replace(known, boot_id="another")):
            assert not identity.is_alive(other)
            identity.kill_proven(other)
        assert process.poll() is None
        identity.kill_proven(known)
        assert process.wait() == -9
    assert not identity.is_alive(known)


def test_one_that_was_named_by_its_handle_is_known_where_there_are_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with sleeper() as process:
        known = identity.identify(process.pid)
        assert known is not None
        monkeypatch.setattr(os, "pidfd_open", lambda _: (_ for _ in ()).throw(OSError(1, "no")))
        assert identity.is_alive(known)


def test_strays_are_ended_by_their_marker(without: None) -> None:
    with (
        sleeper(**{MARKER_VARIABLE: RUN}) as orphan,
        sleeper(**{MARKER_VARIABLE: "cd" * 16}) as other,
    ):
        assert end_orphans(RUN) == 0
        assert orphan.wait() == -9
        assert other.poll() is None


@REFUSALS
def test_the_doctor_says_what_is_missing(error: int) -> None:
    ask = (
        "from pi_subagents.service.doctor.machine import check_platform; check = check_platform();"
        "print(check.state, check.found, check.fix, sep='|')"
    )
    done = subprocess.run(
        [sys.executable, "-c", ask],
        cwd=HERE,
        env={"PYTHONPATH": str(SOURCES)},
        preexec_fn=forbid_handles(error),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    state, found, fix = done.stdout.strip().split("|")
    assert state == "problem"
    assert "without process handles" in found
    assert "5.3" in fix
    assert "pidfd_open" in fix

"""A disk that fails, fills up or says no: the truth is told all the same, and nothing is torn."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.auditor import read_journal
from tests.fakes.child_modes import EVERY_CHILD_MODE, takes_long
from tests.fakes.workplace import Workplace, answered, comparable, open_workplace
from tests.faults.aftermath import output_of, program, remains_in
from tests.faults.failing_io import (
    ANSWER,
    ERRORS,
    check_truth,
    count_calls_of_caller,
    fail_caller,
    fail_supervisors,
    is_clean,
)

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.errors import StoreUnwritable
from pi_subagents.runners import pool
from pi_subagents.runners.pool import start_held
from pi_subagents.service.runs import Runs
from pi_subagents.store import messages as store_messages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.runners.pool import Held

pytestmark = takes_long
KIB = 1024
# `make soak` lets every single one fail.
SOME = (1, 2, 3, 4, 5, 6, 8, 11, 16, 23, 33, 47, 60, 75) if EVERY_CHILD_MODE else (1, 3, 8, 23, 75)
FEW = (1, 5, 14, 35) if EVERY_CHILD_MODE else (1, 14)
STEP = 3 if EVERY_CHILD_MODE else 7


@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
async def test_a_supervisor_whose_nth_write_fails_for_want_of_space_tells_the_truth(
    place: Workplace, once: bool
) -> None:
    results = await fail_supervisors(place, SOME, "ENOSPC", once=once)
    assert is_clean(results[SOME[-1]]), "beyond the last write nothing fails"
    if not once:  # everything was lost but what was reserved
        assert results[1].artifacts_truncated
        assert store_messages.NOTE_OUTPUT_CUT in results[1].notes


@pytest.mark.parametrize("error", [error for error in ERRORS if error != "ENOSPC"])
async def test_a_supervisor_whose_nth_write_fails_otherwise_tells_the_truth(
    place: Workplace, error: str
) -> None:
    for once in (True, False):
        await fail_supervisors(place, FEW, error, once=once)


@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
async def test_a_caller_whose_nth_write_fails_refuses_the_call_or_tells_the_truth(
    place: Workplace, once: bool
) -> None:
    most = await count_calls_of_caller(place)
    assert most > 20
    for number in range(1 + once, most + 1, STEP):
        await fail_caller(place, number, ERRORS[number % len(ERRORS)], once=once)
    assert await fail_caller(place, most + 1, "EIO", once=once), "nothing fails any more"


async def test_a_run_whose_result_found_no_room_anywhere_is_concluded_once_there_is(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bool:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def no_start(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    with monkeypatch.context() as patched:
        patched.setattr("pi_subagents.store.run_dir.RunDir.write_result", full)
        patched.setattr(pool, "start_held", no_start)
        result = await place.delegate_by_api("no room").result()
    assert (result.status, result.error_message) == ("failed", core_messages.SPAWN_FAILED)
    (run,) = place.run_dirs()
    assert run.read_result() is None
    assert Runs(place.project, place.env).recover() == [run]


# A real full disk


@contextmanager
def small_disk(path: Path, size: int) -> Iterator[None]:
    path.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(path)], check=True
    )
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def _can_mount(path: Path) -> bool:
    if os.geteuid() != 0:
        return False
    try:
        with small_disk(path, KIB * 64):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False
    finally:
        path.rmdir()


NO_MOUNT = "only root may mount a small disk; RLIMIT_FSIZE stands in for it"


@pytest.mark.parametrize("text", ["42", ANSWER], ids=["a short answer", "a long answer"])
async def test_a_child_that_fills_the_disk_still_gets_its_result(tmp_path: Path, text: str) -> None:
    if not _can_mount(tmp_path / "try"):
        pytest.skip(NO_MOUNT)
    with small_disk(tmp_path / "project", 512 * KIB):
        async with open_workplace(tmp_path) as place:
            work = place.delegate_by_api("flood", "patient")
            patient = await place.child("patient")
            await patient.tool("bash", {"command": "wait"})
            flood = await place.child("flood")
            await flood.do("begin")
            await flood.do("flood", size=2 * KIB * KIB, kind="junk")
            await patient.echo()
            for child in (patient, flood):
                await child.answer_and_exit(text)
            results = await work.results()
            assert results[0].artifacts_truncated
            for result in results:
                check_truth(place, result, text)
                assert result.completed
                run = place.store.run_dir(result.run_id)
                assert run.read_result() == result
                read_journal(run)  # no half line at its end
            filler = place.project / "filler"
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4 * KIB))
            # Nothing can begin now, and a refused call leaves nothing behind.
            with pytest.raises(StoreUnwritable, match="No space left on device"):
                await place.delegate_by_api("too late").results()
            assert not remains_in(place)
            assert len(place.run_dirs()) == 2
            filler.unlink()  # somebody makes room
            place.store.run_dir(results[0].run_id).stdout.unlink()
            again = place.delegate_by_api("again")
            await (await place.child("again")).answer_and_exit("42")
            assert comparable(await again.result()) == answered("again", "42")


async def test_a_limit_of_file_size_costs_artifacts_never_the_result(place: Workplace) -> None:
    work = place.delegate_by_api("limited", "sibling")
    limited, sibling = await place.child("limited"), await place.child("sibling")
    await work.sees(ev.StateChanged("running"), "limited")
    supervisor = place.run_dir(limited).read_meta()["supervisor"]
    assert isinstance(supervisor, dict)
    resource.prlimit(supervisor["pid"], resource.RLIMIT_FSIZE, (80 * KIB, 80 * KIB))
    await limited.do("flood", size=300 * KIB, kind="junk")
    await limited.answer_and_exit(ANSWER)
    await sibling.answer_and_exit(ANSWER)
    cut, whole = await work.results()
    check_truth(place, cut, ANSWER)
    assert (cut.status, cut.artifacts_truncated) == ("completed", True)
    assert store_messages.NOTE_OUTPUT_CUT in cut.notes
    run = place.run_dir(limited)
    assert max(path.stat().st_size for path in run.path.iterdir()) <= 80 * KIB
    assert comparable(whole) == answered("sibling", ANSWER)


# No descriptors, no processes


@pytest.mark.parametrize("limit", [40, 64])
async def test_a_caller_short_of_descriptors_fails_tasks_not_the_queue(
    place: Workplace, limit: int
) -> None:
    names = [f"task {number}" for number in range(16)]

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    async def serve() -> None:
        for number in range(16):
            await (await place.driver.next_child(number)).answer_and_exit("42")

    arguments = ("attached", str(place.project), *names)
    async with program(place, "caller.py", *arguments, before=few) as caller:
        serving = asyncio.create_task(serve())
        output = await output_of(caller)
        serving.cancel()
        assert caller.returncode == 0, output
    ends = [line.split("|")[:3] for line in output.splitlines()]
    assert [name for name, *_ in ends] == names
    kinds = {(status, message) for _, status, message in ends}
    assert kinds <= {("completed", ""), ("failed", core_messages.SPAWN_FAILED)}
    assert ("completed", "") in kinds
    assert limit > 40 or len(kinds) == 2, "some could not be started"


async def test_a_supervisor_short_of_descriptors_tells_the_truth(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = start_held
    limits = {f"limit {limit}": limit for limit in (6, 9, 12, 14, 15, 16, 18, 20, 24)}

    def starved(spec: RunSpec, *how: Any) -> Held:
        held = start(spec, *how)
        if spec.name in limits:
            limit = limits[spec.name]
            resource.prlimit(held.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
        return held

    async def serve() -> None:
        for number in range(len(limits) + 1):
            child = await place.driver.next_child(number)
            await child.fork_setsid()
            await child.answer_and_exit("42")

    monkeypatch.setattr(pool, "start_held", starved)
    work = place.delegate_by_api(*limits, "sibling", concurrency=16)
    serving = asyncio.create_task(serve())
    *results, sibling = await work.results()
    serving.cancel()
    for result in results:
        check_truth(place, result, "42")
    assert {result.status for result in results} >= {"completed", "failed"}
    assert comparable(sibling) == answered("sibling", "42")


async def test_a_start_that_the_kernel_refuses_fails_its_task_only(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = start_held

    def refused(spec: RunSpec, *how: Any) -> Held:
        if spec.name.startswith("unlucky"):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return start(spec, *how)

    monkeypatch.setattr(pool, "start_held", refused)
    work = place.delegate_by_api("unlucky 1", "sibling", "unlucky 2", "queued", concurrency=1)
    for name in ("sibling", "queued"):
        await (await place.child(name)).answer_and_exit("42")
    first, sibling, second, queued = await work.results()
    for result in (first, second):
        assert (result.status, result.error_message) == ("failed", core_messages.SPAWN_FAILED)
        assert result.notes == (os.strerror(errno.EAGAIN).join(("[Errno 11] ", "")),)
    assert comparable(sibling) == answered("sibling", "42")
    assert comparable(queued) == answered("queued", "42")


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def leak_nothing(place: Workplace, rounds: int) -> None:
    """Run many quick tasks, good and bad, and count what stays open."""
    await place.delegate(*(str(n) for n in range(16)), pi=lambda _: ("/bin/true",)).results()
    before = open_descriptors()
    for number in range(rounds):
        program = "/bin/true" if number % 2 else "/absent"
        work = place.delegate(
            *(f"{number} {n}" for n in range(16)),
            pi=lambda _, program=program: (program,),  # type: ignore[misc]  # bound early
        )
        await work.results()
    assert open_descriptors() == before


async def test_no_descriptor_is_left_open_by_many_runs(place: Workplace) -> None:
    await leak_nothing(place, rounds=2)  # one descriptor of 32 runs would be seen


async def test_no_descriptor_is_left_open_by_starts_that_fail(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(subprocess, "Popen", fail)
    await place.delegate_by_api("warm up").results()
    before = open_descriptors()
    for number in range(20):
        results = await place.delegate_by_api(*(f"{number} {n}" for n in range(10))).results()
        assert {result.error_message for result in results} == {core_messages.SPAWN_FAILED}
    assert open_descriptors() == before


async def test_a_supervisor_that_dies_before_it_is_told_what_to_run_is_not_waited_for(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = start_held

    def stillborn(spec: RunSpec, *how: Any) -> Held:
        held = start(spec, *how)
        held.process.kill()
        held.process.wait()
        return held

    monkeypatch.setattr(pool, "start_held", stillborn)
    result = await place.delegate_by_api("untold").result()
    assert (result.status, result.error_message) == ("interrupted", core_messages.INTERRUPTED)
    assert place.driver.children == []

"""Supervisors by fork: each is what a process of its own would be, and none needs the server it is from."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.forked import servers_of
from tests.fakes.processes import PROC, parent_of
from tests.fakes.workplace import answered, comparable

from pi_subagents.runners import fork_server
from pi_subagents.runners.fork_server import ForkedProcess, ForkServer
from pi_subagents.runners.supervisor_start import start_supervisor
from pi_subagents.service.call import Pool
from pi_subagents.service.machine.head_start import supervisors_begun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fakes.workplace import Workplace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="handles on processes are of Linux")
# What changes from process to process, or is spent by living.
OF_ITS_OWN = (
    "Name",
    "Pid",
    "Tgid",
    "NSpid",
    "NStgid",
    "NSpgid",
    "NSsid",
    "PPid",
    "Vm",
    "Rss",
    "Hugetlb",
)
OF_ITS_LIFE = ("Threads", "voluntary", "nonvoluntary", "SigQ", "State", "FDSize", "HugetlbPages")


@pytest.fixture
def server() -> Iterator[ForkServer]:
    made = ForkServer()
    yield made
    made.close()


@contextmanager
def forked(server: ForkServer, env: dict[str, str]) -> Iterator[ForkedProcess]:
    """Have a supervisor that waits for its order; it is gone at the end."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = server.fork(env, theirs.fileno())
        assert process is not None
        yield process
    assert process.wait(10) == 0
    process.stdout.close()


def traits(pid: int) -> dict[str, object]:
    """Return what a process inherited or was given, as the kernel tells it."""
    place = PROC / str(pid)
    status = dict(line.split(":\t", 1) for line in (place / "status").read_text().splitlines())
    kept = {k: v for k, v in status.items() if not k.startswith((*OF_ITS_OWN, *OF_ITS_LIFE))}
    stat = (place / "stat").read_text().rpartition(")")[2].split()
    return {
        **kept,
        "limits": (place / "limits").read_text(),
        "directory": (place / "cwd").readlink(),
        "leads its session": stat[3] == str(pid) == stat[2],
        "terminal": stat[4],
        "nice": stat[16],
        "files": sorted(
            str(each.readlink()).partition(":")[0] for each in (place / "fd").iterdir()
        ),
    }


def test_a_forked_supervisor_is_what_a_process_of_its_own_would_be(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"PATH": os.defpath}
    server.begin(env)  # before everything that follows changes
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    mask = os.umask(0o037)
    try:
        monkeypatch.chdir(tmp_path)
        resource.setrlimit(resource.RLIMIT_CORE, (0, limits[1]))
        ours, theirs = socket.socketpair()
        with ours, theirs:
            alone = start_supervisor(env, stdin=theirs.fileno())
            with forked(server, env) as process:
                deadline = time.monotonic() + PATIENCE_S  # one of them is still loading its parts
                while time.monotonic() < deadline and traits(process.pid) != traits(alone.pid):
                    os.sched_yield()
                assert traits(process.pid) == traits(alone.pid)
    finally:
        os.umask(mask)
        resource.setrlimit(resource.RLIMIT_CORE, limits)
        alone.wait(10)
        assert alone.stdout is not None
        alone.stdout.close()


async def test_each_child_has_the_environment_of_its_call(place: Workplace) -> None:
    odd = os.fsdecode(b"caf\xe9")
    async with Pool() as pool:
        calls = {"ab": {"OF_CALL": "1", "TZ": "UTC+3"}, "cd": {"OF_CALL": odd, "ONLY_HERE": "1"}}
        for names, env in calls.items():
            given = {**place.env, **env}
            work = place.delegate_by_api(*names, env=given, pool=pool, concurrency=2)
            children = [await place.child(name) for name in names]
            told = [child.environment for child in children]
            for child in children:
                await child.answer_and_exit("42")
            assert [comparable(each) for each in await work.results()] == [
                answered(name, "42") for name in names
            ]
            for each in told:
                assert {name: each.get(name) for name in given} == given
                assert "ONLY_HERE" in env or "ONLY_HERE" not in each


async def test_runs_go_on_when_their_server_is_killed_and_those_to_come_begin_without_it(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("a", "b", "c", concurrency=2)
    children = [await place.child(name) for name in "ab"]
    (server,) = servers_of(os.getpid())
    os.kill(server, signal.SIGKILL)
    for child in children:
        await child.answer_and_exit("42")
    await (await place.child("c")).answer_and_exit("42")
    assert [comparable(each) for each in await work.results()] == [
        answered(name, "42") for name in "abc"
    ]


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_server_that_does_not_answer_is_done_without(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(fork_server, "ANSWER_LIMIT_S", 0.1)
    env = {"PATH": os.defpath}
    server.begin(env)
    (process,) = servers_of(os.getpid())
    os.kill(process, number)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert server.fork(env, theirs.fileno()) is None
    assert servers_of(os.getpid()) == []


def test_another_locale_has_another_server(server: ForkServer) -> None:
    server.begin({"LC_ALL": "C"})
    first = servers_of(os.getpid())
    server.begin({"LC_ALL": "C", "OTHER": "1"})
    assert servers_of(os.getpid()) == first
    server.begin({"LC_ALL": "C.UTF-8"})
    (second,) = servers_of(os.getpid())
    assert [second] != first


def test_where_processes_have_no_handles_there_is_no_server(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "handles_are_offered", lambda: False)
    server.begin({})
    assert servers_of(os.getpid()) == []


async def test_a_host_that_is_closed_leaves_no_server(place: Workplace) -> None:
    async with Pool() as pool:
        work = place.delegate_by_api("a", "b", pool=pool)
        for name in "ab":
            await (await place.child(name)).answer_and_exit("42")
        await work.results()
    assert servers_of(os.getpid()) == []


async def test_a_server_that_began_early_forks_the_first_supervisor_of_this_process(
    place: Workplace,
) -> None:
    with supervisors_begun(place.env):
        (server,) = servers_of(os.getpid())
        work = place.delegate_by_api("alone")
        child = await place.child("alone")
        assert parent_of(parent_of(child.pid)) == server
        await child.answer_and_exit("42")
        assert [comparable(each) for each in await work.results()] == [answered("alone", "42")]
        assert servers_of(os.getpid()) == []


def test_a_server_that_began_early_for_a_call_that_is_refused_ends_with_it() -> None:
    with supervisors_begun({}):
        assert len(servers_of(os.getpid())) == 1
    assert servers_of(os.getpid()) == []


def test_a_server_makes_no_supervisor_for_another_locale(server: ForkServer) -> None:
    server.begin({"LC_ALL": "C"})
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert server.fork({"LC_ALL": "C.UTF-8"}, theirs.fileno()) is None

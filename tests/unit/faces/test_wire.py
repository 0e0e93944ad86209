"""Standard input and output as a wire: who else has it, what comes through, how it ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly

import pi_subagents
from pi_subagents.core.framing import Line, Skipped
from pi_subagents.faces import wire
from pi_subagents.faces.wire import LineWriter, read_lines

if TYPE_CHECKING:
    from pi_subagents.core.framing import Frame

SOURCES = str(Path(pi_subagents.__file__).parents[1])
PATIENCE_S = 20


def frames(data: bytes, most: int = 50) -> list[Frame]:
    async def read() -> list[Frame]:
        reading, writing = os.pipe()
        threading.Thread(target=_feed, args=(writing, data)).start()
        async with asyncio.timeout(PATIENCE_S):
            found = [frame async for frame in read_lines(reading, most)]
        os.close(reading)
        return found

    return asyncio.run(read())


def _feed(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


@briefly
@given(st.lists(st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"").rstrip(b"\r"))))
def test_every_line_comes_through_or_is_told_by_its_size(lines: list[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    expected = [Line(line) if len(line) <= 50 else Skipped(len(line)) for line in lines]
    assert frames(data) == expected


def test_more_lines_than_are_held_at_once_come_through_in_order() -> None:
    lines = [str(number).encode() for number in range(1000)]
    assert frames(b"\n".join(lines)) == [*map(Line, lines[:-1]), Line(b"999", terminated=False)]


def test_a_wire_that_breaks_has_ended() -> None:
    async def read() -> list[Frame]:
        return [frame async for frame in read_lines(descriptor, 50)]

    descriptor = os.open(os.devnull, os.O_WRONLY)  # cannot be read
    assert asyncio.run(read()) == []
    os.close(descriptor)


class WatchedSemaphore(threading.Semaphore):
    """Says when somebody has to wait for it."""

    waited_for = threading.Event()

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        if super().acquire(blocking=False):
            return True
        self.waited_for.set()
        return super().acquire(blocking, timeout)


def test_a_reader_that_is_left_alone_with_lines_ends_quietly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problems: list[object] = []
    monkeypatch.setattr(threading, "excepthook", problems.append)
    seen = {"Thread": threading.Thread, "Event": threading.Event, "Semaphore": WatchedSemaphore}
    monkeypatch.setattr(wire, "threading", SimpleNamespace(**seen))
    reading, writing = os.pipe()
    os.write(writing, b"x\n" * 5000)

    async def leave() -> None:
        async with aclosing(read_lines(reading, 50)) as lines:
            async for _ in lines:
                await asyncio.to_thread(WatchedSemaphore.waited_for.wait, PATIENCE_S)
                break

    asyncio.run(leave())
    os.close(writing)
    threads = [thread for thread in threading.enumerate() if thread.name == "wire-in"]
    for thread in threads:
        thread.join(PATIENCE_S)
    assert (problems, [thread for thread in threads if thread.is_alive()]) == ([], [])
    os.close(reading)


async def test_lines_are_written_whole_and_in_order() -> None:
    reading, writing = os.pipe()
    writer = LineWriter(writing)
    large = b"y" * 200_000  # more than a pipe takes at once
    read = asyncio.create_task(asyncio.to_thread(_read_all, reading, 200_004))
    await asyncio.gather(writer.write(b"a"), writer.write(large), writer.write(b"b"))
    assert await read == b"a\n" + large + b"\nb"
    os.close(writing)
    os.close(reading)


def _read_all(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += os.read(descriptor, size - len(data))
    return data


async def test_a_host_that_is_gone_is_an_error_of_the_write() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    writer = LineWriter(writing)
    with pytest.raises(BrokenPipeError):
        await writer.write(b"a")
    with pytest.raises(BrokenPipeError):  # and again: nobody waits for ever
        await writer.write(b"b")
    os.close(writing)


async def test_a_write_that_nobody_waits_for_any_more_hurts_nobody() -> None:
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, problem: problems.append(problem))
    reading, writing = os.pipe()
    writer = LineWriter(writing)
    left = asyncio.create_task(writer.write(b"y" * 200_000))
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.to_thread(_read_all, reading, 200_001)
    second = asyncio.create_task(writer.write(b"b"))
    assert await asyncio.to_thread(_read_all, reading, 2) == b"b\n"
    await second
    assert problems == []
    os.close(reading)
    os.close(writing)


CLAIM = """\
import os, subprocess, sys
print("printed before")
from pi_subagents.faces.wire import claim_stdio
wire = claim_stdio()
print("printed", flush=True)
os.write(1, b"written\\n")
subprocess.run(["sh", "-c", "echo child; cat"], check=True)
os.write(wire.writing, b"heard " + os.read(wire.reading, 100))
print(sorted(os.listdir("/proc/self/fd"))[:3], os.get_inheritable(wire.reading))
"""


def test_whatever_is_printed_goes_to_standard_error_and_no_child_has_the_wire() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLAIM], input=b"hello\n", capture_output=True, check=True,
        env={"PYTHONPATH": SOURCES, "PATH": os.defpath}, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.stdout == b"heard hello\n"
    assert done.stderr == b"printed before\nprinted\nwritten\nchild\n['0', '1', '2'] False\n"


def test_ends_that_a_host_made_non_blocking_are_waited_for() -> None:
    code = (
        "from pi_subagents.faces.wire import claim_stdio; import os\n"
        "wire = claim_stdio()\n"
        "os.write(wire.writing, bytes([os.get_blocking(wire.reading), os.get_blocking(wire.writing)]))\n"
    )
    reading, host_writing = os.pipe()
    host_reading, writing = os.pipe()
    for ours in (reading, writing):
        os.set_blocking(ours, False)
    subprocess.run(
        [sys.executable, "-S", "-c", code], stdin=reading, stdout=writing, check=True,
        env={"PYTHONPATH": SOURCES, "PATH": os.defpath}, timeout=PATIENCE_S,
    )  # fmt: skip
    assert os.read(host_reading, 9) == b"\1\1"
    for descriptor in (reading, host_writing, host_reading, writing):
        os.close(descriptor)


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_descriptor_that_was_closed_is_nothing_and_none_is_left_open(closed: int) -> None:
    standard = [0, 1] if closed == 2 else [0, 1, 2]
    code = (
        "from pi_subagents.faces.wire import claim_stdio; import os\n"
        "wire = claim_stdio(); print('x', flush=True)\n"
        "is_open = {number for number in range(20) if os.path.exists(f'/proc/self/fd/{number}')}\n"
        f"standard = {standard}\n"
        "assert is_open == {*standard, wire.reading, wire.writing}, is_open\n"
        "assert os.read(wire.reading, 9) in (b'', b'in'); os.write(wire.writing, b'out')"
    )
    redirection = f"{closed}{'<' if closed == 0 else '>'}&-"
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -c "$1" {redirection}', sys.executable, code], input=b"in",
        capture_output=True, env={"PYTHONPATH": SOURCES, "PATH": os.defpath}, timeout=PATIENCE_S,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"" if closed == 1 else b"out"), done.stderr

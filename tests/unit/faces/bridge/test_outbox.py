"""Lines arrive whole and in order; a host that is gone is noticed, one that reads slowly waited for."""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from pi_subagents.faces.bridge.peer import Outbox
from pi_subagents.faces.wire import LineWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE = b"x" * 1_000_000
PATIENCE_S = 10.0


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    try:
        yield reading, writing
    finally:
        os.close(writing)


async def test_lines_arrive_in_order_and_are_all_taken_before_the_end() -> None:
    with pipe() as (reading, writing):
        box = Outbox(LineWriter(writing))
        for line in (b"one", LARGE, b"two"):
            box.write(line)
        draining = asyncio.create_task(box.drain())
        await asyncio.sleep(0)
        assert not draining.done(), "nobody has read the large one"
        wanted = b"one\n" + LARGE + b"\ntwo\n"
        file = os.fdopen(reading, "rb")
        assert await asyncio.to_thread(file.read, len(wanted)) == wanted
        async with asyncio.timeout(PATIENCE_S):
            await draining
            await box.close(PATIENCE_S)
        file.close()


async def test_a_host_that_is_gone_is_told_nothing_more() -> None:
    with pipe() as (reading, writing):
        os.close(reading)
        box = Outbox(LineWriter(writing))
        box.write(b"one")
        box.write(b"two")
        async with asyncio.timeout(PATIENCE_S):
            await box.drain()
        with pytest.raises(ConnectionError):
            box.write(b"three")
        await box.close(PATIENCE_S)


async def test_an_end_does_not_wait_for_ever() -> None:
    with pipe() as (reading, writing):
        box = Outbox(LineWriter(writing))
        box.write(LARGE)
        async with asyncio.timeout(PATIENCE_S):
            await box.close(0.01)
        os.close(reading)

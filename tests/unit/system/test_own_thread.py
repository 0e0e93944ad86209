"""Work in a thread of its own is done, whoever else waits and whoever waits no longer."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.fakes.driver import PATIENCE_S

from pi_subagents.system.own_thread import in_own_thread


async def test_work_does_not_queue_behind_that_of_others() -> None:
    others = threading.Event()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))
    busy = loop.run_in_executor(None, others.wait)
    try:
        async with asyncio.timeout(PATIENCE_S):
            assert await in_own_thread("mine", lambda: threading.current_thread().name) == "mine"
    finally:
        others.set()
        await busy


async def test_what_the_work_raises_is_raised() -> None:
    def fail() -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await in_own_thread("mine", fail)


async def test_work_is_done_though_nobody_waits_for_it_any_more() -> None:
    go = threading.Event()
    done: list[threading.Thread] = []
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))

    def work() -> None:
        go.wait(PATIENCE_S)
        done.append(threading.current_thread())

    waiting = asyncio.create_task(in_own_thread("unwaited", work))
    await asyncio.sleep(0)  # it has begun
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    (thread,) = (each for each in threading.enumerate() if each.name == "unwaited")
    go.set()
    thread.join(PATIENCE_S)
    await asyncio.sleep(0)  # the loop hears of it
    assert (done, complaints) == ([thread], [])


def test_work_may_end_after_the_loop_did() -> None:
    go = threading.Event()
    threads: list[threading.Thread] = []

    def work() -> None:
        threads.append(threading.current_thread())
        go.wait(PATIENCE_S)

    async def begin() -> None:
        waiting = asyncio.create_task(in_own_thread("mine", work))
        while not threads:
            await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(begin())
    go.set()
    threads[0].join(PATIENCE_S)
    assert not threads[0].is_alive()  # and nothing was raised in it: warnings are errors

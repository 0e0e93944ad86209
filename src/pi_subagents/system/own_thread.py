"""
Work that waits, in a thread of its own.

In: a function.  Out: what it returns or raises.  asyncio's own threads are few and shared: what
waits there for long delays others, and what is cancelled while it is queued never runs.  Where no
thread can be started (`ulimit -u`), the work is done all the same, and the event loop waits for it.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.stop_switch import StopSwitch

T = TypeVar("T")


async def in_own_thread(name: str, work: Callable[[], T]) -> T:
    """Do the work, to its end even if the caller no longer waits for it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(set_outcome: Callable[[], None]) -> None:
        if not done.done():  # else it was cancelled
            set_outcome()

    def run() -> None:
        set_outcome: Callable[[], None]
        try:
            set_outcome = partial(done.set_result, work())
        except BaseException as error:  # noqa: BLE001 - it is raised in the caller
            set_outcome = partial(done.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed: nothing waits
            loop.call_soon_threadsafe(settle, set_outcome)

    if not start_thread(name, run, daemon=False):
        run()
    return await done


async def in_thread_until(stop: StopSwitch, name: str, work: Callable[[threading.Event], T]) -> T:
    """Do the work, which gives up at an event: the switch is thrown, or the caller cancelled."""
    give_up = threading.Event()
    leave = stop.listen(lambda _level: give_up.set())
    try:
        return await in_own_thread(name, partial(work, give_up))
    except asyncio.CancelledError:
        give_up.set()
        raise
    finally:
        leave()


def start_thread(name: str, work: Callable[[], object], *, daemon: bool = True) -> bool:
    """Have a new thread do something; return whether it could be started."""
    try:
        threading.Thread(target=work, name=name, daemon=daemon).start()
    except RuntimeError:  # no more may be started
        return False
    return True

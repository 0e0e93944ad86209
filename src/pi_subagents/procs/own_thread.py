"""
Work that waits, in a thread of its own.

In: a function.  Out: what it returns or raises.  asyncio's own threads are few and everybody's: who
waits there for long keeps answers back, and who is cancelled while he queues is never served.
Where no thread can be had (`ulimit -u`), the work is done all the same, and everybody waits for it.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


async def in_own_thread(name: str, work: Callable[[], T]) -> T:
    """Do the work, to its end even if nobody waits for it any more."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(tell: Callable[[], None]) -> None:
        if not done.done():  # else it was cancelled
            tell()

    def attend() -> None:
        tell: Callable[[], None]
        try:
            tell = partial(done.set_result, work())
        except BaseException as error:  # noqa: BLE001 - it is raised where it was asked for
            tell = partial(done.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed: nobody can be told
            loop.call_soon_threadsafe(settle, tell)

    if not start_thread(name, attend, daemon=False):
        attend()
    return await done


def start_thread(name: str, work: Callable[[], object], *, daemon: bool = True) -> bool:
    """Have a thread do something; tell whether there was one to be had."""
    try:
        threading.Thread(target=work, name=name, daemon=daemon).start()
    except RuntimeError:  # no more may be started
        return False
    return True

"""
An event loop whose time passes only where nothing is left to do: hours go by at once.

`run_in_fake_time` runs a coroutine there.  What is read and written is real; timers are not waited
for, the clock is put forward to the next one instead.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Look, and let the time that nobody needs pass at once."""

    pass_time: Callable[[float], None]

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0 if timeout is not None else None)
        if not ready and timeout:
            self.pass_time(timeout)
        return ready


class FakeTimeLoop(asyncio.SelectorEventLoop):
    """A loop that begins at zero."""

    def __init__(self) -> None:
        selector = _Selector()
        super().__init__(selector)
        self.now_s = 0.0
        selector.pass_time = self.pass_time

    def time(self) -> float:
        return self.now_s

    def pass_time(self, seconds: float) -> None:
        """Let time pass: what somebody does takes as long."""
        self.now_s += seconds


def run_in_fake_time(main: Callable[[FakeTimeLoop], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine function in a loop of its own."""
    loop = FakeTimeLoop()
    try:
        return loop.run_until_complete(main(loop))
    finally:
        loop.close()

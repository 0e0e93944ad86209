"""
The runner door: what delegation needs of the world.

A Runner carries out orders (RunSpec), each to its end (`run`) or by themselves (`start`), and
always has a result to return.  An order names no descriptor and no directory of ours: a runner of
this machine adds those itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.core.stop_switch import StopSwitch


class Runner(Protocol):
    """Where supervisors are started, and how a run is reached there."""

    def prewarm(self, specs: Sequence[RunSpec], guessed: Sequence[RunSpec]) -> None:
        """Prepare for runs that need not come; of some it is only guessed what they will be."""
        ...

    def expect(self, specs: Iterable[RunSpec]) -> None:
        """Note all runs that are to come, in their order, before the first of them."""
        ...

    async def run(
        self, spec: RunSpec, on_event: Callable[[Event], None], stop: StopSwitch
    ) -> RunResult:
        """
        Execute one run; return its result however it ends.

        It ends with its caller: when the switch is thrown, by its levels, or on cancellation.
        """
        ...

    def start(self, spec: RunSpec) -> RunResult | None:
        """Begin a run that outlives its caller; return a result only if it cannot begin."""
        ...

    def refuse(self, spec: RunSpec, message: str, *, aborted: bool) -> RunResult:
        """Record that a planned run never started, and return that as its result."""
        ...

    async def settle(self) -> None:
        """Leave nothing behind that no other call can use; there are no more runs to come."""
        ...

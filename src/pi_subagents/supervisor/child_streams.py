"""
What one child prints, from its start until it is ended or kept.

In: its pipes.  Out: their bytes, to who takes them in; at the end also those that nobody had read.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.supervisor.listener import read_ready

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.supervisor.child import Child
    from pi_subagents.supervisor.intake import Intake
    from pi_subagents.supervisor.listener import Listener

    Take = Callable[[bytes], None]


class ChildStreams:
    """The two pipes of a child."""

    def __init__(self, child: Child, intake: Intake) -> None:
        self._each: tuple[tuple[int, Take], ...] = (
            (child.stdout, intake.output),
            (child.stderr, intake.error_output),
        )

    def listen(self, listener: Listener, on_data: Callable[[Take, bytes], None]) -> None:
        """Have what the child prints taken in."""
        for pipe, take in self._each:
            listener.add_stream(pipe, partial(on_data, take))

    def leave(self, listener: Listener, *, kept: bool) -> None:
        """Listen no more; of a child that is not kept, take what is there."""
        for pipe, take in self._each:
            listener.remove(pipe)
            # Its last output is in the pipe, which holds less than one read takes: journal it
            # before anything else can happen.
            if not kept and (data := read_ready(pipe)):
                take(data)

    def read_rest(self, *, all_gone: bool) -> None:
        """Read what is left; processes that are still there may write for ever."""
        for pipe, take in self._each:
            while data := read_ready(pipe):
                take(data)
                if not all_gone:
                    break

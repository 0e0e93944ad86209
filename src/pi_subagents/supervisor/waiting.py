"""
A supervisor whose child serves several runs, one at a time, and waits in between.

In: the lifeline.  Out: the byte FREE whenever the child waits; the next specification begins the
next run.  What the child prints between runs belongs to none and is dropped; errors before its
first run are part of that.  It ends with the lifeline or with a signal; a child that dies while it
waits is replaced when there is something to do.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.framing import Frame, Line, LineFramer
from pi_subagents.core.limits.ladder import STOP_GRACE_S
from pi_subagents.core.run.spec import FREE, STOP
from pi_subagents.engines.table import open_conversation
from pi_subagents.supervisor.child import Child, start_child
from pi_subagents.supervisor.one_run import DONE, FAILED, do_run
from pi_subagents.supervisor.supervisor import WAKE
from pi_subagents.system import process_tree

if TYPE_CHECKING:
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.store.local_order import LocalOrder
    from pi_subagents.supervisor.listener import Lifeline, Listener

MAX_EARLY_ERRORS = 64 * 1024


def serve_many(
    first: LocalOrder, early_commands: list[Frame], lifeline: Lifeline, listener: Listener
) -> int:
    """Do run after run for as long as there is a fit child and another specification."""
    child: Child | None = None
    code = DONE
    if first.spec.reuse.prewarm:
        try:
            child = start_child(first, listener.selector)
        except (OSError, ValueError):
            return FAILED  # the run that wants it starts it anew, and reports why that fails
    else:
        code, child = do_run(first, early_commands, lifeline, listener)
        early_commands = []
    has_served = not first.spec.reuse.prewarm
    while child is not None:
        waiting = _Waiting(first.spec, child, lifeline, listener)
        if has_served:  # also where the run ended before it reached the child
            _report_free()
        order = waiting.for_an_order(early_commands)  # which may have come before we were up
        early_commands = []
        if order is None or not waiting.child_is_fit:
            _release(child, listener)
            child = None
        if order is not None:
            code, child = do_run(order, waiting.commands, lifeline, listener, child)
            has_served = True
    return code


def _report_free() -> None:
    # Waited for, unlike news: the caller would not look here again without this byte.
    os.set_blocking(WAKE, True)
    with suppress(OSError):
        os.write(WAKE, FREE)
    os.set_blocking(WAKE, False)


def _release(child: Child, listener: Listener) -> None:
    """End a child that waits: it exits when its input ends, and is ended if it does not."""
    assert child.input is not None
    child.input.close()
    deadline = time.monotonic() + STOP_GRACE_S
    _reap(child)
    while not child.ended and (left := deadline - time.monotonic()) > 0:
        listener.serve(left)
        _reap(child)
    process_tree.kill_tree(child.pid, lambda _: None)
    child.release_desks()


def _reap(child: Child) -> None:
    statuses, _ = process_tree.reap()
    if child.pid in statuses:
        child.note_exit(statuses[child.pid])


class _Waiting:
    """The time between two runs of a child."""

    def __init__(self, spec: RunSpec, child: Child, lifeline: Lifeline, listener: Listener) -> None:
        assert child.input is not None  # a child that takes no commands serves one run
        self._child = child
        self._talk = open_conversation(spec.child.engine, spec.child.mode, "", child.input)
        self._lifeline = lifeline
        self._listener = listener
        self._output = LineFramer()
        self._stopped = False
        self._order: LocalOrder | None = None
        self._behind: list[Frame] = []

    @property
    def commands(self) -> list[Frame]:
        """What came right after the order; a signal that came with it is meant for its run."""
        return [Line(STOP.encode("ascii")), *self._behind] if self._stopped else self._behind

    @property
    def child_is_fit(self) -> bool:
        """Return whether the child can be given commands, from the start of a line."""
        return not (self._child.ended or self._talk.interfered) and self._output.empty

    def for_an_order(self, early: list[Frame]) -> LocalOrder | None:
        """Return the next specification; None if there will be none."""
        child, listener = self._child, self._listener
        listener.on_stop_signal = lambda _: self._stop()
        self._lifeline.on_frames = self._on_frames
        self._lifeline.on_end = self._stop
        listener.add_stream(child.stdout, self._on_output)
        listener.add_stream(child.stderr, self._on_error_output)
        self._on_frames(early)
        self._look_after_child()
        while not (self._stopped or self._order or self._lifeline.lost):
            listener.serve(None)
            self._look_after_child()
        for pipe in (child.stdout, child.stderr):
            listener.remove(pipe)
        return self._order

    def _look_after_child(self) -> None:
        """Notice its end, and end what it was made of: the next order may be long in coming."""
        known = self._child.ended
        _reap(self._child)
        if self._child.ended and not known:
            process_tree.kill_tree(self._child.pid, lambda _: None)

    def _stop(self) -> None:
        self._stopped = True

    def _on_frames(self, frames: list[Frame]) -> None:
        for frame in frames:
            if self._order is not None:
                self._behind.append(frame)
            # Commands that come before an order were meant for the run that is over.
            elif isinstance(frame, Line) and frame.data.startswith(b"{"):
                self._order = self._lifeline.order(frame)

    def _on_output(self, data: bytes) -> None:
        for frame in self._output.feed(data):
            if isinstance(frame, Line):
                self._talk.hears_idle(frame.data)

    def _on_error_output(self, data: bytes) -> None:
        if self._child.runs == 0:
            self._child.early_errors = (self._child.early_errors + data)[-MAX_EARLY_ERRORS:]

"""
Supervisors whose children wait for another run, by what shaped them.

In: specifications.  Out: a supervisor that does a run: one whose child is of the same kind and
waits, or a new one.  Children are prewarmed where one will be wanted, released where none will, and
none is alive once the pool is closed.  A host that lives on keeps a few.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core.run.spec import MAX_REUSE, RunSpec
from pi_subagents.runners.fork_server import EARLY, ForkedProcess, ForkServer
from pi_subagents.runners.room import claim_guess, memory_is_short
from pi_subagents.runners.supervisor_start import order_line, start_supervisor
from pi_subagents.store.local_order import LocalOrder, altered
from pi_subagents.system.identity import identify
from pi_subagents.system.own_thread import in_own_thread
from pi_subagents.system.process_tree import end_supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

IDLE_LIMIT_S = 300.0
# How long, and at most how many, stay that worked for a call: another one often follows soon.
LINGER_S = 30.0
MOST_LINGERING = 4
# How long children wait for the call they were started for: it may never be made.
PREWARM_LIMIT_S = 30.0
# When the call is there: how long those wait that none of its tasks took.
GIVE_BACK_S = 3.0
FORK_FROM = 2  # runs: a single supervisor starts sooner by itself
# A supervisor that was released gives its child five seconds, and a sweep may take ten.
LEAVE_LIMIT_S = 25.0


class Held:
    """A supervisor we hold by its lifeline, at work or waiting."""

    def __init__(
        self,
        process: subprocess.Popen[bytes] | ForkedProcess,
        channel: socket.socket,
        spec: RunSpec,
    ) -> None:
        self.process = process
        self.channel = channel
        self.kind = kind_of(spec)
        self.last_run = ""  # the last it was given
        self._keep = spec.reuse.keep
        self._runs = 0
        self._files = spec.child.rereads
        self.slot: int | None = None  # of one that was started on a guess, until it is given a run

    @property
    def keeps(self) -> bool:
        """Return whether its child will wait for another run."""
        return self._keep and self._runs < MAX_REUSE

    @property
    def usable(self) -> bool:
        """Return whether it can be given another run."""
        return self.process.poll() is None and all(os.path.exists(name) for name in self._files)  # noqa: PTH110 - texts

    def give(self, order: LocalOrder) -> None:
        """Send it a run, its lock and its envelope beside it; OSError if it is gone."""
        lock, envelope = order.place.lock_fd, order.place.envelope_fd
        assert lock is not None
        self._leave_slot()
        self.last_run, self._keep = order.spec.run_id, order.spec.reuse.keep
        self._runs += 1
        line = order_line(altered(order, lock_fd=None))
        beside = [each for each in (lock, envelope) if each is not None]
        sent = socket.send_fds(self.channel, [line], beside)
        self.channel.sendall(line[sent:])

    def start_child(self, order: LocalOrder) -> None:
        """Let it start the child of a run that is yet to come; OSError if it is gone."""
        early = altered(order, prewarm=True, lock_fd=None, envelope_fd=None)
        self.channel.sendall(order_line(early))

    def release(self) -> None:
        """End its lifeline; it ends its child and itself."""
        self._leave_slot()
        self.channel.close()

    def _leave_slot(self) -> None:
        if self.slot is not None:
            os.close(self.slot)
            self.slot = None

    def wait(self) -> None:
        """Wait until a released one is gone; one that does not end is ended."""
        try:
            self.process.wait(LEAVE_LIMIT_S)
        except subprocess.TimeoutExpired:
            end_supervisor(identify(self.process.pid))
            self.process.kill()
            self.process.wait()


class ChildPool:
    """Every supervisor of a caller that may serve more than one run."""

    def __init__(self) -> None:
        self.warm = 0  # how many children wait for whatever comes next
        self._idle: list[Held] = []  # the longest waiting first
        self._busy: list[Held] = []
        self._leaving: list[Held] = []
        self._last: tuple[LocalOrder, Mapping[str, str]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._server = EARLY.pop() if EARLY else None
        self._most = 0  # children there may be, as of the last `prewarm_all`

    def acquire(
        self, order: LocalOrder, env: Mapping[str, str], *, most: int, to_come: int = 0
    ) -> Held:
        """Return a supervisor that does the run; OSError if none can be started."""
        if order.spec.reuse.kind:
            self._last = order, env
        if any(not held.last_run for held in self._idle):
            self._later(GIVE_BACK_S, self._give_back)
        while (held := self._take(order.spec)) is not None:
            try:
                held.give(order)
            except OSError:  # it went in this very moment
                self._dismiss(held)
            else:
                self._busy.append(held)
                return held
        self._make_room(most)
        if self.warm or to_come + 1 >= FORK_FROM:
            self._fork_from_now_on(env)
        held = start_held(order.spec, env, self._server)
        try:
            held.give(order)
        except OSError:  # it died at once: it shows as one without a result
            held.process.kill()
        self._busy.append(held)
        return held

    def retire(self, kind: str) -> None:
        """Release those that wait as a kind that no longer exists."""
        self._discard_all(held for held in self._idle if held.kind == kind)

    def release(self, held: Held, *, free: bool, wanted: bool) -> None:
        """Take a supervisor whose run is over: it waits if it is free and wanted, else it goes."""
        if held in self._busy:  # else the pool was closed meanwhile
            self._busy.remove(held)
        alike = sum(other.kind == held.kind for other in self._idle)
        if free and (wanted or alike < self._most_kept):
            self._idle.append(held)
        else:
            self._dismiss(held)

    def prewarm_all(
        self,
        orders: Sequence[LocalOrder],
        guessed: Sequence[LocalOrder],
        env: Mapping[str, str],
        *,
        most: int,
    ) -> None:
        """
        Start a child for each of some runs to come, unless one waits already.

        Those that are guessed will be like the one before them, or like the last there was.
        """
        self._most = most
        last = self._last[0] if self._last is not None and self._last[1] == env else None
        like = orders[-1] if orders else last
        wanted = [*orders, *(like or order for order in guessed)]
        if self.warm or len(wanted) >= FORK_FROM:
            self._fork_from_now_on(env)
        waiting = [held.kind for held in self._idle]
        for number, order in enumerate(wanted):
            if (kind := order.spec.reuse.kind) in waiting:
                waiting.remove(kind)
                continue
            is_guess = number >= len(orders)
            if not is_guess and self.is_full:
                self._drop_wrong_guess({order.spec.reuse.kind for order in orders})
            if not self.is_full and not memory_is_short():
                self._start_idle(order, env, is_guess=is_guess)

    @property
    def waiting(self) -> tuple[Held, ...]:
        """Return the supervisors that wait for a run, the longest waiting first."""
        return tuple(self._idle)

    @property
    def is_full(self) -> bool:
        """Return whether no further child can be prewarmed."""
        return 0 < self._most <= len(self._idle) + len(self._busy)

    @property
    def has_guesses(self) -> bool:
        """Return whether some wait that may give way to others."""
        return any(held.slot is not None for held in self._idle)

    def prewarm(self, order: LocalOrder, env: Mapping[str, str], *, most: int) -> None:
        """Start the child of a run to come, unless one of its kind will be free."""
        known = (*self._idle, *(held for held in self._busy if held.keeps))
        has_one = any(held.kind == kind_of(order.spec) for held in known)
        has_room = len(self._idle) + len(self._busy) <= most
        if order.spec.child.takes_commands and not has_one and has_room and not memory_is_short():
            self._start_idle(order, env)

    async def settle(self) -> None:
        """Keep what a host wants to have ready after a call, and release the rest."""
        if self.warm and self._last is not None and not memory_is_short():
            order, env = self._last
            kind = kind_of(order.spec)
            ready = [held for held in self._idle if held.kind == kind and held.usable]
            kept = [held for held in ready if held.last_run][-self._most_kept :]
            if (missing := self.warm - len(kept)) > 0:
                kept += [held for held in ready if not held.last_run][-missing:]
            self._discard_all(held for held in self._idle if held not in kept)
            for _ in range(0 if self._busy else self.warm - len(ready)):
                self._start_idle(altered(order, keep=True), env)
            if len(kept) > self.warm:
                self._later(LINGER_S, self._let_some_go)
            else:
                self._later(IDLE_LIMIT_S, self._expire)
        elif not self._busy:
            self._discard_all(self._idle)
            self._fork_no_more()
        await self._wait_for_leaving()

    async def tidy(self) -> None:
        """Wait for those that leave, where the next run may come at any time."""
        await self._wait_for_leaving()

    def settle_later(self) -> None:
        """Settle unless the call comes for which children were started."""
        self._later(PREWARM_LIMIT_S, self._give_up)

    async def close(self) -> None:
        """Release every supervisor, and wait until all are gone."""
        self.warm = 0
        if self._timer is not None:
            self._timer.cancel()
        for held in (*self._idle, *self._busy):
            self._dismiss(held)
        self._idle, self._busy = [], []
        self._fork_no_more()
        await self._wait_for_leaving()

    @property
    def _most_kept(self) -> int:
        return max(self.warm, MOST_LINGERING) if self.warm else 0

    def _fork_from_now_on(self, env: Mapping[str, str]) -> None:
        if self._server is None:
            self._server = ForkServer()
        self._server.begin(env)

    def _fork_no_more(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def _take(self, spec: RunSpec) -> Held | None:
        """Return one that waits and is of the right kind: best the one with the run before."""
        kind = kind_of(spec)
        fitting = [held for held in self._idle if held.kind == kind]
        for held in sorted(fitting, key=lambda held: held.last_run != spec.reuse.follows):
            self._idle.remove(held)
            if held.usable:
                return held
            self._dismiss(held)
        return None

    def _start_idle(
        self, order: LocalOrder, env: Mapping[str, str], *, is_guess: bool = False
    ) -> None:
        with suppress(OSError):  # then the run that wants it reports that, if it is no better
            slot = claim_guess(order) if is_guess else None
            if is_guess and slot is None:
                return
            held = start_held(order.spec, env, self._server)
            held.slot = slot
            self._idle.append(held)
            held.start_child(order)

    def _drop_wrong_guess(self, kinds: Container[str]) -> None:
        """Release one that waits for nothing that is known to come, a guess before all others."""
        guesses_first = sorted(self._idle, key=lambda held: held.slot is None)
        may_go = (held for held in guesses_first if held.slot is not None or held.last_run)
        if wrong := next((held for held in may_go if held.kind not in kinds), None):
            self._discard(wrong)

    def _give_back(self) -> None:
        """Release what was started for tasks that turned out to be others, or not to be."""
        kinds = [held.kind for held in self._busy[-1:]] * self.warm
        for held in [held for held in self._idle if not held.last_run]:
            if held.kind in kinds:
                kinds.remove(held.kind)
            else:
                self._discard(held)

    def _make_room(self, most: int) -> None:
        """Release the longest waiting where a new one would be one too many."""
        while self._idle and len(self._idle) + len(self._busy) >= most:
            self._discard(self._idle[0])

    def _discard_all(self, idle: Iterable[Held]) -> None:
        for held in list(idle):
            self._discard(held)

    def _discard(self, held: Held) -> None:
        self._idle.remove(held)
        self._dismiss(held)

    def _dismiss(self, held: Held) -> None:
        held.release()
        self._leaving.append(held)

    async def _wait_for_leaving(self) -> None:
        leaving, self._leaving = self._leaving, []
        if leaving:  # in one thread: it waits for all of them even if we are cancelled
            await in_own_thread("leaving", partial(_close_all, leaving))

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        """Look after those that wait at that time, instead of the one that was set before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, act)

    def _give_up(self) -> None:
        """Settle, as the call did not come; one that is under way settles at its end."""
        if self._idle and not self._busy:
            self._settling = asyncio.ensure_future(self.settle())

    def _let_some_go(self) -> None:
        """Release those that only lingered, as no call followed; nothing waits for that."""
        if not self._busy:
            self._discard_all(self._idle[: -self.warm])
            self._settling = asyncio.ensure_future(self._wait_for_leaving())
            self._later(IDLE_LIMIT_S - LINGER_S, self._expire)

    def _expire(self) -> None:
        """Release what waits, as there was no call for long; nothing waits for that."""
        if not self._busy:
            self._discard_all(self._idle)
            self._fork_no_more()
            self._settling = asyncio.ensure_future(self._wait_for_leaving())


def kind_of(spec: RunSpec) -> str:
    """Return what a child must be to do the run; the run's alone, where it has no kind."""
    return spec.reuse.kind or f"only {spec.run_id}"


def start_held(spec: RunSpec, env: Mapping[str, str], server: ForkServer | None = None) -> Held:
    """Start a supervisor that has yet to be given a run."""
    ours, theirs = socket.socketpair()
    if server is not None:
        with theirs:
            forked = server.fork(env, theirs.fileno())
        if forked is not None:
            return Held(forked, ours, spec)
        ours.close()  # the server may have made a supervisor before it went: it has this one
        ours, theirs = socket.socketpair()
    with theirs:
        try:
            return Held(start_supervisor(env, stdin=theirs.fileno()), ours, spec)
        except OSError:
            ours.close()
            raise


def _close_all(leaving: Iterable[Held]) -> None:
    for held in leaving:
        held.wait()
        assert held.process.stdout is not None
        held.process.stdout.close()

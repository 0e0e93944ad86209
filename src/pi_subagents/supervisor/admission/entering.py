"""
Whether a child may be started now: there is room for it, and its provider is known to answer.

In: an order, and what is known on this machine.  Out: whether it may, after however long a wait,
which is shown to everybody; a stop ends it at once.  Nothing is held by whoever waits.  After a
limit children pass one by one: whoever passed holds the gate until its provider has answered.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.question import LIMIT, PLACE, WaitingFor
from pi_subagents.store.provider_limits import LONGEST_WAIT_S, ProviderLimits, is_believed
from pi_subagents.supervisor import messages
from pi_subagents.supervisor.admission.slots import POLL_S, Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.store.local_order import LocalOrder

LONGEST_PAUSE_S = 5.0  # clocks are set, machines sleep
_JITTER, _MOST_JITTER_S = 0.1, 10.0


class Admission:
    """The place of one run among all children of this user, and among those of its provider."""

    def __init__(
        self,
        order: LocalOrder,
        show: Callable[[WaitingFor | None], None],
        record: Callable[[ev.Event], None],
    ) -> None:
        spec, place = order.spec, order.place
        self._provider = spec.child.provider or spec.child.engine
        self._account = spec.child.account
        self._data_dir = Path(place.desk).parent.parent
        self._limits = ProviderLimits(self._data_dir, self._provider, self._account)
        of_provider = (
            f"{place.slots_dir}/of-{self._limits.provider_name}" if place.slots_dir else ""
        )
        limits = spec.limits
        self._slots = (
            (Slot(place.slots_dir, limits.max_children), PLACE, messages.all_places_taken),
            (Slot(of_provider, limits.max_of_provider), LIMIT, self._all_of_provider_taken),
        )
        self._show, self._record = show, record
        self._shown: WaitingFor | None = None
        self._gate: int | None = None
        self._gave_up = 0  # children in a row
        self._left_s = limits.limit_wait_s  # of waiting for limits, in the whole run
        self._jitter: dict[int, int] = {}
        self.waited_s = 0.0  # for limits
        self.too_long = ""  # why it is not waited for any longer

    def enter(self, pause: Callable[[float], bool]) -> bool:
        """Return once a child may be started; False where none will be."""
        while (reason := self._reason_to_wait()) is not None:
            self._tell(reason)
            began = time.monotonic()
            if reason.until_ms and self._is_too_long(reason):
                break
            goes_on = pause(self._pause_s(reason))
            if reason.until_ms:
                self.waited_s += time.monotonic() - began
            if not goes_on:
                break
        self._tell(None)
        return reason is None

    def leave(self) -> None:
        """Give everything back."""
        self._open_gate()
        for slot, *_ in self._slots:
            slot.release()

    def met(self, limit: ev.Limited, *, gave_up: bool) -> None:
        """
        Note a limit for everybody; one of unknown length only once the child gave up.

        A provider that wants to be asked at once, and then refuses, is left alone for longer and
        longer all the same.
        """
        now_ms = _now_ms()
        until_ms = limit.until_ms or round(now_ms + limit.after_s * 1000) * bool(limit.after_s)
        if not is_believed(until_ms, now_ms):
            until_ms = 0
        if gave_up:
            self._gave_up += 1
            least_s = min(2 ** (self._gave_up - 1), LONGEST_WAIT_S)
            until_ms = until_ms and round(now_ms + least_s * 1000)
        elif not until_ms:
            return
        self._limits.note(until_ms, now_ms)
        if limit.provider not in ("", self._provider):  # the order did not know it
            of_model = ProviderLimits(self._data_dir, limit.provider, self._account)
            of_model.note(until_ms, now_ms)

    def note(self) -> str:
        """Return how long the run waited for its provider, if it did."""
        waited = messages.note_waited(self._provider, f"{max(self.waited_s, 1):.0f} s")
        return waited if self.waited_s else ""

    def answered(self) -> None:
        """Let the next child pass: the provider answers again."""
        self._gave_up = 0
        if self._gate is not None:
            self._limits.answered(_now_ms())
            self._open_gate()

    def _reason_to_wait(self) -> WaitingFor | None:
        """Take all that a child needs, or nothing; return what it has to wait for."""
        now_ms = _now_ms()
        known = self._limits.known(now_ms)
        if known is not None:
            until_ms = known.until_ms + self._jitter_ms(known.until_ms, now_ms)
            if now_ms < until_ms:
                text = messages.provider_limited(self._provider, _clock(until_ms))
                return WaitingFor(until_ms, text, kind=LIMIT)
        for slot, kind, why in self._slots:
            if not slot.acquire(lambda _: False):
                self.leave()
                return WaitingFor(0, why(slot.most), kind=kind)
        if known is not None and self._gate is None:
            self._gate = self._limits.gate()
            if self._gate is None:
                self.leave()
                return WaitingFor(0, messages.one_by_one(self._provider), kind=LIMIT)
        return None

    def _is_too_long(self, reason: WaitingFor) -> bool:
        left_s = self._left_s - self.waited_s
        if (reason.until_ms - _now_ms()) / 1000 <= left_s:
            return False
        self.too_long = messages.limit_too_long(
            self._provider, _clock(reason.until_ms), round(self._left_s)
        )
        return True

    def _jitter_ms(self, until_ms: int, now_ms: int) -> int:
        """Return by how much this run waits longer than others for the same limit."""
        if until_ms not in self._jitter:
            most_s = min(max(until_ms - now_ms, 0) / 1000 * _JITTER, _MOST_JITTER_S)
            self._jitter = {until_ms: round(most_s * 1000 * os.urandom(1)[0] / 255)}
        return self._jitter[until_ms]

    def _pause_s(self, reason: WaitingFor) -> float:
        if not reason.until_ms:
            return POLL_S
        left_s = (reason.until_ms - _now_ms()) / 1000
        return min(max(left_s, 0.01), LONGEST_PAUSE_S)

    def _tell(self, reason: WaitingFor | None) -> None:
        if reason != self._shown:
            self._shown = reason
            if reason is not None and reason.kind == LIMIT:
                self._record(ev.Note(reason.text))
            self._show(reason)

    def _all_of_provider_taken(self, most: int) -> str:
        return messages.all_of_provider_taken(self._provider, most)

    def _open_gate(self) -> None:
        if self._gate is not None:
            os.close(self._gate)
            self._gate = None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _clock(time_ms: int) -> str:
    """Return a time of day as this machine shows it, with the date unless that is today's."""
    then, now = time.localtime(time_ms / 1000), time.localtime()
    return time.strftime("%H:%M:%S" if then[:3] == now[:3] else "%Y-%m-%d %H:%M", then)

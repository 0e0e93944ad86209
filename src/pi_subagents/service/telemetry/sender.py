"""
The thread that tells OpenTelemetry of calls, so that none waits for it, be it for its import.

In: small functions, in order.  Out: whatever they do; what goes wrong there is logged, and harms
nobody.  One thread per process, begun with its first call.  At the end of the process what is left
is sent for `FLUSH_S` at most, and not at all to a collector that cannot be reached.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING

from pi_subagents.system.own_thread import start_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.service.telemetry.instruments import Instruments
    from pi_subagents.service.telemetry.sending import Sending

FLUSH_S = 2.0
RECENT_S = 10.0  # whoever could not be reached since then is not waited for
MAX_QUEUED = 10_000
NAMES = ("opentelemetry", __name__)  # of the loggers that hear of trouble

_LOG = logging.getLogger(__name__)
SENDERS: dict[Sending, Sender] = {}


class Sender:
    """One thread with its queue."""

    def __init__(self, sending: Sending) -> None:
        self.sending = sending
        self._work: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._instruments: Instruments | None = None
        self._over = threading.Event()  # nothing more is waited for: done, or hopeless
        self._troubled_at = float("-inf")
        if not sending.own:
            handler = _Trouble(self)
            for name in NAMES:
                logging.getLogger(name).addHandler(handler)
        self._runs = start_thread("telemetry", self._serve)

    @property
    def is_full(self) -> bool:
        """Return whether so much waits that tool calls are left out."""
        return self._work.qsize() >= MAX_QUEUED

    def put(self, work: Callable[[], object]) -> None:
        """Have it done, after all that was put before."""
        if self._runs:
            self._work.put(work)

    def instruments(self) -> Instruments:
        """Return what spans and metrics are made with; only for work in the thread."""
        if self._instruments is None:
            from pi_subagents.service.telemetry.instruments import open_instruments

            self._instruments = open_instruments(self.sending)
        return self._instruments

    def drain(self) -> None:
        """Wait until all was done that was put here, for a moment at most."""
        done = threading.Event()
        self.put(done.set)
        if self._runs:
            done.wait(FLUSH_S)

    def flush(self) -> None:
        """Send what is left, for a moment at most."""
        if not self._runs:
            return
        if time.monotonic() - self._troubled_at > RECENT_S:
            self._over.clear()
        self.put(self._flush)
        self._over.wait(FLUSH_S)

    def trouble(self) -> None:
        """Note that something could not be sent: whoever is about to leave does not wait for it."""
        self._troubled_at = time.monotonic()
        self._over.set()

    def _flush(self) -> None:
        try:
            if self._instruments is not None:
                self._instruments.flush()
        finally:
            self._over.set()

    def _serve(self) -> None:
        while True:
            work = self._work.get()
            try:
                work()
            except Exception:  # noqa: BLE001 - whatever it is, calls go on
                _LOG.exception("a call could not be told to OpenTelemetry")


class _Trouble(logging.Handler):
    """
    Hears of what the libraries could not send.

    With a handler there, Python prints none of it on the caller's terminal of its own accord.
    """

    def __init__(self, of: Sender) -> None:
        super().__init__(logging.WARNING)
        self._of = of

    def emit(self, record: logging.LogRecord) -> None:
        """Take one complaint."""
        del record
        self._of.trouble()


def sender_for(sending: Sending) -> Sender:
    """Return the sender of this process."""
    if sending not in SENDERS:
        SENDERS[sending] = Sender(sending)
    return SENDERS[sending]


def flush() -> None:
    """Send what is left in this process, which leaves at once: nothing else of it will be done."""
    for sender in SENDERS.values():
        sender.flush()


def _at_exit() -> None:
    """Do so at a tidy exit, where a program's own providers are its own business."""
    for sending, sender in SENDERS.items():
        if not sending.own:
            sender.flush()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=SENDERS.clear)  # threads stay behind

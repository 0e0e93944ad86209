"""
Serve the offline model alone, until someone stops it.

In: a port and perhaps a script.  Out: nothing; `on_ready` gets the base address.
Prints nothing; returns on Ctrl+C and on SIGTERM.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

from pi_subagents.engines.offline.http_side import DEFAULT_CONVERSATION
from pi_subagents.engines.offline.server import OfflineModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pi_subagents.core.offline.script import Script


def serve_forever(
    on_ready: Callable[[str], None], *, port: int = 0, script: Script | None = None
) -> None:
    """Block until interrupted; `on_ready` gets a base address; raises OSError (port taken)."""
    with (
        _terminate_like_interrupt(),
        contextlib.suppress(KeyboardInterrupt),
        OfflineModel(script, port=port, keep_requests=0) as model,
    ):
        on_ready(model.url_for(DEFAULT_CONVERSATION))
        threading.Event().wait()


@contextlib.contextmanager
def _terminate_like_interrupt() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers, and only it gets the signals
        return
    # An exception, not Event.set(): a handler may run while the event's own lock is held.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

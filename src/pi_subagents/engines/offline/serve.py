"""
Serve the offline model outside of a call: alone until it is stopped, or for one pi as it runs.

`serve_forever` takes a port and perhaps a script, prints nothing, and returns on Ctrl+C and on
SIGTERM.  `main` is a program of its own, for a run that nobody stays with to serve a model: its
arguments are pi's command line, its standard streams and its exit code are pi's.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.engines.offline.conversations import DEFAULT_CONVERSATION
from pi_subagents.engines.offline.provider import URL_VARIABLE
from pi_subagents.engines.offline.server import OfflineModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pi_subagents.core.offline.script import Script

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from pi_subagents.engines.offline.serve import main; sys.exit(main())"
)


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


def launcher_argv() -> tuple[str, ...]:
    """Return what to put before a child's own command line, so that `main` runs it."""
    return (sys.executable, "-I", "-c", _BOOT, str(Path(__file__).resolve().parents[3]))


def main() -> int:
    """Serve the model for as long as the child runs; a request to end is passed on."""
    with OfflineModel(keep_requests=0) as model:
        env = {**os.environ, URL_VARIABLE: model.url_for("run")}
        child = subprocess.Popen(sys.argv[1:], env=env)
        signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        code = child.wait()
    return code if code >= 0 else 128 - code


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

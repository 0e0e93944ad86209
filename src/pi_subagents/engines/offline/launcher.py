"""
Run pi with an offline model of its own, for a run that nobody stays with to serve one.

In: pi's command line as arguments.  Standard streams are pi's own; a request to end is passed on,
and the exit code is pi's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from pi_subagents.engines.offline.provider import URL_VARIABLE
from pi_subagents.engines.offline.server import OfflineModel

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from pi_subagents.engines.offline.launcher import main; sys.exit(main())"
)


def launcher_argv() -> tuple[str, ...]:
    """Return what to put before pi's own command line."""
    return (sys.executable, "-I", "-c", _BOOT, str(Path(__file__).resolve().parents[3]))


def main() -> int:
    """Serve the model for as long as pi runs."""
    with OfflineModel(keep_requests=0) as model:
        env = {**os.environ, URL_VARIABLE: model.url_for("run")}
        pi = subprocess.Popen(sys.argv[1:], env=env)
        signal.signal(signal.SIGTERM, lambda *_: pi.terminate())
        code = pi.wait()
    return code if code >= 0 else 128 - code

"""
Start a supervisor as a process of this machine.

Its standard input is the lifeline and command channel, its standard output wakes us when there is
something new in the journal, which is where every event is read from.  That of a background run,
which outlives its caller, gets its specification and then no lifeline: it is found again by its run
directory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.system.safe_io import write_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.store.local_order import LocalOrder

# Isolated and without site-packages: the supervisor needs the standard library and us.
SUPERVISOR = (sys.executable, "-I", "-S", "-c")
PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])
# There is one per child, so its start and end count: nothing is worth collecting while it imports,
# and once main() returned everything is on disk, with nothing left to tidy up.
BOOT = (
    "import gc, os, sys; gc.disable(); sys.path.insert(0, sys.argv[1]); "
    "from pi_subagents.supervisor.main import main; gc.enable(); os._exit(main())"
)


def start_supervisor(
    env: Mapping[str, str], *, stdin: int = subprocess.PIPE, lock_fd: int | None = None
) -> subprocess.Popen[bytes]:
    """Start a supervisor in a session of its own, which inherits a run's lock if given."""
    return subprocess.Popen(
        supervisor_argv(),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env=env,
        start_new_session=True,
        pass_fds=() if lock_fd is None else (lock_fd,),
    )


def start_detached(order: LocalOrder, env: Mapping[str, str]) -> None:
    """Start a supervisor without a lifeline, which inherits the run's lock; OSError otherwise."""
    from pi_subagents.system.own_thread import start_thread  # asyncio, which others do without

    process = start_supervisor(env, lock_fd=order.place.lock_fd)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        write_all(process.stdin.fileno(), order_line(order))
    except OSError:  # it died at once, or would wait for the rest: it shows as one without a result
        process.kill()
    process.stdin.close()
    process.stdout.close()
    # A host that lives on must not collect dead supervisors.
    start_thread("reaper", process.wait)


def supervisor_argv() -> tuple[str, ...]:
    """Return the command that is a supervisor, wherever it is started."""
    return (*SUPERVISOR, BOOT, PACKAGE_ROOT)


def order_line(order: LocalOrder) -> bytes:
    """Return an order as a line of a control channel."""
    from pi_subagents.store.local_order import order_to_json

    return json.dumps(order_to_json(order)).encode("ascii") + b"\n"

"""
Start supervisors that belong to nobody: background runs, which outlive whoever asked for them.

The supervisor gets its specification and then no lifeline; it is found again by its run directory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.runners.supervisor_start import spec_line, start_supervisor
from pi_subagents.system.own_thread import start_thread
from pi_subagents.system.safe_io import write_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.run.spec import RunSpec


def start_detached(spec: RunSpec, env: Mapping[str, str]) -> None:
    """Start the supervisor, which has the run's lock then; OSError if there is none to be had."""
    process = start_supervisor(env, lock_fd=spec.place.lock_fd)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        write_all(process.stdin.fileno(), spec_line(spec))
    except OSError:  # it died at once, or would wait for the rest: it shows as one without a result
        process.kill()
    process.stdin.close()
    process.stdout.close()
    # A host that lives on must not collect dead supervisors.
    start_thread("reaper", process.wait)

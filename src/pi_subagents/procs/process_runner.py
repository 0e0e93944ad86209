"""
Run supervisors as processes of this machine, attached to this one by a lifeline.

The supervisor's standard input is the lifeline and command channel, its standard output wakes us
when there is something new in the journal, which is where every event is read from.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run_spec import RunSpec, spec_to_json
from pi_subagents.disk.run_dir import RunDir
from pi_subagents.disk.safe_io import write_all
from pi_subagents.procs.attached_runner import AttachedRunner, Attachment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.events import Event

PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])
# Isolated and without site-packages: the supervisor needs the standard library and us.
# There is one per child, so its start and end count: nothing is worth collecting while it imports,
# and once main() returned everything is on disk, with nothing left to tidy up.
_BOOT = (
    "import gc, os, sys; gc.disable(); sys.path.insert(0, sys.argv[1]); "
    "from pi_subagents.procs.supervise import main; gc.enable(); os._exit(main())"
)


class ProcessRunner(AttachedRunner):
    """The runner for foreground runs; children inherit `env`."""

    async def _attach(self, spec: RunSpec, on_event: Callable[[Event], None]) -> Attachment:
        supervisor = start_supervisor(spec, self._env)
        return _Attachment(supervisor, RunDir(Path(spec.run_dir)), on_event)


class _Attachment(Attachment):
    """A supervisor whose standard input and output we hold."""

    def __init__(
        self, process: subprocess.Popen[bytes], run_dir: RunDir, on_event: Callable[[Event], None]
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        super().__init__(
            wake=process.stdout.fileno(),
            commands=process.stdin.fileno(),
            run_dir=run_dir,
            on_event=on_event,
        )

    def _let_go(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        self._process.wait()


def start_supervisor(spec: RunSpec, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a supervisor in a session of its own and tell it what to run."""
    process = subprocess.Popen(
        supervisor_argv(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env=env,
        start_new_session=True,
        pass_fds=() if spec.lock_fd is None else (spec.lock_fd,),
    )
    assert process.stdin is not None
    try:
        write_all(process.stdin.fileno(), spec_line(spec))
    except OSError:  # it died at once, or would wait for the rest: it shows as one without a result
        process.kill()
    return process


def supervisor_argv() -> tuple[str, ...]:
    """Return the command that is a supervisor, wherever it is started."""
    return (sys.executable, "-I", "-S", "-c", _BOOT, PACKAGE_ROOT)


def spec_line(spec: RunSpec) -> bytes:
    """Return the specification as the first line of a control channel."""
    return json.dumps(spec_to_json(spec)).encode("ascii") + b"\n"

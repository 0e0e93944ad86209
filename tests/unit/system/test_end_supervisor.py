"""A process that does not answer is ended with all below it, and nobody else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.fakes.driver import PATIENCE_S

from pi_subagents.core.value import replace
from pi_subagents.system.identity import identify, process_state
from pi_subagents.system.process_tree import end_supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="identities are Linux's")

# A subreaper with a child in a session of its own, and another that it left behind; each holds the
# pipe open that tells of their end, and all are deaf to polite signals.
FAMILY = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    os.environ.clear()
    if os.fork():
        os._exit(0)
    os.write(1, b"grandchild\\n")
    signal.pause()
if os.fork() == 0:
    os.write(1, b"child\\n")
    signal.pause()
os.wait()
os.write(1, b"parent\\n")
signal.pause()
"""


@contextmanager
def family() -> Iterator[subprocess.Popen[bytes]]:
    argv = [sys.executable, "-I", "-S", "-c", FAMILY]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert sorted(process.stdout.readline() for _ in range(3)) == [
            b"child\n",
            b"grandchild\n",
            b"parent\n",
        ]
        who = identify(process.pid)
        assert who is not None
        try:
            yield process
        finally:
            end_supervisor(who)  # what it left behind is nobody else's to end


@pytest.mark.parametrize("halted", [True, False])
def test_a_process_and_all_below_it_are_gone(halted: bool) -> None:
    with family() as process:
        who = identify(process.pid)
        assert who is not None
        if halted:
            os.kill(process.pid, signal.SIGSTOP)
        assert end_supervisor(who) is True
        assert process.stdout is not None
        assert process.stdout.read() == b"", "nobody holds the pipe any more"
        assert process.wait(PATIENCE_S) == -signal.SIGKILL


def test_a_process_that_is_not_the_one_is_not_touched() -> None:
    with family() as process:
        who = identify(process.pid)
        assert who is not None
        for other in (
            replace(who, start_ticks=f"{who.start_ticks}0"),
            replace(who, boot_id="another boot"),
            replace(who, pid_namespace="another namespace"),
        ):
            assert end_supervisor(other) is True, "that one is gone"
        found = process_state(process.pid)
        assert found is not None
        assert found.state in ("R", "S"), "it was neither halted nor ended"


def test_a_process_that_has_ended_needs_nothing_more() -> None:
    with family() as process:
        who = identify(process.pid)
        assert who is not None
        assert end_supervisor(who) is True
        process.wait(PATIENCE_S)
        assert end_supervisor(who) is True

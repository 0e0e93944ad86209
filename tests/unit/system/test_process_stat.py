"""What the kernel says of a process: its parent and its start, whatever it calls itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fakes.open_files import open_files

from pi_subagents.system.identity import all_processes, process_state
from pi_subagents.system.process_tree import descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

NO_PROCESS = 2**22 + 1  # above what the kernel gives out
# It calls itself so, tells that, and waits for the end of its input.
NAMED = "open('/proc/self/comm', 'w').write('a) Z 1 (b) 2'); print(flush=True); input()"


def test_a_name_that_looks_like_what_follows_it_deceives_nobody() -> None:
    argv = [sys.executable, "-I", "-S", "-c", NAMED]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as named:
        assert named.stdout is not None
        named.stdout.readline()
        state = process_state(named.pid)
        assert state is not None
        assert (state.parent, state.started) == (os.getpid(), _start_ticks(named.pid))
        assert named.pid in all_processes()
        assert descendants(os.getpid())[named.pid] == state.started
        named.communicate(b"\n")


def test_a_process_that_is_not_there_has_neither_parent_nor_start() -> None:
    assert process_state(NO_PROCESS) is None


def test_a_look_at_every_process_leaves_no_descriptor_open() -> None:
    before = open_files()
    descendants(os.getpid())
    assert open_files() - before == {}


def _start_ticks(pid: int) -> str:
    """Return field 22 as the manual counts them; the name is known to hold four spaces."""
    return Path(f"/proc/{pid}/stat").read_text("ascii").split()[21 + 4]

"""Set-up in processes of its own: interrupted, killed, and run twice at once."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_node import write_fake_node

from pi_subagents.engines.pi.install.managed import managed_pi

if TYPE_CHECKING:
    from collections.abc import Iterator

SRC = str(Path(__file__).parents[2] / "src")
DRIVER = """\
import json, os, sys
from pathlib import Path
from pi_subagents.engines.pi.install.managed import install_managed_pi

def report(progress):
    print(json.dumps([progress.step, progress.detail, progress.done]), flush=True)

data, cwd = map(Path, sys.argv[1:])
pi = install_managed_pi(os.environ, data_dir=data, report=report, cwd=cwd)
print(json.dumps(["installed", pi.installed_at, True]), flush=True)
"""

SetUp = subprocess.Popen[str]


class Machine:
    """A Node whose npm waits until it is told to go on."""

    def __init__(self, root: Path, stack: contextlib.ExitStack) -> None:
        self.stack = stack
        self.cwd = root / "project"
        self.cwd.mkdir()
        self.data = root / "data"
        self.alive = root / "alive"
        self.go = root / "go"
        self.calls = root / "calls"
        os.mkfifo(self.alive)
        os.mkfifo(self.go)
        self.node = write_fake_node(root / "usr", "24.19.0")

    def start(self, *, npm: str) -> SetUp:
        env = {
            "PATH": str(self.node.parent),
            "PYTHONPATH": SRC,
            "FAKE_NPM": npm,
            "FAKE_NPM_ALIVE": str(self.alive),
            "FAKE_NPM_GO": str(self.go),
            "FAKE_NPM_CALLS": str(self.calls),
        }
        process = self.stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", DRIVER, str(self.data), str(self.cwd)],
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        self.stack.callback(process.kill)  # runs before the wait at the end of the context
        return process

    @contextlib.contextmanager
    def waiting_npm(self) -> Iterator[None]:
        """Hold on while npm works; leaving proves by end of file that it is dead."""
        with self.alive.open() as pipe:
            assert pipe.readline() == "started\n"
            yield
            assert select.select([pipe], [], [], 30)[0], "npm is still alive"
            assert pipe.read() == ""

    def let_npm_go(self) -> None:
        self.go.open("w").close()

    def names(self) -> list[str]:
        return sorted(path.name for path in (self.data / "pi").iterdir())

    def npm_calls(self) -> int:
        return len(self.calls.read_text().splitlines())


def reports(process: SetUp) -> list[list[object]]:
    output, errors = process.communicate(timeout=60)
    assert errors == ""
    return [json.loads(line) for line in output.splitlines()]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with contextlib.ExitStack() as stack:
        made = Machine(tmp_path, stack)
        yield made
    with contextlib.suppress(OSError):  # a test that failed may have left an npm waiting
        os.close(os.open(made.go, os.O_WRONLY | os.O_NONBLOCK))


def test_two_at_once_install_once_and_agree(machine: Machine) -> None:
    first = machine.start(npm="waits")
    with machine.waiting_npm():
        second = machine.start(npm="waits")
        assert second.stdout is not None
        waiting = json.loads(second.stdout.readline())
        assert waiting == ["waiting", "another set-up is running, waiting", False]
        machine.let_npm_go()
    installed = reports(first)[-1]
    assert reports(second) == [
        ["waiting", "the other set-up has ended", True],
        ["checking pi", "pi 1.5.0 is installed", True],
        installed,
    ]
    assert (machine.npm_calls(), machine.names()) == (1, ["1.5.0"])


def test_ctrl_c_ends_npm_and_removes_the_staging(machine: Machine) -> None:
    process = machine.start(npm="waits")
    with machine.waiting_npm():
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
    assert process.returncode == -signal.SIGINT
    assert machine.names() == []
    assert reports(machine.start(npm="works"))[-1][0] == "installed"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a process to its parent")
def test_after_kill_minus_9_npm_is_dead_and_the_next_set_up_repairs(machine: Machine) -> None:
    process = machine.start(npm="waits")
    with machine.waiting_npm():
        process.kill()
    (remnant,) = machine.names()
    assert remnant.startswith(f".staging-{process.pid}-")
    assert managed_pi({}, machine.data) is None
    assert reports(machine.start(npm="works"))[-1][0] == "installed"
    assert machine.names() == ["1.5.0"]


def test_a_waiting_set_up_takes_over_when_the_first_is_killed(machine: Machine) -> None:
    first = machine.start(npm="waits")
    with machine.waiting_npm():
        second = machine.start(npm="works")
        assert second.stdout is not None
        assert json.loads(second.stdout.readline())[0] == "waiting"
        first.kill()
        if sys.platform != "linux":
            machine.let_npm_go()
    assert reports(second)[-1][0] == "installed"
    assert (machine.npm_calls(), machine.names()) == (2, ["1.5.0"])

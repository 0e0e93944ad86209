from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_node import write_script

from pi_subagents.core.settings import Settings
from pi_subagents.engines.base import CallPlace
from pi_subagents.engines.pi.engine import ENGINE
from pi_subagents.engines.pi.install import node
from pi_subagents.engines.pi.installed_version import (
    WHOLE_NODE_BYTES,
    find_node_version,
    find_version,
    is_first_sight,
)
from pi_subagents.engines.pi.versions import PINNED_PI_VERSION

if TYPE_CHECKING:
    from pathlib import Path

PI = """\
#!/bin/sh
echo "$@" >> "{root}/asked"
{says}
"""


class Machine:
    """A pi that is one file, as a compiled one or a wrapper is, and notes when it is asked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.program = root / "bin" / "pi"
        self.env = {
            "HOME": str(root / "home"),
            "PATH": f"{root}/bin:/usr/bin:/bin",
            "PI_SUBAGENTS_DATA": str(root / "data"),
        }
        (root / "project").mkdir()

    def says(self, text: str) -> None:
        write_script(self.program, PI.format(root=self.root, says=text))

    def find(self) -> str | None:
        return find_version((str(self.program),), self.env, self.root / "project")

    def asked(self) -> list[str]:
        noted = self.root / "asked"
        return noted.read_text().splitlines() if noted.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_pi_that_is_no_package_is_asked_once(machine: Machine) -> None:
    machine.says("echo 1.4.0")
    assert [machine.find(), machine.find()] == ["1.4.0", "1.4.0"]
    assert machine.asked() == ["--version"]


def test_a_program_that_changed_is_asked_again(machine: Machine) -> None:
    machine.says("echo 1.4.0")
    machine.find()
    machine.says("echo v1.5.0-beta.1")
    assert machine.find() == "1.5.0-beta.1"
    assert machine.asked() == ["--version"] * 2


def test_after_an_hour_it_is_asked_again_for_a_wrapper_may_lead_elsewhere(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.says("echo 1.4.0")
    machine.find()
    later = time.time_ns() + 3_600_000 * 1_000_000
    monkeypatch.setattr(time, "time_ns", lambda: later)
    machine.find()
    assert machine.asked() == ["--version"] * 2


@pytest.mark.parametrize("says", ["echo no version", "exit 1", "echo 1.5.0; exit 3", "exec true"])
def test_one_that_will_not_tell_is_of_no_known_version(machine: Machine, says: str) -> None:
    machine.says(says)
    assert machine.find() is None
    assert not (machine.root / "data").exists(), "nothing was learnt, nothing is kept"


def test_one_that_cannot_be_started_is_of_no_known_version(machine: Machine) -> None:
    assert machine.find() is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"schemaVersion": 1, "answers": []}'])
def test_a_file_that_makes_no_sense_is_replaced(machine: Machine, content: bytes) -> None:
    kept = machine.root / "data" / "pi-versions.json"
    kept.parent.mkdir()
    kept.write_bytes(content)
    machine.says("echo 1.5.0")
    assert machine.find() == "1.5.0"
    assert list(json.loads(kept.read_bytes())) == ["schemaVersion", "answers", "met"]


def test_where_nothing_can_be_kept_it_is_asked_each_time(machine: Machine) -> None:
    (machine.root / "data").write_text("a file where the directory should be")
    machine.says("echo 1.5.0")
    assert [machine.find(), machine.find()] == ["1.5.0", "1.5.0"]
    assert machine.asked() == ["--version"] * 2


def whole_node(machine: Machine) -> Path:
    """Make a file that is a whole program by all that is looked at."""
    node = machine.root / "node"
    node.write_bytes(b"\x7fELF")
    os.truncate(node, WHOLE_NODE_BYTES)
    return node


def test_a_node_that_is_whole_in_its_file_is_asked_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([(24, 19, 0), None, (22, 0, 1)])
    monkeypatch.setattr(node, "node_version", lambda *_: next(answers))
    program = whole_node(machine)
    first = [find_node_version(program, machine.env) for _ in range(3)]
    os.utime(program, (1, 1))  # replaced by another
    changed = [find_node_version(program, machine.env) for _ in range(3)]
    assert (first, changed) == ([(24, 19, 0)] * 3, [None, (22, 0, 1), (22, 0, 1)])


def test_a_node_that_may_lead_to_another_one_is_asked_each_time(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = machine.root / "node"
    script.write_text("#!/bin/sh\n")
    for program in (script, machine.root / "none"):
        answers = iter([(24, 19, 0), (22, 0, 1)])
        monkeypatch.setattr(node, "node_version", lambda *_, told=answers: next(told))
        found = [find_node_version(program, machine.env) for _ in range(2)]
        assert found == [(24, 19, 0), (22, 0, 1)]
    assert not (machine.root / "data").exists()


def test_a_version_is_met_for_the_first_time_once(machine: Machine) -> None:
    assert [is_first_sight(each, machine.env) for each in ("1.6.0", "1.6.0", "1.7.0")] == [
        True,
        False,
        True,
    ]


def test_who_only_looks_sees_the_pi_in_use_else_the_one_we_install(
    machine: Machine,
) -> None:
    project = machine.root / "project"

    def seen(env: dict[str, str]) -> object:
        place = CallPlace(project, env, Settings(), trusted=lambda _: False)
        return ENGINE.preview(place).facts["pi"]

    none = {**machine.env, "PATH": ""}
    assert seen(none) == {"source": "managed", "version": PINNED_PI_VERSION}
    machine.says("echo 1.0.3")
    assert seen(machine.env) == {"source": "managed", "version": "1.0.3"}

"""Processes that fork and exit as fast as a machine can: the sweep of a tree is faster."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.faults.aftermath import HERE, SOURCES

if TYPE_CHECKING:
    from pathlib import Path

COMPILER = shutil.which("cc")
STORM = HERE.parent / "fakes" / "storm.c"
# So many hops before the sweep begins, and so many after: a fraction of the numbers of a machine.
HOPS_BEFORE = HOPS_AFTER = 6000
ROUNDS = 6  # a sweep that is too slow has luck in every third or second
PATIENCE_S = 60

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere orphans do not come to us"),
    pytest.mark.skipif(COMPILER is None, reason="Python forks too slowly to be a storm"),
]


@pytest.fixture
def storm(tmp_path: Path) -> Path:
    """A program that is as small as can be: so it forks fastest."""
    assert COMPILER is not None
    program = tmp_path / "storm"
    command = [COMPILER, "-O2", "-o", str(program), str(STORM)]
    if subprocess.run([*command, "-static"], stderr=subprocess.DEVNULL, check=False).returncode:
        subprocess.run(command, check=True)
    return program


@pytest.mark.parametrize("own_sessions", [False, True], ids=["one session", "many sessions"])
@pytest.mark.parametrize("chains", [16, 64])
def test_no_chain_of_a_storm_comes_to_its_end(
    storm: Path, tmp_path: Path, chains: int, own_sessions: bool
) -> None:
    flag, survivors = tmp_path / "flag", tmp_path / "survivors"
    hops = [str(HOPS_BEFORE // chains), str(HOPS_AFTER // chains)]
    begin = [str(storm), str(chains), str(int(own_sessions)), *hops, str(flag), str(survivors)]
    for _ in range(ROUNDS):
        flag.write_bytes(b"\0")
        done = subprocess.run(
            [sys.executable, str(HERE / "sweeper.py"), str(flag), *begin],
            env={"PYTHONPATH": str(SOURCES)},
            stdout=subprocess.PIPE,  # it ends when nobody of the storm has it any more
            check=True,
            timeout=PATIENCE_S,
        )
        assert json.loads(done.stdout)["ended"]
        assert survivors.read_bytes() == b""

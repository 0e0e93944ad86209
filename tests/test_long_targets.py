"""
What takes too long for `make test` cannot rot unnoticed: a few seconds of each are run here.

Each target is run as a person runs it, by make, on its sample; nothing is installed for that.
Whatever else pytest would run in it is set up as far as can be without executing it, which finds a
missing fixture or import in any test of it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fakes.private_tmux import needs_tmux

from pi_subagents.engines.pi.install.managed import installed_pi
from pi_subagents.system.home import data_dir

ROOT = Path(__file__).parents[1]
SHIM = ROOT / ".cache" / "shim" / ".installed"
LIMIT_S = 300
NOT_REMADE = ("setup", "check-shim", ".venv/.dev", ".venv/.runtime")
PYTEST_TARGETS = ("soak", "faults", "e2e-acp", "e2e-cluster", "e2e-mcp", "e2e-pi")
OTHER_TARGETS = ("bench", "screenshots", "dist", "e2e-versions")
# What `make bench` measures, by the headings of its tables; the fewest of each that run its code.
MEASURED = {
    "start-up": "Start-up",
    "mcp": "MCP server",
    "pi": "Inside pi",
    "stream": "Stream of pi while sub-agents work",
    "supervisor": "Supervisor",
    "delegation": "Delegation against xargs",
    "many": "20 short tasks",
    "events": "Event path",
    "display": "Display",
    "store": "Store of 20 runs",
    "watch": "Watching 20 runs",
    "worktrees": "Worktrees of 200 files",
    "cluster": "Cluster",
    "models": "Models of a child",
}
# They take longer than a sample may, fetch versions of pi or other people's agents, or need a browser.
NOT_SAMPLED = {"versions", "work", "work-many", "acp", "page"}
# The unit tests are run by `make test` itself: to collect all of them again takes several seconds.
FEWER = {"soak": {"PROPERTIES": "tests/unit/core/test_framing.py"}}
MARKED_PI = "tests/e2e/test_delegation_with_pi.py"
SAMPLES = {
    "soak": {"passed": 6},
    "faults": {"passed": 8},
    "e2e-acp": {"passed": 1},
    "e2e-cluster": {"passed": 1},
    "e2e-mcp": {"passed": 2},
    "e2e-pi": {"passed": 2},
}

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")


def made(target: str, **variables: object) -> str:
    """Run a target with these variables and the environment we are in; return what it said."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "PYTEST_"))}
    programs = f"BIN={Path(sys.executable).parent}"
    said = [f"{name}={value}" for name, value in variables.items()]
    untouched = [word for name in NOT_REMADE for word in ("-o", name)]
    done = subprocess.run(
        ["make", "--no-print-directory", *untouched, target, programs, "WORKERS=0", *said],
        cwd=ROOT,
        env=kept,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def counted(said: str, word: str) -> int:
    """Return how many tests pytest says have come to that end, in all its last lines."""
    return sum(int(number) for number in re.findall(rf"\b(\d+) {word}", said))


def test_every_long_target_has_a_sample() -> None:
    """Whoever adds one says here what of it is tried: its name begins with `e2e-`, or it is listed."""
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = {"soak", "faults", "bench", "screenshots", "dist"}
    long = [target for target in targets if target in named or target.startswith("e2e-")]
    assert sorted(long) == sorted((*PYTEST_TARGETS, *OTHER_TARGETS))


@pytest.mark.parametrize("target", [name for name in PYTEST_TARGETS if name != "faults"])
def test_every_test_of_a_long_target_finds_all_it_needs(target: str) -> None:
    """All that `make faults` has is run by `make test`, if in fewer modes."""
    made(target, PYTEST_ARGS="--setup-plan -q", **FEWER.get(target, {}))


@pytest.mark.pi
@pytest.mark.parametrize("target", PYTEST_TARGETS)
def test_the_sample_of_a_long_target_passes(target: str) -> None:
    said = made(target, PYTEST_ARGS="-q -m sample", **FEWER.get(target, {}))
    ends = {word: counted(said, word) for word in ("passed", "failed", "skipped")}
    assert ends == {"failed": 0, "skipped": 0, **SAMPLES[target]}, said


def test_every_part_of_what_is_measured_has_a_sample() -> None:
    listed = re.search(r"\{([^}]*)\}", made("bench", BENCH_ARGS="--help"))
    assert listed is not None
    assert set(listed[1].split(",")) == MEASURED.keys() | NOT_SAMPLED


@pytest.mark.pi
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("part", MEASURED)
def test_a_sample_of_what_is_measured_is_measured(part: str) -> None:
    said = made("bench", BENCH_ARGS=f"--sample --json --only {part}")
    figures = json.loads(said.splitlines()[-1])["figures"]
    assert {figure["section"] for figure in figures} == {MEASURED[part]}
    memory = {figure["name"]: figure["median"] for figure in figures if figure["unit"] == "MB"}
    unseen = [name for name, size in memory.items() if size <= 0 and "growth" not in name]
    assert unseen == [], "a process that was looked for and not found"


def test_both_sides_are_tried_on_a_version_of_pi() -> None:
    pi = installed_pi(data_dir(os.environ))
    if pi is None:
        pytest.skip("no pi is set up, and none is fetched here: `subagents setup`")
    said = made("e2e-versions", VERSIONS=pi.version, PYTEST_ARGS=f"-m 'pi and sample' {MARKED_PI}")
    good = r"\d+ passed, 0 failed, 0 skipped"
    assert re.search(rf"^{re.escape(pi.version)} +{good} +{good} ", said, re.MULTILINE), said


@needs_tmux
@pytest.mark.pi
@pytest.mark.parametrize("picture", ["run-windows", "demo", "watch"])
def test_a_picture_of_the_documents_is_taken(tmp_path: Path, picture: str) -> None:
    said = made("screenshots", PICTURES=f"--into {tmp_path} {picture}")
    assert said == f"{tmp_path}/{picture}.svg\n"
    assert (tmp_path / f"{picture}.svg").read_text().startswith("<svg")


@pytest.mark.pi
@pytest.mark.skipif(
    installed_pi(data_dir(os.environ)) is None, reason="no pi is set up: `subagents setup`"
)
def test_the_wheel_is_built_and_its_demo_runs_in_an_empty_home(tmp_path: Path) -> None:
    said = made("dist", DIST=f"--into {tmp_path} --sample")
    assert re.findall(r"^## (\w+)$", said, re.MULTILINE) == ["list", "count", "find"]
    assert {path.suffix for path in tmp_path.iterdir()} == {".whl", ".gz"}


@pytest.mark.skipif(not SHIM.exists(), reason="what checks it is not installed: `make check-shim`")
def test_the_extension_for_pi_has_clean_types() -> None:
    subprocess.run(["make", "--no-print-directory", "check-shim"], cwd=ROOT, check=True)

"""`make e2e-versions`: what is run on which pi, and what is said of it."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from scripts import e2e_versions
from scripts.e2e_versions import Lane, Row, counted, main, selections, table
from tests.which_pi import pi_for_tests

from pi_subagents.engines.pi.install.managed import ManagedPi
from pi_subagents.errors import InstallFailed

RESULTS = '<testsuites><testsuite tests="{}" failures="{}" errors="{}" skipped="{}"/></testsuites>'
MARKED, HOST = e2e_versions.MARKED, e2e_versions.HOST


def write_results(path: Path, *, tests: int, failures: int = 0, errors: int = 0, skipped: int = 0):
    path.write_text(RESULTS.format(tests, failures, errors, skipped))
    return path


@dataclass
class Runs:
    """Stands in for pytest and for npm: what is absent, what fails, and what was run."""

    absent: tuple[str, ...] = ()
    failures: dict[str, int] = field(default_factory=dict)
    ran: list[tuple[str, list[str]]] = field(default_factory=list)

    def install(self, _: object, *, version: str, data_dir: Path, **__: object) -> ManagedPi:
        if version in self.absent:
            raise InstallFailed(f"installing pi {version}", 1, ("npm error notarget",))
        return ManagedPi(version, data_dir / version, Path("/n/node"), "24.0.0", "")

    def run(
        self, argv: list[str], *, env: dict[str, str], **_: object
    ) -> subprocess.CompletedProcess[bytes]:
        words = argv[3:]
        version = Path(shlex.split(pi_for_tests(env, Path("/")))[1]).parts[-7]
        (results,) = [word.partition("=")[2] for word in words if word.startswith("--junitxml=")]
        self.ran.append((version, words))
        failed = self.failures.get(version, 0)
        write_results(Path(results), tests=9, failures=failed, skipped=1)
        return subprocess.CompletedProcess(argv, 1 if failed else 0)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    made = Runs()
    monkeypatch.setattr(e2e_versions, "install_managed_pi", made.install)
    monkeypatch.setattr(subprocess, "run", made.run)
    monkeypatch.setattr(e2e_versions, "find_node", lambda *_: None)
    monkeypatch.setattr(e2e_versions, "installed_pi", lambda _: None)
    monkeypatch.delenv("WORKERS", raising=False)
    monkeypatch.delenv("PYTEST_ARGS", raising=False)
    return made


def test_both_lanes_run_on_every_supported_version_and_one_table_tells_of_them(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([]) == 0
    assert [version for version, _ in runs.ran] == ["0.87.1", "0.87.1", "1.5.0", "1.5.0"]
    out, errors = capsys.readouterr()
    assert [line.rpartition("  ")[0].rstrip() for line in out.splitlines()] == [
        "pi      tests marked pi                host side",
        "0.87.1  8 passed, 0 failed, 1 skipped  8 passed, 0 failed, 1 skipped",
        "1.5.0   8 passed, 0 failed, 1 skipped  8 passed, 0 failed, 1 skipped",
    ]
    assert "==> pi 1.5.0: host side\n" in errors


def test_a_failed_test_and_a_version_that_cannot_be_installed_fail_and_the_others_still_run(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.absent = ("9.9.9",)
    runs.failures = {"1.4.0": 2}
    assert main(["9.9.9", "1.4.0", "1.5.0", "--json"]) == 1
    heard = json.loads(capsys.readouterr().out)
    assert (heard["schemaVersion"], heard["ok"]) == (1, False)
    good, bad = (
        {"passed": 8 - failed, "failed": failed, "skipped": 1, "problem": ""} for failed in (0, 2)
    )
    assert [{**row, "seconds": 0} for row in heard["versions"]] == [
        {
            "version": "9.9.9",
            "lanes": {},
            "seconds": 0,
            "problem": "not installed: Set-up failed while installing pi 9.9.9 (exit code 1). "
            "Nothing half-installed was left behind. Check the network, the registry or proxy settings "
            "and the free disk space, then run `subagents setup` again.",
            "ok": False,
        },
        {
            "version": "1.4.0",
            "lanes": {MARKED: bad, HOST: bad},
            "seconds": 0,
            "problem": "",
            "ok": False,
        },
        {
            "version": "1.5.0",
            "lanes": {MARKED: good, HOST: good},
            "seconds": 0,
            "problem": "",
            "ok": True,
        },
    ]


def test_a_lane_that_cannot_be_started_is_a_problem_of_its_own(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise BlockingIOError("no process left")

    monkeypatch.setattr(subprocess, "run", fail)
    pi = runs.install(None, version="1.5.0", data_dir=Path("/d"))
    assert e2e_versions.tested(pi, ()) == Lane(problem="no process left")


def test_a_version_that_is_not_there_has_its_line_in_the_table() -> None:
    good = Lane(passed=8)
    rows = [Row("1.5.0", {MARKED: good, HOST: Lane(problem="pytest ended with code 3")}, 61.4)]
    assert table([Row("9.9.9", problem="not installed: no"), *rows]).splitlines() == [
        f"pi     {'tests marked pi':31}{'host side':58}seconds",
        "9.9.9  not installed: no",
        f"1.5.0  {good}  0 passed, 0 failed, 0 skipped (pytest ended with code 3)  61",
    ]


@pytest.mark.parametrize("word", ["latest", "1.5", "^1.5.0", "1.5.0/../..", ""])
def test_what_is_no_version_is_refused_before_anything_is_installed(runs: Runs, word: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["1.5.0", word])
    assert (caught.value.code, runs.ran) == (2, [])


def test_no_test_runs_in_both_lanes_and_the_files_of_the_host_side_are_all_there() -> None:
    lanes = selections()
    root = Path(__file__).parents[1]
    host = {path.name for path in (root / "tests/e2e_pi").glob("pi_*.py")}
    assert {Path(name).name for name in lanes[HOST]} == {*host, "test_pi_extension.py"}
    assert lanes[MARKED] == ("-m", "pi", "--ignore=tests/e2e/test_pi_extension.py")


@pytest.mark.parametrize(
    ("exit_code", "lane"),
    [
        (0, Lane(5, 3, 2)),
        (1, Lane(5, 3, 2)),
        (2, Lane(5, 3, 2, "pytest ended with code 2")),
        (-9, Lane(5, 3, 2, "pytest ended with code -9")),
    ],
)
def test_errors_count_as_failures_and_an_early_end_is_a_problem(
    tmp_path: Path, exit_code: int, lane: Lane
) -> None:
    results = write_results(tmp_path / "r.xml", tests=10, failures=2, errors=1, skipped=2)
    assert counted(results, exit_code) == lane
    assert not lane.is_good


@pytest.mark.parametrize("content", [None, "", "<a>", '<testsuite tests="many"/>'])
def test_results_that_are_not_there_are_a_problem(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "r.xml").write_text(content)
    assert counted(tmp_path / "r.xml", 0) == Lane(problem="pytest left no results")


def test_a_lane_without_a_single_passed_test_proves_nothing() -> None:
    assert [Lane(skipped=9).is_good, Lane(passed=1, skipped=8).is_good] == [False, True]

#!/usr/bin/env python3
"""
Run the tests that need the real pi on several versions of it, and print what came of each.

    make e2e-versions                                  on the versions we support
    make e2e-versions VERSIONS="1.4.0 1.5.0"           on these
    python -m scripts.e2e_versions 1.5.0 --json        one JSON object on standard output

Each version is installed below .cache/ once, as `subagents setup` would, and stays there; the one
that `subagents setup` itself has installed is used where it is.  Two
lanes run on it: the tests marked `pi`, and the host side (pi as main agent).  Exit 1 if anything
failed, also a version that cannot be installed; 2 for what is no version.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from tests.which_pi import PI_UNDER_TEST

from pi_subagents.engines.pi.install.managed import KEEP_CACHE, install_managed_pi, installed_pi
from pi_subagents.engines.pi.install.node import find_node
from pi_subagents.engines.pi.versions import TESTED_VERSIONS
from pi_subagents.errors import SetupError
from pi_subagents.system.home import data_dir
from pi_subagents.system.programs import is_runnable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.engine_values import SetupProgress
    from pi_subagents.engines.pi.install.managed import ManagedPi

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache"
VERSION = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?")
HOST_TESTS = "tests/e2e/test_pi_extension.py"
MARKED, HOST = "tests marked pi", "host side"
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Lane:
    """What came of some tests on one pi; `problem` if they did not run to their end."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    problem: str = ""

    @property
    def is_good(self) -> bool:
        """Whether all of them ran, and none failed."""
        return self.passed > 0 and self.failed == 0 and not self.problem

    def __str__(self) -> str:
        counts = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        return f"{counts} ({self.problem})" if self.problem else counts


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one version."""

    version: str
    lanes: dict[str, Lane] = field(default_factory=dict)
    seconds: float = 0.0
    problem: str = ""

    @property
    def is_good(self) -> bool:
        """Whether it could be installed, and everything passed."""
        return not self.problem and all(lane.is_good for lane in self.lanes.values())


def main(arguments: Sequence[str]) -> int:
    """Run everything; return the exit code."""
    parser = argparse.ArgumentParser(prog="e2e_versions", description=__doc__.split("\n\n")[0])
    parser.add_argument("versions", nargs="*", help=f"default: {' '.join(TESTED_VERSIONS)}")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--workers", default=os.environ.get("WORKERS", "3"), help="test processes")
    parser.add_argument(
        "--pytest-args", default=os.environ.get("PYTEST_ARGS", ""), help="more for pytest"
    )
    asked = parser.parse_args(arguments)
    versions = tuple(dict.fromkeys(asked.versions)) or TESTED_VERSIONS
    for version in versions:
        if not VERSION.fullmatch(version):
            parser.error(f"{version!r} is no version; write it like {TESTED_VERSIONS[-1]}")
    # Parallel, and chunks of consecutive tests would all go to one worker.
    options = ("-n", asked.workers, "--dist", "worksteal", *shlex.split(asked.pytest_args))
    rows = [examined(version, options) for version in versions]
    sys.stdout.write(f"{as_json(rows) if asked.json else table(rows)}\n")
    return 0 if all(row.is_good for row in rows) else 1


def examined(version: str, options: Sequence[str]) -> Row:
    """Install a version, and run both lanes on it."""
    say(f"==> pi {version}")
    try:
        pi = installed(version)
    except SetupError as error:
        say(f"Error: {error}")
        return Row(version, problem=f"not installed: {str(error).splitlines()[0]}")
    started = time.monotonic()
    lanes = {}
    for name, tests in selections().items():
        say(f"==> pi {version}: {name}")
        lanes[name] = tested(pi, (*tests, *options))
    return Row(version, lanes, round(time.monotonic() - started, 1))


def selections() -> dict[str, tuple[str, ...]]:
    """Return what pytest is asked for in each lane; no test is in both."""
    # Files of these names are collected only where they are named.
    host = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/e2e_pi/pi_*.py"))
    return {MARKED: ("-m", "pi", f"--ignore={HOST_TESTS}"), HOST: (*host, HOST_TESTS)}


def installed(version: str) -> ManagedPi:
    """Return a pi of this version: the user's own, from the cache, or newly installed there."""
    env = {**os.environ, KEEP_CACHE: "1"}
    own = installed_pi(data_dir(env))
    if own is not None and own.version == version and is_runnable(own.node):
        return own
    node = find_node(env, ROOT, data_dir(env))
    if node is not None:  # one of the user's own: another need not be fetched
        env["PATH"] = os.pathsep.join([str(node.node.parent), env.get("PATH", os.defpath)])
    return install_managed_pi(
        env, data_dir=CACHE, report=report, version=version, keep_others=True, cwd=ROOT
    )


def tested(pi: ManagedPi, arguments: Sequence[str]) -> Lane:
    """Run pytest on this pi, showing what it says, and count."""
    with tempfile.TemporaryDirectory() as directory:
        results = Path(directory) / "results.xml"
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", f"--junitxml={results}", *arguments],
                cwd=ROOT,
                env={**os.environ, PI_UNDER_TEST: shlex.join(pi.argv)},
                stdout=sys.stderr,
                check=False,
            )
        except OSError as error:  # no process left to take
            return Lane(problem=str(error))
        return counted(results, done.returncode)


def counted(results: Path, exit_code: int) -> Lane:
    """Return what a results file of pytest says, and what its exit code says beside it."""
    # 1: tests failed, which the file tells as well.
    problem = "" if exit_code in {0, 1} else f"pytest ended with code {exit_code}"
    try:
        suites = list(ET.parse(results).getroot().iter("testsuite"))  # noqa: S314 - pytest wrote it
        names = ("tests", "failures", "errors", "skipped")
        tests, failures, errors, skipped = (
            sum(int(suite.get(name, 0)) for suite in suites) for name in names
        )
    except (OSError, ET.ParseError, ValueError):
        return Lane(problem=problem or "pytest left no results")
    failed = failures + errors
    return Lane(max(tests - failed - skipped, 0), failed, skipped, problem)


def table(rows: Sequence[Row]) -> str:
    """Return one line per version, in columns."""
    head = ("pi", MARKED, HOST, "seconds")
    lines = [head, *(_cells(row) for row in rows)]
    # The words about a version that is not there need no column of their own.
    whole = [line for line in lines if len(line) == len(head)]
    widths = [max(map(len, column)) for column in zip(*whole, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip()
        for line in lines
    )


def _cells(row: Row) -> tuple[str, ...]:
    if row.problem:
        return row.version, row.problem
    return row.version, str(row.lanes[MARKED]), str(row.lanes[HOST]), f"{row.seconds:.0f}"


def as_json(rows: Sequence[Row]) -> str:
    """Return the same for scripts."""
    versions = [{**asdict(row), "ok": row.is_good} for row in rows]
    ok = all(row.is_good for row in rows)
    return json.dumps({"schemaVersion": SCHEMA_VERSION, "ok": ok, "versions": versions})


def report(progress: SetupProgress) -> None:
    """Show a finished step of an installation."""
    if progress.done:
        say(": ".join(filter(None, (progress.step, progress.detail))))


def say(text: str) -> None:
    """Write a line of progress."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

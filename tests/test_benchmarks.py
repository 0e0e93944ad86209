"""What `make bench` measures is what docs/performance.md says, on the pi of today."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pi_subagents.engines.pi.versions import PINNED_PI_VERSION

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
PAGE = (ROOT / "docs" / "performance.md").read_text("utf-8")


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import a module of the benchmarks, which are scripts side by side."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = import_module(name)
    monkeypatch.delitem(sys.modules, name)
    return module


def parts() -> set[str]:
    """Return what `--only` takes."""
    tree = ast.parse((BENCHMARKS / "run.py").read_text("utf-8"))
    (found,) = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PARTS"
    ]
    assert isinstance(found, ast.Dict)
    return {ast.literal_eval(key) for key in found.keys if key is not None}


def test_the_page_names_every_part_that_can_be_measured_by_itself() -> None:
    (listed,) = re.findall(r"`--only (.*?)\) one part", PAGE, re.DOTALL)
    assert set(re.findall(r"[a-z-]+", listed)) - {"or"} == parts()


def test_the_page_says_how_each_of_its_tables_was_measured() -> None:
    head, _, figures = PAGE.partition("## Figures")
    heard = re.findall(r"^\| ([A-Z1][^|]*?) \|", head, re.MULTILINE)
    for section in re.findall(r"^### (.+)$", figures, re.MULTILINE):
        assert any(section.startswith(each) for each in heard), section


def test_the_synthetic_stream_is_made_of_what_the_pi_of_today_prints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = benchmark("synthetic_stream", monkeypatch)
    assert made.RECORDING.name == f"pi-{PINNED_PI_VERSION}-tools.jsonl"
    assert f"lines that pi {PINNED_PI_VERSION} printed" in PAGE
    lines = made.recorded_stream().body.splitlines(keepends=True)
    updates = [line for line in lines if line.startswith(b'{"type":"message_update"')]
    shares = (len(updates) / len(lines), sum(map(len, updates)) / sum(map(len, lines)))
    assert shares == pytest.approx((0.97, 0.7), abs=0.03)


def test_a_part_that_is_measured_by_itself_says_on_which_pi(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    report = benchmark("report", monkeypatch)
    page = tmp_path / "page.md"
    page.write_text("<!-- figures -->\nMissed: x.\n\n### Old\n\nkept\n<!-- /figures -->\n")
    monkeypatch.setattr(report, "DOCUMENT", page)
    figure = SimpleNamespace(
        section="New", name="n", unit="ms", values=(1.0,), median=1.0, target=None, met=None
    )
    machine = {"date": "today", "load before": "0.1", "pi": "1.5.0"}
    report.write_document([figure], machine, whole=False)
    assert "### New\n\nMeasured by itself: today, pi 1.5.0, load before 0.1.\n" in page.read_text()
    assert "### Old\n\nkept\n" in page.read_text()


@pytest.mark.pi
def test_real_work_is_measured_in_every_way_by_the_least_sample() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "run.py"), "--only", "work", "--sample", "--json"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)["figures"]
    assert {each["section"] for each in figures} == {"Real work, 1 task"}
    assert {each["name"].removeprefix("wall, ") for each in figures if each["unit"] == "ms"} == {
        "ideal, the model alone",
        *("xargs", "bare RPC", "bare RPC, second call", "shell", "warm host, second call"),
        *("inside pi, cold", "inside pi, live", "inside pi, second call"),
        *("in worktrees, live", "in worktrees, second call"),
        *("CPU, xargs", "CPU, bare RPC", "CPU, shell", "CPU, inside pi, cold"),
    }
    assert all(value > 0 for each in figures for value in each["values"])


def test_rounds_are_as_many_as_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    place = benchmark("measuring", monkeypatch).Place(
        ROOT, ROOT, {}, quick=False, sample=False, own_rounds=2
    )
    assert (place.rounds(9), place.amount(9, 2, 1)) == (2, 9)

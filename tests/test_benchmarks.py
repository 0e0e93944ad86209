"""What `make bench` measures is what docs/performance.md says, on the pi of today."""

from __future__ import annotations

import ast
import re
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

"""What is fetched from npm for tests: once, whole or not at all, and with the reason where it cannot be had."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from scripts import npm_packages
from scripts.npm_packages import NotInstalledError, NpmPackage, program

from pi_subagents.engines.pi.install.node import NodeRuntime

NPM = """
import pathlib, sys
bin = pathlib.Path("node_modules/.bin")
bin.mkdir(parents=True)
(bin / "tool").write_text(sys.argv[-1])
"""


def with_npm(monkeypatch: pytest.MonkeyPatch, root: Path, code: str) -> None:
    npm = (sys.executable, "-c", code)
    runtime = NodeRuntime(Path(sys.executable), npm, (24, 0, 0), "path")
    monkeypatch.setattr(npm_packages, "CACHE", root / "cache")
    monkeypatch.setattr(npm_packages, "node", lambda: runtime)
    package = NpmPackage("some-tool", "1.2.3", ".bin/tool")
    monkeypatch.setattr(npm_packages, "PACKAGES", {"tool": package})


def test_a_package_is_installed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_npm(monkeypatch, tmp_path, NPM)
    found = program("tool")
    assert found.read_text() == "some-tool@1.2.3"
    with_npm(monkeypatch, tmp_path, "raise SystemExit(1)")
    assert program("tool") == found


def test_one_that_cannot_be_had_says_why_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_npm(monkeypatch, tmp_path, "raise SystemExit('no such registry')")
    with pytest.raises(NotInstalledError, match=r"some-tool@1\.2\.3: no such registry"):
        program("tool")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["tool.lock"]


def test_versions_are_exact_and_no_registry_is_named() -> None:
    versions = [each.version for each in npm_packages.PACKAGES.values()]
    assert [each for each in versions if not re.fullmatch(r"\d+\.\d+\.\d+", each)] == []
    assert "://" not in Path(npm_packages.__file__).read_text("utf-8")

"""What is built and handed out: the content of wheel and sdist, and the workflow that tests it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from scripts.dist import ROOT, built

from pi_subagents import __version__

PACKAGE = "pi_subagents"
# What a Python file needs beside it, or somebody else reads: one of each kind.
NEEDED = (
    "py.typed",
    "engines/pi/offline_provider.mjs",
    "faces/report/page.css",
    "faces/watch/page/page.html",
    "faces/watch/page/main.js",
    "faces/watch/page/marked.LICENSE",
    "faces/watch/page/vendored.json",
    "pi_extension/index.ts",
    "pi_extension/package.json",
    "pi_extension/prompts/parallel-review.md",
    "pi_extension/tools.json",
)
WORKFLOW = ROOT / ".github" / "workflows" / "test.yml"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("dist"))


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a git checkout"
)
def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", f"src/{PACKAGE}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    sources = {name.removeprefix("src/") for name in listed.split("\0") if (ROOT / name).is_file()}
    about = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    known = {f"{PACKAGE}-{__version__}.dist-info/{name}" for name in about}
    assert names_in(wheel) == sources | known


def test_the_wheel_holds_what_is_not_python_and_no_tests(wheel: Path) -> None:
    names = names_in(wheel)
    assert {f"{PACKAGE}/{name}" for name in NEEDED} - names == set()
    assert [name for name in names if re.search(r"\btests?\b|__pycache__", name)] == []


def test_the_sdist_holds_all_that_make_test_needs(wheel: Path) -> None:
    (sdist,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        parts = [Path(name).parts for name in archive.getnames()]
    assert {first for first, *_ in parts} == {f"{PACKAGE}-{__version__}"}
    folders = {"benchmarks", "docs", "examples", "scripts", "src", "tests"}
    files = {"Makefile", "README.md", "constraints.txt", "pyproject.toml"}
    assert (folders | files) - {rest[0] for _, *rest in parts if rest} == set()


def test_the_same_source_makes_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    again = built(tmp_path)
    assert again.name == wheel.name
    assert sha256(again.read_bytes()).digest() == sha256(wheel.read_bytes()).digest()


def test_the_workflow_runs_make_test_on_linux_and_macos() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text("utf-8"))
    (job,) = workflow["jobs"].values()
    systems = {name.split("-")[0] for name in job["strategy"]["matrix"]["os"]}
    assert systems == {"ubuntu", "macos"}
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.13"]
    assert "make test" in [step.get("run") for step in job["steps"]]
    assert workflow["permissions"] == {"contents": "read"}


def test_the_workflow_pins_its_actions_and_reads_no_secret() -> None:
    text = WORKFLOW.read_text("utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)] == []
    assert "secrets" not in text

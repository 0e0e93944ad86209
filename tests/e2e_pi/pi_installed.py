"""A wheel in an environment that nobody activated: pi loads its extension and finds its Python."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.main_pi import delegate, main_pi, rpc
from tests.fakes.processes import children_of, command_lines

if TYPE_CHECKING:
    from tests.e2e.conftest import Project
    from tests.fakes.main_pi import MainPi

pytestmark = pytest.mark.pi

ROOT = Path(__file__).parents[2]
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    building = ("-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(ROOT))
    subprocess.run(
        [sys.executable, *building], check=True, env={**os.environ, "PIP_CONSTRAINT": ""}
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def environment(wheel: Path, tmp_path: Path) -> Path:
    """Make an environment with the wheel in it, and the dependencies of this one."""
    root = tmp_path / "somewhere"
    venv.create(root, symlinks=True)
    packages = root / "lib" / PYTHON / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return root


def python_of_the_core(host: MainPi) -> str:
    """Return which Python serves a pi that was just started, after it has delegated."""
    with rpc(host) as pi:
        pi.send(type="prompt", message="please delegate")
        pi.wait_for(type="agent_settled")
        lines = command_lines()
        (core,) = [lines[pid] for pid in children_of(pi.process.pid) if b"\0bridge\0" in lines[pid]]
        assert host.tool_results()[0].startswith("✓ one: completed")
    return core.split(b"\0")[0].decode()


def test_an_installed_package_finds_the_python_that_owns_it(
    project: Project, environment: Path
) -> None:
    with main_pi(project, delegate("one"), {"text": "done"}) as host:
        python = environment / "bin" / "python"
        subprocess.run(
            [python, "-P", "-m", "pi_subagents", "install", "pi"],
            cwd=project.path,
            env=host.env,
            check=True,
        )
        host.loading = ()
        assert python_of_the_core(host) == str(python)


def test_without_a_note_it_looks_beside_its_packages(project: Project, environment: Path) -> None:
    folder = environment / "lib" / PYTHON / "site-packages" / "pi_subagents" / "pi_extension"
    with main_pi(project, delegate("one"), {"text": "done"}) as host:
        host.loading = ("-e", str(folder))
        assert python_of_the_core(host) == str(environment / "bin" / PYTHON)


def test_the_wheel_has_every_file_of_the_extension(wheel: Path) -> None:
    source = ROOT / "src" / "pi_subagents" / "pi_extension"
    with zipfile.ZipFile(wheel) as archive:
        shipped = {
            name.removeprefix("pi_subagents/pi_extension/")
            for name in archive.namelist()
            if name.startswith("pi_subagents/pi_extension/")
        }
    assert shipped == {
        str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()
    }

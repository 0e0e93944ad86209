"""Set-up with the real npm, against a registry on loopback that has all, some or damaged packages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.npm_registry import LOADED, OTHERS, OWN, PI, NpmRegistry, npm_registry

from pi_subagents.engines.pi.install import npm as npm_install
from pi_subagents.engines.pi.install.managed import ManagedPi, install_managed_pi, managed_pi
from pi_subagents.engines.pi.install.node import find_node
from pi_subagents.engines.pi.install.npm import without_own_packages
from pi_subagents.engines.pi.install.proof import why_unusable
from pi_subagents.engines.pi.versions import PINNED_PI_VERSION
from pi_subagents.errors import InstallFailed
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

OLD = "0.87.1"
NODE = find_node(os.environ, Path.cwd(), data_dir(os.environ), needs_npm=True)
pytestmark = pytest.mark.skipif(
    NODE is None, reason="no Node with npm on this machine: `subagents setup` fetches one"
)
PI_FILES = {
    f"{PI}/{name}"
    for name in ("README.md", "dist/bundle/chunks/main.js", "dist/bundle/cli.js", "package.json")
}


def files_of(*packages: str) -> set[str]:
    return {f"{name}/{file}" for name in packages for file in ("index.js", "package.json")}


class Machine:
    """A real npm that knows one registry, and an empty data directory."""

    def __init__(self, root: Path, registry: NpmRegistry) -> None:
        assert NODE is not None
        self.root = root
        self.registry = registry
        self.data = root / "data"
        self.project = root / "project"
        self.project.mkdir()
        programs = root / "bin"
        programs.mkdir()
        (programs / "node").symlink_to(NODE.node)
        self.env = {
            "PATH": f"{programs}{os.pathsep}{os.defpath}",
            "HOME": str(root / "home"),
            "npm_config_registry": registry.address,
            "npm_config_fetch_retries": "0",
            "npm_config_userconfig": str(root / "npmrc"),
            "npm_config_globalconfig": str(root / "global-npmrc"),
        }

    def install(self, version: str = PINNED_PI_VERSION) -> ManagedPi:
        return install_managed_pi(
            self.env,
            data_dir=self.data,
            report=lambda _: None,
            version=version,
            cwd=self.project,
        )

    def installed_files(self) -> set[str]:
        """Return every file and link below node_modules of the pi in use."""
        pi = managed_pi(self.env, self.data)
        assert pi is not None
        modules = pi.directory / "node_modules"
        kept = [path for path in modules.rglob("*") if path.is_symlink() or not path.is_dir()]
        return {path.relative_to(modules).as_posix() for path in kept}

    def check_that_only_this_works(self, pi: ManagedPi) -> None:
        """Start the pi in use, which has to be this one; nothing else may be there."""
        assert managed_pi(self.env, self.data) == pi
        assert [path.name for path in (self.data / "pi").iterdir()] == [pi.version]
        scratch = self.root / "scratch"
        scratch.mkdir()
        assert why_unusable(pi.argv, pi.version, env=self.env, directory=scratch) == ()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with npm_registry() as registry:
        registry.add_pi(OLD, self_contained=False)
        registry.add_pi(PINNED_PI_VERSION)
        yield Machine(tmp_path, registry)


@pytest.mark.parametrize("has_own", [True, False])
def test_pi_is_installed_alike_whether_or_not_the_registry_has_its_own_packages(
    machine: Machine, *, has_own: bool
) -> None:
    own = {f"@earendil-works/{name}" for name in (*OWN, "chord")}
    machine.registry.lacks = set() if has_own else own
    pi = machine.install()
    assert own.isdisjoint(machine.registry.asked_for)
    assert machine.installed_files() == PI_FILES | files_of(*LOADED, *OTHERS)
    assert sorted(path.name for path in pi.directory.iterdir()) == ["managed.json", "node_modules"]
    machine.check_that_only_this_works(pi)


def test_where_another_dependency_is_absent_pi_comes_with_what_its_bundle_loads(
    machine: Machine,
) -> None:
    machine.registry.lacks = {"undici", "@earendil-works/pi-ai"}
    pi = machine.install()
    assert machine.installed_files() == PI_FILES | files_of(*LOADED)
    machine.check_that_only_this_works(pi)


def test_a_successful_set_up_replaces_the_old_pi(machine: Machine) -> None:
    machine.install(OLD)
    machine.check_that_only_this_works(machine.install())


def test_an_old_pi_is_installed_with_everything_it_depends_on(machine: Machine) -> None:
    pi = machine.install(OLD)
    own = [f"@earendil-works/{name}" for name in (*OWN, "chord")]
    assert machine.installed_files() == PI_FILES | files_of(*LOADED, *OTHERS, *own)
    machine.check_that_only_this_works(pi)


def test_an_old_pi_without_its_own_packages_is_refused_though_it_says_its_version(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npm_install, "ways_to_install", lambda _: (without_own_packages,))
    with pytest.raises(InstallFailed) as caught:
        machine.install(OLD)
    assert caught.value.step == f"verifying pi {OLD}"
    assert "Cannot find package '@earendil-works/chord'" in str(caught.value)
    assert managed_pi(machine.env, machine.data) is None


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ("lacks", "404"),
        ("cut", "ECONNRESET"),
        ("forged", "EINTEGRITY"),
    ],
)
@pytest.mark.parametrize("package", [PI, "jiti"])
def test_a_broken_download_leaves_the_old_pi_working_and_says_why(
    machine: Machine, harm: str, words: str, package: str
) -> None:
    old = machine.install(OLD)
    getattr(machine.registry, harm).add(package)
    for version in machine.registry.packages[PI].values():
        version.dependencies = {**version.dependencies, "jiti": "2.7.1"}
    machine.registry.add("jiti", "2.7.1", {"index.js": "new to npm's cache"})
    with pytest.raises(InstallFailed) as caught:
        machine.install()
    assert caught.value.before is not None
    assert words in str(caught.value)
    machine.check_that_only_this_works(old)


def test_a_registry_that_does_not_answer_leaves_the_old_pi_working(machine: Machine) -> None:
    old = machine.install(OLD)
    machine.env["npm_config_registry"] = "http://127.0.0.1:9/"
    with pytest.raises(InstallFailed) as caught:
        machine.install()
    assert "ECONNREFUSED" in str(caught.value)
    machine.check_that_only_this_works(old)

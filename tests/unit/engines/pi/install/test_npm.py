from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_node import noted, npm_of, write_fake_node

from pi_subagents.core.engine_values import SetupProgress
from pi_subagents.engines.pi.install import installing
from pi_subagents.engines.pi.install import npm as npm_install
from pi_subagents.engines.pi.install.npm import Npm, install_package, ways_to_install
from pi_subagents.errors import InstallFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PI = "@earendil-works/pi-coding-agent"
LOADED = {"jiti": "2.7.0", "quickjs-wasi": "3.6.2", "@silvia-odwyer/photon-node": "0.3.4"}
NOT_FOUND = "npm error notarget No matching version found for {}."


class Staging:
    """A fake npm in an empty staging directory."""

    def __init__(self, root: Path, directory: Path, lock: int) -> None:
        self.calls = root / "calls"
        self.reports: list[SetupProgress] = []
        self.env = {"FAKE_NPM_CALLS": str(self.calls)}
        node = write_fake_node(root / "usr", "24.19.0")
        self.npm = Npm(npm_of(node), directory, root / "cache", self.env, lock, self.reports.append)

    def files(self) -> list[str]:
        """Return every file and link that would be published."""
        below = self.npm.directory
        kept = [path for path in below.rglob("*") if path.is_symlink() or not path.is_dir()]
        names = (path.relative_to(below).as_posix() for path in kept)
        unpublished = (installing.SCRATCH_NAME, installing.LOG_NAME)
        return sorted(name for name in names if not name.startswith(unpublished))

    def asked(self) -> list[tuple[str, object]]:
        """Return each call of npm: its verb, and the package.json it found."""
        return [(call["words"][0], call["manifest"]) for call in noted(self.calls)]


PI_FILES = [
    f"node_modules/{PI}/{name}"
    for name in ("dist/bundle/chunks/main.js", "dist/bundle/cli.js", "package.json")
]


@pytest.fixture
def staging(tmp_path: Path) -> Iterator[Staging]:
    lock = (tmp_path / "lock").open("w")
    with lock, installing.staging(tmp_path / "data") as directory:
        yield Staging(tmp_path, directory, lock.fileno())


@pytest.mark.parametrize(
    ("version", "ways"),
    [
        ("0.87.1", ["with_all_packages"]),
        ("0.98.9", ["with_all_packages"]),
        ("0.99.0", ["without_own_packages", "from_tarball"]),
        ("0.100.0", ["without_own_packages", "from_tarball"]),
        ("1.5.0", ["without_own_packages", "from_tarball"]),
        ("1.6.0-beta.1", ["without_own_packages", "from_tarball"]),
    ],
)
def test_how_a_version_is_installed_depends_on_what_its_bundle_holds(
    version: str, ways: list[str]
) -> None:
    assert [way.__name__ for way in ways_to_install(version)] == ways


def test_pi_comes_without_its_own_packages_and_nothing_of_their_stubs_is_left(
    staging: Staging,
) -> None:
    install_package(staging.npm, "1.5.0")
    own = {
        f"@earendil-works/{name}": f"file:./stubs/{name}"
        for name in ("chord", "pi-agent-core", "pi-ai", "pi-codemode", "pi-mcp", "pi-tui")
    }
    manifest = {
        "private": True,
        "dependencies": {PI: "1.5.0", **own},
        "overrides": {name: f"${name}" for name in own},
    }
    assert staging.asked() == [("install", manifest)]
    assert staging.files() == PI_FILES


def test_a_pi_that_loads_its_own_packages_comes_with_all_of_them(staging: Staging) -> None:
    install_package(staging.npm, "0.87.1")
    assert staging.asked() == [("install", {"private": True, "dependencies": {PI: "0.87.1"}})]
    assert staging.files() == PI_FILES


def test_where_another_dependency_is_absent_the_published_package_is_taken_by_itself(
    staging: Staging,
) -> None:
    staging.env["FAKE_NPM"] = "lacks"
    install_package(staging.npm, "1.5.0")
    assert staging.asked()[1:] == [
        ("pack", None),
        ("install", {"private": True, "dependencies": LOADED}),
    ]
    loaded = [f"node_modules/{name}/package.json" for name in LOADED]
    assert staging.files() == sorted([*PI_FILES, *loaded])
    assert [report for report in staging.reports if report.done] == [
        SetupProgress(
            "installing pi 1.5.0",
            "did not work, taking the published package by itself",
            done=True,
        ),
        SetupProgress("fetching pi 1.5.0 by itself", "", done=True),
    ]


def test_if_both_ways_fail_both_reasons_are_told_and_nothing_is_left(staging: Staging) -> None:
    staging.env["FAKE_NPM"] = "lacks_all"
    with pytest.raises(InstallFailed) as caught:
        install_package(staging.npm, "1.5.0")
    second, first = caught.value, caught.value.before
    assert first is not None
    assert (first.step, first.exit_code, first.output, first.before) == (
        "installing pi 1.5.0",
        1,
        (NOT_FOUND.format("undici@8.12.3"),),
        None,
    )
    assert (second.step, second.exit_code, second.output) == (
        "installing what pi 1.5.0 loads",
        1,
        (NOT_FOUND.format("jiti@2.7.0"),),
    )
    assert staging.files() == []


def test_a_damaged_tarball_is_refused_with_both_reasons(staging: Staging) -> None:
    staging.env["FAKE_NPM"] = "damaged"
    with pytest.raises(InstallFailed) as caught:
        install_package(staging.npm, "1.5.0")
    (line,) = caught.value.output
    assert (caught.value.step, line.partition(":")[0]) == (
        "fetching pi 1.5.0 by itself",
        "pi.tgz is damaged",
    )
    assert caught.value.before is not None
    assert staging.files() == []


def test_an_old_pi_has_no_second_way(staging: Staging) -> None:
    staging.env["FAKE_NPM"] = "fails"
    with pytest.raises(InstallFailed) as caught:
        install_package(staging.npm, "0.87.1")
    assert (caught.value.exit_code, caught.value.before) == (7, None)
    assert len(staging.asked()) == 1


def test_an_installer_that_was_given_up_is_not_followed_by_another(
    staging: Staging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installing, "LIMIT_S", 0.0)
    with pytest.raises(InstallFailed) as caught:
        install_package(staging.npm, "1.5.0")
    assert (caught.value.step, caught.value.before) == ("installing pi 1.5.0", None)


@pytest.mark.parametrize("content", ["", "[]", "7", "{}", '{"dependencies": []}', "\udcff"])
def test_a_published_package_that_names_no_dependencies_is_refused(
    tmp_path: Path, content: str
) -> None:
    manifest = tmp_path / "package.json"
    manifest.write_text(content, errors="surrogateescape")
    with pytest.raises(ValueError, match=r"package\.json|Expecting|decode"):
        npm_install.loaded_packages(manifest)


def test_only_what_a_package_itself_depends_on_is_installed_beside_it(tmp_path: Path) -> None:
    manifest = tmp_path / "package.json"
    manifest.write_text(json.dumps({"dependencies": {"jiti": "3.0.0", "undici": "9.0.0"}}))
    assert npm_install.loaded_packages(manifest) == {"jiti": "3.0.0"}

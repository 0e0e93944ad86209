from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from tests.fakes.fake_node import write_fake_node, write_script

from pi_subagents.core.engine_values import SetupProgress
from pi_subagents.errors import InstallFailed
from pi_subagents.faces.cli import messages
from pi_subagents.faces.cli.machine.setup import Painter
from pi_subagents.faces.cli.main import group
from pi_subagents.hosts.pi.extension import extension_dir, pi_settings_file
from pi_subagents.service.machine.host_files import HostFile

if TYPE_CHECKING:
    from pathlib import Path

Run = Callable[..., Result]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    node = write_fake_node(tmp_path / "usr", "24.19.0")
    return {
        "HOME": str(tmp_path / "home"),
        "PI_SUBAGENTS_DATA": str(tmp_path / "data"),
        "PATH": str(node.parent),
    }


@pytest.fixture
def run(tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Run:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    unset = dict.fromkeys(("PI_SUBAGENTS_PI", "PI_AGENT_DIR", "PI_CODING_AGENT_DIR"))

    def invoke(*arguments: str) -> Result:
        # As people come to it: a verb on its own keeps other options for help, for good.
        return CliRunner().invoke(group, ["setup", *arguments], env={**unset, **env})

    return invoke


def test_setup_says_what_is_ready_and_what_to_type_next(run: Run, tmp_path: Path) -> None:
    result = run()
    assert result.exit_code == 0
    assert result.stdout == (
        f"pi 1.5.0 is ready in {tmp_path}/data/pi/1.5.0 (Node 24.19.0).\nNext: subagents demo\n"
    )
    assert result.stderr == (
        "finding Node: Node 24.19.0 on PATH\n"
        "installing pi 1.5.0 ...\n"
        "installing pi 1.5.0: 0 MB\n"
        "verifying pi 1.5.0 ...\n"
        "verifying pi 1.5.0: works on Node 24.19.0\n"
    )


def test_setup_in_json_tells_whether_anything_changed(run: Run, tmp_path: Path) -> None:
    directory = f"{tmp_path}/data/pi/1.5.0"
    expected = {
        "schemaVersion": 1,
        "pi": {
            "source": "managed",
            "version": "1.5.0",
            "command": [
                f"{tmp_path}/usr/bin/node",
                f"{directory}/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js",
            ],
            "managedVersion": "1.5.0",
            "managedDirectory": directory,
        },
        "node": {"path": f"{tmp_path}/usr/bin/node", "version": "24.19.0"},
    }
    assert json.loads(run("--json").stdout) == {**expected, "changed": True}
    assert json.loads(run("--json").stdout) == {**expected, "changed": False}
    assert json.loads(run("--json", "--force").stdout) == {**expected, "changed": True}


@pytest.mark.parametrize(
    ("chooser", "words"),
    [
        ("environment", "PI_SUBAGENTS_PI"),
        ("settings", "the setting subagents.pi_command"),
        ("path", "PATH"),
    ],
)
def test_setup_says_when_another_pi_comes_first(
    run: Run, env: dict[str, str], tmp_path: Path, chooser: str, words: str
) -> None:
    mine = write_script(tmp_path / "usr" / "bin" / ("pi" if chooser == "path" else "mine"), "")
    if chooser == "environment":
        env["PI_SUBAGENTS_PI"] = "mine"
    elif chooser == "settings":
        agent = tmp_path / "home" / ".pi" / "agent"
        agent.mkdir(parents=True)
        (agent / "settings.json").write_text('{"subagents": {"pi_command": "mine"}}')
    assert run().stdout.splitlines()[1] == (
        f"But {words} comes first: sub-agents run {mine} (pi of unknown version)."
    )


def test_setup_removes_what_it_installed(run: Run, tmp_path: Path) -> None:
    run()
    result = run("--remove", "--yes", "--json")
    assert json.loads(result.stdout) == {
        "schemaVersion": 1,
        "removed": [f"{tmp_path}/data/pi"],
        "changed": True,
        "hosts": [],
    }
    assert run("--remove", "--yes").stdout == f"Nothing to remove in {tmp_path}/data.\n"


def test_nothing_is_removed_where_nobody_can_be_asked(run: Run, tmp_path: Path) -> None:
    run()
    refused = run("--remove")
    assert (refused.exit_code, messages.CANNOT_CONFIRM in refused.stderr) == (2, True)
    assert (tmp_path / "data" / "pi").is_dir()


@pytest.mark.parametrize("argument", ["--hosts", "--yes"])
def test_what_belongs_to_a_removal_is_refused_without_one(run: Run, argument: str) -> None:
    assert run(argument).exit_code == 2


def host_files(tmp_path: Path) -> tuple[Path, Path]:
    """Have a host that starts what is gone, and one that starts another installation."""
    gone, other = tmp_path / "home" / ".cursor" / "mcp.json", tmp_path / "home" / ".claude.json"
    elsewhere = write_script(tmp_path / "opt" / "subagents", "")
    for path, command in ((gone, tmp_path / "gone" / "subagents"), (other, elsewhere)):
        path.parent.mkdir(parents=True, exist_ok=True)
        entry = {"command": str(command), "args": ["mcp"]}
        path.write_text(json.dumps({"mcpServers": {"subagents": entry}, "mine": 1}))
    return gone, other


def test_a_host_that_starts_what_is_gone_is_named(run: Run, tmp_path: Path) -> None:
    gone, other = host_files(tmp_path)
    before = gone.read_text(), other.read_text()
    removed = run("--remove", "--yes")
    warned = messages.host_still_starts_us("Cursor", str(gone), "cursor")
    assert (removed.exit_code, removed.stderr) == (0, f"{warned}\n")
    assert (gone.read_text(), other.read_text()) == before


def test_with_hosts_no_entry_is_left_that_starts_what_is_gone(run: Run, tmp_path: Path) -> None:
    gone, other = host_files(tmp_path)
    before = other.read_text()
    removed = run("--remove", "--hosts", "--yes", "--json")
    assert json.loads(removed.stdout)["hosts"] == [
        {"host": "cursor", "path": str(gone), "removed": True}
    ]
    assert (json.loads(gone.read_text()), other.read_text()) == (
        {"mcpServers": {}, "mine": 1},
        before,
    )
    assert run("--remove", "--hosts", "--yes").stderr == ""


def test_whoever_removes_it_is_shown_which_hosts_still_start_it(
    run: Run, env: dict[str, str], tmp_path: Path
) -> None:
    project = tmp_path / "project"
    for one_of_the_project in (False, True):
        HostFile("cursor", "subagents", project, env, project=one_of_the_project).install().apply()
    settings = pi_settings_file(project, env, project=False)
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"packages": [str(extension_dir())]}))
    home = tmp_path / "home"
    assert run("--remove", "--yes").stderr.splitlines() == [
        messages.host_still_starts_us(title, str(path), how)
        for title, path, how in (
            ("Cursor", home / ".cursor" / "mcp.json", "cursor"),
            ("Cursor", project / ".cursor" / "mcp.json", "cursor --project"),
            ("pi", settings, "pi"),
        )
    ]


def test_removing_and_forcing_exclude_each_other(run: Run) -> None:
    assert run("--remove", "--force").exit_code == 2


def test_a_failed_installation_reaches_the_caller_as_our_own_error(
    run: Run, env: dict[str, str]
) -> None:
    env["FAKE_NPM"] = "fails"
    assert isinstance(run().exception, InstallFailed)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


PROGRESS = (
    SetupProgress("installing", "", done=False),
    SetupProgress("installing", "3 MB", done=False),
    SetupProgress("installing", "9 MB", done=True),
    SetupProgress("verifying", "", done=False),
)


def painted(stream: io.StringIO, env: dict[str, str]) -> str:
    painter = Painter(stream, env)
    for progress in PROGRESS:
        painter(progress)
    painter.close()
    return stream.getvalue()


def test_a_terminal_sees_one_line_per_step_that_updates_in_place() -> None:
    clear = "\r\x1b[2K"
    assert painted(Terminal(), {"NO_COLOR": "1"}) == (
        f"{clear}· installing{clear}· installing: 3 MB{clear}✓ installing: 9 MB\n"
        f"{clear}· verifying\n"
    )


def test_a_terminal_sees_colours_unless_asked_not_to() -> None:
    assert "\x1b[32m✓\x1b[0m installing: 9 MB\n" in painted(Terminal(), {})


@pytest.mark.parametrize(("stream", "env"), [(io.StringIO(), {}), (Terminal(), {"TERM": "dumb"})])
def test_elsewhere_plain_lines_are_written(stream: io.StringIO, env: dict[str, str]) -> None:
    assert painted(stream, env) == "installing ...\ninstalling: 9 MB\nverifying ...\n"

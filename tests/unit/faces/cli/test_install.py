"""`subagents install` and `uninstall`: shown, asked, backed up, and taken back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pi_subagents.hosts.catalogue import HOSTS
from pi_subagents.service.machine.host_files import own_command

SRC = Path(__file__).parents[4] / "src"
OTHER = '{\n  "mcpServers": {\n    "other": {"command": "x", "env": {"KEY": "sk-secret"}}\n  }\n}\n'
PROGRAM = [*own_command("", sys.executable), "mcp"]


@dataclass
class Home:
    """A home and a project, and the real command in them."""

    path: Path

    @property
    def project(self) -> Path:
        return self.path / "project"

    @property
    def cursor(self) -> Path:
        return self.path / ".cursor" / "mcp.json"

    def run(self, *arguments: str, answer: str | None = None) -> tuple[int, str, str]:
        """Run a verb; with an answer, on a terminal where somebody types it."""
        master, terminal = os.openpty()
        if answer:
            os.write(master, answer.encode())
        done = subprocess.run(
            [sys.executable, "-m", "pi_subagents", *arguments],
            cwd=self.project,
            env={"HOME": str(self.path), "PYTHONPATH": str(SRC), "PATH": os.environ["PATH"]},
            stdin=terminal if answer else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        os.close(terminal)
        os.close(master)
        return done.returncode, done.stdout, done.stderr

    def files(self) -> dict[str, str]:
        return {
            path.relative_to(self.path).as_posix(): path.read_text()
            for path in self.path.rglob("*")
            if path.is_file()
        }


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "project").mkdir()
    (tmp_path / ".cursor").mkdir()
    return Home(tmp_path)


def entry(host: str) -> dict[str, object]:
    return HOSTS[host].entry(PROGRAM)


def test_it_is_shown_written_and_copied(home: Home) -> None:
    home.cursor.write_text(OTHER)
    code, out, err = home.run("install", "cursor", "--yes")
    assert (code, out) == (
        0,
        (
            f'Installed "subagents" in Cursor: {home.cursor}\n'
            f"The old file: {home.cursor}.bak-1\n"
            "Restart Cursor, then check that it works: cursor-agent mcp list\n"
        ),
    )
    assert f"+++ {home.cursor}" in err
    assert '+    "subagents": {' in err
    assert f'+      "command": "{PROGRAM[0]}",' in err
    assert "sk-secret" not in err
    written = json.loads(home.cursor.read_text())["mcpServers"]
    assert written == {**json.loads(OTHER)["mcpServers"], "subagents": entry("cursor")}
    assert home.files()[".cursor/mcp.json.bak-1"] == OTHER


def test_a_second_time_nothing_is_touched(home: Home) -> None:
    home.run("install", "cursor", "--yes")
    before, stamp = home.files(), home.cursor.stat()
    assert home.run("install", "cursor") == (
        0,
        f'"subagents" is already installed in Cursor: {home.cursor}\n',
        "",
    )
    assert home.files() == before
    assert (home.cursor.stat().st_ino, home.cursor.stat().st_mtime_ns) == (
        stamp.st_ino,
        stamp.st_mtime_ns,
    )


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_where_nobody_can_be_asked_it_is_refused(home: Home, verb: str) -> None:
    home.cursor.write_text(
        json.dumps({"mcpServers": {"subagents": entry("cursor")}}) if verb == "uninstall" else OTHER
    )
    before = home.files()
    code, out, err = home.run(verb, "cursor")
    assert (code, out) == (2, "")
    assert err.endswith(
        f"Try 'subagents {verb} --help' for help.\n\n"
        "Error: Cannot ask for confirmation without a terminal; add --yes to change "
        f"{home.cursor}, or --print to see what would change.\n"
    )
    assert home.files() == before


def test_on_a_terminal_it_is_asked(home: Home) -> None:
    home.cursor.write_text(OTHER)
    code, out, err = home.run("install", "cursor", answer="n\n")
    assert (code, out.strip()) == (1, "Nothing was changed.")
    assert f"Change {home.cursor}? [y/N]: " in err + out
    assert home.files() == {".cursor/mcp.json": OTHER}
    code, out, _ = home.run("install", "cursor", answer="y\n")
    assert code == 0
    assert 'Installed "subagents" in Cursor' in out
    assert home.run("uninstall", "cursor", answer="y\n")[0] == 0
    assert home.cursor.read_text() == OTHER


def test_print_only_shows(home: Home) -> None:
    snippet = json.dumps({"mcpServers": {"subagents": entry("cursor")}}, indent=2)
    assert home.run("install", "cursor", "--print") == (
        0,
        f"{snippet}\n",
        f"For {home.cursor}:\n",
    )
    code, out, err = home.run("install", "codex", "--print", "--json", "--name", "mine")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "schemaVersion": 1,
        "host": "codex",
        "name": "mine",
        "path": str(home.path / ".codex" / "config.toml"),
        "format": "toml",
        "command": PROGRAM,
        "entry": entry("codex"),
        "snippet": f'[mcp_servers.mine]\ncommand = "{PROGRAM[0]}"\nargs = ["mcp"]\n'
        "startup_timeout_sec = 20\ntool_timeout_sec = 120\n",
    }
    assert home.files() == {}


def test_uninstall_prints_what_would_go(home: Home) -> None:
    home.run("install", "cursor", "--yes")
    before = home.files()
    code, out, err = home.run("uninstall", "cursor", "--print")
    assert (code, out) == (0, "")
    assert '-    "subagents": {' in err
    assert err.endswith(f"{home.cursor} holds nothing else: it will be removed.\n")
    assert home.files() == before


def test_what_is_not_installed_is_not_removed(home: Home) -> None:
    assert home.run("uninstall", "cursor", "--yes") == (
        0,
        f'"subagents" is not installed in Cursor: {home.cursor}\n',
        "",
    )


def test_it_is_taken_back(home: Home) -> None:
    home.cursor.write_text(OTHER)
    home.run("install", "cursor", "--yes")
    code, out, _ = home.run("uninstall", "cursor", "--yes")
    assert (code, out) == (
        0,
        f'Removed "subagents" from Cursor: {home.cursor}\nThe old file: {home.cursor}.bak-2\n',
    )
    assert home.cursor.read_text() == OTHER


def test_scripts_get_one_object(home: Home) -> None:
    outcome = {
        "schemaVersion": 1,
        "host": "cursor",
        "name": "subagents",
        "path": str(home.cursor),
        "changed": True,
        "backup": None,
    }
    assert json.loads(home.run("install", "cursor", "--yes", "--json")[1]) == outcome
    again = {**outcome, "changed": False}
    assert json.loads(home.run("install", "cursor", "--yes", "--json")[1]) == again
    assert json.loads(home.run("uninstall", "cursor", "--print", "--json")[1]) == again
    removed = {**outcome, "backup": f"{home.cursor}.bak-1"}
    assert json.loads(home.run("uninstall", "cursor", "--yes", "--json")[1]) == removed


def test_a_project_has_a_file_of_its_own(home: Home) -> None:
    (home.project / ".git").mkdir()
    (home.project / "src").mkdir()
    code, _, err = home.run("install", "claude-code", "--project", "--yes")
    assert code == 0
    assert err.endswith(
        "It contains a path on this machine: others who use the project need their own.\n"
    )
    assert json.loads(home.files()["project/.mcp.json"]) == {
        "mcpServers": {"subagents": entry("claude-code")}
    }
    assert home.run("uninstall", "claude-code", "--project", "--yes")[0] == 0
    assert home.files().keys() == {"project/.mcp.json.bak-1"}


def test_the_file_behind_a_link_is_named(home: Home) -> None:
    real = home.path / "dotfiles.json"
    real.write_text(OTHER)
    home.cursor.symlink_to(real)
    _, _, err = home.run("install", "cursor", "--yes")
    assert f"+++ {home.cursor} -> {real}" in err


def test_names_and_hosts_that_cannot_be_are_refused(home: Home) -> None:
    for arguments, problem in (
        (("cursor", "--name", "a b"), "1 to 64 letters, digits, hyphens and underscores."),
        (
            ("nobody",),
            "'nobody' is not one of 'pi', 'claude-code', 'codex', 'cursor', 'vscode', 'zed',",
        ),
    ):
        code, out, err = home.run("install", *arguments)
        assert (code, out) == (2, "")
        assert problem in err
    assert home.files() == {}


def test_a_broken_file_is_one_line_of_refusal(home: Home) -> None:
    home.cursor.write_text("{,}")
    assert home.run("install", "cursor", "--yes") == (
        2,
        "",
        (
            f"Error: {home.cursor} cannot be understood: line 1: expected a key in quotes or }}. "
            "It was left as it is.\n"
        ),
    )


def test_every_host_is_in_the_help(home: Home) -> None:
    for verb in ("install", "uninstall"):
        shown = " ".join(home.run(verb, "--help")[1].split())
        *first, last = HOSTS
        assert f"HOST is pi, {', '.join(first)} or {last}." in shown


# The command that is written


def test_the_program_that_runs_is_the_one_that_is_written(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "subagents"
    program.parent.mkdir()
    program.write_text("")
    python = tmp_path / "bin" / "python3"
    with_module = (str(python), "-m", "pi_subagents")
    assert own_command(str(program), "/usr/bin/python3") == (
        "/usr/bin/python3",
        "-m",
        "pi_subagents",
    )  # it cannot be run
    program.chmod(0o700)
    assert own_command(str(program), "/usr/bin/python3") == (str(program),)
    assert own_command("/x/__main__.py", str(python)) == (str(program),)
    program.unlink()
    assert own_command("/x/__main__.py", str(python)) == with_module
    program.mkdir()
    assert own_command(str(program), str(python)) == with_module


def test_a_link_to_the_program_is_written_as_a_link(tmp_path: Path) -> None:
    program = tmp_path / "tool" / "subagents"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o700)
    link = tmp_path / "subagents"
    link.symlink_to(program)
    assert own_command(str(link), "/usr/bin/python3") == (str(link),)


def test_a_relative_path_is_written_as_an_absolute_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "subagents"
    program.write_text("")
    program.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    assert own_command("./subagents", "/usr/bin/python3") == (str(program),)

"""Files of hosts: found where the host looks, changed whole or not at all, with a copy beside."""

from __future__ import annotations

import errno
import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from pi_subagents.errors import (
    HostEntryForeign,
    HostFileBroken,
    HostFileNotEditable,
    HostFileNotSaved,
)
from pi_subagents.hosts.catalogue import HOSTS
from pi_subagents.hosts.files import (
    Configured,
    HostChange,
    apply_change,
    configured_hosts,
    host_file,
    plan_install,
    plan_uninstall,
    project_dir,
)
from pi_subagents.system.calls import FileCalls

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pi_subagents.hosts.catalogue import Host

ARGV = ("/opt/subagents", "mcp")
NAME = "subagents"
CURSOR, CODEX, OPENCODE = HOSTS["cursor"], HOSTS["codex"], HOSTS["opencode"]
OTHER = '{\n  "mcpServers": {\n    "other": {"command": "x"} // mine\n  }\n}\n'


def content(path: Path) -> dict[str, str | None]:
    """Return every file of a directory; links with where they lead."""
    return {
        each.name: str(each.readlink()) if each.is_symlink() else each.read_text()
        for each in path.iterdir()
        if not each.is_dir()
    }


# Where


@pytest.mark.parametrize(
    ("host", "linux", "mac"),
    [
        ("claude-code", ".claude.json", ".claude.json"),
        ("codex", ".codex/config.toml", ".codex/config.toml"),
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "Library/Application Support/Code/User/mcp.json",
        ),
        ("zed", ".config/zed/settings.json", ".config/zed/settings.json"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
        ("opencode", ".config/opencode/opencode.json", ".config/opencode/opencode.json"),
        ("qwen-code", ".qwen/settings.json", ".qwen/settings.json"),
    ],
)
def test_the_users_file_is_below_home(tmp_path: Path, host: str, linux: str, mac: str) -> None:
    env = {"HOME": str(tmp_path)}
    for platform, expected in (("linux", linux), ("darwin", mac)):
        found = host_file(HOSTS[host], tmp_path, env, platform=platform)
        assert found == tmp_path / expected


@pytest.mark.parametrize(
    ("host", "variable", "expected"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("vscode", "XDG_CONFIG_HOME", "Code/User/mcp.json"),
        ("zed", "XDG_CONFIG_HOME", "zed/settings.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
        ("qwen-code", "QWEN_HOME", "settings.json"),
    ],
)
def test_a_host_that_was_moved_is_found(
    tmp_path: Path, host: str, variable: str, expected: str
) -> None:
    moved = {"HOME": str(tmp_path), variable: str(tmp_path / "moved")}
    found = host_file(HOSTS[host], tmp_path, moved, platform="linux")
    assert found == tmp_path / "moved" / expected
    relative = {"HOME": str(tmp_path), variable: "moved"}
    unmoved = {"HOME": str(tmp_path)}
    assert host_file(HOSTS[host], tmp_path, relative, platform="linux") == host_file(
        HOSTS[host], tmp_path, unmoved, platform="linux"
    )


def test_the_file_of_a_project_is_in_its_repository(tmp_path: Path) -> None:
    inside = tmp_path / "repository" / "src"
    inside.mkdir(parents=True)
    assert project_dir(inside) == inside
    (tmp_path / "repository/.git").mkdir()
    names = {
        name: host_file(host, inside, {}, project=True)
        .relative_to(tmp_path / "repository")
        .as_posix()
        for name, host in HOSTS.items()
    }
    assert names == {
        "claude-code": ".mcp.json",
        "codex": ".codex/config.toml",
        "cursor": ".cursor/mcp.json",
        "vscode": ".vscode/mcp.json",
        "zed": ".zed/settings.json",
        "gemini": ".gemini/settings.json",
        "opencode": "opencode.json",
        "qwen-code": ".qwen/settings.json",
    }


def test_of_two_names_the_one_that_is_there_counts(tmp_path: Path) -> None:
    (tmp_path / "opencode.jsonc").write_text("")
    assert host_file(OPENCODE, tmp_path, {}, project=True) == tmp_path / "opencode.jsonc"
    (tmp_path / "opencode.json").write_text("")
    assert host_file(OPENCODE, tmp_path, {}, project=True) == tmp_path / "opencode.json"


# A change


def test_a_new_file_is_private_and_has_no_copy(tmp_path: Path) -> None:
    path = tmp_path / "new" / "dir" / "mcp.json"
    change = plan_install(CURSOR, path, NAME, ARGV)
    assert (change.before, change.is_needed, path.exists()) == (None, True, False)
    assert apply_change(change) is None
    assert json.loads(path.read_text()) == {"mcpServers": {NAME: CURSOR.entry(ARGV)}}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert content(path.parent).keys() == {"mcp.json"}
    assert not plan_install(CURSOR, path, NAME, ARGV).is_needed


def test_a_file_keeps_its_mode_and_a_private_copy_stays_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(OTHER)
    path.chmod(0o640)
    (tmp_path / "mcp.json.bak-1").write_text("an earlier one")
    backup = apply_change(plan_install(CURSOR, path, NAME, ARGV))
    assert backup == tmp_path / "mcp.json.bak-2"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert content(tmp_path) == {
        "mcp.json": plan_install(CURSOR, path, NAME, ARGV).after,
        "mcp.json.bak-1": "an earlier one",
        "mcp.json.bak-2": OTHER,
    }
    again = apply_change(plan_uninstall(CURSOR, path, NAME))
    assert again == tmp_path / "mcp.json.bak-3"
    assert path.read_text() == OTHER


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf{\r\n\t// c\r\n}\r\n", b'{"a": 1}', b"\r\n"])
def test_every_other_byte_of_a_file_stays(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(data)
    apply_change(plan_install(CURSOR, path, NAME, ARGV))
    assert path.read_bytes() != data
    assert (tmp_path / "mcp.json.bak-1").read_bytes() == data
    for byte in (b"\xef\xbb\xbf", b"// c\r\n", b'"a": 1'):
        assert (byte in data) == (byte in path.read_bytes())


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "cursor.json").write_text(OTHER)
    link = tmp_path / "mcp.json"
    link.symlink_to("dotfiles/cursor.json")
    assert apply_change(plan_install(CURSOR, link, NAME, ARGV)) == tmp_path / "mcp.json.bak-1"
    assert link.is_symlink()
    assert NAME in (dotfiles / "cursor.json").read_text()
    assert content(dotfiles).keys() == {"cursor.json"}


def test_a_link_to_nothing_yet_is_filled(tmp_path: Path) -> None:
    link = tmp_path / "mcp.json"
    link.symlink_to("dotfiles/cursor.json")
    assert apply_change(plan_install(CURSOR, link, NAME, ARGV)) is None
    assert NAME in (tmp_path / "dotfiles/cursor.json").read_text()
    apply_change(plan_uninstall(CURSOR, link, NAME))
    assert link.read_text() == '{\n  "mcpServers": {}\n}\n'


@pytest.mark.parametrize("host", HOSTS.values(), ids=lambda host: host.name)
def test_of_a_file_that_only_we_wrote_nothing_is_left(tmp_path: Path, host: Host) -> None:
    path = tmp_path / "config"
    apply_change(plan_install(host, path, NAME, ARGV))
    written = path.read_text()
    change = plan_uninstall(host, path, NAME)
    assert change == HostChange(host, path, written, None)
    assert apply_change(change) == tmp_path / "config.bak-1"
    assert content(tmp_path) == {"config.bak-1": written}


def test_what_is_not_installed_needs_no_change(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    assert plan_uninstall(CURSOR, path, NAME) == HostChange(CURSOR, path, None, None)
    for text in (OTHER, "{}", '{\n  "mcpServers": {}\n}\n'):
        path.write_text(text)
        assert plan_uninstall(CURSOR, path, NAME) == HostChange(CURSOR, path, text, text)


# What is refused


def test_an_entry_of_somebody_else_is_neither_replaced_nor_removed(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"subagents": {"url": "http://127.0.0.1"}}}')
    with pytest.raises(HostEntryForeign) as install:
        plan_install(CURSOR, path, NAME, ARGV)
    with pytest.raises(HostEntryForeign) as uninstall:
        plan_uninstall(CURSOR, path, NAME)
    assert str(install.value) == str(uninstall.value)
    assert str(install.value) == (
        f'"subagents" in {path} is another server, not this one. It was left as it is; choose '
        "another name with --name."
    )


@pytest.mark.parametrize(
    ("host", "data", "problem"),
    [
        (CURSOR, b'{"a": }', "line 1: expected a value"),
        (CURSOR, b"\xff\xfe{\x00}\x00", "it is not UTF-8 text"),
        (CODEX, b"a = 1\na = 2\n", "Cannot overwrite a value (at line 2, column 6)"),
    ],
)
def test_a_broken_file_is_left_as_it_is(
    tmp_path: Path, host: Host, data: bytes, problem: str
) -> None:
    path = tmp_path / "config"
    path.write_bytes(data)
    plans: list[Callable[[], HostChange]] = [
        lambda: plan_install(host, path, NAME, ARGV),
        lambda: plan_uninstall(host, path, NAME),
    ]
    for plan in plans:
        with pytest.raises(HostFileBroken) as caught:
            plan()
        assert str(caught.value) == (
            f"{path} cannot be understood: {problem}. It was left as it is."
        )
    assert path.read_bytes() == data


def test_a_file_in_an_unusual_form_is_refused_with_what_to_do_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('mcp_servers = { subagents = { command = "subagents", args = ["mcp"] } }\n')
    with pytest.raises(HostFileNotEditable) as caught:
        plan_install(CODEX, path, NAME, ARGV)
    assert str(caught.value) == (
        f"{path} cannot be changed safely: its entry is written in another form than a table of "
        "its own. It was left as it is. The entry, to change it by hand:\n"
        "[mcp_servers.subagents]\n"
        'command = "/opt/subagents"\n'
        'args = ["mcp"]\n'
        "startup_timeout_sec = 20\n"
        "tool_timeout_sec = 120\n"
    )
    with pytest.raises(HostFileNotEditable, match=r"by hand:\n\[mcp_servers.subagents\]"):
        plan_uninstall(CODEX, path, NAME)


def test_a_file_that_changed_since_it_was_shown_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(OTHER)
    change = plan_install(CURSOR, path, NAME, ARGV)
    path.write_text("{}")
    with pytest.raises(HostFileNotSaved) as caught:
        apply_change(change)
    assert str(caught.value) == (
        f"{path} was not changed: it was changed by another program in the meantime; try again"
    )
    assert content(tmp_path) == {"mcp.json": "{}"}


def test_a_file_that_must_not_be_written_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(OTHER)
    # As the system answers everybody but root for a file of mode 0400.
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
    with pytest.raises(HostFileNotSaved, match="you may not write to it"):
        apply_change(plan_install(CURSOR, path, NAME, ARGV))
    assert content(tmp_path) == {"mcp.json": OTHER}


def test_a_directory_or_a_fifo_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for name in ("dir", "fifo"):
        with pytest.raises(HostFileNotSaved, match=f"{name} was not changed: "):
            plan_install(CURSOR, tmp_path / name, NAME, ARGV)


@pytest.mark.parametrize("call", range(1, 8))
def test_whatever_fails_the_old_file_is_there_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(OTHER)
    change = plan_install(CURSOR, path, NAME, ARGV)
    made = 0

    def failing(name: str) -> Callable[..., object]:
        def attempt(*arguments: object, **options: object) -> object:
            nonlocal made
            made += 1
            if made >= call:
                raise OSError(errno.ENOSPC, "No space left on device")
            return getattr(os, name)(*arguments, **options)

        return attempt

    for name in ("open", "write", "fsync", "replace"):
        monkeypatch.setattr(FileCalls, name, staticmethod(failing(name)))
    with pytest.raises(HostFileNotSaved, match="No space left on device"):
        apply_change(change)
    assert path.read_text() in (OTHER, change.after)
    assert [each for each in content(tmp_path) if each.endswith(".tmp")] == []


def test_a_path_that_is_no_text_is_refused(tmp_path: Path) -> None:
    change = plan_install(CURSOR, tmp_path / "mcp.json", NAME, ("/\udcff/subagents", "mcp"))
    with pytest.raises(HostFileNotSaved):
        apply_change(change)


# What is configured


def test_every_entry_of_ours_is_told_the_users_and_the_projects(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    env = {"HOME": str(tmp_path)}
    user_file = host_file(CODEX, project, env)
    project_file = host_file(CURSOR, project, env, project=True)
    apply_change(plan_install(CODEX, user_file, NAME, ARGV))
    apply_change(plan_install(CURSOR, project_file, "mine", ("/x/subagents", "mcp")))
    broken = host_file(HOSTS["zed"], project, env)
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    assert list(configured_hosts(project, env)) == [
        Configured(CODEX, user_file, ARGV, name=NAME),
        Configured(CURSOR, project_file, ("/x/subagents", "mcp"), name="mine", project=True),
        Configured(
            HOSTS["zed"],
            broken,
            problem="line 1: expected a key in quotes or }",
        ),
    ]


def test_a_file_that_is_the_users_and_the_projects_is_told_once(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    apply_change(plan_install(CURSOR, host_file(CURSOR, tmp_path, env), NAME, ARGV))
    assert len(list(configured_hosts(tmp_path, env))) == 1

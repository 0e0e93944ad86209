from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.errors import ConfigNotEditable
from pi_subagents.hosts.catalogue import HOSTS, TOML
from pi_subagents.hosts.entry import (
    command_of,
    find_entry,
    is_our_command,
    our_commands,
    snippet,
    with_entry,
    without_entry,
)

ARGV = ("/opt/subagents", "mcp")
NAME = "subagents"
EVERY_HOST = pytest.mark.parametrize("host", HOSTS.values(), ids=lambda host: host.name)


def read(text: str, form: str) -> Any:
    return tomllib.loads(text) if form == TOML else json.loads(text)


@EVERY_HOST
def test_an_entry_is_put_in_found_and_taken_out(host: Any) -> None:
    text = with_entry(host, "", NAME, ARGV)
    assert read(text, host.format) == {host.key: {NAME: host.entry(ARGV)}}
    assert text == snippet(host, NAME, ARGV)
    assert our_commands(host, text) == {NAME: ARGV}
    assert with_entry(host, text, NAME, ARGV) == text
    left = without_entry(host, text, NAME)
    assert find_entry(host, left, NAME) is None
    assert read(left, host.format) in ({}, {host.key: {}})


@EVERY_HOST
def test_a_new_command_replaces_the_old_one_and_what_its_owner_chose_stays(host: Any) -> None:
    before = with_entry(host, "", NAME, ("/old/subagents", "mcp"))
    for key, value in host.defaults.items():
        before = before.replace(f'{key}": {value}', f'{key}": 7').replace(
            f"{key} = {value}", f"{key} = 7"
        )
    after = with_entry(host, before, NAME, ARGV)
    assert after == before.replace("/old/subagents", "/opt/subagents")


@EVERY_HOST
def test_what_a_host_needs_is_added_to_an_older_entry(host: Any) -> None:
    text = without_entry(host, with_entry(host, "", NAME, ARGV), NAME)
    required = host.required(ARGV)
    old = (
        text + "".join([f"[{host.key}.{NAME}]\n", f'command = "{ARGV[0]}"\n', 'args = ["mcp"]\n'])
        if host.format == TOML
        else json.dumps({host.key: {NAME: {"command": required["command"]}}})
    )
    assert find_entry(host, with_entry(host, old, NAME, ARGV), NAME) == host.entry(ARGV)


def test_the_comments_inside_an_entry_stay() -> None:
    text = '{"servers": {"subagents": {\n  // mine\n  "command": "x/subagents",\n  "args": ["mcp"],\n  "env": {"A": "b"},\n}}}'
    edited = with_entry(HOSTS["vscode"], text, NAME, ARGV)
    assert edited == text.replace("x/subagents", "/opt/subagents").replace(
        '"env": {"A": "b"},\n', '"env": {"A": "b"},\n  "type": "stdio",\n'
    )


@pytest.mark.parametrize(
    ("entry", "argv"),
    [
        ({"command": "a", "args": ["b", "c"]}, ("a", "b", "c")),
        ({"command": ["a", "b"]}, ("a", "b")),
        ({"command": "a"}, ("a",)),
        ({"command": "a", "args": None}, ("a",)),
        ({"command": "a", "args": "b"}, ()),
        ({"url": "http://127.0.0.1"}, ()),
        ("text", ()),
        (None, ()),
    ],
)
def test_a_command_is_read_in_either_form(entry: object, argv: tuple[str, ...]) -> None:
    assert command_of(entry) == argv


@pytest.mark.parametrize(
    ("argv", "ours"),
    [
        (("/home-dir/bin/subagents", "mcp"), True),
        (("subagents", "mcp", "--answer-within", "30"), True),
        (("/usr/bin/python3", "-m", "pi_subagents", "mcp"), True),
        (("uvx", "--from", "pi-subagents[mcp]", "subagents", "mcp"), True),
        (("subagents", "run"), False),
        (("other-subagents", "mcp"), False),
        (("mcp",), False),
        ((), False),
    ],
)
def test_ours_is_known_by_its_command(argv: tuple[str, ...], ours: bool) -> None:
    assert is_our_command(argv) is ours


def test_only_our_own_entries_are_told_whatever_they_are_called() -> None:
    servers = {
        "mine": {"command": "/x/subagents", "args": ["mcp"]},
        "other": {"command": "/x/other", "args": ["mcp"]},
        "odd": 1,
    }
    text = json.dumps({"mcpServers": servers})
    assert our_commands(HOSTS["cursor"], text) == {"mine": ("/x/subagents", "mcp")}
    assert our_commands(HOSTS["cursor"], "[]") == our_commands(HOSTS["cursor"], "") == {}
    assert our_commands(HOSTS["cursor"], '{"mcpServers": []}') == {}


def test_what_is_no_entry_is_not_changed() -> None:
    with pytest.raises(ConfigNotEditable, match='"subagents" is not an object'):
        with_entry(HOSTS["cursor"], '{"mcpServers": {"subagents": 1}}', NAME, ARGV)


def test_what_the_page_of_hosts_shows_is_what_is_written() -> None:
    page = (Path(__file__).parents[3] / "docs/mcp.md").read_text("utf-8")
    for host in HOSTS.values():
        shown = snippet(host, NAME, ("/path/to/subagents", "mcp"))
        assert f"### {host.title}\n" in page
        assert f"`subagents install {host.name}`" in page
        assert f"```{host.format}\n{shown}```" in page


@thoroughly
@given(st.text(min_size=1, max_size=20).filter(lambda path: "\0" not in path))
def test_any_path_is_written_so_that_the_host_reads_it(path: str) -> None:
    argv = (f"/{path}/subagents", "mcp")
    for host in HOSTS.values():
        try:
            argv[0].encode()
        except UnicodeEncodeError:
            return
        assert our_commands(host, with_entry(host, "", NAME, argv)) == {NAME: argv}

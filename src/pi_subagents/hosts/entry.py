"""
Our entry in a host's configuration: find it, put it in, take it out.

In: a host, the text of its file, the name of the entry.  Out: the changed text, with everything
else as it was.  What is ours is known by the command it starts, whoever wrote it.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence

from pi_subagents.errors import ConfigNotEditable
from pi_subagents.hosts import messages
from pi_subagents.hosts.catalogue import SERVER_ARGUMENTS, TOML, Host
from pi_subagents.hosts.jsonc_edit import parse_jsonc, remove_value, set_value
from pi_subagents.hosts.toml_edit import parse_toml, remove_table, set_table, table_text

_OUR_PROGRAMS = ("subagents", "pi_subagents")


def find_entry(host: Host, text: str, name: str) -> object:
    """Return what the host knows under this name, whatever it is; None where there is nothing."""
    return _servers(host, text).get(name)


def our_commands(host: Host, text: str) -> dict[str, tuple[str, ...]]:
    """Return the commands of all entries that start our server, by name."""
    commands = {name: command_of(entry) for name, entry in _servers(host, text).items()}
    return {name: argv for name, argv in commands.items() if is_our_command(argv)}


def command_of(entry: object) -> tuple[str, ...]:
    """Return the command line of an entry, in either form; empty where it has none."""
    if not isinstance(entry, Mapping):
        return ()
    command = entry.get("command")
    arguments = entry.get("args") or []
    if isinstance(command, str) and isinstance(arguments, list):
        return (command, *map(str, arguments))
    return tuple(map(str, command)) if isinstance(command, list) else ()


def is_our_command(argv: Sequence[str]) -> bool:
    """Return whether a command line starts our server, directly or by another program."""
    programs = {posixpath.basename(word) for word in argv}
    return not programs.isdisjoint(_OUR_PROGRAMS) and SERVER_ARGUMENTS[0] in argv


def with_entry(host: Host, text: str, name: str, argv: Sequence[str]) -> str:
    """Return the text with an entry that starts this command; what its owner added to it stays."""
    there = find_entry(host, text, name)
    if there is None:
        values = host.entry(argv)
    elif isinstance(there, Mapping):
        added = {key: value for key, value in host.defaults.items() if key not in there}
        values = {**host.required(argv), **added}
    else:
        raise ConfigNotEditable(messages.key_is_no_object(name))
    if host.format == TOML:
        return set_table(text, (host.key, name), values)
    if there is None:
        return set_value(text, (host.key, name), values)
    for key, value in values.items():
        text = set_value(text, (host.key, name, key), value)
    return text


def without_entry(host: Host, text: str, name: str) -> str:
    """Return the text without the entry."""
    if host.format == TOML:
        return remove_table(text, (host.key, name))
    return remove_value(text, (host.key, name))


def snippet(host: Host, name: str, argv: Sequence[str]) -> str:
    """Return the entry as a file of its own, to be copied."""
    if host.format == TOML:
        return table_text((host.key, name), host.entry(argv))
    return json.dumps({host.key: {name: host.entry(argv)}}, indent=2, ensure_ascii=False) + "\n"


def _servers(host: Host, text: str) -> Mapping[str, object]:
    document = parse_toml(text) if host.format == TOML else parse_jsonc(text)
    servers = document.get(host.key) if isinstance(document, Mapping) else None
    return servers if isinstance(servers, Mapping) else {}

"""Node's debugger is closed in every command that starts pi by Node, and no other command is shared."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_node import write_fake_node, write_script

from pi_subagents.engines.pi.inspector import CLOSED, with_closed_inspector

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Machine:
    """A Node on PATH, and scripts that may be pi."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cwd = root / "project"
        self.cwd.mkdir()
        self.env: Mapping[str, str] = {"PATH": f"{root / 'usr' / 'bin'}:{os.defpath}"}
        self.node = self.node_of("24.19.0")

    def node_of(self, version: str, where: str = "usr") -> str:
        return str(write_fake_node(self.root / where, version, with_npm=False))

    def script(self, first_line: str, name: str = "pi") -> str:
        return str(write_script(self.root / "bin" / name, f"{first_line}\n"))

    def closed(self, *argv: str, **more: str) -> tuple[str, ...] | None:
        return with_closed_inspector(argv, {**self.env, **more}, self.cwd)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_node_with_a_script_gets_the_option_before_everything_else(machine: Machine) -> None:
    assert machine.closed(machine.node, "/pi/cli.js") == (machine.node, CLOSED, "/pi/cli.js")
    large = "--max-old-space-size=9000"
    heard = machine.closed(machine.node, large, "/pi/cli.js", "--model", "x")
    assert heard == (machine.node, CLOSED, large, "/pi/cli.js", "--model", "x")
    assert machine.closed(machine.node, CLOSED, "/cli.js") == (machine.node, CLOSED, "/cli.js")


@pytest.mark.parametrize(
    ("first_line", "options"),
    [
        ("#!/usr/bin/env node", ()),
        ("#! /usr/bin/env node", ()),
        ("#!/usr/bin/env -S node --no-warnings", ("--no-warnings",)),
    ],
)
def test_a_pi_that_env_starts_by_node_is_started_by_that_node(
    machine: Machine, first_line: str, options: tuple[str, ...]
) -> None:
    pi = machine.script(first_line)
    assert machine.closed(pi, "--x") == (machine.node, CLOSED, *options, pi, "--x")


def test_a_pi_that_names_its_node_is_started_by_that_node(machine: Machine) -> None:
    other = machine.node_of("22.19.0", "opt")
    pi = machine.script(f"#!{other}")
    assert machine.closed(pi) == (other, CLOSED, pi)


@pytest.mark.parametrize("version", ["22.14.0", "22.19.0", "23.7.0", "24.19.0", "26.0.0"])
def test_versions_that_know_the_option_get_it(machine: Machine, version: str) -> None:
    node = machine.node_of(version, "other")
    assert machine.closed(node, "cli.js") == (node, CLOSED, "cli.js")


@pytest.mark.parametrize("version", ["18.20.0", "20.20.2", "22.13.9", "23.0.0", "23.6.9", "none"])
def test_versions_that_would_refuse_the_option_do_not_get_it(
    machine: Machine, version: str
) -> None:
    assert machine.closed(machine.node_of(version, "other"), "cli.js") is None


@pytest.mark.parametrize(
    "first_line",
    ["#!/bin/sh", "#!/usr/bin/env bash", "#!/usr/bin/env", "#!", "", "\x7fELF\x02\x01", "node"],
)
def test_a_pi_that_is_a_program_of_its_own_or_a_wrapper_cannot_be_closed(
    machine: Machine, first_line: str
) -> None:
    assert machine.closed(machine.script(first_line)) is None


def test_no_program_is_none(machine: Machine) -> None:
    assert machine.closed("/nowhere/node", "cli.js") is None
    assert machine.closed("/nowhere/pi") is None
    assert machine.closed(machine.node) is None


def test_a_debugger_that_the_user_opens_stays_open_and_the_child_alone(machine: Machine) -> None:
    assert machine.closed(machine.node, "--inspect=0", "cli.js") is None
    assert machine.closed(machine.node, "cli.js", NODE_OPTIONS="--inspect-brk") is None
    heard = machine.closed(machine.node, "cli.js", NODE_OPTIONS="--enable-source-maps")
    assert heard == (machine.node, CLOSED, "cli.js")


def test_a_node_inside_the_working_directory_is_not_taken(machine: Machine) -> None:
    inside = write_fake_node(machine.cwd, "24.19.0", with_npm=False)
    pi = machine.script("#!/usr/bin/env node")
    path = f"{inside.parent}:{machine.env['PATH']}"
    assert machine.closed(pi, PATH=path) is None

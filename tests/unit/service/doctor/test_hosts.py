from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pi_subagents.errors import McpNotInstalled
from pi_subagents.hosts.catalogue import HOSTS
from pi_subagents.hosts.files import apply_change, host_file, plan_install
from pi_subagents.service.doctor.configuration import HOSTS as SUBJECT
from pi_subagents.service.doctor.configuration import check_hosts
from pi_subagents.service.doctor.examination import examine

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from pi_subagents.system.home import CheckedPlace


def configure(place: CheckedPlace, host: str, program: str) -> Path:
    path = host_file(HOSTS[host], place.cwd, place.env)
    apply_change(plan_install(HOSTS[host], path, "subagents", (program, "mcp")))
    return path


def program(place: CheckedPlace) -> str:
    path = place.cwd.parent / "usr/bin/subagents"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    return str(path)


def test_without_a_host_there_is_nothing_to_say(place: CheckedPlace) -> None:
    assert check_hosts(place) == SUBJECT.ok("none")


def test_hosts_whose_command_exists_are_told(place: CheckedPlace) -> None:
    configure(place, "cursor", program(place))
    configure(place, "codex", program(place))
    assert check_hosts(place) == SUBJECT.ok("Codex, Cursor")


def test_a_command_on_path_is_found(place: CheckedPlace) -> None:
    configure(place, "cursor", "subagents")
    assert check_hosts(place).state == "problem"
    program(place)
    assert check_hosts(place) == SUBJECT.ok("Cursor")


def test_a_command_that_is_gone_is_a_problem_with_what_to_do(place: CheckedPlace) -> None:
    configure(place, "codex", program(place))
    path = configure(place, "cursor", "/gone/subagents")
    assert check_hosts(place) == SUBJECT.problem(
        f"Codex, Cursor\n{path}: /gone/subagents is gone",
        "subagents install cursor",
        public="Codex, Cursor; 1 with a command that is gone",
    )


def test_a_server_that_lacks_its_library_is_a_problem_if_a_host_starts_it(
    place: CheckedPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)  # as where it is not installed
    assert check_hosts(place) == SUBJECT.ok("none")
    configure(place, "codex", program(place))
    assert check_hosts(place) == SUBJECT.ok("Codex"), "another installation may have it"
    monkeypatch.setattr(sys, "executable", str(place.cwd.parent / "usr/bin/python3"))
    lacks = "the library `mcp` is not installed here: `subagents mcp` cannot start"
    assert check_hosts(place) == SUBJECT.problem(
        f"Codex\n{lacks}", str(McpNotInstalled()), public=f"Codex; {lacks}"
    )
    path = configure(place, "cursor", "/gone/subagents")
    assert check_hosts(place) == SUBJECT.problem(
        f"Codex, Cursor\n{path}: /gone/subagents is gone\n{lacks}",
        f"subagents install cursor; {McpNotInstalled()}",
        public=f"Codex, Cursor; 1 with a command that is gone; {lacks}",
    )


def test_a_file_that_cannot_be_read_is_noted(place: CheckedPlace) -> None:
    path = host_file(HOSTS["zed"], place.cwd, place.env)
    path.parent.mkdir(parents=True)
    path.write_text("[}")
    heard = check_hosts(place)
    assert (heard.state, heard.public) == ("note", "none; 1 file cannot be read")
    assert heard.found == f"none\n{path}: line 1: expected a value"


def test_the_examination_looks_at_hosts(place: CheckedPlace) -> None:
    assert {check.id: check.state for check in examine(place.cwd, place.env)}["mcp-hosts"] == "ok"

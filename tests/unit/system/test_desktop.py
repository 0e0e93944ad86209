from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from pi_subagents.system.launch import has_desktop, show

if TYPE_CHECKING:
    from pathlib import Path

linux = pytest.mark.skipif(sys.platform != "linux", reason="of Linux")


@linux
@pytest.mark.parametrize(
    ("env", "there"),
    [({}, False), ({"DISPLAY": ""}, False), ({"DISPLAY": ":0"}, True), ({"WAYLAND_DISPLAY": "w"}, True)],
)  # fmt: skip
def test_a_desktop_is_known_by_its_variables(env: dict[str, str], there: bool) -> None:
    assert has_desktop(env) is there


@linux
def test_the_desktop_opens_what_it_is_given_as_one_argument(tmp_path: Path) -> None:
    opener, said = tmp_path / "xdg-open", tmp_path / "said"
    os.mkfifo(said)
    opener.write_text(f'#!/bin/sh\nprintf "%s|" "$#" "$1" > {said}\n')
    opener.chmod(0o755)
    target = "/a b; touch c"
    assert show(target, {"DISPLAY": ":0", "PATH": str(tmp_path)})
    assert said.read_text() == f"1|{target}|"
    assert not show(target, {"PATH": str(tmp_path)})
    assert not show(target, {"DISPLAY": ":0", "PATH": str(tmp_path / "none")})


@linux
def test_a_desktop_that_cannot_be_started_is_none(tmp_path: Path) -> None:
    (tmp_path / "xdg-open").write_text("#!/no/such/program\n")
    (tmp_path / "xdg-open").chmod(0o755)
    assert not show("/x", {"DISPLAY": ":0", "PATH": str(tmp_path)})

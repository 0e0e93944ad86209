"""`subagents pi` becomes the pi that sub-agents use."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.e2e.command import ENTRY
from tests.fakes.fake_node import write_script

if TYPE_CHECKING:
    from pathlib import Path

SAYS_WHAT_IT_GOT = """\
#!/bin/sh
printf '<%s>' "$@"
read typed
printf ' %s %s' "$typed" "$PWD"
exit 7
"""


@pytest.mark.parametrize(
    ("arguments", "got"),
    [
        ((), "<>"),
        (("-h",), "<-h>"),
        (("--help", "x"), "<--help><x>"),
        (("-q", "--list-models", "--", "a b"), "<-q><--list-models><--><a b>"),
    ],
)
def test_every_argument_is_passed_on_with_terminal_and_exit_code(
    tmp_path: Path, arguments: tuple[str, ...], got: str
) -> None:
    pi = write_script(tmp_path / "bin/pi", SAYS_WHAT_IT_GOT)
    env = {"HOME": str(tmp_path), "PATH": f"{pi.parent}:/bin:/usr/bin"}
    project = tmp_path.resolve() / "project"
    project.mkdir()
    done = subprocess.run(
        [*ENTRY, "pi", *arguments],
        cwd=project, env=env, input="/login\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, f"{got} /login {project}")


def test_without_a_pi_it_is_said_how_to_get_one(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": str(tmp_path)}
    done = subprocess.run(
        [*ENTRY, "pi"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "subagents setup" in done.stderr

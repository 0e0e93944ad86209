from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from pi_subagents.engines.pi.asking import PiAnswers, ask_pi

if TYPE_CHECKING:
    from pathlib import Path

PI = """
import json, sys
for line in sys.stdin:
    command = json.loads(line)["type"]
    if command == "end":
        print("Error: no such thing\\n    at here (x:1:1)\\n\\tat there\\n  code: 7", file=sys.stderr)
        sys.exit(3)
    print(json.dumps({"type": "response", "command": command, "n": 1}), flush=True)
    print(json.dumps({"type": "response", "command": command, "n": 2}), flush=True)
    print(json.dumps({"type": "response", "command": [command]}), flush=True)
"""


def asked(cwd: Path, *commands: str) -> PiAnswers:
    return ask_pi([sys.executable, "-IS", "-c", PI], commands, env={}, cwd=cwd, limit_s=60)


def reply(command: str) -> dict[str, object]:
    return {"type": "response", "command": command, "n": 1}


def test_every_command_has_its_first_answer(tmp_path: Path) -> None:
    assert asked(tmp_path, "a", "b") == PiAnswers({"a": reply("a"), "b": reply("b")})


@pytest.mark.parametrize("commands", [("a", "end"), ("a", "end", "b")])
def test_what_was_answered_before_the_end_is_kept_and_the_stack_is_left_out(
    tmp_path: Path, commands: tuple[str, ...]
) -> None:
    assert asked(tmp_path, *commands) == PiAnswers(
        {"a": reply("a")}, "it exited with code 3", ("Error: no such thing", "  code: 7")
    )

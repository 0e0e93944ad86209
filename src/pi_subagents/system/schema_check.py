"""
Ask whether something is a schema, or a value fits one: in a process of its own, under limits.

In: plain JSON.  Out: what is wrong and where, as a line of text; nothing where nothing is.  The
library that decides is loaded there alone, so that nobody else waits for it, and no pattern of a
schema can hold up who asks.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.answer import messages

if TYPE_CHECKING:
    from collections.abc import Mapping

# It ends itself after two seconds of work; on a busy machine these may take their time.
LIMIT_S = 30.0
MAX_REPLY_BYTES = 64 * 1024
_PROGRAM = Path(__file__).with_name("schema_checker.py")


def question(schema: Mapping[str, object], **given: object) -> bytes:
    """Return what the program is asked: about a schema, or about a `value` for it."""
    return json.dumps({"schema": schema, **given}).encode("ascii")


def checker_command() -> list[str]:
    """Return how the program is started, also by whoever is none of us."""
    # Isolated: the working directory may hold anything under the names of its modules.
    return [sys.executable, "-I", str(_PROGRAM)]


def start_checker(stdin: int) -> subprocess.Popen[bytes]:
    """Start the program on a question; OSError where that is impossible."""
    return subprocess.Popen(
        checker_command(),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def problem_in(reply: bytes) -> str:
    """Return what the program said is wrong; it said nothing where it was ended."""
    try:
        return str(json.loads(reply)["problem"])
    except (ValueError, KeyError, TypeError):
        return messages.NOT_CHECKED


def schema_problem(schema: Mapping[str, object]) -> str:
    """Return why something is no schema, or nothing; waits."""
    try:
        with start_checker(subprocess.PIPE) as checker:
            try:
                reply, _ = checker.communicate(question(schema), timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                checker.kill()
                return messages.NOT_CHECKED
    except OSError as error:
        return str(error)
    return problem_in(reply)

"""
Ask the person at this terminal a question with yes or no, before any window is shown.

In: a question.  Out: the answer; None where there was none: Ctrl+C, the end of input.  Callers ask
only where both ends are a terminal: what is typed, and where the question can be read.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.questions.people import PutQuestion

_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}


async def ask(console: Console, question: str, stop: StopSwitch | None = None) -> bool | None:
    """Ask until there is an answer, the end of input or a stop."""
    while True:
        console.question(f"{question} [y/n] ")
        line = await _typed_line(stop)
        if not line:
            console.question("\n")
            return None
        if (answer := _ANSWERS.get(line.strip().lower())) is not None:
            return answer


async def ask_for_line(console: Console, question: PutQuestion) -> str | None:
    """Ask what a sub-agent asks, among the lines of its progress; None at the end of input."""
    from pi_subagents.faces.terminal.asking import question_lines, typed_line

    console.question(f"{question_lines(question)}\n> ")
    return await typed_line(sys.stdin.fileno())


async def _typed_line(stop: StopSwitch | None) -> str:
    """Return a line with its end, or nothing at the end of input and where a stop comes first."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str] = loop.create_future()

    def settle(line: str) -> None:
        if not typed.done():
            typed.set_result(line)

    # A terminal hands out whole lines: once there is something to read, nobody is kept waiting.
    loop.add_reader(sys.stdin.fileno(), lambda: settle(sys.stdin.readline()))
    leave = stop.listen(lambda _: settle("")) if stop else None
    try:
        return await typed
    finally:
        loop.remove_reader(sys.stdin.fileno())
        if leave:
            leave()

"""
Ask the person at a terminal what a sub-agent asks, as a line that is typed below the question.

In: a terminal that gives its keys back as lines, and a question.  Out: the line; nothing where none
was typed.  What stands on the screen cannot drive the terminal.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.core.run.messages import question_shown
from pi_subagents.faces.terminal import messages

if TYPE_CHECKING:
    from pi_subagents.service.questions.people import PutQuestion

MAX_LINE = 64 * 1024


def question_lines(question: PutQuestion) -> str:
    """Return the question as it is read, with what was wrong with the last answer."""
    asked = question_shown(question.name, question.text, question.options)
    parts = (question.problem, asked, messages.TYPE_AN_ANSWER)
    return printable("\n\n".join(filter(None, parts)))


async def typed_line(descriptor: int) -> str | None:
    """Return the line that is typed next, without its end; None for an empty one, or no more."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()
    heard = b""

    def read() -> None:
        nonlocal heard
        try:
            data = os.read(descriptor, MAX_LINE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        heard += data
        if not typed.done() and (not data or heard.endswith(b"\n")):
            typed.set_result(heard)

    loop.add_reader(descriptor, read)
    try:
        line = (await typed).decode("utf-8", "replace").strip()
    finally:
        loop.remove_reader(descriptor)
    return line or None

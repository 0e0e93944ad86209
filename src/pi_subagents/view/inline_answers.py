"""
The answers of a call as its main model reads them: each below a line of ours, long ones cut inside.

In: tasks that ended, in their order, and how many characters there are for them.  Out: one text.
Every line of ours begins with a mark that occurs in none of the answers, so that no sub-agent can
write one.  An answer that is cut keeps its head and its tail, and says which call reads the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.session.next_calls import read_on
from pi_subagents.core.value import value
from pi_subagents.view import messages
from pi_subagents.view.picture import fair_shares
from pi_subagents.view.window_view import ENDED_SEPARATOR, spent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.settings import InlineAnswers
    from pi_subagents.core.usage import Usage

MAX_NAME = 60
_TAIL = 3  # of an answer that is cut, one part in so many is its tail


@value
class EndedTask:
    """One task that ended, with the words of its tool."""

    place: int  # among the tasks of its call, from 1
    title: str
    status: str
    result: RunResult
    next_call: str = ""  # where it did not complete


@value
class Cut:
    """A text without its middle."""

    head: str
    tail: str
    left_out: int


def cut_middle(text: str, most: int) -> Cut | None:
    """Return the text without its middle; None where it has at most so many characters."""
    if len(text) <= most:
        return None
    tail = most // _TAIL
    return Cut(text[: most - tail], text[len(text) - tail :], len(text) - most)


def shares(lengths: Iterable[int], room: InlineAnswers) -> list[int]:
    """Return how many characters each answer may have; short ones leave their rest to long ones."""
    return fair_shares([min(length, room.each) for length in lengths], room.call)


def shortened_answer(text: str, most: int, session_id: str) -> str:
    """Return an answer, or so many characters of it around a line that says what is missing."""
    cut = cut_middle(text, most)
    if cut is None:
        return text
    return "\n".join(filter(None, (cut.head, f"[{_what_is_missing(cut, session_id)}]", cut.tail)))


def facts(model: str, usage: Usage) -> str:
    """Return the model that answered, tokens and cost, as far as the engine reports them."""
    return ENDED_SEPARATOR.join(filter(None, (one_line(model, MAX_NAME), spent(usage))))


def inline_text(tasks: Sequence[EndedTask], room: InlineAnswers) -> str:
    """Return the answers; empty where none are wanted, or nothing has ended."""
    if not room.each or not tasks:
        return ""
    given = shares((len(task.result.answer) for task in tasks), room)
    blocks = [_block(task, most) for task, most in zip(tasks, given, strict=True)]
    mark = _mark([text for block in blocks for _, text in block])
    parts = [messages.whose_lines_are(mark)]
    for block in blocks:
        lines = (line for own, text in block for line in (f"{mark} {own}", text) if line)
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _block(task: EndedTask, most: int) -> list[tuple[str, str]]:
    """Return lines of ours, each with what the sub-agent says below it."""
    output, own = task.result.answer, _state_line(task)
    cut = cut_middle(output, most)
    if cut is None:
        return [(own, printable(output))]
    missing = _what_is_missing(cut, task.result.session_id)
    return [(own, printable(cut.head)), (missing, printable(cut.tail))]


def _state_line(task: EndedTask) -> str:
    result = task.result
    words = [f"{task.place}. {one_line(task.title, MAX_NAME)}: {task.status}"]
    words += [result.work, facts(result.model_used, result.usage)]
    if not result.completed:
        words.append(messages.PARTIAL_ANSWER if result.is_partial else messages.NO_ANSWER)
    if task.next_call:
        words.append(messages.to_go_on(task.next_call))
    return ENDED_SEPARATOR.join(filter(None, words))


def _what_is_missing(cut: Cut, session_id: str) -> str:
    return messages.left_out_here(cut.left_out, read_on(session_id, len(cut.head), cut.left_out))


def _mark(texts: Sequence[str]) -> str:
    """Return a mark that occurs in none of the texts."""
    found = crc32("\n".join(texts).encode("utf-8", "replace"))
    while any(f"{found:08x}" in text for text in texts):
        found = (found + 1) % 2**32
    return f"[{found:08x}]"

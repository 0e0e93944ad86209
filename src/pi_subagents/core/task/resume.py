"""
Tell a sub-agent what its session did before, so that it can go on.

In: the session's runs, oldest first, and the new instructions.  Out: one prompt.  What is told is
bounded: tool results give way first, the oldest before the newer, then tool calls, then texts;
what is shortened says so.  Texts of several lines are indented below their first, so that nothing
said in a run can pass for a heading or for the instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents.core import messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.session.history import MAX_ARGUMENTS, MAX_TOOL_RESULT, arguments_preview, cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pi_subagents.core.run.record import RunRecord

MAX_SHORT_RESULT = 80
MAX_SHORT_TEXT = 500

_HEADING, _USER, _ASSISTANT, _CALL, _RESULT, _ERROR = range(6)
_PREFIXES = ("", "User: ", "Assistant: ", "Tool Call: ", "Tool Result: ", "Error: ")
# What gives way, in this order, the oldest entry first: (kinds, characters that stay).
_CONCESSIONS = (
    ((_RESULT,), MAX_SHORT_RESULT),
    ((_RESULT, _CALL), 0),
    ((_ASSISTANT, _USER, _ERROR), MAX_SHORT_TEXT),
    ((_ASSISTANT, _USER, _ERROR), 0),
    ((_HEADING,), 0),
)


@dataclass(slots=True)
class _Entry:
    kind: int
    text: str

    def shown(self) -> str:
        first, *rest = self.text.split("\n")
        return "\n".join((_PREFIXES[self.kind] + first, *(f"  {line}" for line in rest)))

    def shorten(self, limit: int) -> int:
        """Let the text give way, empty where nothing stays; return how much was won."""
        before = _size(self)
        if not limit:
            self.text = ""
        elif len(self.text) > limit + len(messages.RESUME_SHORTENED):
            self.text = cut(self.text, limit, messages.RESUME_SHORTENED)
        return before - _size(self)


def resume_prompt(runs: Sequence[RunRecord], prompt: str, *, max_bytes: int) -> str:
    """Return the prompt of a run that continues a session."""
    return f"Previously:\n\n{transcript(runs, max_bytes)}\n\nInstructions:\n\n{prompt}"


def transcript(runs: Sequence[RunRecord], max_bytes: int) -> str:
    """Return what the runs did, in at most that many bytes of UTF-8."""
    entries = [entry for number, run in enumerate(runs, 1) for entry in _entries(number, run)]
    room = max_bytes - len(messages.RESUME_LEFT_OUT.encode()) - 1
    size = sum(map(_size, entries))
    for kinds, limit in _CONCESSIONS:
        for entry in entries:
            if size <= room:
                break
            if entry.kind in kinds:
                size -= entry.shorten(limit)
    left_out = [entry for entry in entries if not entry.text]
    kept = [entry.shown() for entry in entries if entry.text]
    return "\n".join([messages.RESUME_LEFT_OUT] * bool(left_out) + kept)


def _entries(number: int, run: RunRecord) -> Iterator[_Entry]:
    count = len(run.messages)
    yield _Entry(_HEADING, f"--- Run {number} ({run.tool_status}, {count} messages) ---")
    if run.meta.task and not any(isinstance(each, ev.UserMessage) for each in run.messages):
        yield _Entry(_USER, run.meta.task)  # it never began, or pi never repeated what it was asked
    if run.output and not run.messages:  # a host's log keeps no more
        yield _Entry(_ASSISTANT, run.output)
    for message in run.messages:
        match message:
            case ev.UserMessage(text):
                yield _Entry(_USER, text)
            case ev.AssistantMessage():
                if message.text.strip():
                    yield _Entry(_ASSISTANT, message.text)
                for call in message.tool_calls:
                    yield _Entry(_CALL, _call_text(call))
                if message.error_message and message.error_message != run.error_message:
                    yield _Entry(_ERROR, message.error_message)
            case ev.ToolFinished():
                yield _Entry(_RESULT, cut(message.text, MAX_TOOL_RESULT, "...") or "(empty)")
    if run.error_message:
        yield _Entry(_ERROR, run.error_message)


def _call_text(call: ev.ToolCall) -> str:
    """Return the call as people write one: a single text stands for itself."""
    match list((call.arguments or {}).values()):
        case [str(only)]:
            return f"{call.name}({cut(only, MAX_ARGUMENTS, '')})"
        case _:
            return f"{call.name}({arguments_preview(call)})"


def _size(entry: _Entry) -> int:
    """Return what the entry takes, with the newline after it; nothing where it is left out."""
    return len(entry.shown().encode("utf-8", "replace")) + 1 if entry.text else 0

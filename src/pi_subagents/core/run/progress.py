"""
Describe in plain words what a child is doing.

In: events in order.  Out: for each, one text or none.  The child's own words come first, tool
activity is put into words from the arguments at hand, results are tied to their call.
Nothing is invented: without arguments the tool's name has to do.  Live lines and transcripts
use this one formatter; cutting to a width is the face's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core import messages
from pi_subagents.core.answer.messages import answer_does_not_fit
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMAND_WIDTH = 400  # whoever shows less cuts it again
NAME_WIDTH = 120
REASON_WIDTH = 300
MAX_OPEN_CALLS = 256


@value
class _Wording:
    """How one known tool is put into words; `arguments` may name what it acts on, the `{}`."""

    arguments: tuple[str, ...]
    started: str
    finished: str
    failed: str


_PATH = ("path", "file_path")
_WORDINGS: Mapping[str, _Wording] = {
    "read": _Wording(_PATH, "Reading {}", "Finished reading {}", "Read failed: {}"),
    "edit": _Wording(_PATH, "Editing {}", "Finished editing {}", "Edit failed: {}"),
    "write": _Wording(_PATH, "Writing {}", "Finished writing {}", "Write failed: {}"),
    "ls": _Wording(("path",), "Listing {}", "Finished listing {}", "List failed: {}"),
    "grep": _Wording(
        ("pattern", "query"), "Searching code for {}", "Search finished", "Search failed"
    ),
    "find": _Wording(("pattern",), "Scanning for {}", "Scan finished", "Scan failed"),
    "submit_answer": _Wording(
        (), "Submitting the answer", "Answer submitted", "The answer was not taken"
    ),
    "bash": _Wording(("command",), "{}", "Command finished: {}", "Command failed: {}"),
}


def steer_text(event: ev.Steer, text: str) -> str:
    """Return what became of a message to the child, of which this much is quoted."""
    if event.number in messages.ASKED_TO_FINISH:
        return messages.wrap_up_line(event.number, event.reason)
    return messages.steer_line(text, event.reason)


def failure_reason(event: ev.ToolFinished) -> str:
    """Return in one line why a call failed; a shell says it last, other tools say it first."""
    lines = [line for line in event.text.split("\n") if line.strip()]
    line = lines[-1 if event.name == "bash" else 0] if lines else ""
    return one_line(line, REASON_WIDTH).rstrip(":")


def failure_line(event: ev.Event) -> str:
    """Return the line below a call that failed, which says why; nothing for anything else."""
    reason = failure_reason(event) if isinstance(event, ev.ToolFinished) and event.failed else ""
    return f"✗ {reason}" if reason else ""


class ProgressFormatter:
    """Remember the calls under way, so that a result can name what it is the result of."""

    def __init__(self) -> None:
        self._calls: dict[str, ev.ToolCall] = {}

    def text(self, event: ev.Event) -> str:
        """Return the line for the event, or an empty text."""
        match event:
            case ev.AssistantMessage():
                for call in event.tool_calls:
                    self._remember(call)
                return event.text.strip()
            case ev.ToolStarted(call):
                return _indented(self._started(call), call.parent_id)
            case ev.ToolFinished():
                return _indented(self._finished(event), event.parent_id)
            case ev.Retrying():
                why = one_line(event.error_message, COMMAND_WIDTH)
                number = f" ({event.attempt}/{event.max_attempts})" if event.attempt else ""
                return f"Retrying{number}: {why}" if why else f"Retrying{number}"
            case ev.OutputText(text):
                return text.rstrip()
            case ev.ErrorText(text):
                return f"[stderr]: {text.rstrip()}" if text.strip() else ""
            case ev.Note(text):
                return text
            case ev.ValueRefused(problem):
                return answer_does_not_fit(problem)
            case ev.Steer():
                return _sentence(steer_text(event, event.text.strip()))
            case ev.Asked(_, text):
                return _sentence(run_messages.asks(one_line(text, COMMAND_WIDTH)))
            case ev.Replied(_, status, text, reason):
                said = run_messages.reply_line(status, one_line(text, COMMAND_WIDTH), reason)
                return _sentence(said)
            case _:
                return ""

    def _remember(self, call: ev.ToolCall) -> None:
        self._calls.pop(call.call_id, None)
        if len(self._calls) >= MAX_OPEN_CALLS:
            self._calls.pop(next(iter(self._calls)))
        self._calls[call.call_id] = call

    def _started(self, call: ev.ToolCall) -> str:
        if call.arguments is None:
            call = self._calls.get(call.call_id, call)
        self._remember(call)
        known = _known(call)
        return known[0].started.format(known[1]) if known else f"Running {_name(call.name)}"

    def _finished(self, event: ev.ToolFinished) -> str:
        call = self._calls.pop(event.call_id, None)
        known = _known(call) if call else None
        if known is None:
            return f"{_name(event.name)} {'failed' if event.failed else 'finished'}"
        wording, subject = known
        return (wording.failed if event.failed else wording.finished).format(subject)


class LastWords:
    """What each of several children did last, in the words above."""

    def __init__(self) -> None:
        self._formatters: dict[int, ProgressFormatter] = {}
        self.of_each: dict[int, str] = {}
        self.latest: tuple[int, str] | None = None

    def hear(self, child: int, event: ev.Event) -> None:
        """Take an event of one child; one that is not worth a word changes nothing."""
        formatter = self._formatters.setdefault(child, ProgressFormatter())
        if text := formatter.text(event):
            self.of_each[child] = text
            self.latest = child, text


def _known(call: ev.ToolCall) -> tuple[_Wording, str] | None:
    """Return the wording and what the call acts on, where both are known."""
    wording = _WORDINGS.get(call.name)
    if wording is None or call.arguments is None:
        return None
    if not wording.arguments:
        return wording, ""
    for key in wording.arguments:
        value = call.arguments.get(key)
        subject = one_line(value, COMMAND_WIDTH) if isinstance(value, str) else ""
        if subject:
            return wording, subject
    return None


def _sentence(line: str) -> str:
    return line[:1].upper() + line[1:]


def _indented(text: str, parent_id: str) -> str:
    """Return what a script had done below what the model asked for."""
    return f"  {text}" if parent_id else text


def _name(name: str) -> str:
    return one_line(name, NAME_WIDTH) or "tool"

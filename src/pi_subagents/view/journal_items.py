"""
The entries of a journal as items of a transcript that somebody looks at and opens.

In: an entry; a call with its result.  Out: JSON, or None for what is not worth a line.  All texts
are printable, long ones cut, with the number of characters that are left.
"""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.known_calls import KnownCalls
from pi_subagents.core.run.progress import ProgressFormatter, failure_reason
from pi_subagents.view.toolcall import format_tool_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pi_subagents.core.run.journal import JournalEntry
    from pi_subagents.core.value import JsonObject

MAX_TEXT = 20_000  # of an item; what is longer is had by asking for that one
MAX_DETAIL = 300_000
MAX_TITLE = 200
MAX_ARGUMENTS = 40
MAX_DIFF_LINES = 400  # beyond these, a comparison could take seconds
MAX_EXCERPT = 160
BEFORE_A_HIT = 40
# What tools that change a file call the old text, the new one, and the whole of it.
_OLD, _NEW = (
    ("oldText", "old_string", "old_text", "old_str"),
    ("newText", "new_string", "new_text", "new_str"),
)
_WHOLE = ("content",)
_PATHS = ("path", "file_path", "filePath", "file")


class ItemMaker:
    """Make items of the entries of one journal, in their order."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._calls = KnownCalls()
        self._words = ProgressFormatter()

    def item(self, entry: JournalEntry) -> JsonObject | None:
        """Return an entry as an item, or None where there is nothing to show."""
        shown = _shown(self._calls.completed(entry.event), self._words, self._cwd)
        return {"seq": entry.seq, "t": entry.time_ms, **shown} if shown else None


def whole_item(event: ev.Event, done: ev.ToolFinished | None) -> JsonObject:
    """Return all there is of one event: of a call its arguments, what it changed, its output."""
    if isinstance(event, ev.ToolStarted):
        arguments = event.call.arguments or {}
        return {
            "arguments": [
                [one_line(name, MAX_TITLE), _cut(text)] for name, text in _named(arguments)
            ],
            "diff": _cut(_difference(arguments)),
            "output": _cut(done.text) if done else "",
            "failed": done is not None and done.failed,
            "done": done is not None,
        }
    return {"text": _cut(text_of(event))}


def text_of(event: ev.Event) -> str:
    """Return everything that an event says, to be searched."""
    match event:
        case ev.ToolStarted(call):
            return f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}"
        case ev.AssistantMessage():
            return "\n".join(filter(None, (event.text, event.error_message)))
        case ev.Retrying():
            return event.error_message
        case ev.ValueGiven():
            return event.text
        case ev.ValueRefused(problem):
            return problem
        case ev.Asked(text=text, options=options):
            return "\n".join((text, *options))
        case ev.StateChanged() | ev.Settled() | ev.Activity():
            return ""
        case _:
            return event.text


def excerpt(text: str, at: int) -> str:
    """Return a line of a text around a place in it."""
    begin = max(at - BEFORE_A_HIT, 0)
    return ("…" if begin else "") + one_line(text[begin : begin + 2 * MAX_EXCERPT], MAX_EXCERPT)


def _shown(event: ev.Event, words: ProgressFormatter, cwd: str) -> JsonObject | None:
    match event:
        case ev.UserMessage(text):
            return {"kind": "asked", **_text(text)}
        case ev.AssistantMessage():
            return {
                "kind": "said",
                **_text(event.text.strip()),
                "error": printable(event.error_message[:MAX_TEXT]),
                "model": one_line(event.model, MAX_TITLE),
                "tokens": event.usage.total_tokens,
                "cost": event.usage.cost,
                "took": event.duration_ms,
            }
        case ev.ToolStarted(call):
            return {
                "kind": "call",
                "id": printable(call.call_id),
                "name": one_line(call.name, MAX_TITLE),
                "title": _title(call, cwd),
                "below": bool(call.parent_id),
            }
        case ev.ToolFinished():
            return {
                "kind": "result",
                "id": printable(event.call_id),
                "name": one_line(event.name, MAX_TITLE),
                "failed": event.failed,
                "reason": failure_reason(event) if event.failed else "",
                "took": event.duration_ms,
                "below": bool(event.parent_id),
            }
        case ev.Asked(_, text, options):
            named = [one_line(option, MAX_TITLE) for option in options]
            return {"kind": "question", **_text(text), "options": named}
        case ev.Limited(provider, text=text):
            return {"kind": "limit", "text": one_line(f"{provider}: {text}", MAX_TITLE)}
        case ev.ValueGiven(given):
            text = json.dumps(given, ensure_ascii=False, indent=2)
            return {"kind": "value", **_text(text)}
        case ev.StateChanged() | ev.Settled() | ev.Activity():
            return None
        case _:
            said = words.text(event)
            kind = "error" if isinstance(event, ev.ErrorText) else "note"
            return {"kind": kind, **_text(said)} if said else None


def _text(text: str) -> JsonObject:
    left = len(text) - MAX_TEXT
    return {"text": printable(text[:MAX_TEXT]), **({"left": left} if left > 0 else {})}


def _cut(text: str) -> str:
    left = len(text) - MAX_DETAIL
    return printable(text[:MAX_DETAIL]) + (f"\n[{left} more characters]" if left > 0 else "")


def _title(call: ev.ToolCall, cwd: str) -> str:
    lines = format_tool_call(call, cwd=cwd, home="", width=MAX_TITLE)
    return one_line(" ".join("".join(span.text for span in line) for line in lines), MAX_TITLE)


def _named(arguments: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, given in list(arguments.items())[:MAX_ARGUMENTS]:
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=2)
        yield name, text


def _difference(arguments: Mapping[str, object]) -> str:
    """Return what a call is to change in a file, as a patch has it; nothing where it is no such."""
    path = _first(arguments, _PATHS)
    edits = arguments.get("edits")
    several = [each for each in edits if isinstance(each, dict)] if isinstance(edits, list) else []
    parts = []
    for each in (*several, arguments):
        old, new = _first(each, _OLD), _first(each, _NEW)
        if old is not None and new is not None:
            parts += _compared(old, new)
    if not parts and path is not None and (whole := _first(arguments, _WHOLE)) is not None:
        parts = [f"+{line}" for line in whole.splitlines()]
    return "\n".join([f"--- {path}", *parts]) if parts and path else "\n".join(parts)


def _first(given: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    found = (given.get(name) for name in names)
    return next((each for each in found if isinstance(each, str)), None)


def _compared(old: str, new: str) -> list[str]:
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > MAX_DIFF_LINES:
        return ["@@", *(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    lines = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
    return ["@@" if line.startswith("@@") else line for line in lines]

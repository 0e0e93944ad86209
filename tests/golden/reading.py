"""Read a recorded stream with our own parts, into plain values that a file can promise."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pi_subagents.core import events as ev
from pi_subagents.core.framing import Line, LineFramer
from pi_subagents.core.outcome import Ending, RunFold
from pi_subagents.core.progress import ProgressFormatter
from pi_subagents.core.value import as_dict

Plain = dict[str, object]


@dataclass(frozen=True)
class Golden:
    """What one recorded stream comes to."""

    exit_code: int
    events: list[Plain]
    progress: list[str]
    outcome: Plain
    totals: Plain

    def to_json(self) -> str:
        return json.dumps(vars(self), indent=1, ensure_ascii=True) + "\n"


def _plain(value: object) -> Plain:
    """Return a value's content by name, at every depth."""

    def inner(content: object) -> object:
        if isinstance(content, tuple):
            return [inner(each) for each in content]
        return _plain(content) if hasattr(content, "__match_args__") else content

    return {name: inner(content) for name, content in as_dict(value).items()}


def read_stream(
    raw: bytes, exit_code: int, chunk: int = 65536
) -> tuple[list[Plain], list[str], Plain, Plain]:
    """Return events (activity left out), progress texts, outcome and totals, as JSON has them."""
    framer, fold, formatter = LineFramer(), RunFold(), ProgressFormatter()
    events: list[Plain] = []
    progress: list[str] = []
    frames = [f for i in range(0, len(raw), chunk) for f in framer.feed(raw[i : i + chunk])]
    for frame in [*frames, *framer.end()]:
        assert isinstance(frame, Line)
        event = ev.decode_pi_line(frame.data)
        fold.apply(event)
        if not isinstance(event, ev.Activity):
            events.append({"event": type(event).__name__, **_plain(event)})
        if text := formatter.text(event):
            progress.append(text)
    totals = {
        "messages": fold.messages,
        "tool_calls": fold.tool_calls,
        "settled": fold.settled,
        "usage": _plain(fold.usage),
    }
    outcome = _plain(fold.decide(Ending(exit_code=exit_code)))
    return tuple(json.loads(json.dumps([events, progress, outcome, totals])))

"""Read a recorded stream with our own parts, into plain values that a file can promise."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents.core.framing import Line, LineFramer
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Ending, RunFold
from pi_subagents.core.run.progress import ProgressFormatter
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import as_dict
from pi_subagents.engines.conversation import Beginning
from pi_subagents.engines.pi.conversation import JsonConversation
from pi_subagents.engines.pi.rpc_conversation import RpcConversation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Plain = dict[str, object]
Read = tuple[list[Plain], list[str], Plain, Plain]
PROMPT = "Look around."
STEER = "Use the other file."


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


def plain(value: object) -> Plain:
    """Return a value's content by name, at every depth."""

    def inner(content: object) -> object:
        if isinstance(content, tuple):
            return [inner(each) for each in content]
        return plain(content) if hasattr(content, "__match_args__") else content

    return {name: inner(content) for name, content in as_dict(value).items()}


@dataclass(frozen=True, slots=True)
class Sending:
    """A channel that is a function."""

    send: Callable[[bytes], None]


class RpcReader:
    """Speaks with a pi in RPC mode, or with a recording of one, as a supervisor does."""

    def __init__(self, send: Callable[[bytes], None], *, session: str, steers: bool) -> None:
        self.talk = RpcConversation("golden", Sending(send))
        self._steers = steers
        self.talk.begin(Beginning(PROMPT, session, on_ready=lambda: None))

    def hears(self, line: bytes) -> list[ev.Event]:
        """Take one line; a message is sent at the child's first tool call."""
        events = self.talk.hears(line, 0.0)
        if any(isinstance(event, ev.ToolStarted) for event in events) and self._steers:
            self._steers = False
            self.talk.steer("1", STEER)
        return [*events, *self.talk.take_news()]


def read_stream(raw: bytes, exit_code: int, chunk: int = 65536) -> Read:
    """Return events (activity left out), progress texts, outcome and totals, as JSON has them."""
    talk = JsonConversation()
    events = (event for line in _lines(raw, chunk) for event in talk.hears(line, 0.0))
    return _read(events, exit_code, Usage)


def read_rpc_stream(raw: bytes, exit_code: int, *, steers: bool) -> tuple[Read, list[bytes]]:
    """Return the same of a recording in RPC mode, and what the child was told."""
    sent: list[bytes] = []
    reader = RpcReader(sent.append, session="/PROJECT/session.jsonl", steers=steers)
    events = [event for line in _lines(raw, 65536) for event in reader.hears(line)]
    assert reader.talk.over
    return _read(events, exit_code, lambda: reader.talk.usage or Usage()), sent


def _lines(raw: bytes, chunk: int) -> Iterable[bytes]:
    framer = LineFramer()
    frames = [f for i in range(0, len(raw), chunk) for f in framer.feed(raw[i : i + chunk])]
    for frame in [*frames, *framer.end()]:
        assert isinstance(frame, Line)
        yield frame.data


def _read(heard: Iterable[ev.Event], exit_code: int, account: Callable[[], Usage]) -> Read:
    fold, formatter = RunFold(), ProgressFormatter()
    events: list[Plain] = []
    progress: list[str] = []
    for event in heard:
        fold.apply(event)
        if not isinstance(event, ev.Activity):
            events.append({"event": type(event).__name__, **plain(event)})
        if text := formatter.text(event):
            progress.append(text)
    fold.count(account())
    totals = {
        "messages": fold.messages,
        "tool_calls": fold.facts()["tool_call_count"],
        "settled": fold.settled,
        "usage": plain(fold.usage),
    }
    outcome = plain(fold.decide(Ending(exit_code=exit_code)))
    return tuple(json.loads(json.dumps([events, progress, outcome, totals])))

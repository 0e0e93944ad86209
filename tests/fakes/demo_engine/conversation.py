"""The supervisor's side: what the agent says becomes events, what is asked becomes lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pi_subagents.core.run import events as ev
from pi_subagents.core.usage import Usage
from pi_subagents.engines.plain import PlainConversation

if TYPE_CHECKING:
    from pi_subagents.engines.conversation import Beginning, Channel


class DemoConversation(PlainConversation):
    can_steer = can_abort = True

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel
        self._steers: dict[str, str] = {}

    def begin(self, beginning: Beginning) -> None:
        self._send("ask", beginning.prompt)

    def hears(self, line: bytes, now: float) -> tuple[ev.Event, ...]:  # noqa: ARG002 - clock-free
        said = line.decode("utf-8", "replace")
        word, _, rest = said.partition(" ")
        content = _content(rest)
        match word, content:
            case "working", _:
                return ()
            case "call", {"name": str(name), "arguments": dict(arguments)}:
                return (ev.ToolStarted(ev.ToolCall("", name, arguments)),)
            case "answer", str(text):
                return (ev.AssistantMessage(text, stop_reason="stop"),)
            case "failed", str(why):
                return (ev.AssistantMessage("", stop_reason="error", error_message=why),)
            case "used", int(tokens):
                self.usage = Usage(output=tokens, total_tokens=tokens)
                return ()
            case "heard", str(text):
                number = next((n for n, sent in self._steers.items() if sent == text), "")
                self._news.append(ev.Steer(number, ev.DELIVERED, self._steers.pop(number, text)))
                return ()
            case (("halted" | "done"), _):
                self.over, self.aborted = True, word == "halted"
                return (ev.Settled(aborted=self.aborted),)
        return (ev.OutputText(said),)

    def steer(self, number: str, text: str) -> None:
        if self.over:
            self._news.append(ev.Steer(number, ev.REFUSED, text, "It is done."))
        else:
            self._steers[number] = text
            self._send("hear", text)

    def abort(self) -> None:
        self._send("halt", "")

    def _send(self, word: str, text: str) -> None:
        self._channel.send(f"{word} {json.dumps(text)}\n".encode())


def _content(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def open_conversation(mode: str, run_id: str, channel: Channel) -> DemoConversation:
    return DemoConversation(channel)

"""A channel to a conversation with an agent that speaks ACP: what it was sent, as records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pi_subagents.engines.acp.conversation import open_conversation
from pi_subagents.engines.acp.orders import AgentOrders, orders_text
from pi_subagents.engines.conversation import Beginning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.core.run import events as ev

SESSION = "s-1"
OPTIONS = [
    {"id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": "a/small",
     "options": [{"group": "g", "name": "G", "options": [{"value": "a/large", "name": "Large"}]}]},
    {"id": "t", "name": "Effort", "category": "thought_level", "type": "select", "currentValue": "low",
     "options": [{"value": "low", "name": "Low"}, {"value": "high", "name": "High"}]},
]  # fmt: skip
MODES = {"currentModeId": "yolo", "availableModes": [{"id": "default", "name": "Default"}]}
ANSWERS: dict[str, dict[str, Any]] = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}},
    "authenticate": {},
    "session/new": {"sessionId": SESSION, "configOptions": OPTIONS, "modes": MODES},
    "session/load": {"configOptions": OPTIONS, "modes": MODES},
    "session/set_mode": {},
    "session/set_config_option": {"configOptions": OPTIONS},
    "_session/steering": {"outcome": "injected"},
}


class AcpTalk:
    """A conversation whose agent answers what it is asked before its prompt."""

    def __init__(self, agent: str = "unheard-of", within_s: float = 0, **orders: Any) -> None:
        self.sent: list[dict[str, Any]] = []
        self.events: list[ev.Event] = []
        self.kept: list[bytes] = []
        self.talk = open_conversation(agent, "run", self)
        self.answers = dict(ANSWERS)
        self._orders = orders_text(AgentOrders(**{"cwd": "/w", **orders}))
        self._within_s = within_s

    def send(self, line: bytes) -> None:
        assert line.endswith(b"\n")
        assert line.isascii()
        self.sent.append(json.loads(line))

    def begins(self, prompt: str = "Look.") -> AcpTalk:
        self.talk.begin(
            Beginning(
                prompt,
                answer_within_s=self._within_s,
                orders=self._orders,
                on_session=self.kept.append,
            )
        )
        self.answer_all()
        return self

    def answer_all(self) -> None:
        """Answer what was asked, but for the prompt, which stays open."""
        answered = 0
        while answered < len(self.sent):
            asked = self.sent[answered]
            answered += 1
            if "id" not in asked or (reply := self.answers.get(asked.get("method", ""))) is None:
                continue
            given = reply if "error" in reply else {"result": reply}
            self.hears({"jsonrpc": "2.0", "id": asked["id"], **given})

    def hears(self, *messages: object, now: float = 0.0) -> None:
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.events += self.talk.hears(line, now)
            self.take_news()

    def take_news(self) -> None:
        self.events += self.talk.take_news()

    def updates(self, kind: str, /, **fields: Any) -> None:
        params = {"sessionId": SESSION, "update": {"sessionUpdate": kind, **fields}}
        self.hears({"jsonrpc": "2.0", "method": "session/update", "params": params})

    def says(self, text: str, **more: Any) -> None:
        self.updates("agent_message_chunk", content={"type": "text", "text": text}, **more)

    def asks(self, own: int, call: dict[str, Any], kinds: Iterable[str]) -> None:
        named = [{"optionId": f"o-{kind}", "name": kind, "kind": kind} for kind in kinds]
        params = {"sessionId": SESSION, "toolCall": call, "options": named}
        asked = {"id": own, "method": "session/request_permission", "params": params}
        self.hears({"jsonrpc": "2.0", **asked})

    def ends(self, reason: str = "end_turn", **more: Any) -> None:
        (prompt,) = [m for m in self.sent if m.get("method") == "session/prompt"][-1:]
        result = {"stopReason": reason, **more}
        self.hears({"jsonrpc": "2.0", "id": prompt["id"], "result": result})

    def methods(self) -> list[str]:
        return [each["method"] for each in self.sent if "method" in each]

    def responses(self) -> dict[object, Any]:
        """Return what we answered, by the ids of the agent's requests, each answered once."""
        found = [each for each in self.sent if "method" not in each]
        assert len({json.dumps(each["id"]) for each in found}) == len(found)
        return {each["id"]: each.get("result", each.get("error")) for each in found}

    def seen(self, *kinds: type[ev.Event]) -> list[ev.Event]:
        return [event for event in self.events if isinstance(event, kinds)]

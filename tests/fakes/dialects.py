"""
How children of each engine say the same things: what the contract of conversations is tried with.

A dialect answers what its conversation sent, as a well-behaved child would.
"""

from __future__ import annotations

import json
from typing import Any


class PiJson:
    """pi in JSON mode: it has read its prompt before we hear anything."""

    engine, mode = "pi", "json"

    def resumes(self, sent: list[bytes], session: str) -> list[bytes]:
        """Answer what opens the child's own session; nothing where it has none to open."""
        del sent, session
        return []

    def obeys(self, sent: list[bytes], orders: str) -> list[bytes]:
        """Answer what gives the run's orders; nothing where they take another way."""
        del sent, orders
        return []

    def begins(self, sent: list[bytes], prompt: str) -> list[bytes]:
        assert sent == []
        return [_line({"type": "agent_start"}), self._message("user", prompt)]

    def calls(self, name: str, **arguments: object) -> list[bytes]:
        start = {"type": "tool_execution_start", "toolCallId": "", "toolName": name}
        return [_line({**start, "args": arguments})]

    def submits(self, value: object) -> list[bytes]:
        """Give the answer by the tool for it; nothing where there is none."""
        end = {"type": "tool_execution_end", "toolCallId": "", "toolName": "submit_answer"}
        result = {"content": [], "details": {"value": value}, "terminate": True}
        return [_line({**end, "result": result, "isError": False})]

    def asks(self, text: str, options: tuple[str, ...]) -> list[bytes]:
        """Ask somebody something; nothing where there is no way to."""
        del text, options
        return []

    def answers(self, text: str) -> list[bytes]:
        return [self._message("assistant", text, stopReason="stop", usage={"output": 7})]

    def fails(self, why: str) -> list[bytes]:
        return [self._message("assistant", "", stopReason="error", errorMessage=why)]

    def is_limited(self) -> list[bytes]:
        """Fail because the provider answers no more; nothing where that looks like any error."""
        why = "429 Too many requests: try again in 20s"
        message = {"stopReason": "error", "errorMessage": why, "provider": "acme"}
        return [self._message("assistant", "", **message)]

    def reads(self, sent: list[bytes], text: str) -> list[bytes]:
        del sent, text
        return []

    def settles(self, sent: list[bytes], *, aborted: bool = False) -> list[bytes]:
        del sent
        return [_line({"type": "agent_settled", "aborted": aborted})]

    def accounts(self, sent: list[bytes]) -> list[bytes]:
        del sent
        return []

    @staticmethod
    def _message(role: str, text: str, **more: object) -> bytes:
        content = [{"type": "text", "text": text}] if text else []
        message = {"role": role, "content": content, **more}
        return _line({"type": "message_end", "message": message})


class PiRpc(PiJson):
    """pi in RPC mode: every command is answered."""

    mode = "rpc"

    def resumes(self, sent: list[bytes], session: str) -> list[bytes]:
        (asked,) = _records(sent)
        assert (asked["type"], asked["sessionPath"]) == ("switch_session", session)
        return [_response(asked)]

    def obeys(self, sent: list[bytes], orders: str) -> list[bytes]:
        (asked,) = _records(sent)
        assert (asked["type"], asked["message"]) == ("prompt", f"/pi-subagents-orders {orders}")
        return [_response(asked, disposition="handled")]

    def begins(self, sent: list[bytes], prompt: str) -> list[bytes]:
        (asked,) = _records(sent)
        assert (asked["type"], asked["message"]) == ("prompt", prompt)
        return [_response(asked), *super().begins([], prompt)]

    def asks(self, text: str, options: tuple[str, ...]) -> list[bytes]:
        method = "select" if options else "input"
        asked = {"type": "extension_ui_request", "id": "d1", "method": method, "title": text}
        return [_line({**asked, "options": options})]

    def reads(self, sent: list[bytes], text: str) -> list[bytes]:
        (steer,) = _records(sent)
        assert (steer["type"], steer["message"]) == ("steer", text)
        return [_response(steer), self._message("user", text)]

    def settles(self, sent: list[bytes], *, aborted: bool = False) -> list[bytes]:
        return [*map(_response, _records(sent)), *super().settles([], aborted=aborted)]

    def accounts(self, sent: list[bytes]) -> list[bytes]:
        (asked,) = _records(sent)
        assert asked["type"] == "get_session_stats"
        return [_response(asked, tokens={"output": 7, "total": 7}, cost=0)]


class Demo:
    """The demonstration: words with a JSON value."""

    engine, mode = "demo", ""

    def resumes(self, sent: list[bytes], session: str) -> list[bytes]:
        del sent, session
        return []

    def obeys(self, sent: list[bytes], orders: str) -> list[bytes]:
        del sent, orders
        return []

    def begins(self, sent: list[bytes], prompt: str) -> list[bytes]:
        assert sent == [f"ask {json.dumps(prompt)}\n".encode()]
        return [b'working ""']

    def calls(self, name: str, **arguments: object) -> list[bytes]:
        return [f"call {json.dumps({'name': name, 'arguments': arguments})}".encode()]

    def submits(self, value: object) -> list[bytes]:
        del value
        return []

    def asks(self, text: str, options: tuple[str, ...]) -> list[bytes]:
        del text, options
        return []

    def answers(self, text: str) -> list[bytes]:
        return [f"answer {json.dumps(text)}".encode(), b"used 7"]

    def fails(self, why: str) -> list[bytes]:
        return [f"failed {json.dumps(why)}".encode()]

    def is_limited(self) -> list[bytes]:
        return []

    def reads(self, sent: list[bytes], text: str) -> list[bytes]:
        assert sent == [f"hear {json.dumps(text)}\n".encode()]
        return [f"heard {json.dumps(text)}".encode()]

    def settles(self, sent: list[bytes], *, aborted: bool = False) -> list[bytes]:
        assert sent == ([b'halt ""\n'] if aborted else [])
        return [b"halted" if aborted else b"done"]

    def accounts(self, sent: list[bytes]) -> list[bytes]:
        assert sent == []
        return []


class Acp:
    """An agent that speaks the Agent Client Protocol, with the least that it requires."""

    session = "s-1"

    def __init__(self, agent: str) -> None:
        self.engine, self.mode = f"acp:{agent}", agent
        self._prompt = 0  # the number of the last prompt

    def resumes(self, sent: list[bytes], session: str) -> list[bytes]:
        del sent, session  # its own is named by its orders
        return []

    def obeys(self, sent: list[bytes], orders: str) -> list[bytes]:
        del sent, orders  # they shape what is said before the prompt
        return []

    def begins(self, sent: list[bytes], prompt: str) -> list[bytes]:
        asked = self._read(sent)
        if [each["method"] for each in asked] == ["session/prompt"]:
            assert asked[0]["params"]["prompt"] == [{"type": "text", "text": prompt}]
            return []
        assert [each["method"] for each in asked] == ["initialize"]
        self._prompt = 3
        option = {"id": "model", "category": "model", "type": "select", "name": "Model"}
        offered = {"value": "acme/best", "name": "Best"}
        opened = {"sessionId": self.session, "configOptions": [
            {**option, "currentValue": "acme/best", "options": [offered]}
        ]}  # fmt: skip
        return [_answer(1, {"protocolVersion": 1}), _answer(2, opened)]

    def calls(self, name: str, **arguments: object) -> list[bytes]:
        call = {"toolCallId": f"c{arguments}", "title": name, "kind": "other"}
        return [
            self._update("tool_call", **call, status="pending", rawInput={}),
            self._update("tool_call_update", **call, status="in_progress", rawInput=arguments),
        ]

    def submits(self, value: object) -> list[bytes]:
        del value
        return []

    def asks(self, text: str, options: tuple[str, ...]) -> list[bytes]:
        call = {"toolCallId": f"q-{text}", "title": text, "status": "pending"}
        named = [
            {"optionId": f"o{n}", "name": name, "kind": "allow_once"}
            for n, name in enumerate(options or ("this", "that"))
        ]
        params = {"sessionId": self.session, "toolCall": call, "options": named}
        return [_rpc(id=0, method="session/request_permission", params=params)]

    def answers(self, text: str) -> list[bytes]:
        content = {"type": "text", "text": text}
        return [self._update("agent_message_chunk", messageId="m1", content=content)]

    def fails(self, why: str) -> list[bytes]:
        return [_rpc(id=self._prompt, error={"code": -32603, "message": why})]

    def is_limited(self) -> list[bytes]:
        return [_rpc(id=3, error={
            "code": -32603,
            "message": "Internal error",
            "data": {"details": "429 Too many requests: try again in 20s"},
        })]  # fmt: skip

    def reads(self, sent: list[bytes], text: str) -> list[bytes]:
        steer = [each for each in self._read(sent) if text in json.dumps(each)]
        if self.mode == "qwen":
            return [_rpc(id=9, method="craft/drainMidTurnQueue", params={})]
        return [_answer(each["id"], {"outcome": "injected"}) for each in steer]

    def settles(self, sent: list[bytes], *, aborted: bool = False) -> list[bytes]:
        said = [each["method"] for each in self._read(sent) if "method" in each]
        assert ("session/cancel" in said) is aborted
        used = {"inputTokens": 0, "outputTokens": 7, "totalTokens": 7}
        per_request = self._update(
            "agent_message_chunk", content={"type": "text", "text": ""}, _meta={"usage": used}
        )
        quota = {"quota": {"token_count": {"input_tokens": 0, "output_tokens": 7}}}
        answer = {"stopReason": "cancelled" if aborted else "end_turn", "usage": used}
        return [per_request, _answer(self._prompt, {**answer, "_meta": quota})]

    def accounts(self, sent: list[bytes]) -> list[bytes]:
        del sent
        return []

    def _read(self, sent: list[bytes]) -> list[dict[str, Any]]:
        said = _records(sent)
        for each in said:
            if each.get("method") == "session/prompt":
                self._prompt = self._prompt if self._is_steer(each) else each["id"]
        return said

    @staticmethod
    def _is_steer(prompt: dict[str, Any]) -> bool:
        return "Use the other" in json.dumps(prompt)

    def _update(self, of: str, /, **update: object) -> bytes:
        params = {"sessionId": self.session, "update": {"sessionUpdate": of, **update}}
        return _rpc(method="session/update", params=params)


AGENTS = tuple(Acp(agent) for agent in ("opencode", "codex", "claude", "gemini", "qwen", "pi-acp"))
Dialect = PiJson | Demo | Acp
DIALECTS: tuple[Dialect, ...] = (PiRpc(), PiJson(), Demo(), *AGENTS, Acp("unheard-of"))


def _rpc(**message: object) -> bytes:
    return _line({"jsonrpc": "2.0", **message})


def _answer(to: int, result: object) -> bytes:
    return _rpc(id=to, result=result)


def _records(sent: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in sent]


def _response(asked: dict[str, Any], **data: object) -> bytes:
    head = {"id": asked["id"], "type": "response", "command": asked["type"]}
    return _line({**head, "success": True, "data": data})


def _line(record: dict[str, object]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()

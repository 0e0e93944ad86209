"""
A little client of the Agent Client Protocol: what an agent does before anything of ours is involved.

In: a started agent.  Out: answers to requests, and everything it said meanwhile.  Requests of the
agent are answered by a policy, which chooses an option of a permission by its kind.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PATIENCE_S = 120


class AcpClient:
    """One agent on pipes."""

    def __init__(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], choice: str = "allow_once"
    ) -> None:
        self.said: list[dict[str, Any]] = []  # notifications and requests of the agent
        self._cwd = cwd
        self._choice = choice
        self._count = 0
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self.process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        self.process.stdout.close()

    def initialize(self) -> dict[str, Any]:
        info = {"name": "pi-subagents-tests", "version": "0"}
        return self.ask("initialize", protocolVersion=1, clientCapabilities={}, clientInfo=info)

    def new_session(self) -> str:
        session: str = self.ask("session/new", cwd=str(self._cwd), mcpServers=[])["sessionId"]
        return session

    def prompt(self, session: str, text: str) -> dict[str, Any]:
        parts = [{"type": "text", "text": text}]
        return self.ask("session/prompt", sessionId=session, prompt=parts)

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Return the result of a request; raises RuntimeError with what is said instead."""
        self._count += 1
        self._send({"id": self._count, "method": method, "params": params})
        while True:
            answer = self._answers.get(timeout=PATIENCE_S)
            if answer.get("id") == self._count:
                break
        if "result" not in answer:
            raise RuntimeError(f"{method}: {answer}")
        result: dict[str, Any] = answer["result"]
        return result

    def updates(self, kind: str) -> list[dict[str, Any]]:
        found = (each["params"].get("update", {}) for each in self.said)
        return [update for update in found if update.get("sessionUpdate") == kind]

    def text(self) -> str:
        """Return all that the agent has said to its user."""
        return "".join(
            each["content"].get("text", "") for each in self.updates("agent_message_chunk")
        )

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):
                self._hear(json.loads(line))
        self._answers.put({"id": self._count, "error": "the agent has ended"})

    def _hear(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._answers.put(message)
            return
        self.said.append(message)
        if "id" not in message:
            return
        answer: dict[str, Any] = {"error": {"code": -32601, "message": "not here"}}
        if message["method"] == "session/request_permission":
            options = message["params"]["options"]
            chosen = next(each["optionId"] for each in options if each["kind"] == self._choice)
            answer = {"result": {"outcome": {"outcome": "selected", "optionId": chosen}}}
        with contextlib.suppress(OSError):
            self._send({"id": message["id"], **answer})

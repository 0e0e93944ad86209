"""
What a fake pi is made of: its connection to the driver, and records as pi writes them.

In: values.  Out: bytes on standard output, whole records even where two threads write.  Nothing of
the package is imported.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from typing import Any

ADDRESS_VARIABLE = "FAKE_CHILD_SOCKET"
VERSION_VARIABLE = "FAKE_CHILD_VERSION"  # of the pi to speak like: 0.87.1, else 1.5.0
IS_OLD = os.environ.get(VERSION_VARIABLE) == "0.87.1"
ABANDONED = 99
STDOUT = 1
STDERR = 2
CHUNK = 1024 * 1024
PROVIDER = {"api": "openai-completions", "provider": "fake", "model": "fake-1"}
NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}

Json = dict[str, Any]
_writing = threading.Lock()


class Superseded(Exception):
    """The run of a connection is over; the process serves another one."""


class Link:
    """The connection to the driver."""

    def __init__(self, introduction: Json) -> None:
        host, _, port = os.environ[ADDRESS_VARIABLE].rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._lines = self._socket.makefile("rb")
        self._superseded = False
        self.reply(introduction)

    def receive(self) -> Json:
        """Return the next verb; a driver that went away ends this process too."""
        try:
            line = self._lines.readline()
        except OSError:
            line = b""
        if self._superseded:
            raise Superseded
        if not line:
            os._exit(ABANDONED)
        verb: Json = json.loads(line)
        return verb

    def reply(self, value: Json) -> None:
        self._socket.sendall(json.dumps(value).encode("ascii") + b"\n")

    def supersede(self) -> None:
        """Wake whoever waits for a verb here: none is obeyed any more."""
        self._superseded = True
        self._socket.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


def emit(record: Json) -> None:
    """Print one record as pi does: compact, raw Unicode, ended by LF."""
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    write(line.encode("utf-8", "surrogatepass") + b"\n")


def write(data: bytes, to: int = STDOUT) -> None:
    view = memoryview(data)
    with _writing:
        while view:
            view = view[os.write(to, view) :]


def write_pattern(pattern: bytes, size: int) -> None:
    block = pattern * (CHUNK // len(pattern))
    for _ in range(size // len(block)):
        write(block)
    write(block[: size % len(block)])


def newer(**fields: Any) -> Json:
    """Return what an old pi does not say."""
    return {} if IS_OLD else fields


def assistant(content: list[Json], stop_reason: str, tokens: int) -> Json:
    pending = stop_reason == "pending"
    usage = usage_of(tokens)
    more: Json = newer(durationMs=0, thinkingLevel="off")
    if pending:
        usage.pop("reasoning")
        more = {"responseId": "fake-1"} if IS_OLD else {}
    else:
        more |= {"responseId": "fake-1", "rawStopReason": stop_reason}
    return {"role": "assistant", "content": content, **PROVIDER, "usage": usage,
            "stopReason": stop_reason, "timestamp": now_ms(), **more}  # fmt: skip


def failed_assistant(stop_reason: str, message: str) -> Json:
    """Return an answer that came to nothing."""
    failure = assistant([], stop_reason, 0)
    failure = {k: v for k, v in failure.items() if k not in ("responseId", "rawStopReason")}
    failure["usage"].pop("reasoning")
    return {**failure, "errorMessage": message}


def user(text: str) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": now_ms()}


def message_update(event: Json, tokens: int) -> Json:
    return {"type": "message_update", "usage": usage_of(tokens), "assistantMessageEvent": event}


def usage_of(tokens: int) -> Json:
    return {"input": tokens, "output": tokens, "cacheRead": 0, "cacheWrite": 0, "reasoning": 0,
            "totalTokens": 2 * tokens, "cost": NO_COST}  # fmt: skip


def now_ms() -> int:
    return time.time_ns() // 1_000_000

"""
A fake `pi --mode json` that does what a test tells it, while it runs.

Takes pi's options and ignores them, reads its prompt from standard input to the end, connects to
the address in FAKE_CHILD_SOCKET, says who it is, then obeys one verb after the other: JSON lines
in, one JSON line back when the verb is done.  Until it is told something it hangs.  Its connection
ends with its life, so the other side knows of its death from the kernel.  Like the real pi it
answers SIGTERM with exit code 143.  In `--mode rpc` it only tells which models it has.

Stands alone: run as `python -I -S fake_child.py`, nothing of the project is imported.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import signal
import socket
import sys
import termios
import time
from pathlib import Path
from typing import Any, NoReturn

ADDRESS_VARIABLE = "FAKE_CHILD_SOCKET"
ABANDONED = 99
STDOUT = 1
STDERR = 2
CHUNK = 1024 * 1024
PROVIDER = {"api": "openai-completions", "provider": "fake", "model": "fake-1"}
NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
PATTERN = "0123456789abcdef"

Json = dict[str, Any]


class Link:
    """The connection to the driver."""

    def __init__(self, introduction: Json) -> None:
        host, _, port = os.environ[ADDRESS_VARIABLE].rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._lines = self._socket.makefile("rb")
        self.reply(introduction)

    def receive(self) -> Json:
        """Return the next verb; a driver that went away ends this process too."""
        try:
            line = self._lines.readline()
        except OSError:
            line = b""
        if not line:
            os._exit(ABANDONED)
        verb: Json = json.loads(line)
        return verb

    def reply(self, value: Json) -> None:
        self._socket.sendall(json.dumps(value).encode("ascii") + b"\n")

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


class FakePi:
    """One verb is one method; its arguments are the verb's."""

    def __init__(self, link: Link, prompt: bytes) -> None:
        self._link = link
        self._prompt = prompt
        self._begun = False
        self._calls = 0

    def serve(self) -> NoReturn:
        while True:
            verb = self._link.receive()
            reply = getattr(self, "do_" + verb.pop("verb"))(**verb)
            self._link.reply(reply or {})

    def do_echo(self) -> None:
        """Prove that this process lives."""

    def do_prompt(self) -> Json:
        return {"prompt": base64.b64encode(self._prompt).decode("ascii")}

    # What pi says

    def do_begin(self) -> None:
        """Say what pi says before its model answers; `say` and `tool` do it by themselves."""
        if self._begun:
            return
        self._begun = True
        now = _now()
        emit({"type": "session", "version": 3, "id": "fake", "timestamp": "2026-01-01T00:00:00Z",
              "cwd": os.getcwd()})  # fmt: skip
        emit({"type": "agent_start"})
        emit({"type": "turn_start"})
        tools = {"name": "bash", "description": "Run", "parameters": {}, "constrainedSampling": {}}
        sections = dict.fromkeys(("preamble", "tools", "rules", "docs", "cwd"), "You are a fake.")
        system = {"role": "system", "content": "", "sections": sections, "timestamp": now,
                  "toolsAdded": [tools]}  # fmt: skip
        text = self._prompt.decode("utf-8", "replace").strip()
        user = {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": now}
        for message in (system, user):
            emit({"type": "message_start", "message": message})
            emit({"type": "message_end", "message": message})

    def do_say(self, text: str, stop_reason: str = "stop", tokens: int = 1) -> None:
        self.do_begin()
        message = assistant([{"type": "text", "text": text}], stop_reason, tokens)
        emit({"type": "message_start", "message": assistant([], "pending", 0)})
        for update in (
            {"type": "text_start", "contentIndex": 0},
            {"type": "text_delta", "contentIndex": 0, "delta": text[:24]},
            {"type": "text_end", "contentIndex": 0, "content": text[:24]},
        ):
            emit(message_update(update, tokens))
        emit({"type": "message_end", "message": message})
        emit({"type": "turn_end", "message": message, "toolResults": []})

    def do_tool(
        self, name: str, arguments: Json, result: str = "done", call_id: str | None = None
    ) -> None:
        """Ask for a tool, run it, and begin the next turn."""
        self.do_begin()
        self._calls += 1
        call_id = f"call_{self._calls}" if call_id is None else call_id
        call = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        message = assistant([call], "toolUse", 1)
        emit({"type": "message_start", "message": assistant([], "pending", 0)})
        emit(message_update({"type": "toolcall_end", "contentIndex": 0, "toolCall": call}, 1))
        emit({"type": "message_end", "message": message})
        named = {"toolCallId": call_id, "toolName": name}
        content = [{"type": "text", "text": result}]
        emit({"type": "tool_execution_start", **named, "args": arguments})
        emit({"type": "tool_execution_update", **named, "args": arguments,
              "partialResult": {"content": []}})  # fmt: skip
        emit({"type": "tool_execution_end", **named, "result": {"content": content},
              "isError": False})  # fmt: skip
        answer = {"role": "toolResult", **named, "content": content, "isError": False,
                  "timestamp": _now()}  # fmt: skip
        emit({"type": "message_start", "message": answer})
        emit({"type": "message_end", "message": answer})
        emit({"type": "turn_end", "message": message, "toolResults": [answer]})
        emit({"type": "turn_start"})

    def do_fail(self, message: str, *, will_retry: bool = False) -> None:
        """Report an error of the model, and perhaps try again."""
        self.do_begin()
        failure = assistant([], "error", 0)
        failure = {k: v for k, v in failure.items() if k not in ("responseId", "rawStopReason")}
        failure["usage"].pop("reasoning")
        failure["errorMessage"] = message
        emit({"type": "message_start", "message": failure})
        emit({"type": "message_end", "message": failure})
        emit({"type": "turn_end", "message": failure, "toolResults": []})
        if will_retry:
            emit({"type": "agent_end", "messages": [], "willRetry": True})
            emit({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 10,
                  "errorMessage": message})  # fmt: skip
            emit({"type": "agent_start"})
            emit({"type": "turn_start"})

    def do_settle(self) -> None:
        emit({"type": "agent_end", "messages": [], "willRetry": False})
        emit({"type": "agent_settled"})

    # What pi never says

    def do_write(self, data: str, to: int = STDOUT, *, until_read: bool = False) -> None:
        """Write raw bytes; `until_read` waits until the other end of the pipe took them."""
        write(base64.b64decode(data), to)
        if until_read:
            while _unread(to):
                time.sleep(0.001)

    def do_long_line(self, size: int) -> None:
        """Answer with `size` bytes of text on one line, without ever holding them all."""
        self.do_begin()
        message = assistant([{"type": "text", "text": PATTERN}], "stop", 1)
        line = json.dumps({"type": "message_end", "message": message}, separators=(",", ":"))
        head, tail = line.encode("ascii").split(PATTERN.encode("ascii"))
        write(head)
        write_pattern(PATTERN.encode("ascii"), size)
        write(tail + b"\n")

    def do_endless_line(self, size: int) -> None:
        """Print `size` bytes and no end of line."""
        write_pattern(PATTERN.encode("ascii"), size)

    def do_flood(self, size: int, kind: str) -> None:
        """Print `size` bytes, or a little more: whole lines of one kind."""
        delta = {"type": "text_delta", "contentIndex": 0, "delta": PATTERN * 6}
        update = json.dumps(message_update(delta, 1), separators=(",", ":")).encode("ascii")
        line = {"updates": update, "junk": b"no record at all " * 60, "tiny": b"."}[kind] + b"\n"
        block = line * max(1, min(size, CHUNK) // len(line))
        for _ in range(-(-size // len(block))):
            write(block)

    def do_pulse(self, kind: str, every_s: float, times: int) -> None:
        """Print something at regular intervals."""
        lines = {
            "updates": (STDOUT, b'{"type":"message_update","usage":{}}\n'),
            "junk": (STDOUT, b"{not json\n\xff\xfe\n"),
            "stderr": (STDERR, b"still here\n"),
        }
        for _ in range(times):
            write(lines[kind][1], lines[kind][0])
            time.sleep(every_s)

    def do_close_stdout(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STDOUT)
        os.close(nowhere)

    # How it misbehaves

    def do_ignore_term(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def do_fork_setsid(self, *, holding_stdout: bool = False) -> None:
        """Leave a process behind as `setsid something &` in a tool does."""
        middle = os.fork()
        if middle == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            self._link.close()
            be_grandchild(holding_stdout=holding_stdout)
        os.waitpid(middle, 0)

    def do_exit(self, code: int) -> NoReturn:
        os._exit(code)

    def do_kill_self(self, number: int) -> None:
        os.kill(os.getpid(), number)


def be_grandchild(*, holding_stdout: bool) -> NoReturn:
    """Live on, whatever polite signal comes, and answer every verb."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0,) if holding_stdout else (0, STDOUT, STDERR):
        os.dup2(nowhere, descriptor)
    link = Link({"role": "grandchild", "pid": os.getpid()})
    while True:
        link.receive()
        link.reply({})


def emit(record: Json) -> None:
    """Print one record as pi does: compact, raw Unicode, ended by LF."""
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    write(line.encode("utf-8", "surrogatepass") + b"\n")


def write(data: bytes, to: int = STDOUT) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(to, view) :]


def write_pattern(pattern: bytes, size: int) -> None:
    block = pattern * (CHUNK // len(pattern))
    for _ in range(size // len(block)):
        write(block)
    write(block[: size % len(block)])


def assistant(content: list[Json], stop_reason: str, tokens: int) -> Json:
    pending = stop_reason == "pending"
    raw = {} if pending else {"rawStopReason": stop_reason}
    usage = usage_of(tokens)
    if pending:
        usage.pop("reasoning")
    return {"role": "assistant", "content": content, **PROVIDER, "usage": usage,
            "stopReason": stop_reason, "timestamp": _now(), "responseId": "fake-1",
            **raw}  # fmt: skip


def message_update(event: Json, tokens: int) -> Json:
    return {"type": "message_update", "usage": usage_of(tokens), "assistantMessageEvent": event}


def usage_of(tokens: int) -> Json:
    return {"input": tokens, "output": tokens, "cacheRead": 0, "cacheWrite": 0, "reasoning": 0,
            "totalTokens": 2 * tokens, "cost": NO_COST}  # fmt: skip


def _now() -> int:
    return time.time_ns() // 1_000_000


def _unread(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def _given_environment() -> dict[str, str]:
    """Return what was handed to exec; os.environ holds what Python adds to it as well."""
    entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    pairs = (os.fsdecode(entry).partition("=") for entry in entries if entry)
    return {name: value for name, _, value in pairs}


def tell_models() -> NoReturn:
    """Answer the one question of RPC mode, and end with the input."""
    request = json.loads(sys.stdin.readline())
    models = [{"provider": "fake", "id": each, "name": ""} for each in ("fake-1", "fake-2")]
    emit({"type": "response", "command": request["type"], "success": True,
          "data": {"models": models}})  # fmt: skip
    sys.stdin.read()
    sys.exit()


def main() -> NoReturn:
    if "rpc" in sys.argv:
        tell_models()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    prompt = sys.stdin.buffer.read()
    first_line = prompt[:200].decode("utf-8", "replace").splitlines()[:1]
    link = Link(
        {
            "role": "child",
            "pid": os.getpid(),
            "prompt": "".join(first_line),
            "arguments": sys.argv[1:],
            "environment": _given_environment(),
            "cwd": os.getcwd(),
        }
    )
    FakePi(link, prompt).serve()


if __name__ == "__main__":
    main()

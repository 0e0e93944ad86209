"""
A fake pi, `--mode json` or `--mode rpc`, that does what a test tells it, while it runs.

Takes pi's options and ignores them, takes its prompt as pi does, connects to the address in
FAKE_CHILD_SOCKET, says who it is, then obeys one verb after the other: JSON lines in, one JSON line
back when the verb is done.  Until it is told something it hangs.  Its connection ends with its
life, so the other side knows of its death from the kernel; in RPC mode there is one per prompt.
Like the real pi it answers SIGTERM with exit code 143.

Run as `python -I -S fake_child.py`; nothing of the package is imported.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import signal
import sys
import termios
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.fakes.fake_rpc import RpcPi
from tests.fakes.fake_wire import (
    CHUNK,
    STDERR,
    STDOUT,
    Json,
    Link,
    assistant,
    emit,
    failed_assistant,
    message_update,
    newer,
    now_ms,
    user,
    write,
    write_pattern,
)

if TYPE_CHECKING:
    from collections.abc import Callable

PATTERN = "0123456789abcdef"
STORM_S = 60


class FakePi:
    """One verb is one method; its arguments are the verb's."""

    def __init__(self, link: Link, prompt: bytes, say: Callable[[Json], None] = emit) -> None:
        self._link = link
        self._prompt = prompt
        self._emit = say
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
        self._open()
        self._emit({"type": "turn_start"})
        tools = {"name": "bash", "description": "Run", "parameters": {}, "constrainedSampling": {}}
        sections = dict.fromkeys(("preamble", "tools", "rules", "docs", "cwd"), "You are a fake.")
        system = {"role": "system", "content": "", "sections": sections, "timestamp": now_ms(),
                  "toolsAdded": [tools]}  # fmt: skip
        text = self._prompt.decode("utf-8", "replace").strip()
        for message in (system, user(text)):
            self._emit({"type": "message_start", "message": message})
            self._emit({"type": "message_end", "message": message})

    def _open(self) -> None:
        self._emit({"type": "session", "version": 3, "id": "fake", "cwd": os.getcwd(),
                    "timestamp": "2026-01-01T00:00:00Z"})  # fmt: skip
        self._emit({"type": "agent_start"})

    def do_say(self, text: str, stop_reason: str = "stop", tokens: int = 1) -> None:
        self.do_begin()
        message = assistant([{"type": "text", "text": text}], stop_reason, tokens)
        self._emit({"type": "message_start", "message": assistant([], "pending", 0)})
        for update in (
            {"type": "text_start", "contentIndex": 0},
            {"type": "text_delta", "contentIndex": 0, "delta": text[:24]},
            {"type": "text_end", "contentIndex": 0, "content": text[:24]},
        ):
            self._emit(message_update(update, tokens))
        self._emit({"type": "message_end", "message": message})
        self._emit({"type": "turn_end", "message": message, "toolResults": []})

    def do_tool(
        self,
        name: str,
        arguments: Json,
        result: str = "done",
        call_id: str | None = None,
        details: Json | None = None,
        *,
        failed: bool = False,
    ) -> None:
        """Ask for a tool, run it, and begin the next turn."""
        self.do_begin()
        self._calls += 1
        call_id = f"call_{self._calls}" if call_id is None else call_id
        call = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        message = assistant([call], "toolUse", 1)
        self._emit({"type": "message_start", "message": assistant([], "pending", 0)})
        self._emit(message_update({"type": "toolcall_end", "contentIndex": 0, "toolCall": call}, 1))
        self._emit({"type": "message_end", "message": message})
        named = {"toolCallId": call_id, "toolName": name}
        content = [{"type": "text", "text": result}]
        self._emit({"type": "tool_execution_start", **named, "args": arguments})
        self._emit({"type": "tool_execution_update", **named, "args": arguments,
                    "partialResult": {"content": []}})  # fmt: skip
        took = newer(durationMs=0)
        heard = {"content": content, **newer(structuredContent=result)}
        heard |= {} if details is None else {"details": details}
        self._emit({"type": "tool_execution_end", **named, "result": heard, "isError": failed,
                    **took})  # fmt: skip
        answer = {"role": "toolResult", **named, "content": content, "isError": failed, **took,
                  "timestamp": now_ms()}  # fmt: skip
        self._emit({"type": "message_start", "message": answer})
        self._emit({"type": "message_end", "message": answer})
        self._emit({"type": "turn_end", "message": message, "toolResults": [answer]})
        self._emit({"type": "turn_start"})

    def do_fail(self, message: str, *, will_retry: bool = False) -> None:
        """Report an error of the model, and perhaps try again."""
        self.do_begin()
        failure = failed_assistant("error", message)
        self._emit({"type": "message_start", "message": failure})
        self._emit({"type": "message_end", "message": failure})
        self._emit({"type": "turn_end", "message": failure, "toolResults": []})
        if will_retry:
            self._emit({"type": "agent_end", "messages": [], "willRetry": True})
            self._emit({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 10,
                        "errorMessage": message})  # fmt: skip
            self._emit({"type": "agent_start"})
            self._emit({"type": "turn_start"})

    def do_settle(self) -> None:
        self._emit({"type": "agent_end", "messages": [], "willRetry": False})
        self._emit({"type": "agent_settled", **newer(aborted=False)})

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
        partial = {"content": [{"type": "text", "text": PATTERN * 60_000}]}
        tool = {"type": "tool_execution_update", "toolCallId": "c", "partialResult": partial}
        line = {
            "updates": update,
            "tool_updates": json.dumps(tool, separators=(",", ":")).encode("ascii"),
            "junk": b"no record at all " * 60,
            "tiny": b".",
        }[kind] + b"\n"
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

    def do_storm(self, *, chains: int, own_sessions: bool, while_exists: str) -> None:
        """
        Leave chains of processes, each of which forks the next and exits, as fast as it can.

        They do so without an end, unless a file is taken away or they have done it for a minute.
        """
        until = time.monotonic() + STORM_S
        for _ in range(chains):
            if os.fork() == 0:
                while os.path.exists(while_exists) and time.monotonic() < until:
                    hop(own_sessions=own_sessions)
                os._exit(0)

    def do_exit(self, code: int) -> NoReturn:
        os._exit(code)

    def do_kill_self(self, number: int) -> None:
        os.kill(os.getpid(), number)


def hop(*, own_sessions: bool) -> None:
    """Be another process from here on."""
    if own_sessions:
        with suppress(PermissionError):
            os.setsid()
    if os.fork():
        os._exit(0)


class FakeRpcPi(FakePi):
    """What the driver can order of a pi that takes commands."""

    def __init__(self, link: Link, prompt: bytes, rpc: RpcPi, request: Json) -> None:
        super().__init__(link, prompt, rpc.say)
        self._rpc = rpc
        self._request = request

    def _open(self) -> None:
        """There is no header, and that work began was said when the prompt was taken."""

    def do_settle(self) -> None:
        self._rpc.settle()

    def do_long_line(self, size: int) -> None:
        super().do_long_line(size)
        self._rpc.spend(1)

    def do_ignore_term(self) -> None:
        """Be deaf to every polite request."""
        super().do_ignore_term()
        self._rpc.ignored.add("abort")

    def do_exit(self, code: int) -> NoReturn:
        self._rpc.exit(code)

    # What only a pi in RPC mode does

    def do_leave_when_done(self) -> None:
        """Exit at the end of the input, as pi does, and not when the driver says so."""
        self._rpc.leave_when_done()

    def do_take_prompt(self) -> None:
        """Begin to work, where the fault is to be late with that."""
        self._rpc.take_prompt(self._request)

    def do_take_steer(self) -> Json:
        """Take the oldest message, once there is one, as pi does after a step; return its text."""
        self.do_begin()
        text = self._rpc.take_steer()
        for kind in ("message_start", "message_end"):
            self._emit({"type": kind, "message": user(text)})
        return {"text": text}

    def do_hear(self, command: str) -> None:
        """Wait until a command has come."""
        self._rpc.hear(command)

    def do_orders(self) -> Json:
        """Tell what our extension in the child was given."""
        return {"orders": self._rpc.orders}

    def do_queue(self) -> Json:
        """Tell which messages wait."""
        return {"queue": self._rpc.queue}

    def do_ignore(self, command: str) -> None:
        """Leave a command unanswered from now on."""
        self._rpc.ignored.add(command)

    def do_refuse(self, command: str) -> None:
        """Answer a command with an error from now on."""
        self._rpc.refused.add(command)

    def do_answer(self, command_id: str, command: str) -> None:
        """Answer a command that nobody gave."""
        emit({"id": command_id, "type": "response", "command": command, "success": True})

    def do_ask_dialog(
        self, method: str, title: str, dialog_id: str = "dialog-1", **more: object
    ) -> Json:
        """Ask the user something and wait; return what came back."""
        return {
            "response": self._rpc.ask({"id": dialog_id, "method": method, "title": title, **more})
        }

    def do_spend(self, tokens: int) -> None:
        """Use tokens that no message tells of."""
        self._rpc.spend(tokens)

    def do_start_again(self) -> None:
        """Begin to work without having been asked to."""
        self._rpc.start_again()


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


def _unread(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def _given_environment() -> dict[str, str]:
    """Return what was handed to exec; os.environ holds what Python adds to it as well."""
    entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    pairs = (os.fsdecode(entry).partition("=") for entry in entries if entry)
    return {name: value for name, _, value in pairs}


def introduction(prompt: bytes, **more: str) -> Json:
    """Return who this is, and what it was asked to do."""
    first_line = prompt[:200].decode("utf-8", "replace").splitlines()[:1]
    return {
        "role": "child",
        "pid": os.getpid(),
        "prompt": "".join(first_line),
        "arguments": sys.argv[1:],
        "environment": _given_environment(),
        "cwd": os.getcwd(),
        **more,
    }


def serve_rpc(session: str) -> None:
    """Serve every prompt that comes as a command."""
    warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
    rpc = RpcPi()
    rpc.session = session

    def prompt(request: Json) -> bytes:
        text: str = request["message"]
        return text.encode("utf-8", "surrogatepass")

    rpc.serve(
        lambda request: introduction(
            prompt(request), mode="rpc", session=rpc.session, command=request["id"]
        ),
        lambda link, request: FakeRpcPi(link, prompt(request), rpc, request).serve(),
    )


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    options = sys.argv[1:]
    session = options[options.index("--session") + 1] if "--session" in options else ""
    if "rpc" in options:
        serve_rpc(session)
    prompt = sys.stdin.buffer.read()
    FakePi(Link(introduction(prompt, mode="json", session=session)), prompt).serve()


if __name__ == "__main__":
    main()

"""
The MCP server of one child, on its standard input and output: our tools, passed on to its run.

Standard library and us, one thread, started by the child's agent.  In: requests of the Model
Context Protocol.  Out: their answers.  What a tool does is the supervisor's matter, which is asked
on a socket of the run's desk, and proves there that it is asked from below itself.  An answer is
checked here first, by a short-lived process, so that the model can mend it.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pi_subagents._version import __version__
from pi_subagents.core import json_rpc, own_tools
from pi_subagents.core.answer import messages as answer_messages
from pi_subagents.core.answer.finding import is_too_deep
from pi_subagents.core.answer.schema import MAX_VALUE
from pi_subagents.core.framing import Line, LineFramer
from pi_subagents.core.json_rpc import Broken, Failure, Notification, Request
from pi_subagents.core.run.files import TOOLS
from pi_subagents.system import schema_check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.json_rpc import Id

PROTOCOLS = ("2025-06-18", "2025-03-26", "2024-11-05")  # the newest first
PROGRESS_S = 10.0  # how often an agent hears that a call goes on, if it wants to
CONNECT_LIMIT_S = 10.0
_CHUNK = 64 * 1024


class OwnToolServer:
    """One connection to the agent, one to the supervisor."""

    def __init__(self, supervisor: socket.socket | None, write: Callable[[bytes], None]) -> None:
        self._supervisor = supervisor
        self._write = write
        self._calls: dict[int, tuple[Id, object]] = {}  # by our number: its id, progress token
        self._numbers = 0
        self._ticks = 0
        self._offered: dict[str, Any] = {}
        self._before: list[bytes] = []  # what the agent said before we knew our tools
        self._ask_supervisor({"hello": True})

    @property
    def is_asking_for_tools(self) -> bool:
        """Return whether the agent has to wait until we know which tools there are."""
        return bool(self._before)

    # The agent

    def on_line(self, line: bytes) -> None:
        """Answer a line of the agent, or have it answered."""
        if not self._offered and self._supervisor is not None:
            self._before.append(line)
            return
        match json_rpc.decode(line):
            case Request(own, "initialize", params):
                asked = params.get("protocolVersion")
                self._result(own, _about(asked if asked in PROTOCOLS else PROTOCOLS[0]))
            case Request(own, "ping", _):
                self._result(own, {})
            case Request(own, "tools/list", _):
                self._result(own, {"tools": self._tools()})
            case Request(own, "tools/call", params):
                self._call(own, params)
            case Request(own, method, _):
                failure = Failure(json_rpc.METHOD_NOT_FOUND, f"unknown method: {method}")
                self._write(json_rpc.encode_failure(own, failure) + b"\n")
            case Notification("notifications/cancelled", params):
                self._cancelled(params.get("requestId"))
            case Broken(own, failure):
                self._write(json_rpc.encode_failure(own, failure) + b"\n")

    def _tools(self) -> list[object]:
        tools: list[object] = []
        if own_tools.SUBMIT_TOOL in self._offered:
            tools.append(own_tools.submit_answer(self._offered[own_tools.SUBMIT_TOOL]["schema"]))
        if own_tools.ASK_TOOL in self._offered:
            tools.append(own_tools.ask_parent())
        return tools

    def _call(self, own: Id, params: Mapping[str, Any]) -> None:
        name, given = params.get("name"), params.get("arguments") or {}
        if name not in self._offered:
            failure = Failure(json_rpc.INVALID_PARAMS, f"unknown tool: {name}")
            self._write(json_rpc.encode_failure(own, failure) + b"\n")
            return
        if name == own_tools.SUBMIT_TOOL:
            wanted = self._offered[own_tools.SUBMIT_TOOL]
            if problem := _problem(wanted["schema"], given):
                self._say(own, own_tools.not_taken(problem), failed=True)
                return
            given = {"value": given["value"] if wanted["wrapped"] else given}
        elif problem := _problem_of_question(given):
            self._say(own, own_tools.wrong_question(problem), failed=True)
            return
        self._numbers += 1
        token = (params.get("_meta") or {}).get("progressToken")
        self._calls[self._numbers] = own, token
        self._ask_supervisor({"call": self._numbers, "tool": name, **given})

    def _cancelled(self, own: object) -> None:
        for number, (request, _) in list(self._calls.items()):
            if request == own:
                del self._calls[number]
                self._ask_supervisor({"cancel": number})

    def tick(self) -> None:
        """Let the agent know that its calls go on: some give up what is silent."""
        self._ticks += 1
        for _, token in self._calls.values():
            if token is not None:
                params = {"progressToken": token, "progress": self._ticks}
                self._write(json_rpc.encode_notification("notifications/progress", params) + b"\n")

    # The supervisor

    def on_answer(self, line: bytes) -> None:
        """Pass an answer of the supervisor on."""
        said = json.loads(line)
        if "tools" in said:
            self._offered = said["tools"]
            before, self._before = self._before, []
            for each in before:
                self.on_line(each)
        elif (call := self._calls.pop(said["call"], None)) is not None:
            self._say(call[0], said["text"], failed=said["failed"])

    def on_end(self) -> None:
        """Answer what waits: the run is over."""
        self._supervisor = None
        calls, self._calls = self._calls, {}
        for own, _ in calls.values():
            self._say(own, own_tools.NO_RUN, failed=True)
        before, self._before = self._before, []
        for each in before:
            self.on_line(each)

    def _ask_supervisor(self, what: Mapping[str, object]) -> None:
        if self._supervisor is not None:
            with suppress(OSError):  # its end is read, too
                self._supervisor.sendall(json.dumps(what).encode("ascii") + b"\n")
                return
        if "call" in what and (call := self._calls.pop(int(str(what["call"])), None)):
            self._say(call[0], own_tools.NO_RUN, failed=True)

    def _say(self, own: Id, text: str, *, failed: bool) -> None:
        self._result(own, {"content": [{"type": "text", "text": text}], "isError": failed})

    def _result(self, own: Id, result: object) -> None:
        self._write(json_rpc.encode_result(own, result) + b"\n")


def main(desk: str) -> None:
    """Serve until the agent has nothing more to say."""
    supervisor = _connected(desk)
    server = OwnToolServer(supervisor, _write_all)
    with selectors.DefaultSelector() as ready:
        agent, answers = LineFramer(), LineFramer()
        ready.register(0, selectors.EVENT_READ, "agent")
        if supervisor is not None:
            ready.register(supervisor, selectors.EVENT_READ, "supervisor")
        listens = True
        while listens or server.is_asking_for_tools:
            found = ready.select(PROGRESS_S)
            if not found:
                server.tick()
            for key, _ in found:
                data = _read(key.fd)
                if key.data == "agent":
                    if not data:
                        ready.unregister(key.fileobj)
                        listens = False
                    for frame in agent.feed(data):
                        if isinstance(frame, Line) and frame.data.strip():
                            server.on_line(frame.data)
                elif data:
                    for frame in answers.feed(data):
                        if isinstance(frame, Line):
                            server.on_answer(frame.data)
                else:
                    ready.unregister(key.fileobj)
                    server.on_end()


def _about(protocol: str) -> dict[str, object]:
    return {
        "protocolVersion": protocol,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "pi-subagents", "version": __version__},
    }


def _problem(schema: Mapping[str, object], given: object) -> str:
    """Return why an answer does not fit or cannot be kept, or an empty text."""
    if is_too_deep(given):
        return answer_messages.NESTED_TOO_DEEP
    if len(json.dumps(given, ensure_ascii=False)) > MAX_VALUE:
        return answer_messages.value_too_large(MAX_VALUE)
    try:
        with schema_check.start_checker(subprocess.PIPE) as checker:
            try:
                reply, _ = checker.communicate(
                    schema_check.question(schema, value=given), timeout=schema_check.LIMIT_S
                )
            except subprocess.TimeoutExpired:
                checker.kill()
                reply = b""
    except OSError as error:
        return str(error)
    return schema_check.problem_in(reply)


def _problem_of_question(given: Mapping[str, Any]) -> str:
    question, options = given.get("question"), given.get("options") or []
    if not isinstance(question, str) or not question.strip():
        return "question must be a text"
    if not isinstance(options, list) or not all(isinstance(each, str) for each in options):
        return "options must be a list of texts"
    return ""


def _connected(desk: str) -> socket.socket | None:
    """Return a connection to the run's supervisor; None where there is none any more."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(CONNECT_LIMIT_S)
    try:
        directory = os.open(desk, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            made.connect(address_in(directory, desk))
        finally:
            os.close(directory)
    except OSError:
        made.close()
        return None
    made.setblocking(True)
    return made


def address_in(directory: int, desk: str) -> str:
    """Return a name of the socket that is short enough, however long the path of the desk is."""
    held = f"/proc/self/fd/{directory}"
    return f"{held if os.path.isdir(held) else desk}/{TOOLS}"  # noqa: PTH112 - a text


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:  # its other side went with something of ours unread
        return b""


def _write_all(line: bytes) -> None:
    try:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    except OSError:  # nobody reads any more
        os._exit(0)

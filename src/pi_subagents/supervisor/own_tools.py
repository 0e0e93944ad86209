"""
The tools of ours that a child calls through an MCP server, as part of its conversation.

In: calls on a socket of the run's desk, from processes below this one alone.  Out: the answer as a
value, questions that wait for somebody, and what the child is answered.  Everything else of the
conversation is its engine's.  Loaded only where a child has such tools.
"""

from __future__ import annotations

import _socket  # the part of `socket` we use, at a tenth of its start-up cost
import json
import os
import struct
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pi_subagents.core.answer.finding import is_too_deep
from pi_subagents.core.answer.parameters import as_parameters
from pi_subagents.core.framing import Line, LineFramer
from pi_subagents.core.own_tools import ASK_TOOL, NOBODY, SUBMIT_TOOL, TAKEN
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.run.files import TOOLS
from pi_subagents.core.run.question import asked, meant_option
from pi_subagents.core.value import value
from pi_subagents.system.identity import process_state

if TYPE_CHECKING:
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.engines.conversation import Conversation
    from pi_subagents.store.desk import Desk
    from pi_subagents.supervisor.listener import Listener

MAX_QUESTIONS = 200  # of one run: while it asks, its time stands still
MAX_CONNECTIONS = 8
_CHUNK = 64 * 1024
_PREFIX = "p"  # of the numbers of our questions, which an engine counts too


@value
class OpenCall:
    """A question that waits: who asked, on which connection, and until when."""

    connection: int
    call: int
    options: tuple[str, ...]
    due: float


class OwnTools:
    """A conversation whose child has tools of ours; what it does not say here, its engine does."""

    def __init__(
        self, conversation: Conversation, spec: RunSpec, desk: Desk, listener: Listener
    ) -> None:
        self._engines = conversation
        self._listener = listener
        self._within_s = spec.limits.answer_within_s
        self._offered: dict[str, object] = dict.fromkeys(spec.child.own_tools)
        if SUBMIT_TOOL in self._offered:
            self._offered[SUBMIT_TOOL] = as_parameters(json.loads(spec.answer.schema))
        self._connections: dict[int, LineFramer] = {}
        self._open: dict[str, OpenCall] = {}
        self._asked = 0
        self._values: list[ev.Event] = []
        self._own_news: list[ev.Event] = []
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        with suppress(FileNotFoundError):  # of a child that this one follows
            (desk.path / TOOLS).unlink()
        with desk.socket_address(TOOLS) as address:
            self._socket.bind(address)
        self._socket.listen(MAX_CONNECTIONS)
        listener.add(self._socket.fileno(), self._accept)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engines, name)

    # What our part of the conversation is

    @property
    def waiting(self) -> bool:
        """Return whether a question of the child waits for its answer."""
        return bool(self._open) or self._engines.waiting

    def hears(self, line: bytes, now: float) -> tuple[ev.Event, ...]:
        """Take one line of the child; what it gave by a tool came before that."""
        values, self._values = self._values, []
        return (*values, *self._engines.hears(line, now))

    def take_news(self) -> list[ev.Event]:
        """Return what is to be journaled, once."""
        news, self._own_news = self._own_news, []
        return news + self._engines.take_news()

    def answer(self, question: str, reply: str, text: str) -> None:
        """Give the child an answer; the first one counts."""
        if not question.startswith(_PREFIX):
            self._engines.answer(question, reply, text)
            return
        call = self._open.get(question)
        if call is None:
            known = question[1:].isdecimal() and 1 <= int(question[1:10]) <= self._asked
            reason = run_messages.ANSWER_TOO_LATE if known else run_messages.NO_SUCH_QUESTION
            self._own_news.append(ev.Replied(question, ev.REFUSED, text, reason, reply))
            return
        said = meant_option(call.options, text) if call.options else text
        if said is None:
            reason = run_messages.not_an_option(call.options)
            self._own_news.append(ev.Replied(question, ev.REFUSED, text, reason, reply))
            return
        del self._open[question]
        self._own_news.append(ev.Replied(question, ev.GIVEN, said, "", reply))
        self._say(call.connection, call.call, said)

    def abort(self) -> None:
        """Ask the child to stop; questions that wait are closed."""
        self._close_all(run_messages.ASKED_NO_MORE)
        self._engines.abort()

    def deadline(self) -> float | None:
        """Return when something is waited for no longer."""
        due = [call.due for call in self._open.values()]
        theirs = self._engines.deadline()
        return min(due + ([] if theirs is None else [theirs]), default=None)

    def check_time(self, now: float) -> None:
        """Give up waiting where it was long enough, or nobody asks any more."""
        for number, call in list(self._open.items()):
            if now >= call.due:
                self._close(number, run_messages.NOBODY_ANSWERED)
        self._engines.check_time(now)
        if self._engines.over:
            self._close_all(run_messages.ASKED_NO_MORE)

    # The socket

    def _accept(self) -> None:
        try:
            connection, _ = self._socket._accept()  # type: ignore[attr-defined]  # noqa: SLF001 - what `socket` calls
        except OSError:
            return
        if len(self._connections) >= MAX_CONNECTIONS or not is_below_us(connection):
            os.close(connection)
            return
        os.set_inheritable(connection, False)
        self._connections[connection] = LineFramer()
        self._listener.add(connection, lambda: self._read(connection))

    def _read(self, connection: int) -> None:
        try:
            data = os.read(connection, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(connection)
            return
        for frame in self._connections[connection].feed(data):
            if isinstance(frame, Line):
                with suppress(ValueError, KeyError, TypeError, RecursionError):
                    self._obey(connection, json.loads(frame.data))

    def _drop(self, connection: int) -> None:
        self._listener.remove(connection)
        os.close(connection)
        del self._connections[connection]
        for number, call in list(self._open.items()):
            if call.connection == connection:
                self._close(number, run_messages.ASKED_NO_MORE)

    def _obey(self, connection: int, said: dict[str, Any]) -> None:
        match said:
            case {"hello": True}:
                self._send(connection, {"tools": self._offered})
            case {"call": int(call), "tool": "submit_answer", "value": given}:
                if SUBMIT_TOOL not in self._offered or is_too_deep(given):
                    return  # our server does not pass such a call on
                self._values.append(ev.ValueGiven(given))
                self._say(connection, call, TAKEN)
            case {"call": int(call), "tool": "ask_parent", "question": str(question)}:
                options = tuple(map(str, said.get("options") or ()))
                self._ask(connection, call, question, options)
            case {"cancel": int(call)}:
                for number, each in list(self._open.items()):
                    if (each.connection, each.call) == (connection, call):
                        self._close(number, run_messages.ASKED_NO_MORE)

    def _ask(self, connection: int, call: int, question: str, options: tuple[str, ...]) -> None:
        allowed = ASK_TOOL in self._offered and self._within_s and not self._engines.over
        if not allowed or self._asked >= MAX_QUESTIONS:
            self._say(connection, call, NOBODY)
            return
        self._asked += 1
        number = f"{_PREFIX}{self._asked}"
        due = time.monotonic() + self._within_s
        self._open[number] = OpenCall(connection, call, options, due)
        self._own_news.append(asked(number, question, options, self._within_s))

    def _close_all(self, reason: str) -> None:
        for number in list(self._open):
            self._close(number, reason)

    def _close(self, number: str, reason: str) -> None:
        call = self._open.pop(number)
        self._own_news.append(ev.Replied(number, ev.UNANSWERED, reason=reason))
        self._say(call.connection, call.call, NOBODY)

    def _say(self, connection: int, call: int, text: str) -> None:
        self._send(connection, {"call": call, "text": text, "failed": False})

    def _send(self, connection: int, said: object) -> None:
        """Answer at once: whoever does not read is not waited for."""
        if connection in self._connections:
            with suppress(OSError):
                os.write(connection, json.dumps(said).encode("ascii") + b"\n")


def is_below_us(connection: int) -> bool:
    """Return whether the other side is a process of this run; elsewhere its desk is private."""
    if sys.platform != "linux":
        return True
    held = _socket.socket(fileno=connection)
    try:
        credentials = held.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    except OSError:
        return False
    finally:
        held.detach()
    pid, user, _ = struct.unpack("3i", credentials)
    if user != os.geteuid():
        return False
    while pid > 1:
        if pid == os.getpid():
            return True
        state = process_state(pid)
        pid = state.parent if state else 0
    return False

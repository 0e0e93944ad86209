"""
The commands of a fake `pi --mode rpc`: answered as the real pi answers them, or badly.

A thread reads standard input; prompts go to the main thread, which connects to the driver for each
and obeys it.  What is to go wrong before there is a connection stands in FAKE_CHILD_FAULT, see
FAULTS.  At the end of its input it leaves as pi does, but a run that the driver has in hand ends
when the driver says so, unless it gave the order to `leave_when_done`.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from typing import TYPE_CHECKING

from tests.fakes.fake_wire import (
    Json,
    Link,
    Superseded,
    emit,
    failed_assistant,
    newer,
    usage_of,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

FAULT_VARIABLE = "FAKE_CHILD_FAULT"
FAULTS = (
    "mute",  # never answers a prompt
    "late",  # answers it when the driver says so
    "refuse",  # refuses it
    "idle",  # takes it, and begins nothing
    "foreign",  # answers somebody else's command instead
    "half",  # dies in the middle of its answer
    "no orders",  # it has no extension of ours
    "late orders",  # nor has this one, and it takes them for a prompt when the driver says so
    "no session",  # an extension does not let it change its session
    "bad session",  # it cannot change its session
    "last session",  # it dies instead, in the middle of its answer
)
REFUSAL = "No API key found for fake."
BAD_SESSION = "Session file is not readable"
COUNTS = ("userMessages", "assistantMessages", "toolCalls", "toolResults", "totalMessages")
ORDERS_COMMAND = "/pi-subagents-orders"
BUSY = "Agent is already processing."
END_OF_INPUT = "end of input"


class RpcPi:
    """One process, whatever number of runs it serves; session, orders and queue outlive a run."""

    def __init__(self) -> None:
        self._fault = os.environ.get(FAULT_VARIABLE, "")
        self._prompts: queue.SimpleQueue[Json] = queue.SimpleQueue()
        self._dialogs: queue.SimpleQueue[Json | None] = queue.SimpleQueue()
        self._speaking = threading.RLock()
        self._linking = threading.Lock()  # a new prompt ends the link before it, never its own
        self._accounted = threading.Event()
        self._news = threading.Condition()
        self._heard: set[str] = set()  # commands, by name
        self._link: Link | None = None
        self._greeted = False  # as children are that may be kept
        self._leaves = False
        self._input_ended = False
        self._working = False
        self._begun = False
        self._silenced = False  # the run was aborted
        self._tokens = 0
        self.session = ""
        self.orders: Json = {}  # what our extension in the child was given last
        self.queue: list[str] = []
        self.ignored: set[str] = set()  # commands that get no answer
        self.refused: set[str] = set()  # commands that get a bad one

    def serve(self, introduce: Callable[[Json], Json], obey: Callable[[Link, Json], None]) -> None:
        """Connect once for every prompt, and obey until the next one comes."""
        threading.Thread(target=self._read_commands, daemon=True).start()
        while True:
            request = self._prompts.get()
            link = Link(introduce(request))
            with self._linking:
                self._link = link
                if not self._prompts.empty():
                    link.supersede()
            try:
                obey(link, request)
            except Superseded:
                with self._linking:
                    self._link = None
                    link.close()
                if self._input_ended:
                    os._exit(0)

    # For the verbs

    def take_prompt(self, request: Json) -> None:
        """Say that the prompt was taken, and begin to work on it."""
        self._answer(request, newer(disposition="started") or None)
        emit({"type": "agent_start"})

    def say(self, record: Json) -> None:
        """Print a record of the run; once that was aborted there is nothing more to say."""
        with self._speaking:
            if not self._silenced:
                self._begun = True
                self._count(record)
                emit(record)

    def settle(self) -> None:
        """Say that nothing will follow; return when the account was asked for, or never will be."""
        self._accounted.clear()
        self._end_run()
        if not self._input_ended:
            self._accounted.wait()

    def start_again(self) -> None:
        """Begin to work without having been asked to."""
        with self._speaking:
            self._working = True
            emit({"type": "agent_start"})

    def leave_when_done(self) -> None:
        self._leaves = True

    def take_steer(self) -> str:
        """Take the oldest message out of the queue, once there is one."""
        with self._news:
            self._news.wait_for(lambda: self.queue)
        text = self.queue.pop(0)
        self._tell_queue()
        return text

    def hear(self, command: str) -> None:
        """Return once that command has come, or END_OF_INPUT."""
        with self._news:
            self._news.wait_for(lambda: command in self._heard)

    def spend(self, tokens: int) -> None:
        """Use tokens that no message tells of."""
        self._tokens += tokens

    def ask(self, dialog: Json) -> Json | None:
        """Ask what only a user can answer; return the answer, None if none will come."""
        emit({"type": "extension_ui_request", **dialog})
        return self._dialogs.get()

    def exit(self, code: int) -> NoReturn:
        """Leave; a process that was kept only lets go of the run that is over."""
        if self._greeted and not self._working and not self._input_ended and code == 0:
            raise Superseded
        os._exit(code)

    # Commands

    def _read_commands(self) -> None:
        # Taken here, a signal would wake nobody: its handler runs in the main thread, which waits.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        for line in sys.stdin.buffer:
            self._obey(json.loads(line))
        self._input_ended = True
        self._accounted.set()
        self._dialogs.put(None)
        self._note_heard(END_OF_INPUT)
        if self._link is None or self._leaves:
            os._exit(0)

    def _obey(self, request: Json) -> None:
        name = request["type"]
        if name == "extension_ui_response":
            self._dialogs.put(request)
        elif name in self.refused:
            self._answer(request, error=f"{name} refused")
        elif name not in self.ignored:
            getattr(self, f"_on_{name}")(request)
        if name == "get_session_stats":
            self._accounted.set()
        self._note_heard(name)

    def _note_heard(self, name: str) -> None:
        with self._news:
            self._heard.add(name)
            self._news.notify_all()

    def _on_get_available_models(self, request: Json) -> None:
        models = [{"provider": "fake", "id": each, "name": ""} for each in ("fake-1", "fake-2")]
        self._answer(request, {"models": models})

    def _on_get_state(self, request: Json) -> None:
        self._greeted = True
        self._answer(request, {"isStreaming": self._working, "sessionId": "fake"})

    def _on_switch_session(self, request: Json) -> None:
        if self._fault == "bad session":
            self._answer(request, error=BAD_SESSION)
            return
        if self._fault == "last session":
            write(b'{"id":"' + request["id"].encode("ascii") + b'","type":"respon')
            os._exit(1)
        cancelled = self._fault == "no session"
        if not cancelled:
            self.session, self._tokens = request["sessionPath"], 0
        self._answer(request, {"cancelled": cancelled})

    def _on_prompt(self, request: Json) -> None:
        command, _, orders = request["message"].partition(" ")
        if command == ORDERS_COMMAND and not self._fault.endswith(" orders"):
            self.orders = json.loads(orders)
            self._answer(request, newer(disposition="handled") or None)
            return
        if self._working or self._fault == "refuse":
            self._answer(request, error=BUSY if self._working else REFUSAL)
            return
        if self._fault == "half":
            write(b'{"id":"' + request["id"].encode("ascii") + b'","type":"respon')
            os._exit(1)
        self._working, self._begun, self._silenced = True, False, False
        if self._fault == "foreign":
            self._answer({**request, "id": "somebody-else"})
        elif self._fault == "idle":
            self._answer(request, newer(disposition="started") or None)
        elif self._fault not in ("mute", "late", "late orders"):
            self.take_prompt(request)
        if self._fault in ("mute", "foreign", "idle"):  # there is no run to talk about
            return
        with self._linking:
            self._prompts.put(request)
            if self._link is not None:
                self._link.supersede()

    def _on_steer(self, request: Json) -> None:
        self.queue.append(request["message"])
        self._tell_queue()
        self._answer(request, newer(disposition="queued") or None)

    def _on_clear_queue(self, request: Json) -> None:
        steering, self.queue = self.queue, []
        self._tell_queue()
        self._answer(request, {"steering": steering, "followUp": []})

    def _on_abort(self, request: Json) -> None:
        with self._speaking:
            if self._working and self._begun:
                message = failed_assistant("aborted", "Request was aborted.")
                emit({"type": "message_start", "message": message})
                emit({"type": "message_end", "message": message})
                emit({"type": "turn_end", "message": message, "toolResults": []})
                self._end_run(aborted=True)
            self._working, self._silenced = False, True
        self._answer(request)

    def _on_get_session_stats(self, request: Json) -> None:
        used = usage_of(self._tokens)
        tokens = {name: used[name] for name in ("input", "output", "cacheRead", "cacheWrite")}
        context = {"tokens": 0, "contextWindow": 1000, "percent": 0}
        self._answer(
            request,
            {
                **({"sessionFile": self.session} if self.session else {}),
                "sessionId": "fake",
                **dict.fromkeys(COUNTS, 0),
                "tokens": {**tokens, "total": used["totalTokens"]},
                "cost": 0,
                "contextUsage": context,
            },
        )

    def _answer(self, request: Json, data: Json | None = None, error: str = "") -> None:
        answer = {"id": request["id"]} if "id" in request else {}
        answer |= {"type": "response", "command": request["type"], "success": not error}
        emit(answer | ({"error": error} if error else {"data": data} if data is not None else {}))

    def _tell_queue(self) -> None:
        emit({"type": "queue_update", "steering": self.queue, "followUp": []})

    def _end_run(self, *, aborted: bool = False) -> None:
        with self._speaking:
            if not self._silenced:
                emit({"type": "agent_end", "messages": [], "willRetry": False})
                emit({"type": "agent_settled", **newer(aborted=aborted)})
            self._working = False

    def _count(self, record: Json) -> None:
        message = record.get("message", {})
        if record["type"] == "message_end" and message["role"] == "assistant":
            self._tokens += message["usage"]["input"]

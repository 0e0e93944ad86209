"""
A model server for other people's agents, on loopback: it says what a script says, in their dialect.

In: a script as the offline model knows it, `{"conversations": [{"match", "turns"}], "default"}`.
Out: an address per caller, and every request that came.  Each request is looked at afresh: what its
user has last said of all matches chooses the turns, so that one conversation may have several
prompts.  `$SESSION` in the arguments of a call is the session id that was last heard of.  Side
requests (titles, suggestions, classifiers) are answered beside the script and use up no turn of it.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from tests.agents.model_dialects import DIALECTS, Dialect, Message

from pi_subagents.core.offline.script import HttpError, Turn, parse_script
from pi_subagents.core.value import replace
from pi_subagents.engines.offline.conversations import Conversations
from pi_subagents.engines.offline.http_side import Handler, Server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.core.offline.script import Script

PATIENCE_S = 120
SESSION = re.compile(r'session(?:: |Id": ?")([0-9a-f]{16})')
BESIDE = Turn(text="Something asked")
BESIDE_MARKS = ("Reply with ONLY the suggestion",)
ROUTE = re.compile(r"/(?P<caller>[\w-]+)(?P<rest>/v1(?:beta)?/.*)")


@dataclass(frozen=True)
class Asked:
    """One request for an answer, flattened."""

    caller: str
    match: str  # of the script; empty: beside it
    dialect: str
    messages: list[Message]
    tools: list[str]
    body: dict[str, Any]

    def said_by(self, role: str) -> list[str]:
        return [each["content"] for each in self.messages if each["role"] == role]

    @property
    def last_result(self) -> str:
        """What the last tool call was answered."""
        return self.said_by("tool")[-1]


class ScriptedModels:
    """The server's state: how far the script has been played by whom, and what was asked."""

    def __init__(self, script: object) -> None:
        self._script: Script = parse_script(script)
        self._asked: list[Asked] = []
        self._tools: dict[str, int] = {}  # how many the first request of a caller offered
        self._counts: dict[tuple[str, str], int] = {}
        self._changed = threading.Condition()
        self.port = 0

    def url(self, caller: str) -> str:
        """Return the address at which somebody finds the models, without the version."""
        return f"http://127.0.0.1:{self.port}/{caller}"

    def asked(self, match: str | None = None, caller: str | None = None) -> list[Asked]:
        """Return what was asked so far, oldest first."""
        with self._changed:
            found = list(self._asked)
        return [
            each
            for each in found
            if (match is None or each.match == match) and (caller is None or each.caller == caller)
        ]

    def wait_for(self, match: str, number: int = 1) -> Asked:
        """Return the request of that number for a part of the script, when it has come."""

        def arrived() -> bool:
            return sum(each.match == match for each in self._asked) >= number

        with self._changed:
            if not self._changed.wait_for(arrived, PATIENCE_S):
                raise TimeoutError(f"request {number} for {match!r} did not come")
        return self.asked(match)[number - 1]

    def answer(self, caller: str, dialect: Dialect, body: dict[str, Any]) -> tuple[int, Turn]:
        """Record a request; return its number and its answer."""
        messages, tools = dialect.messages(body), dialect.tools(body)
        match, turns = self._part(messages)
        with self._changed:
            # A side request has fewer tools than the work, or none, or asks for what comes next.
            usual = self._tools.setdefault(caller, len(tools)) if tools else 1
            if len(tools) < usual or _is_beside(messages):
                match, turns = "", (BESIDE,)
            self._asked.append(Asked(caller, match, dialect.name, messages, tools, body))
            count = self._counts[caller, match] = self._counts.get((caller, match), 0) + 1
            number = len(self._asked)
            self._changed.notify_all()
        return number, _with_session(_turn(turns, count), messages)

    def _part(self, messages: list[Message]) -> tuple[str, tuple[Turn, ...]]:
        for message in reversed(messages):
            said = message["content"] if message["role"] == "user" else ""
            last = max(self._script.parts, key=lambda part: said.rfind(part.match), default=None)
            if last is not None and last.match in said:
                return last.match, last.turns
        return "", self._script.default or (BESIDE,)


def _is_beside(messages: list[Message]) -> bool:
    """Return whether a mark is in a request, which may have reminders after it."""
    return any(mark in each["content"] for each in messages for mark in BESIDE_MARKS)


def _turn(turns: tuple[Turn, ...], count: int) -> Turn:
    repeated = next((turn for turn in turns[:count] if turn.repeat), None)
    if repeated is not None:
        return repeated
    if count > len(turns):
        return Turn(error=HttpError(400, f"the script has {len(turns)} turns; this is {count}"))
    return turns[count - 1]


def _with_session(turn: Turn, messages: list[Message]) -> Turn:
    """Put the session that was last heard of into calls that ask for $SESSION."""
    heard = [found for each in messages for found in SESSION.findall(_result(each))]
    calls = [
        replace(call, arguments=call.arguments.replace("$SESSION", heard[-1])) if heard else call
        for call in turn.tool_calls
    ]
    return replace(turn, tool_calls=tuple(calls))


def _result(message: Message) -> str:
    return message["content"] if message["role"] == "tool" else ""


class _Models(Server):
    """The offline model's server, with more dialects."""

    def __init__(self, models: ScriptedModels) -> None:
        self.models = models
        super().__init__(("127.0.0.1", 0), Conversations(None, keep_requests=0))
        self.RequestHandlerClass = _Handler


class _Handler(Handler):
    def do_GET(self) -> None:  # noqa: N802 - the base's name
        if self.path.partition("?")[0].endswith("/models"):
            self._send_json(200, {"object": "list", "data": [], "models": []})
        else:
            self._refuse(HttpError(404, f"no such address: {self.path}"))

    def do_HEAD(self) -> None:  # noqa: N802 - the base's name
        self._send_head(200, {"Content-Length": "0"})

    def do_POST(self) -> None:  # noqa: N802 - the base's name
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        route = ROUTE.fullmatch(self.path.partition("?")[0])
        rest = route["rest"] if route else ""
        dialect = next((each for each in DIALECTS if each.route.fullmatch(rest)), None)
        if route is None or dialect is None:
            self._refuse(HttpError(404, f"no such address: {self.path}"))
            return
        body = json.loads(raw)
        models = cast("_Models", self.server).models
        number, turn = models.answer(route["caller"], dialect, body)
        if not self._pause(turn.delay_ms):
            return
        if turn.error is not None:
            wait = turn.error.retry_after_s
            headers = {} if wait is None else {"Retry-After": str(wait)}
            self._send_json(turn.error.status, dialect.error(turn.error), headers=headers)
        else:
            self._send_events(dialect, turn, body, number)

    def _send_events(self, dialect: Dialect, turn: Turn, body: dict[str, Any], number: int) -> None:
        events = list(dialect.events(turn, body, number))
        if turn.cut:
            events = events[: max(1, len(events) // 2)]
        self._send_head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for index, (name, data) in enumerate(events):
            if index and not self._pause(turn.chunk_delay_ms):
                return
            head = f"event: {name}\n" if name else ""
            self._send_chunk(f"{head}data: {json.dumps(data)}\n\n".encode())
        if not turn.cut:
            if dialect.ends_with_done:
                self._send_chunk(b"data: [DONE]\n\n")
            self._send_chunk(b"")


@contextmanager
def scripted_models(script: object) -> Iterator[ScriptedModels]:
    """Serve a script for as long as somebody wants it."""
    models = ScriptedModels(script)
    server = _Models(models)
    models.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield models
    finally:
        server.shutdown()
        thread.join()
        server.end_connections()
        server.server_close()

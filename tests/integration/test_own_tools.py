"""Our tools for children of any engine, by an MCP server: a real client, and a run's side of them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.fakes.driver import PATIENCE_S
from tests.fakes.specs import make_spec

from pi_subagents.core.answer import messages as answer_messages
from pi_subagents.core.answer.schema import MAX_VALUE
from pi_subagents.core.own_tools import NOBODY, OWN_TOOLS, TAKEN, how_to_use, not_taken
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
from pi_subagents.engines.base import ChildRequest
from pi_subagents.engines.own_tools.offer import own_server, own_tools
from pi_subagents.engines.plain import PlainConversation
from pi_subagents.store.desk import Desk
from pi_subagents.supervisor.listener import Listener
from pi_subagents.supervisor.own_tools import OwnTools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from pi_subagents.engines.conversation import Conversation

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="long paths need /proc")
LONG = "a-directory-whose-name-is-far-longer-than-any-address-of-a-socket-may-be"
SCHEMA = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}


class Echo(PlainConversation):
    """An engine's conversation that hears every line as output, and is done when it is told so."""

    def hears(self, line: bytes, now: float) -> tuple[ev.Event, ...]:
        del now
        return (ev.OutputText(line.decode()),)


class Run:
    """A supervisor's side in a thread: it listens, and what it would journal is kept."""

    def __init__(self, desk: Desk, schema: object = None, within_s: float = PATIENCE_S) -> None:
        self.desk = desk
        self.engines = Echo()
        self._listener = Listener()
        fields = {"answer_within_s": within_s, "own_tools": OWN_TOOLS[0 if schema else 1 :]}
        spec = make_spec("r", "s", "n", (), "/", schema=json.dumps(schema or {}), **fields)
        self.tools = OwnTools(cast("Conversation", self.engines), spec, desk, self._listener)
        self.news: list[ev.Event] = []
        self._changed = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while not self._over:
            self._listener.serve(0.05)
            self.tools.check_time(time.monotonic())
            with self._changed:
                if news := self.tools.take_news():
                    self.news += news
                    self._changed.notify_all()

    async def sees(self, wanted: Callable[[ev.Event], bool]) -> ev.Event:
        def found() -> ev.Event | None:
            return next(filter(wanted, self.news), None)

        def waits() -> ev.Event | None:
            with self._changed:
                self._changed.wait_for(found, PATIENCE_S)
                return found()

        event = await asyncio.to_thread(waits)
        assert event is not None
        return event

    def close(self) -> None:
        self._over = True
        self._thread.join(PATIENCE_S)
        for key in list(self._listener.selector.get_map()):
            os.close(cast("int", key))
        self.tools._socket.detach()  # noqa: SLF001 - only the end of a process closes it
        self._listener.selector.close()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path / LONG / LONG / "desks" / ("a" * 32))
    made.path.mkdir(parents=True, mode=0o700)
    return made


@pytest.fixture
def runs() -> Iterator[list[Run]]:
    begun: list[Run] = []
    yield begun
    for run in begun:
        run.close()


def request(desk: Desk, **profile: Any) -> ChildRequest:
    schema = profile.pop("schema", None)
    orders = str(desk.path / "orders.json")
    return ChildRequest("r", "/", False, Profile("p", **profile), schema=schema, orders_file=orders)


@asynccontextmanager
async def client(desk: Desk) -> AsyncIterator[Client]:
    server = own_server(request(desk))
    arguments = cast("list[str]", server["args"])
    parameters = StdioServerParameters(command=str(server["command"]), args=arguments)
    async with asyncio.timeout(PATIENCE_S), Client(stdio_client(parameters)) as session:
        yield session


def text_of(result: Any) -> tuple[str, bool]:
    (content,) = result.content
    return content.text, bool(result.is_error)


async def test_an_answer_is_taken_once_it_fits_and_comes_before_what_is_said_next(
    desk: Desk, runs: list[Run]
) -> None:
    runs.append(run := Run(desk, SCHEMA))
    async with client(desk) as session:
        offered = (await session.list_tools()).tools
        assert [tool.name for tool in offered] == ["submit_answer", "ask_parent"]
        assert offered[0].input_schema == SCHEMA
        wrong = await session.call_tool("submit_answer", {"port": "x"})
        assert text_of(wrong) == (not_taken("/port: 'x' is not of type 'integer'"), True)
        assert text_of(await session.call_tool("submit_answer", {"port": 80})) == (TAKEN, False)
    heard = run.tools.hears(b"done", 0.0)
    assert heard == (ev.ValueGiven({"port": 80}), ev.OutputText("done"))
    assert run.tools.hears(b"done", 0.0) == (ev.OutputText("done"),)


async def test_an_answer_that_is_no_object_is_wrapped_for_the_tool_alone(
    desk: Desk, runs: list[Run]
) -> None:
    runs.append(run := Run(desk, {"type": "array", "items": {"type": "string"}}))
    async with client(desk) as session:
        assert text_of(await session.call_tool("submit_answer", {"value": ["a"]})) == (TAKEN, False)
    assert run.tools.hears(b"x", 0.0)[0] == ev.ValueGiven(["a"])


async def test_an_answer_that_could_not_be_kept_is_not_taken(desk: Desk, runs: list[Run]) -> None:
    runs.append(Run(desk, {"type": "array"}))
    deep: list[object] = []
    for _ in range(80):
        deep = [deep]
    async with client(desk) as session:
        for given, why in (
            (deep, answer_messages.NESTED_TOO_DEEP),
            (["x" * MAX_VALUE], answer_messages.value_too_large(MAX_VALUE)),
        ):
            found = await session.call_tool("submit_answer", {"value": given})
            assert text_of(found) == (not_taken(why), True)


async def test_a_question_waits_for_its_answer(desk: Desk, runs: list[Run]) -> None:
    runs.append(run := Run(desk))
    async with client(desk) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == ["ask_parent"]
        given = {"question": "Which one?", "options": ["left", "right"]}
        call = asyncio.create_task(session.call_tool("ask_parent", given))
        question = await run.sees(lambda event: isinstance(event, ev.Asked))
        assert question == ev.Asked("p1", "Which one?", ("left", "right"), PATIENCE_S)
        assert run.tools.waiting
        run.tools.answer("p1", "1", "straight on")
        run.tools.answer("p1", "2", "2")
        run.tools.answer("p1", "3", "left")
        run.tools.answer("p7", "4", "left")
        assert text_of(await call) == ("right", False)
    no_option = run_messages.not_an_option(("left", "right"))
    replies = [
        ev.Replied("p1", ev.REFUSED, "straight on", no_option, "1"),
        ev.Replied("p1", ev.GIVEN, "right", "", "2"),
        ev.Replied("p1", ev.REFUSED, "left", run_messages.ANSWER_TOO_LATE, "3"),
        ev.Replied("p7", ev.REFUSED, "left", run_messages.NO_SUCH_QUESTION, "4"),
    ]
    await run.sees(lambda event: event == replies[-1])
    assert run.news[1:] == replies


async def test_a_question_that_nobody_answers_is_closed_and_the_child_goes_on(
    desk: Desk, runs: list[Run]
) -> None:
    runs.append(run := Run(desk, within_s=0.1))
    async with client(desk) as session:
        assert text_of(await session.call_tool("ask_parent", {"question": "Why?"})) == (
            NOBODY,
            False,
        )
        found = await session.call_tool("ask_parent", {"question": " "})
        assert text_of(found) == ("Nobody was asked: question must be a text.", True)
    closed = ev.Replied("p1", ev.UNANSWERED, reason=run_messages.NOBODY_ANSWERED)
    assert run.news == [ev.Asked("p1", "Why?", (), 0.1), closed]


async def test_a_run_that_is_stopped_closes_its_questions(desk: Desk, runs: list[Run]) -> None:
    runs.append(run := Run(desk))
    async with client(desk) as session:
        call = asyncio.create_task(session.call_tool("ask_parent", {"question": "Why?"}))
        await run.sees(lambda event: isinstance(event, ev.Asked))
        run.tools.abort()
        assert text_of(await call) == (NOBODY, False)
    assert not run.tools.waiting


async def test_without_a_run_the_server_is_there_and_has_no_tools(desk: Desk) -> None:
    async with client(desk) as session:
        assert (await session.list_tools()).tools == []


def test_a_process_that_is_not_below_the_run_is_not_served(desk: Desk, runs: list[Run]) -> None:
    """It has left our tree: the shell that started it is gone."""
    runs.append(Run(desk))
    server = own_server(request(desk))
    argv = [str(server["command"]), *cast("list[str]", server["args"])]
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    read, write = os.pipe()
    with os.fdopen(read, "rb") as answers:
        script = 'exec 3<&0; ("$@" <&3 &) ; exit 0'
        subprocess.run(
            ["/bin/sh", "-c", f"sleep 0; {script}", "sh", *argv],
            input=asked,
            stdout=write,
            check=True,
            timeout=PATIENCE_S,
        )
        os.close(write)
        assert json.loads(answers.read()) == {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}


def test_a_child_has_the_tools_that_its_run_wants_and_its_profile_leaves_room_for(
    desk: Desk,
) -> None:
    both = {"schema": SCHEMA, "questions": "ask"}
    assert own_tools(request(desk, **both)) == OWN_TOOLS
    assert own_tools(request(desk)) == ()
    assert own_tools(request(desk, schema=SCHEMA)) == ("submit_answer",)
    assert own_tools(request(desk, **both, no_tools=True)) == ()
    assert own_tools(request(desk, **both, tools=())) == ()
    assert own_tools(request(desk, **both, exclude_tools=("ask_parent",))) == ("submit_answer",)
    assert how_to_use(()) == ""

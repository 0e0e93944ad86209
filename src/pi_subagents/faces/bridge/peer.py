"""
One end of a JSON-RPC connection: every request gets one answer, whatever the line was.

In: lines as they come, and what serves methods.  Out: lines to be written, one after the other,
without waiting: a caller that writes much waits with `drain` before it writes more.  Requests are
served side by side, each begun in the order of its coming.  Nothing that a line holds, and nothing
that a method raises, ends the connection.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Protocol

from pi_subagents.core import json_rpc
from pi_subagents.core import messages as core_messages
from pi_subagents.core.framing import Skipped
from pi_subagents.core.json_rpc import Broken, Failure, Notification, Request, Response
from pi_subagents.core.plain_text import one_line
from pi_subagents.faces.bridge import messages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from pi_subagents.core.framing import Frame
    from pi_subagents.core.json_rpc import Params, RpcMessage
    from pi_subagents.faces.wire import LineWriter

MAX_REASON = 1000


class Methods(Protocol):
    """What serves requests and notifications of the other side."""

    async def answer(self, method: str, params: Params) -> object | Failure:
        """Return the result of a request, or why there is none."""

    async def take(self, method: str, params: Params) -> None:
        """Take a notification; one that is not known is ignored."""


class Outlet(Protocol):
    """Where lines go; close it, so that the other side can read what is left."""

    def write(self, line: bytes) -> None:
        """Send a line without waiting; ConnectionError if nobody listens any more."""

    async def drain(self) -> None:
        """Return when everything was read, or nobody listens any more."""


class HostPeer:
    """The other side, for notifications and requests of ours."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._numbers = count(1)
        self._pending: dict[str, asyncio.Future[object | Failure]] = {}

    def notify(self, method: str, params: Params) -> None:
        """Send a notification; ConnectionError if nobody listens any more."""
        self._outlet.write(json_rpc.encode_notification(method, params))

    async def drain(self) -> None:
        """Return when the other side has read what was sent."""
        await self._outlet.drain()

    async def request(self, method: str, params: Params) -> object | Failure:
        """Return the answer to a request; cancelled if the other side goes away."""
        own_id = f"d{next(self._numbers)}"
        self._pending[own_id] = asyncio.get_running_loop().create_future()
        try:
            self._outlet.write(json_rpc.encode_request(own_id, method, params))
            return await self._pending[own_id]
        finally:
            del self._pending[own_id]

    def receive(self, response: Response) -> None:
        """Take an answer; one to no request of ours is ignored."""
        pending = self._pending.get(response.id) if isinstance(response.id, str) else None
        if pending is not None and not pending.done():
            pending.set_result(response.outcome)

    def leave(self) -> None:
        """Wait for no answer any more."""
        for pending in self._pending.values():
            pending.cancel()


class Peer:
    """Read one side's lines, and see to it that each is answered or taken."""

    def __init__(self, host: HostPeer, outlet: Outlet, methods: Methods) -> None:
        self._host = host
        self._outlet = outlet
        self._methods = methods
        self._under_way: set[asyncio.Task[None]] = set()

    async def serve(self, frames: AsyncIterator[Frame]) -> None:
        """Begin to serve every line; what is under way at the end goes on."""
        async for frame in frames:
            self._dispatch(_message(frame))
        self._host.leave()

    async def settled(self) -> None:
        """Return when every request is answered."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    def _dispatch(self, message: RpcMessage | None) -> None:
        match message:
            case Request():
                self._begin(self._serve(message))
            case Notification():
                self._begin(self._take(message))
            case Response():
                self._host.receive(message)
            case Broken():
                self._outlet.write(json_rpc.encode_failure(message.id, message.failure))

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _serve(self, request: Request) -> None:
        try:
            outcome = await self._methods.answer(request.method, request.params)
        except asyncio.CancelledError:
            self._reply(request, Failure(json_rpc.REFUSED, messages.RPC_ENDING))
            raise
        except Exception as error:  # noqa: BLE001 - a fault in one method must not end the others
            outcome = Failure(json_rpc.INTERNAL_ERROR, reason_of(error))
        self._reply(request, outcome)

    def _reply(self, request: Request, outcome: object | Failure) -> None:
        answer = (
            json_rpc.encode_failure(request.id, outcome)
            if isinstance(outcome, Failure)
            else json_rpc.encode_result(request.id, outcome)
        )
        with suppress(ConnectionError):  # nobody is left to read it
            self._outlet.write(answer)

    async def _take(self, notification: Notification) -> None:
        try:
            await self._methods.take(notification.method, notification.params)
        except Exception as error:  # noqa: BLE001 - nobody waits for it, and the others go on
            asyncio.get_running_loop().call_exception_handler(
                {"message": f"notification {notification.method}", "exception": error}
            )


def reason_of(error: Exception) -> str:
    """Return the one line for a fault of ours."""
    return one_line(core_messages.internal_error(error), MAX_REASON)


def _message(frame: Frame) -> RpcMessage | None:
    """Return what a line says; nothing for a blank one, or one cut by the death of its writer."""
    if isinstance(frame, Skipped):
        problem = messages.rpc_line_too_long(frame.size, json_rpc.MAX_LINE_BYTES)
        return Broken(None, Failure(json_rpc.INVALID_REQUEST, problem))
    return json_rpc.decode(frame.data) if frame.terminated and frame.data.strip() else None


class Outbox:
    """An Outlet over a LineWriter; make it inside the loop."""

    def __init__(self, writer: LineWriter) -> None:
        self._writer = writer
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._is_gone = False
        self._posting = asyncio.create_task(self._post())

    def write(self, line: bytes) -> None:
        """Send a line without waiting; ConnectionError if nobody listens any more."""
        if self._is_gone:
            raise BrokenPipeError
        self._lines.put_nowait(line)

    async def drain(self) -> None:
        """Return when everything was read, or nobody listens any more."""
        await self._lines.join()

    async def close(self, within_s: float) -> None:
        """Give the host some time to read what is left."""
        await asyncio.wait([asyncio.create_task(self.drain())], timeout=within_s)
        self._posting.cancel()

    async def _post(self) -> None:
        while True:
            line = await self._lines.get()
            if not self._is_gone:
                try:
                    await self._writer.write(line)
                except OSError:
                    self._is_gone = True
            self._lines.task_done()

"""
The protocol over standard input and output: one message a line, and nothing else on the wire.

In: the wire.  Out: the streams that the SDK serves.  What is no message is answered with an error
where JSON-RPC has one, and the connection goes on.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, JSONRPCNotification, jsonrpc_message_adapter

from pi_subagents.core.framing import Skipped
from pi_subagents.faces.mcp_server import messages
from pi_subagents.faces.wire import LineWriter, read_lines
from pi_subagents.service.tools.outputs import sendable

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel import Server
    from mcp.types import JSONRPCMessage

    from pi_subagents.core.framing import Frame
    from pi_subagents.faces.wire import Wire

    Arriving = MemoryObjectSendStream[SessionMessage | Exception]
    Leaving = MemoryObjectReceiveStream[SessionMessage]

MAX_MESSAGE = 32 * 1024 * 1024  # prompts may be of several megabytes
_LAST_WORDS_S = 2.0  # for a host that closed its end, but may still read


async def serve_stdio(server: Server[Any], wire: Wire, max_message: int = MAX_MESSAGE) -> None:
    """Serve one host until it closes its end."""
    writer = LineWriter(wire.writing)
    arriving, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outgoing, leaving = anyio.create_memory_object_stream[SessionMessage]()
    reading = asyncio.create_task(_read(wire, max_message, arriving, writer))
    writing = asyncio.create_task(_write(leaving, arriving, writer))
    try:
        await server.run(incoming, outgoing, server.create_initialization_options())
        await asyncio.wait({writing}, timeout=_LAST_WORDS_S)
    finally:
        reading.cancel()
        writing.cancel()
        await asyncio.gather(reading, writing, return_exceptions=True)


async def _read(wire: Wire, max_message: int, arriving: Arriving, writer: LineWriter) -> None:
    """Hand every message to the SDK, and answer what is none."""
    async with arriving:
        with suppress(OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):  # it is over
            async for frame in read_lines(wire.reading, max_message):
                message = _decoded(frame, max_message)
                if isinstance(message, SessionMessage):
                    await arriving.send(message)
                elif message is not None:
                    await writer.write(message)


async def _write(leaving: Leaving, arriving: Arriving, writer: LineWriter) -> None:
    """Write what the SDK sends; a host that does not take it has ended the connection."""
    async with leaving, arriving:
        with suppress(OSError):
            async for sent in leaving:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                await writer.write(text.encode())


def _decoded(frame: Frame, max_message: int) -> SessionMessage | bytes | None:
    """Return the message in a line, or the answer to what is none; a blank line is nothing."""
    if isinstance(frame, Skipped):
        return _error(PARSE_ERROR, messages.message_too_long(frame.size, max_message))
    if not frame.data.strip():
        return None
    message = _message(frame.data)
    return _refusal(frame.data) if message is None else SessionMessage(message)


def _message(data: bytes) -> JSONRPCMessage | None:
    try:
        message = _validated(data)
        # A request whose id is none would pass for a notification, and its sender wait for ever.
        if isinstance(message, JSONRPCNotification) and "id" in json.loads(data):
            return None
    except (ValueError, RecursionError):  # no JSON, or none that the protocol knows
        return None
    return message


def _validated(data: bytes) -> JSONRPCMessage:
    """Return the message; half a character, which JavaScript writes, costs nothing but itself."""
    try:
        return jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValueError:
        value: object = json.loads(data)
        mended = sendable(value)
        if mended == value or not isinstance(mended, dict) or not isinstance(value, dict):
            raise
        if mended.get("id") != value.get("id"):  # its sender would not know the answer
            raise
        return jsonrpc_message_adapter.validate_json(json.dumps(mended), by_name=False)


def _refusal(data: bytes) -> bytes:
    """Return the answer to what is no message."""
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return _error(PARSE_ERROR, messages.NOT_JSON_RPC)
    number = value.get("id") if isinstance(value, dict) else None
    known = number if type(number) in (int, str) else None
    return _error(INVALID_REQUEST, messages.NOT_JSON_RPC, known)


def _error(code: int, message: str, number: object = None) -> bytes:
    error = {"code": code, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode()

"""
JSON-RPC 2.0 as JSON lines: what a line says, and how one is written.

In: the bytes of one line, or values to be sent.  Out: a Request, Notification, Response or Broken
(a line that is none of them, with how to answer it), or one line of ASCII, without its end.  Never
raises on any bytes.  Batches are not taken: lines are as cheap.
"""

from __future__ import annotations

import json
import math
from typing import TypeGuard

from pi_subagents.core import messages
from pi_subagents.core.value import value

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REFUSED = -32000
MAX_LINE_BYTES = 64 * 1024 * 1024

Id = str | int | float | None
Params = dict[str, object]


@value
class Request:
    """Somebody wants one answer."""

    id: Id
    method: str
    params: Params


@value
class Notification:
    """Somebody says something, and wants no answer."""

    method: str
    params: Params


@value
class Failure:
    """Why a request has no result."""

    code: int
    message: str
    data: object = None  # what else is said of it


@value
class Response:
    """The answer to a request of ours."""

    id: Id
    outcome: object | Failure


@value
class Broken:
    """A line that says nothing; it is answered all the same."""

    id: Id
    failure: Failure


RpcMessage = Request | Notification | Response | Broken


def decode(line: bytes) -> RpcMessage:
    """Return what one line says."""
    try:
        value: object = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return Broken(None, Failure(PARSE_ERROR, messages.RPC_NOT_JSON))
    if not isinstance(value, dict):
        return _broken(None)
    given = value.get("id")
    named = given if _is_id(given) else None
    if value.get("jsonrpc") != "2.0" or not _is_id(given):
        return _broken(named)
    if "method" in value:
        return _call(value, named)
    if "id" not in value or ("result" in value) == ("error" in value):
        return _broken(named)
    return Response(named, value["result"] if "result" in value else _failure(value["error"]))


def encode_result(to: Id, result: object) -> bytes:
    """Return the line that answers; one that cannot be written becomes a failure."""
    try:
        return _line({"id": to, "result": result})
    except (TypeError, ValueError, RecursionError) as error:
        return encode_failure(to, Failure(INTERNAL_ERROR, messages.internal_error(error)))


def encode_failure(to: Id, failure: Failure) -> bytes:
    """Return the line that says why there is no result."""
    return _line({"id": to, "error": {"code": failure.code, "message": failure.message}})


def encode_request(own_id: str | int, method: str, params: Params) -> bytes:
    """Return the line of a request."""
    return _line({"id": own_id, "method": method, "params": params})


def encode_notification(method: str, params: Params) -> bytes:
    """Return the line of a notification."""
    return _line({"method": method, "params": params})


def _call(value: dict[str, object], named: Id) -> RpcMessage:
    method, params = value["method"], value.get("params", {})
    if not isinstance(method, str):
        return _broken(named)
    if not isinstance(params, dict):
        if "id" not in value:
            return _broken(None)
        return Broken(named, Failure(INVALID_PARAMS, messages.RPC_NEEDS_NAMED_PARAMS))
    return Request(named, method, params) if "id" in value else Notification(method, params)


def _broken(named: Id) -> Broken:
    return Broken(named, Failure(INVALID_REQUEST, messages.RPC_NOT_A_MESSAGE))


def _is_id(value: object) -> TypeGuard[Id]:
    if isinstance(value, float):
        return math.isfinite(value)  # what else Python reads, it cannot write as JSON
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def _failure(error: object) -> Failure:
    given = error if isinstance(error, dict) else {}
    code, message = given.get("code"), given.get("message")
    return Failure(
        code if isinstance(code, int) else INTERNAL_ERROR,
        message if isinstance(message, str) else "",
        given.get("data"),
    )


def _line(content: dict[str, object]) -> bytes:
    """Return ASCII: lone surrogates and strange line ends arrive as they are."""
    whole = {"jsonrpc": "2.0", **content}
    return json.dumps(whole, allow_nan=False, separators=(",", ":")).encode("ascii")

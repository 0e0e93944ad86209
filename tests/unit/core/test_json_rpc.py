from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_values as given_values
from tests.unit.core.given_values import thoroughly

from pi_subagents.core import json_rpc
from pi_subagents.core import messages as core_messages
from pi_subagents.core.json_rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Broken,
    Failure,
    Notification,
    Request,
    Response,
    RpcMessage,
    decode,
)

# Python reads and writes numbers that no JSON has.
json_values = given_values | st.sampled_from([float("nan"), float("inf"), -float("inf")])
messages = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]),
    st.just("2.0") | json_values,
)
NOT_A_MESSAGE = Failure(INVALID_REQUEST, core_messages.RPC_NOT_A_MESSAGE)


def line(**content: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **content}).encode()


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (line(id=1, method="hello", params={"a": 1}), Request(1, "hello", {"a": 1})),
        (line(id="x", method="hello"), Request("x", "hello", {})),
        (line(id=None, method="hello"), Request(None, "hello", {})),
        (line(method="cancel", params={}), Notification("cancel", {})),
        (line(id="d1", result=None), Response("d1", None)),
        (line(id="d1", error={"code": 3, "message": "m"}), Response("d1", Failure(3, "m"))),
        (line(id="d1", error=7), Response("d1", Failure(INTERNAL_ERROR, ""))),
        (line(id=1, method="m", params=[1]),
         Broken(1, Failure(INVALID_PARAMS, core_messages.RPC_NEEDS_NAMED_PARAMS))),
        (line(method="m", params=[1]), Broken(None, NOT_A_MESSAGE)),
        (line(id=5, method=6), Broken(5, NOT_A_MESSAGE)),
        (line(id=True, method="m"), Broken(None, NOT_A_MESSAGE)),
        (line(id=[], method="m"), Broken(None, NOT_A_MESSAGE)),
        (line(id=1, result=1, error={}), Broken(1, NOT_A_MESSAGE)),
        (line(id=1), Broken(1, NOT_A_MESSAGE)),
        (line(result=1), Broken(None, NOT_A_MESSAGE)),
        (b'{"jsonrpc":"1.0","id":4,"method":"m"}', Broken(4, NOT_A_MESSAGE)),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"m"}', Broken(None, NOT_A_MESSAGE)),
        (b'{"jsonrpc":"2.0","id":1e999,"method":"m"}', Broken(None, NOT_A_MESSAGE)),
        (line(id=1.5, method="m"), Request(1.5, "m", {})),
        (b"[]", Broken(None, NOT_A_MESSAGE)),
        (b"nonsense", Broken(None, Failure(PARSE_ERROR, core_messages.RPC_NOT_JSON))),
        (b"\xff\xfe{}", Broken(None, Failure(PARSE_ERROR, core_messages.RPC_NOT_JSON))),
        ("{}".encode("utf-16"), Broken(None, Failure(PARSE_ERROR, core_messages.RPC_NOT_JSON))),
        (b"[" * 100_000, Broken(None, Failure(PARSE_ERROR, core_messages.RPC_NOT_JSON))),
    ],
)  # fmt: skip
def test_what_a_line_says(said: bytes, meant: RpcMessage) -> None:
    assert decode(said) == meant


@thoroughly
@given(st.binary(max_size=80) | messages.map(lambda each: json.dumps(each).encode()))
def test_any_bytes_say_something_and_only_requests_and_broken_lines_want_an_answer(
    data: bytes,
) -> None:
    said = decode(data)
    if isinstance(said, Request):
        assert json.loads(data)["method"] == said.method
    if isinstance(said, Broken):
        assert b"\n" not in json_rpc.encode_failure(said.id, said.failure)


@thoroughly
@given(json_values, st.integers() | st.text())
def test_a_result_is_one_line_of_ascii_that_says_the_same_or_why_it_cannot(
    value: Any, number: int | str
) -> None:
    heard = json_rpc.encode_result(number, value)
    assert heard.isascii()
    assert b"\n" not in heard
    back = decode(heard)
    assert isinstance(back, Response)
    assert back.id == number
    if not isinstance(back.outcome, Failure):
        assert back.outcome == value


def test_what_no_json_can_say_becomes_a_failure_in_one_line() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (float("nan"), {1, 2}, deep):
        heard = decode(json_rpc.encode_result(1, value))
        assert isinstance(heard, Response)
        assert isinstance(heard.outcome, Failure)
        assert heard.outcome.code == INTERNAL_ERROR


def test_what_we_say_is_read_as_it_was_meant() -> None:
    assert decode(json_rpc.encode_request("d1", "dialog", {"a": "\ud800"})) == Request(
        "d1", "dialog", {"a": "\ud800"}
    )
    assert decode(json_rpc.encode_notification("status", {"text": "\u2028"})) == Notification(
        "status", {"text": "\u2028"}
    )
    assert decode(json_rpc.encode_failure(3, Failure(-1, "no"))) == Response(3, Failure(-1, "no"))

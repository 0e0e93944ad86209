from typing import Any

import pytest

from pi_subagents.core.offline.script import HttpError, ScriptedCall, ScriptedUsage, Turn
from pi_subagents.engines.offline.provider import (
    MODEL,
    PROVIDER,
    URL_VARIABLE,
)
from pi_subagents.engines.offline.wire import (
    Completion,
    error_body,
    fill_text,
    models_body,
    pieces,
)
from pi_subagents.engines.pi.offline import extension_path, pi_arguments

REQUEST = {
    "messages": [{"role": "user", "content": "hello"}],
    "stream": True,
    "stream_options": {"include_usage": True},
}
HEAD = {"id": "offline-3", "object": "chat.completion.chunk", "created": 0, "model": "offline"}


def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {**HEAD, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def test_a_stream_is_role_thinking_text_tool_calls_finish_and_usage():
    turn = Turn(
        text="I will look",
        thinking="hm",
        tool_calls=(ScriptedCall("bash", '{"command": "ls"}'), ScriptedCall("read", "{}")),
        usage=ScriptedUsage(100, 20, 50),
    )

    first = {"index": 0, "id": "call_1_3_0", "type": "function"}
    second = {"index": 1, "id": "call_1_3_1", "type": "function"}
    arguments = '{"command": "ls"}'
    assert list(Completion.of(turn, REQUEST, 3).chunks()) == [
        chunk({"role": "assistant", "content": ""}),
        chunk({"reasoning_content": "hm"}),
        chunk({"content": "I will look"}),
        chunk({"tool_calls": [{**first, "function": {"name": "bash", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}),
        chunk({"tool_calls": [{**second, "function": {"name": "read", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]}),
        chunk({}, "tool_calls"),
        {
            **HEAD,
            "choices": [],
            "usage": {
                "prompt_tokens": 150,
                "completion_tokens": 20,
                "total_tokens": 170,
                "prompt_tokens_details": {"cached_tokens": 50},
                "completion_tokens_details": {"reasoning_tokens": 1},
            },
        },
    ]


def test_without_include_usage_there_is_no_usage_chunk():
    request: dict[str, Any] = {"messages": []}

    assert list(Completion.of(Turn(), request, 3).chunks()) == [
        chunk({"role": "assistant", "content": ""}),
        chunk({}, "stop"),
    ]


def test_a_whole_answer_carries_the_same_values():
    turn = Turn(text="yes", thinking="hm", tool_calls=(ScriptedCall("read", "{}"),), stop="length")

    call = {"id": "call_1_3_0", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    message = {
        "role": "assistant",
        "content": "yes",
        "reasoning_content": "hm",
        "tool_calls": [call],
    }
    whole = Completion.of(turn, REQUEST, 3).whole()
    assert {key: whole[key] for key in ("object", "choices")} == {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "length"}],
    }


def test_tokens_are_a_quarter_of_the_characters_rounded_up():
    turn = Turn(text="12345", thinking="123", tool_calls=(ScriptedCall("ab", "{}"),))

    usage = Completion.of(turn, REQUEST, 1).usage()
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (3, 3)  # "userhello", 12 written


def test_echo_is_the_last_user_message_verbatim():
    prompt = "é \u2028 --approve\n"
    messages = [{"role": "user", "content": [{"type": "text", "text": prompt}]}, {"role": "tool"}]

    assert Completion.of(Turn(echo=True), {"messages": messages}, 1).text == prompt


@pytest.mark.parametrize("kilobytes", [0, 1, 300])
def test_fill_is_exactly_so_many_kilobytes(kilobytes: int):
    text = fill_text(kilobytes)

    assert len(text.encode()) == kilobytes * 1024
    assert len(set(text.splitlines())) == kilobytes * 16


@pytest.mark.parametrize(("length", "number"), [(0, 0), (1, 1), (24, 1), (25, 2), (1_000_000, 64)])
def test_a_text_is_cut_into_at_most_64_pieces(length: int, number: int):
    cut = list(pieces("x" * length))

    assert (len(cut), len("".join(cut))) == (number, length)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request_error"), (401, "authentication_error"), (418, "invalid_request_error"),
     (429, "rate_limit_error"), (503, "server_error")],
)  # fmt: skip
def test_an_error_looks_like_openais(status: int, kind: str):
    assert error_body(HttpError(status, "no")) == {
        "error": {"message": "no", "type": kind, "param": None, "code": None}
    }


def test_there_is_one_model():
    assert [model["id"] for model in models_body()["data"]] == [MODEL]


def test_the_extension_for_pi_uses_the_same_names():
    source = extension_path().read_text()

    assert f'registerProvider("{PROVIDER}"' in source
    assert f'id: "{MODEL}"' in source
    assert f"process.env.{URL_VARIABLE}" in source
    assert pi_arguments() == ("-e", str(extension_path()), "--provider", PROVIDER, "--model", MODEL)

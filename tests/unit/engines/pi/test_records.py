from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.golden.reading import Golden, read_stream
from tests.unit.core.given_values import json_objects, json_values, texts, thoroughly

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry, bounded, encode_entry
from pi_subagents.core.usage import Usage
from pi_subagents.engines.pi.records import MAX_ARGUMENT_DEPTH, advice_on, decode_pi_line
from pi_subagents.engines.pi.versions import TESTED_VERSIONS

GOLDEN = sorted((Path(__file__).parents[3] / "golden").glob("pi-*.jsonl"))
KINDS = (
    "session", "agent_start", "agent_end", "agent_settled", "turn_start", "turn_end",
    "message_start", "message_update", "message_end", "tool_execution_start",
    "tool_execution_update", "tool_execution_end", "queue_update", "entry_appended",
    "session_info_changed", "thinking_level_changed", "compaction_start", "compaction_end",
    "auto_retry_start", "auto_retry_end", "summarization_retry_scheduled", "extension_error",
)  # fmt: skip
FIELDS = (
    "message", "toolCallId", "toolName", "args", "result", "isError", "attempt", "maxAttempts",
    "delayMs", "errorMessage", "messages", "willRetry",
)  # fmt: skip

messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "toolResult"]) | json_values},
    optional={
        "content": json_values
        | st.lists(
            st.fixed_dictionaries(
                {"type": st.sampled_from(["text", "toolCall", "thinking"]) | json_values},
                optional=dict.fromkeys(("text", "id", "name", "arguments"), json_values),
            ),
            max_size=4,
        ),
        **dict.fromkeys(("stopReason", "errorMessage", "provider", "model", "usage"), json_values),
    },
)
records = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS) | texts | json_values},
    optional={**dict.fromkeys(FIELDS, json_values), "message": messages | json_values},
)


def line(**record: object) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()


def message_end(**message: object) -> bytes:
    return line(type="message_end", message=message)


@thoroughly
@given(st.binary(max_size=200))
def test_any_bytes_give_exactly_one_event(data: bytes) -> None:
    assert isinstance(decode_pi_line(data), ev.Event)


@thoroughly
@given(json_values | json_objects | records)
def test_any_json_gives_exactly_one_event(value: object) -> None:
    assert isinstance(decode_pi_line(json.dumps(value).encode()), ev.Event)


@thoroughly
@given(records, st.booleans())
def test_whatever_was_decoded_can_be_journaled_as_strict_json(record: object, ascii_: bool) -> None:
    """Other programs read the journal: what is not JSON must not get through."""
    raw = json.dumps(record, ensure_ascii=ascii_).encode("utf-8", "surrogatepass")
    event = bounded(decode_pi_line(raw))
    json.loads(encode_entry(JournalEntry(1, 2, event)), parse_constant=pytest.fail)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_that_are_not_json_are_read_as_null(number: str) -> None:
    raw = (
        f'{{"type":"tool_execution_start","toolCallId":"c","toolName":"t","args":{{"n":{number}}}}}'
    )
    assert decode_pi_line(raw.encode()) == ev.ToolStarted(ev.ToolCall("c", "t", {"n": None}))


@pytest.mark.parametrize(
    "data",
    [b"null", b"[]", b"{}", b'"text"', b"17", b"{", b'{"type":null}', b'{"type":1}', b"plain words",
     b'{"type":"agent_settled"', b'{"type": ["agent_settled"]}', b"\xff\xfe", b"9" * 5000],
)  # fmt: skip
def test_what_is_no_record_is_kept_as_text(data: bytes) -> None:
    assert decode_pi_line(data) == ev.OutputText(data.decode("utf-8", "replace"))


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"type":"message_end","message":'])
def test_a_hundred_thousand_levels_do_not_raise(opening: bytes) -> None:
    data = opening * 100_000
    assert decode_pi_line(data) == ev.OutputText(data.decode())


def test_arguments_nested_deeper_than_we_could_write_again_are_left_out() -> None:
    deep: object = "bottom"
    for _ in range(500):
        deep = [deep]
    started = line(type="tool_execution_start", toolCallId="c", toolName="t", args={"deep": deep})
    assert decode_pi_line(started) == ev.ToolStarted(ev.ToolCall("c", "t", None))


@pytest.mark.parametrize(("depth", "kept"), [(MAX_ARGUMENT_DEPTH, True), (65, False)])
def test_the_limit_of_nesting_is_exact(depth: int, kept: bool) -> None:
    args: dict[str, object] = {}
    for _ in range(depth - 1):
        args = {"a": args}
    started = line(type="tool_execution_start", toolCallId="c", toolName="t", args=args)
    assert decode_pi_line(started) == ev.ToolStarted(ev.ToolCall("c", "t", args if kept else None))


@pytest.mark.parametrize(
    "kind", ["message_update", "message_start", "tool_execution_update", "turn_end", "agent_end"]
)
def test_records_whose_content_comes_again_are_activity_without_decoding(kind: str) -> None:
    assert decode_pi_line(line(type=kind, message={"role": "assistant"})) == ev.Activity(
        "passed over"
    )
    assert decode_pi_line(b'{"type":"%s",' % kind.encode() + b"x" * 99 + b"}") == ev.Activity(
        "passed over"
    )


def test_half_a_record_is_no_activity() -> None:
    assert decode_pi_line(b'{"type":"message_update","x') == ev.OutputText(
        '{"type":"message_update","x'
    )


@pytest.mark.parametrize(
    "kind", sorted({*KINDS} - {"agent_settled", "auto_retry_start", "message_end",
                               "tool_execution_start", "tool_execution_end"}),
)  # fmt: skip
def test_records_we_have_no_use_for_show_activity(kind: str) -> None:
    raw = json.dumps({"other": 1, "type": kind}).encode()
    assert decode_pi_line(raw) == ev.Activity(kind)


def test_a_user_message_of_text_or_of_blocks() -> None:
    blocks = [{"type": "text", "text": "Look"}, {"type": "image", "data": "…"}]
    assert decode_pi_line(message_end(role="user", content="Look")) == ev.UserMessage("Look")
    assert decode_pi_line(message_end(role="user", content=blocks)) == ev.UserMessage("Look")


@pytest.mark.parametrize("role", ["system", "toolResult", "custom"])
def test_messages_of_other_roles_are_not_stored(role: str) -> None:
    raw = message_end(role=role, content="a long system prompt")
    assert decode_pi_line(raw) == ev.Activity(f"message of {role}")


def test_a_message_of_nobody_is_activity() -> None:
    assert decode_pi_line(line(type="message_end")) == ev.Activity("message of nobody")
    assert decode_pi_line(message_end(role=7)) == ev.Activity("message of nobody")


def test_an_assistant_message_whole() -> None:
    raw = message_end(
        role="assistant",
        content=[
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "first"},
            {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}},
            {"type": "text", "text": "second"},
            {"type": "toolCall", "id": "c2", "name": "ls"},
            "not a block",
        ],
        stopReason="toolUse",
        errorMessage="e",
        provider="p",
        model="m",
        usage={
            "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "reasoning": 1,
            "totalTokens": 10, "cost": {"input": 0.5, "total": 0.75},
        },
        timestamp=1,
    )  # fmt: skip
    assert decode_pi_line(raw) == ev.AssistantMessage(
        text="first\nsecond",
        tool_calls=(ev.ToolCall("c1", "read", {"path": "a"}), ev.ToolCall("c2", "ls", None)),
        stop_reason="toolUse",
        error_message="e",
        provider="p",
        model="m",
        usage=Usage(1, 2, 3, 4, 10, 0.75),
    )


def test_an_assistant_message_with_every_field_wrong_is_an_empty_one() -> None:
    raw = message_end(
        role="assistant",
        content=7,
        stopReason=[],
        errorMessage={},
        provider=1,
        model=None,
        usage=[],
    )
    assert decode_pi_line(raw) == ev.AssistantMessage("")


def test_a_call_without_a_name_is_called_tool() -> None:
    raw = line(type="tool_execution_start", toolCallId=5, toolName=None, args="x")
    assert decode_pi_line(raw) == ev.ToolStarted(ev.ToolCall("", "tool", None))


@pytest.mark.parametrize(("flag", "failed"), [(True, True), (False, False), ("true", False)])
def test_a_finished_call(flag: object, failed: bool) -> None:
    raw = line(
        type="tool_execution_end",
        toolCallId="c1",
        toolName="bash",
        result={"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        isError=flag,
    )
    assert decode_pi_line(raw) == ev.ToolFinished("c1", "bash", "a\nb", failed)


def test_a_finished_call_without_a_result() -> None:
    assert decode_pi_line(line(type="tool_execution_end")) == ev.ToolFinished("", "", "", False)


def test_a_retry() -> None:
    raw = line(
        type="auto_retry_start", attempt=1, maxAttempts=3, delayMs=2000, errorMessage="529 busy"
    )
    assert decode_pi_line(raw) == ev.Retrying(1, 3, 2000, "529 busy")
    raw = line(type="auto_retry_start", attempt=True, maxAttempts="3", delayMs=1.5)
    assert decode_pi_line(raw) == ev.Retrying(0, 0, 0, "")


def test_settled() -> None:
    assert decode_pi_line(line(type="agent_settled")) == ev.Settled()


@pytest.mark.parametrize("stream", GOLDEN, ids=lambda path: path.stem)
@pytest.mark.parametrize("chunk", [1 << 20, 4096, 1])
def test_a_recorded_stream_of_the_real_pi_gives_what_it_always_gave(
    stream: Path, chunk: int
) -> None:
    raw = stream.read_bytes()
    promised = Golden(**json.loads(stream.with_suffix(".json").read_text(encoding="utf-8")))
    assert Golden(promised.exit_code, *read_stream(raw, promised.exit_code, chunk)) == promised


def test_every_tested_pi_gives_the_same_progress_and_outcome() -> None:
    found: dict[str, list[object]] = {}
    for stream in GOLDEN:
        promised = json.loads(stream.with_suffix(".json").read_text(encoding="utf-8"))
        name = stream.stem.split("-", 2)[2]
        found.setdefault(name, []).append([promised["progress"], promised["outcome"]])
    assert {name: heard for name, heard in found.items() if heard != heard[:1] * len(heard)} == {}


def test_the_recorded_streams_cover_what_they_are_there_for() -> None:
    names = {tuple(path.stem.split("-", 2)[1:]) for path in GOLDEN}
    everywhere = ("tools", "retry", "model-error", "length", "empty")
    assert names == {*product(TESTED_VERSIONS, everywhere), ("1.5.0", "script")}
    everything = b"".join(path.read_bytes() for path in GOLDEN)
    kinds = {json.loads(raw)["type"] for raw in everything.split(b"\n") if raw}
    assert kinds == {
        "session", "agent_start", "agent_end", "agent_settled", "turn_start", "turn_end",
        "message_start", "message_update", "message_end", "tool_execution_start",
        "tool_execution_update", "tool_execution_end", "auto_retry_start", "auto_retry_end",
        "entry_appended",
    }  # fmt: skip
    for separator in ("\u2028", "\u0085"):
        assert separator.encode() in everything


def test_of_a_missing_key_a_user_can_know_the_way_out() -> None:
    assert advice_on("No API key found for x.\nUse /login") == (core_messages.NOTE_NO_MODEL,)
    assert advice_on("Segmentation fault") == ()

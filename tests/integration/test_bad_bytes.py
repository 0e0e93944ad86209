"""Bad bytes cost at most their own line: what follows still counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import JSON, RPC, takes_long
from tests.fakes.workplace import answered, comparable

from pi_subagents.core.run import events as ev
from pi_subagents.core.usage import MOST

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

pytestmark = takes_long
DEEP = 100_000
NOT_RECORDS = {
    "null": (b"null", "null"),
    "a number": (b"17", "17"),
    "a huge number": (b"9" * 5000, "9" * 5000),
    "an infinite number": (b"1e999", "1e999"),
    "an array": (b"[1, 2, 3]", "[1, 2, 3]"),
    "a string": (b'"agent_settled"', '"agent_settled"'),
    "an object without a type": (b'{"role":"assistant"}', '{"role":"assistant"}'),
    "a type that is no text": (b'{"type":["message_end"]}', '{"type":["message_end"]}'),
    "plain words": (b"npm WARN deprecated", "npm WARN deprecated"),
    "invalid UTF-8": (b"caf\xe9 \xff\xfe!", "caf\ufffd \ufffd\ufffd!"),
    "a cut character": (b"\xe2\x82", "\ufffd"),
    "NUL bytes": (b"a\0b\0", "a\0b\0"),
    "half an object": (b'{"type":"message_end","mess', '{"type":"message_end","mess'),
    "two objects": (b'{"type":"a"}{"type":"b"}', '{"type":"a"}{"type":"b"}'),
    "deep nesting": (b"[" * DEEP, "[" * DEEP),
    "Unicode line ends": ("a\u2028b\u2029c\x85d".encode(), "a\u2028b\u2029c\x85d"),
    "a carriage return": (b"50%\r100%\r", "50%\r100%"),
    "an escape sequence": (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
}


def record(**fields: object) -> bytes:
    return json.dumps(fields).encode("ascii")


def message(**fields: object) -> bytes:
    return record(type="message_end", message={"role": "assistant", **fields})


NESTED: dict[str, object] = {}
for _ in range(500):
    NESTED = {"in": NESTED}
# Records whose parts are not what they should be: read as far as they go.
ODD_RECORDS = {
    "a message that is no object": record(type="message_end", message=7),
    "no message": record(type="message_end"),
    "content that is a number": message(content=5, stopReason="stop"),
    "blocks that are no objects": message(content=[None, 1, "x", [2]], stopReason=["stop"]),
    "a text that is no text": message(content=[{"type": "text", "text": {"a": 1}}]),
    "usage of the wrong types": message(content=[], usage={"input": "many", "cost": [1]}),
    "usage beyond all bounds": message(content=[], usage={"input": 10**400, "cost": {"total": -1}}),
    "a lone surrogate": message(content=[{"type": "text", "text": "\ud800"}]),
    "a call without anything": message(content=[{"type": "toolCall"}]),
    "arguments nested too deep": message(content=[{"type": "toolCall", "arguments": NESTED}]),
    "a tool that ends before it starts": record(type="tool_execution_end", toolCallId=None),
    "a retry of nothing": record(type="auto_retry_start", attempt="x", delayMs=None),
    "deep nesting in a record": b'{"type":"x","y":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "an unknown event": record(type="a_later_pi_says_this", text="\0"),
    "an update that is cut": b'{"type":"message_update","usage":{}',
}


async def test_what_is_no_record_is_output_text(place: Workplace) -> None:
    work = place.delegate_by_api("odd")
    child = await place.child("odd")
    await child.do("begin")
    for data, _ in NOT_RECORDS.values():
        await child.line(data)
    await child.answer_and_exit("fine")
    assert comparable(await work.result()) == answered("odd", "fine")
    shown = [event.text for event in work.events() if isinstance(event, ev.OutputText)]
    assert dict(zip(NOT_RECORDS, shown, strict=True)) == {
        case: text for case, (_, text) in NOT_RECORDS.items()
    }


async def test_records_with_odd_parts_harm_nothing(place: Workplace) -> None:
    work = place.delegate_by_api("odd")
    child = await place.child("odd")
    await child.do("begin")
    for line in ODD_RECORDS.values():
        await child.line(line)
    await child.answer_and_exit("fine")
    result = await work.result()
    assert (result.status, result.output) == ("completed", "fine")
    assert result.notes == ("Asked its model again once",)  # as one of them says, however badly
    # In RPC mode the sum is the child's own, of its session.
    assert (result.usage.input, result.usage.cost) == ({JSON: MOST, RPC: 1}[place.child_mode], 0.0)


async def test_empty_lines_and_carriage_returns_are_nothing(place: Workplace) -> None:
    work = place.delegate_by_api("blank")
    child = await place.child("blank")
    await child.write(b"\n\r\n\n")
    await child.line(record(type="agent_start") + b"\r")
    await child.answer_and_exit("fine")
    assert comparable(await work.result()) == answered("blank", "fine")
    assert not [event for event in work.events() if isinstance(event, ev.OutputText)]


@pytest.mark.parametrize("half", [b'{"type":"message_end","message":{"ro', b"\xe2\x82", b"["])
async def test_half_a_record_at_the_end_does_not_spoil_the_answer(
    place: Workplace, half: bytes
) -> None:
    work = place.delegate_by_api("cut")
    child = await place.child("cut")
    await child.say("whole")
    await child.settle()
    await child.write(half)
    await child.exit(0)
    assert comparable(await work.result()) == answered("cut", "whole")
    assert work.events()[-1] == ev.OutputText(half.decode("utf-8", "replace"))


async def test_a_last_record_without_an_end_of_line_counts(place: Workplace) -> None:
    work = place.delegate_by_api("unended")
    child = await place.child("unended")
    await child.say("the answer")
    await child.write(record(type="agent_settled"))
    await child.exit(0)
    assert comparable(await work.result()) == answered("unended", "the answer")
    assert work.events()[-1] == ev.Settled()


async def test_characters_cut_between_two_reads_arrive_whole(place: Workplace) -> None:
    text = "Grüße, 世界 \u2028 👩‍👩‍👧"
    work = place.delegate_by_api("split")
    child = await place.child("split")
    await child.do("begin")
    content = [{"type": "text", "text": text}]
    fields = {"role": "assistant", "content": content, "stopReason": "stop"}
    line = json.dumps({"type": "message_end", "message": fields}, ensure_ascii=False).encode()
    for index in range(len(line)):
        await child.write(line[index : index + 1], until_read=True)
    await child.line(b"")
    await child.settle()
    await child.exit(0)
    assert (await work.result()).output == text


async def test_a_long_text_of_wide_characters_arrives_whole(place: Workplace) -> None:
    """Its 64 KiB borders fall into the middle of characters."""
    text = "a€😀ä" * 60_000
    work = place.delegate_by_api("wide")
    await (await place.child("wide")).answer_and_exit(text)
    is_whole = (await work.result()).output == text
    assert is_whole


async def test_stderr_and_stdout_do_not_mix(place: Workplace) -> None:
    work = place.delegate_by_api("both")
    child = await place.child("both")
    await child.do("begin")
    await child.write(b'{"type":"agent_', until_read=True)
    await child.write(b"warning: \xff\nhalf", to=2, until_read=True)
    await child.write(b'start"}\n', until_read=True)
    await child.answer_and_exit("fine")
    assert comparable(await work.result()) == answered("both", "fine")
    assert [e for e in work.events() if isinstance(e, ev.ErrorText | ev.OutputText)] == [
        ev.ErrorText("warning: \ufffd"),
        ev.ErrorText("half"),
    ]
    assert place.run_dir(child).stderr.read_bytes() == b"warning: \xff\nhalf"

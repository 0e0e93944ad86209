"""A session file of pi is made fit for another child, or refused with the reason."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.engines.base import ContinuedSession
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.session_file import continued

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "T", "cwd": "/work"}


def said(own: str, parent: str | None, role: str, **message: object) -> dict[str, object]:
    return {
        "type": "message",
        "id": own,
        "parentId": parent,
        "timestamp": f"T{own}",
        "message": {"role": role, "timestamp": 7, **message},
    }


def calling(own: str, parent: str, *calls: str, stop: str = "toolUse") -> dict[str, object]:
    content = [{"type": "toolCall", "id": each, "name": f"tool {each}"} for each in calls]
    return said(own, parent, "assistant", content=content, stopReason=stop)


def file_of(*entries: object) -> bytes:
    # With blanks, unlike ours: what was there has to stay as it was.
    return b"".join(json.dumps(each).encode() + b"\n" for each in (HEADER, *entries))


USER = said("1", None, "user", content="Look.")
DONE = said("2", "1", "assistant", content=[{"type": "text", "text": "é"}], stopReason="stop")
WHOLE = file_of(USER, DONE)


def added(content: bytes) -> list[dict[str, Any]]:
    """Return what was added to a session, as values."""
    found = continued(content, "/work").content
    assert found.startswith(content)
    return [json.loads(line) for line in found.removeprefix(content).splitlines()]


def test_a_whole_session_stays_byte_for_byte() -> None:
    assert continued(WHOLE, "/work") == ContinuedSession(WHOLE)


def test_in_another_directory_only_the_header_changes_and_it_is_known_where_it_was() -> None:
    found = continued(WHOLE, "/else where/é")
    header, rest = found.content.split(b"\n", 1)
    assert json.loads(header) == {**HEADER, "cwd": "/else where/é"}
    assert (rest, found.moved_from) == (WHOLE.split(b"\n", 1)[1], "/work")


@pytest.mark.parametrize("half", [b"{", b'{"type":"mess', b'{"a":"\xc3', bytes(100), b"[1]", b"7"])
def test_half_a_line_at_its_end_is_left_out(half: bytes) -> None:
    assert continued(WHOLE + half, "/work").content == WHOLE


def test_a_whole_line_without_its_end_stays() -> None:
    assert continued(WHOLE[:-1], "/work").content == WHOLE


def test_tool_calls_that_were_cut_short_get_a_result_each_after_those_that_were_not() -> None:
    ended = said("3", "2", "toolResult", toolCallId="b")
    content = file_of(USER, calling("2", "1", "a", "b", "c"), ended)
    results = [
        {
            "type": "message",
            "id": own,
            "parentId": parent,
            "timestamp": "T2",
            "message": {
                "role": "toolResult",
                "toolCallId": call,
                "toolName": f"tool {call}",
                "content": [{"type": "text", "text": messages.CALL_WAS_CUT_SHORT}],
                "isError": True,
                "timestamp": 7,
            },
        }
        for own, parent, call in (("00000000", "3", "a"), ("00000001", "00000000", "c"))
    ]
    assert added(content) == results


OTHER = {"type": "custom", "id": "3", "parentId": "2", "customType": "x", "data": 1}


@pytest.mark.parametrize(
    ("last", "calls"),
    [
        ([OTHER], ["a"]),  # which is between a call and its result, too
        ([said("3", "2", "user", content="And?")], []),  # pi answers it itself, in its place
        ([{**OTHER, "type": "compaction", "summary": "s", "firstKeptEntryId": "3"}], []),
        ([said("3", "2", "assistant", content=[], stopReason="error")], []),
        ([said("3", "2", "toolResult", toolCallId="a")], []),
    ],
    ids=["an entry of an extension", "a message", "a summary", "a failed answer", "its result"],
)
def test_only_calls_at_the_very_end_are_ours_to_answer(
    last: list[object], calls: list[str]
) -> None:
    found = added(file_of(USER, calling("2", "1", "a"), *last))
    assert [each["message"]["toolCallId"] for each in found] == calls


@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_calls_of_an_answer_that_pi_leaves_out_get_none(stop: str) -> None:
    assert added(file_of(USER, calling("2", "1", "a", stop=stop))) == []


def test_a_call_of_another_branch_gets_none() -> None:
    content = file_of(USER, calling("2", "1", "a"), {**DONE, "id": "3"})
    assert added(content) == []


@pytest.mark.parametrize(
    "content",
    [
        WHOLE[1:],  # no header
        WHOLE.replace(b'"version": 3', b'"version": 4'),
        WHOLE.replace(b'"cwd": "/work"', b'"cwd": 7'),
        file_of(USER) + b"{\n" + WHOLE.splitlines(keepends=True)[2],  # half a line inside
        file_of(USER) + b"\n" + WHOLE.splitlines(keepends=True)[2],
        file_of(USER, {**DONE, "parentId": "gone"}),
        file_of(USER, {**DONE, "id": "1"}),
        file_of(USER, DONE, HEADER),
        file_of(USER, {**DONE, "id": None}),
        file_of(USER, {**DONE, "parentId": ["1"]}),
        file_of(USER, ["no object"]),
        file_of(USER, {**DONE, "n": float("nan")}),  # no JSON to JavaScript
        file_of(USER) + b"[" * 100_000 + b"\n",
        file_of(USER) + b'{"type":"x\xff"}\n',
    ],
)
def test_a_session_that_pi_would_read_otherwise_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=messages.SESSION_IS_DAMAGED):
        continued(content, "/work")


@pytest.mark.parametrize(
    "content", [b"", b"half a header", file_of(), file_of({**OTHER, "parentId": None})]
)
def test_a_session_in_which_nothing_was_said_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=messages.SESSION_IS_EMPTY):
        continued(content, "/work")


roles = st.sampled_from(["user", "assistant", "toolResult", "system"])
calls = st.lists(st.sampled_from("abc"), unique=True, max_size=3)


@st.composite
def sessions(draw: st.DrawFn) -> bytes:
    entries: list[dict[str, object]] = [USER]
    for number in range(draw(st.integers(0, 6))):
        own, parent = f"e{number}", str(entries[-1]["id"])
        if draw(st.booleans()):
            stop = draw(st.sampled_from(["toolUse", "stop", "error", "aborted"]))
            entries.append(calling(own, parent, *draw(calls), stop=stop))
        else:
            call = draw(st.sampled_from("abc"))
            entries.append(said(own, parent, draw(roles), toolCallId=call, content=draw(st.text())))
    return file_of(*entries)


@given(content=sessions(), cut=st.floats(0, 1), cwd=st.text(min_size=1))
def test_wherever_a_session_was_cut_what_comes_of_it_is_whole_and_stays_as_it_is(
    content: bytes, cut: float, cwd: str
) -> None:
    left = content[: round(len(content) * cut)]
    found, refused = None, ""
    try:
        found = continued(left, cwd)
    except ValueError as refusal:
        refused = str(refusal)
    if found is None:
        assert refused == messages.SESSION_IS_EMPTY  # it was never damaged inside
        return
    lines = found.content.splitlines()
    entries: Sequence[dict[str, Any]] = [json.loads(line) for line in lines]
    assert found.content.endswith(b"\n")
    assert entries[0]["cwd"] == cwd
    known = left.splitlines()[1 : len(lines)]
    kept = [line for line in known if line in lines]
    assert lines[1 : 1 + len(kept)] == kept
    assert len(known) - len(kept) <= 1  # half a line
    assert continued(found.content, cwd) == ContinuedSession(found.content)


@given(content=st.binary() | st.binary().map(lambda some: WHOLE + some + b"\n" + WHOLE))
def test_whatever_is_in_a_file_it_is_continued_or_refused(content: bytes) -> None:
    try:
        found = continued(content, "/work")
    except ValueError:
        return
    assert continued(found.content, "/work").content == found.content

"""A call that begins without its arguments has those of the message that asked for it."""

from __future__ import annotations

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.known_calls import MAX_CALLS, KnownCalls

CALL = ev.ToolCall("1", "bash", {"command": "make"})
BEGUN = ev.ToolStarted(ev.ToolCall("1", "bash", None, "0"))


def test_a_call_begins_with_what_it_was_asked_for_with_once() -> None:
    calls = KnownCalls()
    calls.completed(ev.AssistantMessage("", (CALL,)))
    whole = ev.ToolStarted(ev.ToolCall("1", "bash", {"command": "make"}, "0"))
    assert [calls.completed(BEGUN), calls.completed(BEGUN)] == [whole, BEGUN]


def test_a_call_that_says_its_arguments_or_is_of_another_tool_is_left_as_it_is() -> None:
    for begun in (
        ev.ToolStarted(ev.ToolCall("1", "bash", {"command": "ls"})),
        ev.ToolStarted(ev.ToolCall("1", "read", None)),
        ev.Note("x"),
    ):
        calls = KnownCalls()
        calls.completed(ev.AssistantMessage("", (CALL,)))
        assert calls.completed(begun) is begun


def test_only_the_newest_calls_are_remembered() -> None:
    calls = KnownCalls()
    many = tuple(ev.ToolCall(f"{n}", "bash", {"n": n}) for n in range(MAX_CALLS + 1))
    calls.completed(ev.AssistantMessage("", many))
    found = [calls.completed(ev.ToolStarted(ev.ToolCall(f"{n}", "bash", None))) for n in (0, 1)]
    assert found == [
        ev.ToolStarted(ev.ToolCall("0", "bash", None)),
        ev.ToolStarted(ev.ToolCall("1", "bash", {"n": 1})),
    ]

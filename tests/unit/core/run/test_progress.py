from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.run_places import run_at
from tests.unit.core.given_values import briefly, events
from tests.unit.service.fake_runner import planned

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.progress import (
    COMMAND_WIDTH,
    MAX_OPEN_CALLS,
    LastWords,
    ProgressFormatter,
)
from pi_subagents.faces.cli.console import Console, Verbosity
from pi_subagents.faces.cli.work.live import ProgressPrinter
from pi_subagents.service.delegation import Update
from pi_subagents.store.run_log import RunLog

if TYPE_CHECKING:
    from pathlib import Path


def started(name: str, call_id: str = "c", **arguments: object) -> ev.ToolStarted:
    return ev.ToolStarted(ev.ToolCall(call_id, name, arguments))


def finished(name: str, call_id: str = "c", *, failed: bool = False) -> ev.ToolFinished:
    return ev.ToolFinished(call_id, name, "whatever it printed", failed)


def said(*happened: ev.Event) -> list[str]:
    formatter = ProgressFormatter()
    return [formatter.text(event) for event in happened]


@pytest.mark.parametrize(
    ("name", "arguments", "texts"),
    [
        ("read", {"path": "src/auth.ts"},
         ["Reading src/auth.ts", "Finished reading src/auth.ts", "Read failed: src/auth.ts"]),
        ("grep", {"pattern": "auth"},
         ["Searching code for auth", "Search finished", "Search failed"]),
        ("find", {"pattern": "*.test.ts"},
         ["Scanning for *.test.ts", "Scan finished", "Scan failed"]),
        ("ls", {"path": "src/"}, ["Listing src/", "Finished listing src/", "List failed: src/"]),
        ("edit", {"path": "src/tool.ts", "edits": []},
         ["Editing src/tool.ts", "Finished editing src/tool.ts", "Edit failed: src/tool.ts"]),
        ("write", {"path": "README.md", "content": "x"},
         ["Writing README.md", "Finished writing README.md", "Write failed: README.md"]),
        ("bash", {"command": "npm test"},
         ["npm test", "Command finished: npm test", "Command failed: npm test"]),
        ("read", {"file_path": "a"}, ["Reading a", "Finished reading a", "Read failed: a"]),
        ("grep", {"query": "a"}, ["Searching code for a", "Search finished", "Search failed"]),
        ("teleport", {"to": "moon"}, ["Running teleport", "teleport finished", "teleport failed"]),
        # No argument to speak of: the tool's name has to do.
        ("read", {}, ["Running read", "read finished", "read failed"]),
        ("read", {"path": ""}, ["Running read", "read finished", "read failed"]),
        ("read", {"path": " \n"}, ["Running read", "read finished", "read failed"]),
        ("read", {"path": ["a"]}, ["Running read", "read finished", "read failed"]),
        ("read", {"path": "\x1b[31m"}, ["Running read", "read finished", "read failed"]),
        ("bash", {"command": "\n" * 5000 + "make"}, ["Running bash", "bash finished", "bash failed"]),
        ("grep", {"path": "src"}, ["Running grep", "grep finished", "grep failed"]),
    ],
)  # fmt: skip
def test_the_words_of_seed_003(name: str, arguments: dict[str, object], texts: list[str]) -> None:
    begin = ev.ToolStarted(ev.ToolCall("c", name, arguments))
    assert [*said(begin, finished(name)), said(begin, finished(name, failed=True))[1]] == texts


def test_a_result_without_a_known_call_is_told_by_its_name() -> None:
    assert said(finished("read"), finished("grep", failed=True)) == ["read finished", "grep failed"]
    assert said(finished(""), finished("", failed=True)) == ["tool finished", "tool failed"]


def test_a_call_without_arguments_is_told_by_its_name() -> None:
    call = ev.ToolCall("c", "read", None)
    assert said(ev.ToolStarted(call), finished("read")) == ["Running read", "read finished"]


def test_results_are_tied_to_their_calls_by_id_in_any_order() -> None:
    assert said(
        started("bash", "c1", command="sleep 9"),
        started("read", "c2", path="a"),
        started("read", "c3", path="b"),
        finished("read", "c3"),
        finished("bash", "c1", failed=True),
        finished("read", "c2"),
        finished("read", "c2"),
    ) == [
        "sleep 9", "Reading a", "Reading b", "Finished reading b", "Command failed: sleep 9",
        "Finished reading a", "read finished",
    ]  # fmt: skip


def test_a_call_journaled_without_arguments_has_those_of_its_message() -> None:
    """The supervisor journals the arguments of a call once, with the message that asked for it."""
    message = ev.AssistantMessage("", (ev.ToolCall("c", "read", {"path": "a"}),), "toolUse")
    again = ev.ToolStarted(ev.ToolCall("c", "read", None))
    assert said(message, again, finished("read")) == ["", "Reading a", "Finished reading a"]


@pytest.mark.parametrize("text", ["", " ", "\n\t \n"])
def test_blank_text_says_nothing(text: str) -> None:
    assert said(
        ev.AssistantMessage(text), ev.OutputText(text), ev.ErrorText(text), ev.AssistantMessage("")
    ) == ["", "", "", ""]


def test_the_childs_own_words_come_as_they_are() -> None:
    message = ev.AssistantMessage("\nI\u2019m inspecting the auth flow now.\nThen tests.\n")
    assert said(message) == ["I\u2019m inspecting the auth flow now.\nThen tests."]


@pytest.mark.parametrize(
    "intent",
    [
        "I\u2019m inspecting the auth flow now.",
        "I found the schema; next I\u2019m checking validation.",
    ],
)
def test_what_the_child_says_is_not_replaced_by_the_call_it_makes(intent: str) -> None:
    call = ev.ToolCall("c", "read", {"path": "src/auth.ts"})
    assert said(
        ev.AssistantMessage(intent, (call,), "toolUse"), ev.ToolStarted(call), finished("read")
    ) == [intent, "Reading src/auth.ts", "Finished reading src/auth.ts"]


def test_a_child_that_only_acts_is_told_by_its_actions() -> None:
    call = ev.ToolCall("c", "edit", {"path": "src/tool.ts"})
    assert said(
        ev.AssistantMessage(" \n", (call,), "toolUse"),
        ev.ToolStarted(call),
        finished("edit", failed=True),
    ) == ["", "Editing src/tool.ts", "Edit failed: src/tool.ts"]


WORK: list[ev.Event] = [
    ev.StateChanged("stopping"),
    ev.AssistantMessage("I look first.", (ev.ToolCall("c", "grep", {"pattern": "auth"}),)),
    ev.ToolStarted(ev.ToolCall("c", "grep", None)),
    finished("grep"),
    ev.AssistantMessage("  "),
    started("bash", "d", command="make"),
    finished("bash", "d", failed=True),
    ev.Retrying(1, 3, 0, "busy"),
    ev.Note("A line was skipped."),
]
IN_WORDS = [
    "I look first.", "Searching code for auth", "Search finished", "make", "Command failed: make",
    "✗ whatever it printed",
    "Retrying (1/3): busy", "A line was skipped.",
]  # fmt: skip


def test_live_lines_and_transcript_have_the_same_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = run_at(tmp_path / ("a" * 32))
    os.close(run_dir.begin({}, b""))
    log, live = RunLog(run_dir, "t0"), ProgressPrinter(Console(Verbosity.VERBOSE))
    for event in WORK:
        log.record(event, 0)
        live(Update(planned(0), event))
    log.close()
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["[t0] stopping", *(f"[t0] {text}" for text in IN_WORDS)]
    assert run_dir.transcript.read_text().splitlines() == ["# t0", *IN_WORDS]


def test_live_lines_leave_out_what_went_well_unless_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    live = ProgressPrinter(Console())
    for event in WORK:
        live(Update(planned(0), event))
    shown = [text for text in IN_WORDS if text != "Search finished"]
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["[t0] stopping", *(f"[t0] {text}" for text in shown)]


def test_everything_else_that_can_happen() -> None:
    assert said(
        ev.Retrying(1, 3, 2000, "429\nToo many"),
        ev.Retrying(2, 3, 2000, ""),
        ev.Retrying(0, 0, 0, "Reconnecting"),
        ev.OutputText("no record  \n"),
        ev.ErrorText("Warning: x\n"),
        ev.Note("A line was skipped."),
        ev.UserMessage("the task"),
        ev.StateChanged("running"),
        ev.Settled(),
        ev.Activity("message_update"),
    ) == [
        "Retrying (1/3): 429 Too many", "Retrying (2/3)", "Retrying: Reconnecting", "no record", "[stderr]: Warning: x", "A line was skipped.",
        "", "", "", "",
    ]  # fmt: skip


def test_a_message_to_the_child_is_told_once_with_what_became_of_it() -> None:
    assert said(
        ev.UserMessage("Use the other file.\nNot this one."),
        ev.Steer("1", ev.DELIVERED, "Use the other file.\nNot this one.\n"),
        ev.Steer("2", ev.REFUSED, "Stop that.", "It had finished."),
        ev.Steer(ev.WRAP_UP, ev.DELIVERED, core_messages.WRAP_UP),
        ev.Steer(ev.WRAP_UP, ev.REFUSED, core_messages.WRAP_UP, "It is being stopped."),
    ) == [
        "",
        "Steered: Use the other file.\nNot this one.",
        "Steering refused: Stop that. (It had finished.)",
        "Asked to finish: its time is almost up",
        "Could not be asked to finish: its time is almost up (It is being stopped.)",
    ]


def test_commands_are_shortened_to_one_line_without_escapes() -> None:
    long = "echo a\n\tb\x1b]52;c;aGk=\x07 " + "x" * 500
    shown = "echo a b " + "x" * (COMMAND_WIDTH - 10) + "…"
    assert said(started("bash", command=long), finished("bash")) == [
        shown, f"Command finished: {shown}",
    ]  # fmt: skip
    assert len(shown) == COMMAND_WIDTH


def test_a_hostile_tool_name_is_made_printable() -> None:
    assert said(started("\x1b[2Jevil\n" + "n" * 500))[0] == "Running evil " + "n" * 114 + "…"


@briefly
@given(st.lists(events, max_size=10))
def test_raw_event_names_never_appear_and_nothing_raises(happened: list[ev.Event]) -> None:
    for text in said(*happened):
        assert "tool_call" not in text
        assert "tool_result" not in text


def test_every_one_of_as_many_parallel_calls_as_are_remembered_is_tied() -> None:
    formatter = ProgressFormatter()
    calls = [ev.ToolCall(f"c{n}", "read", {"path": f"{n}"}) for n in range(MAX_OPEN_CALLS)]
    formatter.text(ev.AssistantMessage("", tuple(calls), "toolUse"))
    for call in reversed(calls):
        formatter.text(ev.ToolStarted(ev.ToolCall(call.call_id, "read", None)))
    ends = [formatter.text(finished("read", call.call_id)) for call in calls]
    assert ends == [f"Finished reading {n}" for n in range(MAX_OPEN_CALLS)]


def test_calls_that_never_finish_are_forgotten_oldest_first() -> None:
    formatter = ProgressFormatter()
    for n in range(MAX_OPEN_CALLS + 10):
        formatter.text(started("read", f"c{n}", path=f"{n}"))
    assert formatter.text(finished("read", "c9")) == "read finished"
    assert formatter.text(finished("read", "c10")) == "Finished reading 10"


def test_the_last_words_of_several_are_kept_apart() -> None:
    words = LastWords()
    assert (words.of_each, words.latest) == ({}, None)
    words.hear(0, started("read", path="a"))
    words.hear(1, started("read", path="b"))
    words.hear(0, finished("read"))
    words.hear(1, ev.StateChanged("stopping"))
    assert words.of_each == {0: "Finished reading a", 1: "Reading b"}
    assert words.latest == (0, "Finished reading a")

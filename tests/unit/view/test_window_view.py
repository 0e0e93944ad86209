from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.window_lines import added, tool_line
from tests.unit.core.given_values import events, texts, thoroughly

from pi_subagents.core.usage import Usage
from pi_subagents.view.todos import TodoCount
from pi_subagents.view.window import (
    Window,
    WindowBuilder,
    WindowLine,
    WindowStatus,
    WindowTitle,
)
from pi_subagents.view.window_view import (
    SEPARATOR,
    counted_statuses,
    global_status,
    header_rests,
    host_elapsed,
    places,
    shown_lines,
    state_to_json,
    status_counts,
    window_name,
    window_state,
    window_to_json,
)

if TYPE_CHECKING:
    from pi_subagents.core.run import events as ev

PROFILED = WindowTitle(
    "quick-task",
    profile="code-reviewer",
    provider="scripted",
    model="other",
    thinking_level="high",
    tool_count=3,
    file_count=2,
    session_id="cac9f93297944b67",
)


def whole_header(window: Window) -> str:
    """Return all that stands above a window."""
    rest = next(header_rests(window, "", host_elapsed(window)))
    return f"{window_state(window).sign} {window_name(window)}{rest}"


@pytest.mark.parametrize(
    ("window", "header"),
    [
        (Window(WindowTitle("quick-task")), "○ quick-task • 0s/600s"),
        (Window(WindowTitle("t", engine="acp:codex")), "○ t • acp:codex • 0s/600s"),
        (Window(WindowTitle("busy-task"), "running", elapsed_ms=1999), "● busy-task • 1s/600s"),
        (Window(WindowTitle("busy-task", profile="nope"), "error"), "✗ busy-task • nope • 0s/600s"),
        (Window(PROFILED, "completed", elapsed_ms=1000),
         "✓ quick-task • code-reviewer (scripted/other high) • 3 tools • 2 files • 1s/600s"),
        (Window(PROFILED, "running", todo=TodoCount(1, 3), elapsed_ms=61_000),
         "● quick-task • code-reviewer (scripted/other high) • 3 tools • 2 files • [1/3] • 61s/600s"),
        (Window(WindowTitle("t", timeout_s=300.0), todo=TodoCount(3, 3)), "○ t • 0s/300s"),
        (Window(WindowTitle("t", profile="p", model="a/b", thinking_level="off", tool_count=1, file_count=1,
                            timeout_s=2.5)),
         "○ t • p (a/b off) • 1 tool • 1 file • 0s/2.5s"),
        (Window(WindowTitle("t", profile="p", provider="acme")), "○ t • p (acme) • 0s/600s"),
        (Window(WindowTitle("t", profile="p", thinking_level="low")), "○ t • p (low) • 0s/600s"),
        # Without a profile the model is nobody's choice, and not told.
        (Window(WindowTitle("t", provider="acme", model="m")), "○ t • 0s/600s"),
        (Window(WindowTitle("a\n\x1b]0;x\x07b", profile="\x1b[1mp")), "○ a b • p • 0s/600s"),
    ],
)  # fmt: skip
def test_the_header_of_a_window(window: Window, header: str) -> None:
    assert whole_header(window) == header


@pytest.mark.parametrize(
    ("statuses", "line"),
    [
        (["running"] * 3, "Sub-agents: 3 running"),
        (["completed", "running", "error", "running"], "Sub-agents: 2 running, 1 done, 1 error"),
        (["completed", "completed", "error"], "Sub-agents: 2 done, 1 error"),
        (["error", "error"], "Sub-agents: 2 errors"),
        (["queued", "queued", "running", "completed"], "Sub-agents: 1 running, 2 queued, 1 done"),
    ],
)
def test_the_status_of_all_windows(statuses: list[WindowStatus], line: str) -> None:
    assert global_status(Window(WindowTitle("t"), status) for status in statuses) == line


def test_some_statuses_can_be_counted_alone() -> None:
    windows = [Window(WindowTitle("t"), status) for status in ("queued", "error", "queued")]
    assert counted_statuses(windows, ("running", "queued")) == "2 queued"
    assert counted_statuses(windows, ("error", "queued")) == "1 error, 2 queued"
    assert counted_statuses(windows, ("running",)) == ""


def test_who_waits_has_a_place_in_the_queue() -> None:
    queued, running = Window(WindowTitle("t")), Window(WindowTitle("t"), "running")
    assert places([running, queued, running, queued]) == [0, 1, 0, 2]


@pytest.mark.parametrize(
    ("usage", "spent"),
    [
        (Usage(), ""),
        (Usage(cost=0.5), ""),
        (Usage(total_tokens=999), "999 tokens"),
        (Usage(total_tokens=1000, cost=0.5), "1.0k tokens $0.5000"),
    ],
)
def test_what_was_spent_is_told_as_far_as_it_is_known(usage: Usage, spent: str) -> None:
    rest = next(header_rests(Window(WindowTitle("t"), usage=usage), "", ""))
    assert rest.removeprefix(SEPARATOR) == spent


def test_the_latest_lines_are_shown_or_the_history_or_why_there_are_none() -> None:
    one, two = WindowLine.said("1"), tool_line("2")
    window = Window(PROFILED, lines=(two,), history=(one, two))
    assert shown_lines(window, expanded=False) == (two,)
    assert shown_lines(window, expanded=True) == (one, two)
    starting, nothing = WindowLine.said("(starting...)"), WindowLine.said("(no output)")
    assert shown_lines(Window(PROFILED, "running"), expanded=False) == (starting,)
    assert shown_lines(Window(PROFILED, "running"), expanded=True) == (nothing,)
    assert shown_lines(Window(PROFILED, "completed"), expanded=False) == (nothing,)
    assert shown_lines(Window(PROFILED, "error"), expanded=False) == (nothing,)


def test_the_json_of_a_window() -> None:
    line = tool_line("ls → . → ", added("2"), " files")
    window = Window(
        PROFILED,
        "error",
        call_count=4,
        todo=TodoCount(1, 3),
        started_at_ms=1700000000000,
        elapsed_ms=1500,
        lines=(line,),
        history=(WindowLine.said("Hello."), line),
        error_message="refused",
        usage=Usage(1, 2, 3, 4, 10, 0.5),
    )
    heard = {
        "name": "quick-task",
        "profile": "code-reviewer",
        "provider": "scripted",
        "model": "other",
        "thinkingLevel": "high",
        "status": "error",
        "toolCount": 3,
        "callCount": 4,
        "fileCount": 2,
        "todo": {"completed": 1, "total": 3},
        "startedAt": 1700000000000,
        "elapsedMs": 1500,
        "timeoutS": 600,
        "lines": [{"text": "ls → . → 2 files", "kind": "tool"}],
        "errorMessage": "refused",
        "sessionId": "cac9f93297944b67",
        "usage": {
            "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
            "cost": {"total": 0.5},
        },
    }  # fmt: skip
    assert window_to_json(window) == heard
    assert state_to_json(window) == {key: heard[key] for key in heard if key != "lines"}


def test_what_is_not_known_of_a_window_is_null() -> None:
    title = WindowTitle("a\x1b[31m\nb", profile="\x1b[31mp")
    assert window_to_json(Window(title, todo=TodoCount(2, 2))) == {
        "name": "a b",
        "profile": "p",
        "provider": None,
        "model": None,
        "thinkingLevel": None,
        "status": "queued",
        "toolCount": None,
        "callCount": 0,
        "fileCount": 0,
        "todo": None,
        "startedAt": None,
        "elapsedMs": 0,
        "timeoutS": 600,
        "lines": [],
        "errorMessage": None,
        "sessionId": None,
        "usage": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": {"total": 0.0},
        },
    }  # fmt: skip


def test_each_count_comes_with_its_status() -> None:
    windows = [Window(WindowTitle("t"), status) for status in ("queued", "error", "error")]
    wanted: tuple[WindowStatus, ...] = ("error", "running", "queued")
    assert status_counts(windows, wanted) == [("error", "2 errors"), ("queued", "1 queued")]


@thoroughly
@given(st.lists(events, max_size=8), texts)
def test_any_window_can_be_told(happened: list[ev.Event], name: str) -> None:
    builder = WindowBuilder(WindowTitle(name), cwd="/w", home="/h")
    for event in happened:
        builder.apply(event, 0)
    window = builder.window(0)
    json.dumps(window_to_json(window)).encode()
    assert whole_header(window).isprintable()

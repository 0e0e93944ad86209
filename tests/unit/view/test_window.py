from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.window_lines import added, failed_call, following_line, kept, steer_line, tool_line
from tests.unit.core.given_values import briefly, events, texts, thoroughly

from pi_subagents.core.messages import NO_TEXT_OUTPUT
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.usage import Usage
from pi_subagents.engines.pi.records import decode_pi_line
from pi_subagents.view.preview import LineSpan, span_line
from pi_subagents.view.todos import TodoCount
from pi_subagents.view.window import (
    FAILED_MARK,
    MAX_HISTORY,
    MAX_LINE,
    MAX_STEER_TEXT,
    Window,
    WindowBuilder,
    WindowLine,
    WindowStatus,
    WindowTitle,
)

if TYPE_CHECKING:
    from pi_subagents.core.run.outcome import Status

GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("pi-*.jsonl"))
CWD, HOME = "/data/ann/app", "/data/ann"
TITLE = WindowTitle("review", session_id="b" * 16)


def builder(
    *happened: ev.Event, title: WindowTitle = TITLE, max_lines: int = 15, width: int = 160
) -> WindowBuilder:
    made = WindowBuilder(title, cwd=CWD, home=HOME, max_lines=max_lines, width=width)
    for event in happened:
        made.apply(event, 1000)
    return made


def history(*happened: ev.Event) -> list[tuple[str, str]]:
    return [(line.text, line.kind) for line in builder(*happened).window(1000).history]


def asking(*calls: ev.ToolCall, text: str = "") -> ev.AssistantMessage:
    return ev.AssistantMessage(text, calls, "toolUse")


def ls(call_id: str, path: str = ".") -> ev.ToolCall:
    return ev.ToolCall(call_id, "ls", {"path": path})


def listed(call_id: str, text: str, *, failed: bool = False, name: str = "ls") -> ev.ToolFinished:
    return ev.ToolFinished(call_id, name, text, failed)


def result(status: Status = "completed", **more: object) -> RunResult:
    return RunResult("a" * 32, "b" * 16, "review", status, **more)  # type: ignore[arg-type]  # states and kinds by name


# How a run stands.


def test_a_window_waits_then_runs_then_stands_still() -> None:
    made = builder(ev.StateChanged("planned"))
    assert made.window(9000) == Window(TITLE)
    made.apply(ev.StateChanged("starting"), 10_000)
    assert made.window(10_000) == Window(TITLE, "running", started_at_ms=10_000)
    made.apply(ev.StateChanged("running"), 11_000)
    assert made.window(13_500) == Window(TITLE, "running", started_at_ms=10_000, elapsed_ms=3500)
    usage = Usage(1, 2, 3, 4, 10, 0.5)
    made.finish(result(usage=usage, tool_call_count=3, started_at_ms=10_100, duration_ms=3700))
    assert made.window(99_000) == Window(
        TITLE,
        "completed",
        call_count=3,
        started_at_ms=10_100,
        elapsed_ms=3700,
        usage=usage,
    )
    assert made.window(199_000) == made.window(99_000)


@pytest.mark.parametrize(
    ("status", "shown"),
    [("failed", "error"), ("aborted", "stopped"), ("interrupted", "interrupted")],
)
def test_every_other_end_has_its_status_and_its_message_on_one_line(
    status: Status, shown: WindowStatus
) -> None:
    made = builder()
    made.finish(result(status, error_message="400:\n\x1b[31mrefused"))
    assert made.window(1000) == Window(TITLE, shown, error_message="400: refused")


def test_an_end_without_an_answer_is_noted() -> None:
    made = builder()
    made.finish(result(output=NO_TEXT_OUTPUT))
    assert made.window(1000) == Window(TITLE, "completed", no_answer=True)


def test_a_clock_that_is_set_back_makes_no_negative_time() -> None:
    assert builder(ev.StateChanged("running")).window(400).elapsed_ms == 0


def test_a_result_without_times_keeps_the_start_that_was_seen() -> None:
    made = builder(ev.StateChanged("running"), title=WindowTitle("review"))
    made.finish(result("interrupted"))
    window = made.window(5000)
    assert (window.started_at_ms, window.elapsed_ms, window.title) == (1000, 0, TITLE)


def test_what_comes_after_the_result_is_still_shown_but_changes_nothing_else() -> None:
    made = builder()
    made.finish(result(duration_ms=5))
    made.apply(ev.AssistantMessage("late", (ls("c"),), "stop", usage=Usage(input=7)), 1000)
    window = made.window(9000)
    assert [line.text for line in window.lines] == ["late", "ls → ."]
    assert (window.status, window.elapsed_ms, window.usage) == ("completed", 5, Usage())


def test_calls_and_usage_add_up_while_it_runs() -> None:
    made = builder(
        ev.AssistantMessage("", (ls("a"), ls("b")), "toolUse", usage=Usage(input=3, cost=0.25)),
        ev.AssistantMessage("", (ls("c"),), "toolUse", usage=Usage(input=4, cost=0.25)),
    )
    window = made.window(1000)
    assert (window.call_count, window.usage) == (3, Usage(input=7, cost=0.5))


def test_a_task_without_a_model_of_its_own_has_the_one_that_answered() -> None:
    answer = ev.AssistantMessage("hi", provider="acme", model="large")
    assert builder(answer).window(0).title == WindowTitle(
        "review", provider="acme", model="large", session_id="b" * 16
    )
    for chosen in (WindowTitle("x", model="acme/small"), WindowTitle("x", provider="other")):
        assert builder(answer, title=chosen).window(0).title == chosen


def test_todos_are_followed() -> None:
    write = ev.ToolCall("c1", "write_todos", {"todos": ["a", "b"]})
    done = ev.ToolCall("c2", "edit_todos", {"action": "complete", "indices": [1]})
    made = builder(
        asking(write), ev.ToolFinished("c1", "write_todos", "ok", failed=False),
        asking(done), ev.ToolFinished("c2", "edit_todos", "ok", failed=False),
    )  # fmt: skip
    assert made.window(0).todo == TodoCount(1, 2)


# What lines there are.


def test_the_childs_words_are_split_stripped_and_blank_lines_dropped() -> None:
    said = ev.AssistantMessage("\nTwo files here.  \r\n\n \t\n\tBoth are tiny.\n")
    assert history(said) == [("Two files here.", "text"), ("    Both are tiny.", "text")]


def test_calls_follow_the_words_of_their_message() -> None:
    calls = ev.ToolCall("c1", "bash", {"command": "ls"}), ev.ToolCall("c2", "teleport", {"to": 1})
    assert history(asking(*calls, text="Looking.")) == [
        ("Looking.", "text"),
        ("bash → ls", "tool"),
        ('teleport {"to":1}', "tool"),
    ]


def test_a_call_that_no_message_announced_is_a_line_where_it_begins() -> None:
    """Agents over ACP only say that calls begin."""
    made = builder(
        ev.AssistantMessage("Looking."),
        *(ev.ToolStarted(ls(each)) for each in "ab"),
        listed("a", "a.py"),
        asking(ls("c"), text="Again."),
        ev.ToolStarted(ls("c")),
        listed("c", "b.py"),
    )
    window = made.window(1000)
    assert [line.text for line in window.lines] == [
        "Looking.", "ls → . → 1 file", "ls → .", "Again.", "ls → . → 1 file",
    ]  # fmt: skip
    assert window.call_count == 3


def test_the_lines_of_a_long_command_are_entries_of_their_own() -> None:
    call = ev.ToolCall("c", "bash", {"command": "npm ci && npm test"})
    made = builder(asking(call), width=20)
    assert made.window(0).lines == (
        tool_line("bash → npm ci", kept(" &&")),
        following_line("│ npm test"),
    )


def test_words_that_look_like_a_call_are_words() -> None:
    text = "edit → a.py (1 edit) +1/-1"
    said, steered = ev.AssistantMessage(text), ev.Steer("1", ev.DELIVERED, text)
    assert builder(said, steered).window(0).lines == (
        WindowLine.said(text),
        steer_line(f"steered: {text}"),
    )


def test_everything_else_a_child_can_say() -> None:
    assert history(
        ev.OutputText("npm warn something  "),
        ev.Note("A line was skipped."),
        ev.Retrying(1, 3, 2000, '429\n{"error": "rate_limit"}'),
        ev.UserMessage("the task"),
        ev.ToolStarted(ls("c")),
        ev.Settled(),
        ev.Activity("message_update"),
    ) == [
        ("npm warn something", "text"),
        ("A line was skipped.", "text"),
        ("Retrying (1/3): The provider limits how often it is asked (429).", "text"),
        ("ls → .", "tool"),
    ]


def test_a_message_to_the_child_is_a_line_of_its_own_kind() -> None:
    assert history(
        ev.UserMessage("Use the other file."),
        ev.Steer("1", ev.DELIVERED, "Use the other file.\n\tNot \x1b[2Jthis one.\n"),
        ev.Steer("2", ev.REFUSED, "x" * MAX_LINE, "It had\nfinished."),
        ev.Steer(ev.WRAP_UP, ev.DELIVERED, "Finish now."),
    ) == [
        ("steered: Use the other file. Not this one.", "steer"),
        (f"steering refused: {'x' * (MAX_STEER_TEXT - 1)}… (It had finished.)", "steer"),
        ("asked to finish: its time is almost up", "steer"),
    ]


def test_paths_are_shortened_for_the_childs_directory() -> None:
    call = ev.ToolCall("c", "read", {"path": f"{CWD}/a.txt"})
    assert history(asking(call)) == [("read → a.txt", "tool")]


def test_reference_fault_25_no_escape_or_control_byte_reaches_a_window() -> None:
    osc = "\x1b]52;c;aGk=\x07"
    assert history(
        ev.AssistantMessage(f"{osc}one\x1b[2J\x00\u202e"),
        ev.OutputText(f"two{osc}\x9b31m"),
        ev.ErrorText(f"{osc}three\x07"),
        ev.Note(f"four{osc}"),
        asking(ev.ToolCall("c", f"five{osc}", {})),
    ) == [
        ("one", "text"),
        ("two", "text"),
        ("[stderr]: three", "text"),
        ("four", "text"),
        ("five", "tool"),
    ]


def test_reference_fault_26_standard_error_is_one_entry_per_line() -> None:
    assert history(ev.ErrorText("Warning: a\n\n  at b  \r\n"), ev.ErrorText(" ")) == [
        ("[stderr]: Warning: a", "text"),
        ("[stderr]:   at b", "text"),
    ]
    many = builder(ev.ErrorText("\n".join(f"e{n}" for n in range(99))), max_lines=3).window(0)
    assert [line.text for line in many.lines] == ["[stderr]: e96", "[stderr]: e97", "[stderr]: e98"]


# What ls and find found.


def test_what_a_child_prints_as_it_goes_away_takes_no_line_of_its_answer() -> None:
    """An adapter may print a page of traces when its input is closed."""
    answer, trace = ev.AssistantMessage("Done.", stop_reason="stop"), ev.ErrorText("at x.js:1")
    gone: list[ev.Event] = [ev.Settled(), trace]
    assert history(trace, answer, *gone) == [("[stderr]: at x.js:1", "text"), ("Done.", "text")]
    asked_again = [*gone, ev.UserMessage("More."), trace]
    assert history(answer, *asked_again) == [("Done.", "text"), ("[stderr]: at x.js:1", "text")]
    failed = ev.AssistantMessage("", stop_reason="error", error_message="no key")
    assert history(failed, *gone) == [("[stderr]: at x.js:1", "text")]


def test_a_summary_is_added_to_the_line_of_its_call() -> None:
    find = ev.ToolCall("c2", "find", {"pattern": "*.ts", "path": "src/"})
    assert history(
        asking(ls("c1"), find),
        listed("c2", "a.ts\nb.ts\nc.ts", name="find"),
        listed("c1", "a\nb"),
    ) == [("ls → . → 2 files", "tool"), ("find → *.ts in src/ → 3 matches", "tool")]


def test_a_summary_is_coloured_and_kept_with_the_name_it_is_about() -> None:
    made = builder(asking(ls("c1", "src/deep")), listed("c1", "a\nb\nc/"))
    figures = LineSpan("2", "added", kept=True), LineSpan("1", "added", kept=True)
    spans = kept("/deep → "), figures[0], kept(" files, "), figures[1], kept(" dir")
    assert made.window(0).lines == (tool_line("ls → src", *spans),)


def test_reference_fault_28_repeated_calls_each_get_their_own_summary() -> None:
    assert history(
        asking(ls("c1"), ls("c2"), ls("c3")),
        listed("c3", "a\nb\nc"),
        listed("c1", "a"),
        asking(ls("c4"), text="Again."),
        listed("c4", "(empty directory)"),
        listed("c2", "x/"),
    ) == [
        ("ls → . → 1 file", "tool"),
        ("ls → . → 1 dir", "tool"),
        ("ls → . → 3 files", "tool"),
        ("Again.", "text"),
        ("ls → . → (empty)", "tool"),
    ]


def test_reference_fault_28_a_call_that_scrolled_out_of_the_window_is_found_in_the_history() -> (
    None
):
    made = builder(asking(ls("c1")), asking(ls("c2"), text="one\ntwo\nthree"), max_lines=2)
    made.apply(listed("c1", "a\nb"), 1000)
    window = made.window(1000)
    assert [line.text for line in window.lines] == ["three", "ls → ."]
    assert window.history[0] == tool_line("ls → . → ", added("2"), " files")


def test_a_call_that_left_the_history_takes_its_summary_along() -> None:
    made = builder(asking(ls("c1")), ev.OutputText("\n".join("x" * MAX_HISTORY)))
    made.apply(listed("c1", "a\nb"), 1000)
    assert made.window(0).history == (WindowLine.said("x"),) * MAX_HISTORY


def test_the_oldest_line_of_a_full_history_still_gets_its_summary() -> None:
    made = builder(asking(ls("c1")), ev.OutputText("\n".join("x" * (MAX_HISTORY - 1))))
    made.apply(listed("c1", "a\nb"), 1000)
    assert made.window(0).history[0] == tool_line("ls → . → ", added("2"), " files")


@pytest.mark.parametrize(
    "end",
    [
        listed("other", "a\nb"),
        listed("c1", "a\nb", name="grep"),
    ],
)
def test_a_foreign_result_adds_nothing(end: ev.ToolFinished) -> None:
    assert history(asking(ls("c1")), end) == [("ls → .", "tool")]


def test_a_call_that_failed_loses_its_figures_and_says_why() -> None:
    edit = {"path": "src/a.py", "edits": [{"oldText": "a", "newText": "b"}]}
    calls = (
        ev.ToolCall("c1", "edit", edit),
        ev.ToolCall("c2", "read", {"path": "gone.txt", "limit": 5}),
        ev.ToolCall("c3", "write", {"path": "b.txt", "content": "x"}),
        ls("c4"),
    )
    window = builder(
        asking(*calls),
        ev.ToolFinished("c1", "edit", "Could not find the text.\nLook again.", failed=True),
        ev.ToolFinished("c2", "read", "ENOENT", failed=True),
        ev.ToolFinished("c3", "write", "", failed=True),
        listed("c4", "a"),
    ).window(0)
    assert window.lines == (
        failed_call("edit → src/a.py", "Could not find the text."),
        failed_call("read → gone.txt:1+5", "ENOENT"),
        WindowLine(span_line("write → b.txt"), "failed", FAILED_MARK),
        tool_line("ls → . → ", added("1"), " file"),
    )


def test_a_command_that_failed_is_marked_at_its_beginning_and_says_why_at_its_end() -> None:
    call = ev.ToolCall("c1", "bash", {"command": "make one && " + "make the rest of it"})
    text = "much output\n\nCommand exited with code 2"
    window = builder(
        asking(call), ev.ToolFinished("c1", "bash", text, failed=True), width=24
    ).window(0)
    assert [(line.mark, line.text) for line in window.lines] == [
        ("✗ ", "bash → make one &&"),
        ("  ", "│ make the rest of it: Command exited with code 2"),
    ]


def test_a_result_is_added_once_and_a_call_without_an_id_never() -> None:
    assert history(
        asking(ls("c1"), ls("")), listed("c1", "a"), listed("c1", "a"), listed("", "a")
    ) == [("ls → . → 1 file", "tool"), ("ls → .", "tool")]


def test_an_id_that_is_used_again_means_the_latest_call() -> None:
    assert history(asking(ls("c1")), asking(ls("c1", "src")), listed("c1", "a")) == [
        ("ls → .", "tool"),
        ("ls → src → 1 file", "tool"),
    ]


# Bounds.


def test_the_window_rolls_and_the_history_is_kept() -> None:
    window = builder(ev.OutputText("\n".join(map(str, range(600)))), max_lines=3).window(0)
    assert [line.text for line in window.lines] == ["597", "598", "599"]
    assert [line.text for line in window.history] == [str(n) for n in range(100, 600)]


def test_a_window_may_be_higher_than_the_history_is_long() -> None:
    window = builder(ev.OutputText("\n".join(map(str, range(900)))), max_lines=700).window(0)
    assert [line.text for line in window.lines] == [str(n) for n in range(200, 900)]
    assert window.history == window.lines[-MAX_HISTORY:]


def test_a_window_has_at_least_one_line() -> None:
    assert builder(ev.OutputText("a\nb"), max_lines=0).window(0).lines == (WindowLine.said("b"),)


def test_a_line_is_cut_at_its_limit() -> None:
    exact = "x" * MAX_LINE
    assert history(ev.OutputText(exact), ev.OutputText(exact + "y"), ev.ErrorText(exact)) == [
        (exact, "text"),
        (exact[:-1] + "…", "text"),
        ("[stderr]: " + "x" * (MAX_LINE - 11) + "…", "text"),
    ]


def found(call_id: str) -> ev.ToolFinished:
    return ev.ToolFinished(call_id, "ls", "a.txt", failed=False)


def test_calls_that_never_end_are_forgotten_oldest_first() -> None:
    made = builder(*(asking(ls(f"c{n}")) for n in range(MAX_HISTORY + 10)), max_lines=2000)
    for number in (9, 10):
        made.apply(found(f"c{number}"), 1000)
    texts = [line.text for line in made.window(1000).lines]
    assert texts[8:12] == ["ls → .", "ls → .", "ls → . → 1 file", "ls → ."]


def test_a_call_made_again_pushes_no_other_out() -> None:
    made = builder(
        asking(*(ls(f"c{n}") for n in range(MAX_HISTORY - 1))),
        asking(ls("c1"), ls("c9")),
        asking(ls("x"), ls("x")),
        max_lines=2000,
    )
    made.apply(found("c0"), 1000)
    assert made.window(1000).lines[0].text == "ls → . → 1 file"


@thoroughly
@given(st.lists(events, max_size=12), st.integers(1, 4), st.integers(0, 40))
def test_any_events_give_a_window_within_its_bounds(
    happened: list[ev.Event], max_lines: int, width: int
) -> None:
    window = builder(*happened, max_lines=max_lines, width=width).window(1000)
    assert len(window.lines) <= max_lines
    assert window.lines == window.history[-max_lines:]
    for line in window.history:
        assert line.text.strip()
        assert line.text == line.text.rstrip()
        assert len(line.text) <= MAX_LINE
        assert not {c for c in line.text if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}}


@briefly
@given(st.lists(texts | st.text(max_size=5), min_size=1, max_size=900))
def test_the_latest_lines_are_kept_whatever_came_before(words: list[str]) -> None:
    made = builder(*map(ev.OutputText, words), ev.OutputText("last"), max_lines=7)
    window = made.window(0)
    assert window.lines[-1] == WindowLine.said("last")
    assert len(window.lines) <= 7
    assert len(window.history) <= MAX_HISTORY


# Recorded streams of the real pi.


def replayed(path: Path) -> Window:
    made = builder()
    for line in path.read_bytes().split(b"\n"):
        if line:
            made.apply(decode_pi_line(line), 1000)
    return made.window(3000)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_recorded_stream_gives_lines(path: Path) -> None:
    window = replayed(path)
    assert window.status == "running"
    assert (window.title.provider, window.title.model) == ("subagents-offline", "offline")
    assert bool(window.lines) == ("empty" not in path.stem and "model-error" not in path.stem)


MISSING = "ENOENT: no such file or directory, access '/PROJECT/missing.txt'"


@pytest.mark.parametrize(
    ("version", "usage"),
    [
        ("0.87.1", Usage(1585, 87, 7, 0, 1679, 0.0)),
        ("1.5.0", Usage(1506, 87, 7, 0, 1600, 0.0)),  # its own prompt is shorter
    ],
)
def test_the_recorded_stream_with_tools_gives_this_window(version: str, usage: Usage) -> None:
    lines = (
        WindowLine.said("I\u2019m looking at the notes now."),
        tool_line("bash → sleep 0.5; echo slow"),
        tool_line("read → notes.txt"),
        failed_call("bash → echo no; exit 3", "Command exited with code 3"),
        failed_call("read → missing.txt", MISSING),
        failed_call("edit → notes.txt", 'Validation failed for tool "edit"'),
        failed_call('teleport {"to":"moon"}', "Tool teleport not found"),
        WindowLine.said("Firstline, secondline, ünï 🎈."),
    )
    [path] = [path for path in GOLDEN if path.stem == f"pi-{version}-tools"]
    assert replayed(path) == Window(
        title=WindowTitle(
            "review", provider="subagents-offline", model="offline", session_id="b" * 16
        ),
        status="running",
        call_count=6,
        started_at_ms=1000,
        elapsed_ms=2000,
        lines=lines,
        history=lines,
        usage=usage,
    )


def test_the_recorded_stream_with_a_script_gives_these_lines() -> None:
    [path] = [path for path in GOLDEN if path.stem.endswith("-script")]
    window = replayed(path)
    first, script, *rest = [line.text for line in window.lines]
    assert (window.call_count, first) == (1, "All in one.")
    assert script.startswith('codemode {"code":"const notes = await tools.read(')
    assert rest == [
        "↳ read → notes.txt",
        "↳ bash → echo one",
        "↳ bash → echo one",
        "↳ bash → exit 3: Command exited with code 3",
        "It says one and two.",
    ]


# Calls that a script makes.


def test_the_calls_of_a_script_are_shown_below_it_and_do_not_count() -> None:
    script = ev.ToolCall("c1", "codemode", {"code": "await tools.ls({})"})
    long = "cd /data/ann/app && " + " && ".join(f"echo {'x' * 60}{n}" for n in range(3))
    happened = (
        asking(script),
        ev.ToolStarted(ev.ToolCall("c1", "codemode", None)),
        ev.ToolStarted(ev.ToolCall("c1/1", "ls", {"path": "."}, "c1")),
        ev.ToolFinished("c1/1", "ls", "a.py\nb.py", failed=False, parent_id="c1"),
        ev.ToolStarted(ev.ToolCall("c1/2", "bash", {"command": long}, "c1")),
    )
    window = builder(*happened).window(1000)
    first, listing, *command = [line.text for line in window.history]
    assert first.startswith("codemode ")
    assert listing == "↳ ls → . → 2 files"
    assert [line[:4] for line in command] == ["↳ ba", "  │ "]
    assert window.call_count == 1
    assert [line.mark for line in window.history] == ["→ ", *["  "] * 3]


def test_the_calls_of_a_script_have_their_figures_marked_too() -> None:
    call = ev.ToolCall("c1/1", "write", {"path": "src/a.py", "content": "x"}, "c1")
    assert builder(ev.ToolStarted(call)).window(0).lines == (
        following_line(
            "↳ write → src",
            kept("/a.py"),
            LineSpan(" ", "figure", kept=True),
            LineSpan("+1", "added", kept=True),
        ),
    )


def test_the_todos_of_a_script_are_followed() -> None:
    todos = {"todos": [{"text": "a", "status": "completed"}, {"text": "b", "status": "pending"}]}
    window = builder(
        ev.ToolStarted(ev.ToolCall("c1/1", "write_todos", todos, "c1")),
        ev.ToolFinished("c1/1", "write_todos", "", failed=False, parent_id="c1"),
    ).window(1000)
    assert (window.todo.completed, window.todo.total) == (1, 2)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.records import record
from tests.unit.core.given_values import briefly, events

from pi_subagents.core.run import events as ev
from pi_subagents.core.session.history import (
    MAX_MESSAGES,
    keep_messages,
    output_text,
    session_text,
)

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord

ASKED = ev.UserMessage("Count the files.")
CALL = ev.ToolCall("1", "bash", {"command": "ls | wc -l"})
MESSAGES = (
    ASKED,
    ev.AssistantMessage("Let me look.", (CALL,), "toolUse"),
    ev.ToolFinished("1", "bash", "7\n" + "x" * 600, failed=False),
    ev.AssistantMessage("There are 7.", stop_reason="stop"),
)


def run(status: str = "completed", **changes: object) -> RunRecord:
    answer = {} if status == "running" else {"output": "There are 7."}
    return record("r", "s", "count", status, **{"messages": MESSAGES, **answer, **changes})


def test_a_transcript_has_texts_calls_and_shortened_results() -> None:
    assert session_text([run()]) == (
        "Count the files.\n---\n"
        "Let me look.\n"
        '→ bash: {"command":"ls | wc -l"}\n---\n'
        "[tool result]: " + ("7\n" + "x" * 600)[:500] + "...\n---\n"
        "There are 7."
    )


def test_a_transcript_has_the_calls_that_no_answer_announced() -> None:
    other = ev.ToolCall("2", "ls", {"path": "."})
    happened: list[ev.Event] = [
        ASKED,
        ev.ToolStarted(other),
        ev.ToolFinished("2", "ls", "a.py", failed=False),
        ev.AssistantMessage("Let me look."),
        ev.ToolStarted(CALL),
        ev.ToolStarted(other),
        ev.ToolStarted(ev.ToolCall("3", "ls", {}, parent_id="1")),
        ev.ToolFinished("1", "bash", "7", failed=False),
        ev.AssistantMessage("Again.", (CALL,)),
        ev.ToolStarted(ev.ToolCall("1", "bash", None)),
    ]
    assert keep_messages(happened) == (
        ASKED,
        ev.AssistantMessage("", (other,)),
        ev.ToolFinished("2", "ls", "a.py", failed=False),
        ev.AssistantMessage("Let me look.", (CALL, other)),
        ev.ToolFinished("1", "bash", "7", failed=False),
        ev.AssistantMessage("Again.", (CALL,)),
    )


def test_a_value_stands_below_the_text_unless_it_is_the_text() -> None:
    given: Any = {"value": {"n": 7}, "has_value": True}
    assert output_text(run(**given)) == 'There are 7.\n\n{"n": 7}'
    assert output_text(run(output='{"n": 7}', **given)) == '{"n": 7}'


def test_arguments_are_cut_at_120_characters() -> None:
    call = ev.ToolCall("1", "write", {"content": "é" * 300})
    text = session_text([run(messages=(ev.AssistantMessage("", (call,)),))])
    assert text == "→ write: " + ('{"content":"' + "é" * 300)[:120]


def test_several_runs_are_numbered_and_separated() -> None:
    first = run(messages=(ASKED,))
    second = run("failed", messages=(ev.UserMessage("Again."),), error_message="It broke")
    assert session_text([first, second]) == (
        "=== Run 1/2 (completed) ===\nCount the files."
        "\n---\n"
        "=== Run 2/2 (error) ===\nAgain.\n---\n[Error: It broke]"
    )


def test_an_error_that_the_model_told_is_not_told_twice() -> None:
    failed = ev.AssistantMessage("", stop_reason="error", error_message="400 no")
    text = session_text([run("failed", messages=(failed,), error_message="400 no")])
    assert text == "[Error: 400 no]"


def test_an_error_that_somebody_quoted_is_told_all_the_same() -> None:
    quoted = (ev.UserMessage("You said: 400 no"), ev.AssistantMessage("Yes, 400 no."))
    text = session_text([run("failed", messages=quoted, error_message="400 no")])
    assert text == "You said: 400 no\n---\nYes, 400 no.\n---\n[Error: 400 no]"


def test_of_a_run_without_messages_the_answer_is_told() -> None:
    assert session_text([run(messages=())]) == "There are 7."


def test_the_output_is_the_whole_final_text_or_the_placeholder() -> None:
    assert output_text(run(output="a\nb")) == "a\nb"
    assert output_text(run("running", messages=MESSAGES[:3])) == "Let me look."
    assert output_text(run("failed", output="", messages=())) == "(no text output from sub-agent)"


@briefly
@given(st.lists(events, max_size=40), st.integers(0, 1300))
def test_the_task_and_the_latest_messages_are_kept(some: list[ev.Event], more: int) -> None:
    # Calls that no answer announced make one: they have a test of their own.
    told = (each for each in some if not isinstance(each, ev.ToolStarted))
    heard = [*told, *(ev.AssistantMessage(str(i)) for i in range(more))]
    messages = [
        each
        for each in heard
        if isinstance(each, ev.UserMessage | ev.AssistantMessage)
        or (isinstance(each, ev.ToolFinished) and not each.parent_id)
    ]
    kept = keep_messages(heard)
    assert len(kept) == min(len(messages), MAX_MESSAGES)
    assert kept[:1] == tuple(messages[:1])
    assert kept[1:] == tuple(messages[1:][-(MAX_MESSAGES - 1) :])

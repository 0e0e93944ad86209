from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import events, thoroughly

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Cause, Ending, Outcome, RunFold, Status
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.engines.pi.records import decode_pi_line

GOOD_EXIT = Ending(exit_code=0)
SETTLED = ev.Settled()
ASKED = ev.UserMessage("Look around.")
CALL = ev.ToolCall("c1", "bash", {"command": "make"})


def said(text: str = "Done.", stop_reason: str = "stop", error_message: str = "") -> ev.Event:
    return ev.AssistantMessage(text, stop_reason=stop_reason, error_message=error_message)


WORKING = ev.AssistantMessage("Let me look.", (CALL,), "toolUse")
BAD_REQUEST = said("", "error", "400 Bad request")
BUSY = said("", "error", "429 Too many requests")
TERM: dict[str, Any] = {"exit_code": 143, "signal_name": ""}
KILLED: dict[str, Any] = {"exit_code": 137, "signal_name": "SIGKILL"}


def ended(cause: Cause | None = None, **facts: Any) -> Ending:
    return Ending(cause=cause, timeout_s=300, **facts)


def failed(message: str, output: str = "", notes: tuple[str, ...] = ()) -> Outcome:
    return Outcome("failed", output, message, notes)


TIMED_OUT = failed("Timed out after 300s. Consider resuming with a longer timeout.")
LOOPED = failed("Loop detected: sub-agent is repeating the same tool calls")
ABORTED = Outcome("aborted", error_message="Stopped on request")
INTERRUPTED = Outcome(
    "interrupted",
    error_message="Session was interrupted (main agent session ended unexpectedly)",
)
ANSWERED = Outcome("completed", "Done.")


def saying(text: str, outcome: Outcome) -> Outcome:
    """Return an end without an answer which has what was said before it."""
    return replace(outcome, output=text)


REMARK = "Let me look."

TABLE: list[tuple[str, list[ev.Event], Ending, Outcome]] = [
    ("settled and exited", [ASKED, said(), SETTLED], GOOD_EXIT, ANSWERED),
    ("an engine that never says settled", [ASKED, said()], GOOD_EXIT, ANSWERED),
    (
        "several text blocks count as one answer",
        [decode_pi_line(
            b'{"type":"message_end","message":{"role":"assistant","stopReason":"stop","content":'
            b'[{"type":"text","text":"One."},{"type":"text","text":"Two."}]}}'
        ), SETTLED],
        GOOD_EXIT,
        Outcome("completed", "One.\nTwo."),
    ),
    (
        "cut by length",
        [said("The answ", "length"), SETTLED],
        GOOD_EXIT,
        Outcome("completed", "The answ", notes=("The answer was cut by the model's length limit.",)),
    ),
    (
        "an empty answer",
        [said("  \n"), SETTLED],
        GOOD_EXIT,
        Outcome(
            "completed", "(no text output from sub-agent)",
            notes=("The sub-agent finished without any text.",),
        ),
    ),
    (
        "an empty answer cut by length",
        [said("", "length"), SETTLED],
        GOOD_EXIT,
        Outcome(
            "completed", "(no text output from sub-agent)",
            notes=("The answer was cut by the model's length limit.",
                   "The sub-agent finished without any text."),
        ),
    ),
    # The last message decides first, the exit code second.
    ("model error, exit code 0", [ASKED, BAD_REQUEST, SETTLED], GOOD_EXIT, failed("400 Bad request")),
    ("model error, unsettled", [ASKED, BAD_REQUEST], GOOD_EXIT, failed("400 Bad request")),
    (
        "model error, exit code 1",
        [BAD_REQUEST], ended(exit_code=1), failed("400 Bad request"),
    ),
    (
        "model error without a message",
        [said("", "error"), SETTLED], GOOD_EXIT,
        failed("The model reported an error without a message"),
    ),
    (
        "model error after half an answer",
        [said("Half of", "error", "terminated"), SETTLED], GOOD_EXIT,
        failed("terminated", "Half of"),
    ),
    (
        "a retry that recovers",
        [ASKED, BUSY, ev.Retrying(1, 3, 2000, "429"), said(), SETTLED], GOOD_EXIT, ANSWERED,
    ),
    (
        "retries that are used up",
        [ASKED, BUSY, ev.Retrying(1, 1, 2000, "429"), BUSY, SETTLED], GOOD_EXIT,
        failed("429 Too many requests"),
    ),
    (
        "aborted by itself",
        [said("", "aborted"), SETTLED], GOOD_EXIT,
        failed("Sub-agent stopped without an answer (stop reason: aborted)"),
    ),
    (
        "settled without a stop reason",
        [said("Hm", ""), SETTLED], GOOD_EXIT,
        failed("Sub-agent stopped without an answer (stop reason: none)", "Hm"),
    ),
    # An answer counts even if the process would not exit, or ends badly.
    ("settled, then ended by force", [said(), SETTLED], Ending(exit_code=None), ANSWERED),
    ("settled, then the time-out", [said(), SETTLED], ended(Cause.TIMED_OUT, **TERM), ANSWERED),
    ("settled, then a stop", [said(), SETTLED], ended(Cause.STOP_REQUESTED, **KILLED), ANSWERED),
    ("settled, then the lifeline", [said(), SETTLED], ended(Cause.LIFELINE_LOST, **TERM), ANSWERED),
    (
        "settled, then exit code 1",
        [said(), SETTLED], ended(exit_code=1),
        Outcome("completed", "Done.",
                notes=("The process ended with exit code 1 after it had answered.",)),
    ),
    (
        "settled, then killed by someone",
        [said(), SETTLED], ended(**KILLED),
        Outcome("completed", "Done.",
                notes=("The process ended with SIGKILL after it had answered.",)),
    ),
    # What we did to it.
    (
        "time-out at work",
        [ASKED, WORKING], ended(Cause.TIMED_OUT, **TERM), saying(REMARK, TIMED_OUT),
    ),
    (
        "time-out at work without words: what was said before it is kept",
        [ASKED, WORKING, ev.AssistantMessage("", (CALL,), "toolUse")],
        ended(Cause.TIMED_OUT, **TERM), saying(REMARK, TIMED_OUT),
    ),
    ("time-out in silence", [], ended(Cause.TIMED_OUT, **KILLED), TIMED_OUT),
    (
        "time-out, then a good exit",
        [WORKING], ended(Cause.TIMED_OUT, exit_code=0), saying(REMARK, TIMED_OUT),
    ),
    ("time-out while retrying", [ASKED, BUSY], ended(Cause.TIMED_OUT, **TERM), TIMED_OUT),
    (
        "time-out, answer not settled",
        [said()], ended(Cause.TIMED_OUT, **TERM), saying("Done.", TIMED_OUT),
    ),
    ("loop", [ASKED, WORKING, WORKING], ended(Cause.LOOPING, **TERM), saying(REMARK, LOOPED)),
    (
        "stop at work",
        [ASKED, WORKING], ended(Cause.STOP_REQUESTED, **TERM), saying(REMARK, ABORTED),
    ),
    (
        "stop, answer not settled",
        [said()], ended(Cause.STOP_REQUESTED, exit_code=0), saying("Done.", ABORTED),
    ),
    ("stop in silence", [], ended(Cause.STOP_REQUESTED, **KILLED), ABORTED),
    ("stop while retrying", [BUSY], ended(Cause.STOP_REQUESTED, **TERM), ABORTED),
    (
        "lifeline lost",
        [ASKED, WORKING], ended(Cause.LIFELINE_LOST, **TERM), saying(REMARK, INTERRUPTED),
    ),
    ("lifeline lost in silence", [], ended(Cause.LIFELINE_LOST, **TERM), INTERRUPTED),
    # What it did by itself.
    (
        "never started",
        [], Ending(spawn_error="[Errno 2] No such file"),
        failed("Failed to spawn sub-agent process", notes=("[Errno 2] No such file",)),
    ),
    (
        "never started, for it had no place to work in",
        [], Ending(spawn_error="No workspace", in_workspace=True), failed("No workspace"),
    ),
    (
        "exit code 7 in silence",
        [], ended(exit_code=7), failed("Sub-agent exited with code 7 without an answer"),
    ),
    (
        "exit code 1 and words on standard error",
        [], ended(exit_code=1, error_tail="\nError: Unknown\n  provider \x1b[31mx\x1b[0m\n"),
        failed("Sub-agent exited with code 1 without an answer: Error: Unknown provider x"),
    ),
    (
        "exit code 0 without an answer",
        [ASKED], GOOD_EXIT, failed("Sub-agent exited with code 0 without an answer"),
    ),
    (
        "settled without a word",
        [ASKED, SETTLED], GOOD_EXIT, failed("Sub-agent exited with code 0 without an answer"),
    ),
    (
        "died on a tool call: an old remark is not the answer",
        [ASKED, WORKING, ev.ToolStarted(CALL)], GOOD_EXIT,
        failed("Sub-agent exited with code 0 before it finished", REMARK),
    ),
    (
        "killed by a signal at work",
        [ASKED, WORKING], ended(**KILLED),
        failed("Sub-agent was killed by SIGKILL before it finished", REMARK),
    ),
    (
        "killed by a signal in silence",
        [], ended(**KILLED), failed("Sub-agent was killed by SIGKILL without an answer"),
    ),
    (
        "answered, not settled, killed",
        [said()], ended(**KILLED),
        failed("Sub-agent was killed by SIGKILL before it finished", "Done."),
    ),
    (
        "asked again after it had settled",
        [said(), SETTLED, ev.UserMessage("And now?"), WORKING], ended(**KILLED),
        failed("Sub-agent was killed by SIGKILL before it finished", REMARK),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("happened", "ending", "outcome"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_how_a_run_ends(happened: list[ev.Event], ending: Ending, outcome: Outcome) -> None:
    fold = RunFold()
    for event in happened:
        fold.apply(event)
    assert fold.decide(ending) == outcome


def test_the_tail_of_standard_error_is_one_bounded_line() -> None:
    outcome = RunFold().decide(Ending(exit_code=1, error_tail="noise\n" * 400 + "Error: why\n"))
    opening = "Sub-agent exited with code 1 without an answer: "
    message = outcome.error_message
    assert outcome == failed(message)
    assert message.startswith(f"{opening}noise noise")
    assert message.endswith("noise Error: why")
    assert len(message) <= len(opening) + 500


# A child that takes commands: it is asked to stop, it can refuse, and it keeps an account.

ABORTED_BY_US = said("", "aborted", "This operation was aborted")
FAILED_BY_US = said("half", "error", "This operation was aborted")


@pytest.mark.parametrize(("last_words", "kept"), [(ABORTED_BY_US, REMARK), (FAILED_BY_US, "half")])
@pytest.mark.parametrize(
    ("cause", "outcome"),
    [
        (Cause.TIMED_OUT, TIMED_OUT),
        (Cause.LOOPING, LOOPED),
        (Cause.STOP_REQUESTED, ABORTED),
        (Cause.LIFELINE_LOST, INTERRUPTED),
    ],
)
@pytest.mark.parametrize("exit_facts", [TERM, KILLED, {"exit_code": 0}])
def test_what_a_child_says_of_our_abort_is_not_how_its_run_ended(
    last_words: ev.Event, kept: str, cause: Cause, outcome: Outcome, exit_facts: dict[str, Any]
) -> None:
    fold = RunFold()
    fold.apply(ASKED)
    fold.apply(WORKING)
    fold.asked_to_stop()
    fold.apply(last_words)
    fold.apply(SETTLED)
    assert fold.decide(ended(cause, **exit_facts)) == saying(kept, outcome)
    assert fold.last is WORKING
    assert (fold.settled, fold.answered()) == (False, False)


def test_an_answer_that_crosses_our_request_to_stop_still_counts() -> None:
    fold = RunFold()
    fold.apply(ASKED)
    fold.asked_to_stop()
    for event in (said(), SETTLED):
        fold.apply(event)
    assert fold.decide(ended(Cause.STOP_REQUESTED, **TERM)) == ANSWERED


def test_an_answer_before_our_request_to_stop_counts_if_it_settles() -> None:
    fold = RunFold()
    fold.apply(said())
    fold.asked_to_stop()
    assert fold.decide(ended(Cause.STOP_REQUESTED, **TERM)) == saying("Done.", ABORTED)
    fold.apply(SETTLED)
    assert fold.decide(ended(Cause.STOP_REQUESTED, **TERM)) == ANSWERED


def test_an_answer_after_which_the_child_was_asked_more_is_not_its_last() -> None:
    fold = RunFold()
    for event in (ASKED, said(), ASKED):  # steered
        fold.apply(event)
    fold.asked_to_stop()
    for event in (ABORTED_BY_US, SETTLED):
        fold.apply(event)
    assert fold.decide(ended(Cause.STOP_REQUESTED, **TERM)) == saying("Done.", ABORTED)


def test_asking_a_child_that_has_settled_changes_nothing() -> None:
    fold = RunFold()
    for event in (BAD_REQUEST, SETTLED):
        fold.apply(event)
    fold.asked_to_stop()
    fold.apply(SETTLED)  # said once more
    assert fold.settled
    assert fold.decide(ended(Cause.STOP_REQUESTED, **TERM)) == failed("400 Bad request")


def test_an_aborted_message_that_we_did_not_ask_for_is_a_failure() -> None:
    fold = RunFold()
    for event in (ASKED, ABORTED_BY_US, SETTLED):
        fold.apply(event)
    assert fold.decide(GOOD_EXIT) == failed("This operation was aborted")


def test_what_a_stopped_child_used_is_counted_with_its_last_words() -> None:
    fold = RunFold()
    fold.asked_to_stop()
    fold.apply(ev.AssistantMessage("", (CALL,), "aborted", usage=Usage(1, 2, 0, 0, 3, 0.5)))
    assert (fold.usage, fold.messages, fold.facts()["tool_call_count"], fold.last) == (
        Usage(1, 2, 0, 0, 3, 0.5), 1, 1, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("account", "kept"),
    [
        (Usage(9, 9, 9, 9, 36, 2.0), Usage(9, 9, 9, 9, 36, 2.0)),
        (Usage(1, 2, 3, 4, 10, 0.75), Usage(1, 2, 3, 4, 10, 0.75)),
        (Usage(1, 2, 3, 3, 9, 9.0), Usage(1, 2, 3, 4, 10, 0.5)),
        (Usage(), Usage(1, 2, 3, 4, 10, 0.5)),
    ],
)
def test_the_childs_own_account_counts_unless_its_messages_tell_of_more(
    account: Usage, kept: Usage
) -> None:
    fold = RunFold()
    fold.apply(ev.AssistantMessage("x", usage=Usage(1, 2, 3, 4, 10, 0.5)))
    fold.count(account)
    assert fold.usage == kept


@pytest.mark.parametrize(
    ("billed", "cost", "still"),
    [
        (True, 0.3, True),
        (True, 0.1 + 0.2, True),
        (True, 0.30001, False),
        (True, 0.0, False),
        (False, 0.3, False),
    ],
)
def test_the_same_cost_in_the_childs_own_account_is_billed_if_that_of_its_messages_was(
    *, billed: bool, cost: float, still: bool
) -> None:
    """The account itself does not say so; another sum has a part of unknown origin."""
    fold = RunFold()
    fold.apply(ev.AssistantMessage("x", usage=Usage(1, 2, 3, 4, 10, 0.3, cost_is_billed=billed)))
    fold.count(Usage(2, 2, 3, 4, 11, cost))
    assert fold.usage == Usage(2, 2, 3, 4, 11, cost, cost_is_billed=still)


@pytest.mark.parametrize(
    ("refusal", "shown"),
    [
        ("an extension handled it", "an extension handled it"),
        ("No key for \x1b[31mx.\n\nUse /login", "No key for x. Use /login"),
        ("x" * 999, "x" * 499 + "…"),
    ],
)
def test_a_refused_prompt_is_told_in_one_bounded_line(refusal: str, shown: str) -> None:
    ending = Ending(exit_code=0, refusal=refusal, error_tail="noise", advice=("Log in.",))
    assert RunFold().decide(ending) == failed(
        f"Sub-agent could not start: {shown}", notes=("Log in.",)
    )


@thoroughly
@given(
    st.lists(events, max_size=8),
    st.builds(
        Ending,
        exit_code=st.none() | st.integers(0, 255),
        signal_name=st.sampled_from(["", "SIGKILL"]),
        cause=st.none() | st.sampled_from(Cause),
        timeout_s=st.none() | st.floats(1, 9),
        spawn_error=st.sampled_from(["", "no"]),
        refusal=st.sampled_from(["", "no"]),
        why=st.just("The budget of the task is used up."),
    ),
    st.integers(0, 9),
)
def test_every_run_ends_in_one_status_and_a_failure_has_a_message(
    happened: list[ev.Event], ending: Ending, asked_at: int
) -> None:
    fold = RunFold()
    for place, event in enumerate(happened):
        if place == asked_at:
            fold.asked_to_stop()
        fold.apply(event)
    outcome = fold.decide(ending)
    assert outcome.status in get_args(Status)
    assert bool(outcome.error_message) == (outcome.status != "completed")
    assert outcome.output.strip() or outcome.status != "completed"


@pytest.mark.parametrize(
    ("happened", "answered"),
    [
        ([], False),
        ([said()], False),
        ([said(), SETTLED], True),
        ([said("", "length"), SETTLED], True),
        ([BAD_REQUEST, SETTLED], False),
        ([SETTLED], False),
        ([said(), SETTLED, ev.UserMessage("more")], False),
    ],
)
def test_answered_means_settled_with_a_good_last_message(
    happened: list[ev.Event], answered: bool
) -> None:
    fold = RunFold()
    for event in happened:
        fold.apply(event)
    assert fold.answered() is answered


def test_messages_calls_and_usage_are_added_up() -> None:
    fold = RunFold()
    once = ev.AssistantMessage("", (CALL, CALL), "toolUse", usage=Usage(1, 2, 3, 4, 10, 0.5))
    for event in (ASKED, once, ev.ToolFinished("c1", "bash", "", False), once, ev.Note("n")):
        fold.apply(event)
    assert (fold.messages, fold.facts()["tool_call_count"], fold.usage, fold.last) == (
        4, 4, Usage(2, 4, 6, 8, 20, 1.0), once,
    )  # fmt: skip


def test_the_messages_of_the_seeds_are_contract() -> None:
    assert (
        core_messages.SPAWN_FAILED,
        core_messages.LOOP_DETECTED,
        core_messages.INTERRUPTED,
        core_messages.NO_TEXT_OUTPUT,
    ) == (
        "Failed to spawn sub-agent process",
        "Loop detected: sub-agent is repeating the same tool calls",
        "Session was interrupted (main agent session ended unexpectedly)",
        "(no text output from sub-agent)",
    )


def test_what_the_engine_advises_is_a_note() -> None:
    ending = Ending(exit_code=1, error_tail="No key for x.\nUse /login", advice=("Give it a key.",))
    assert RunFold().decide(ending) == Outcome(
        "failed",
        error_message="Sub-agent exited with code 1 without an answer: No key for x. Use /login",
        notes=("Give it a key.",),
    )


GIVEN = ev.ValueGiven({"n": 1})
SUBMITTING = ev.AssistantMessage("", (CALL,), "toolUse")
COMPLETED = Outcome("completed", '{"n": 1}')


@pytest.mark.parametrize("after", [[], [SETTLED], [BUSY], [BAD_REQUEST, SETTLED], [WORKING]])
@pytest.mark.parametrize("ending", [GOOD_EXIT, ended(**KILLED), ended(Cause.TIMED_OUT, **TERM)])
def test_an_answer_that_was_taken_completes_the_run_whatever_comes_after_it(
    after: list[ev.Event], ending: Ending
) -> None:
    fold = RunFold()
    for event in (ASKED, SUBMITTING, GIVEN, *after):
        fold.apply(event)
    outcome = fold.decide(ending)
    assert (outcome.status, outcome.error_message) == ("completed", "")
    assert fold.facts()["value"] == {"n": 1}
    assert outcome.output == ("Let me look." if WORKING in after else '{"n": 1}')


def test_the_first_value_counts_until_it_is_refused() -> None:
    fold = RunFold()
    for event in (ASKED, SUBMITTING, GIVEN, ev.ValueGiven(None), SETTLED):
        fold.apply(event)
    assert (fold.given, fold.answered()) == (GIVEN, True)
    fold.apply(ev.ValueRefused("no"))
    assert (fold.given, fold.answered(), fold.facts()["has_value"]) == (None, False, False)
    fold.apply(ev.ValueGiven(None))
    assert (fold.given, fold.facts()["has_value"]) == (ev.ValueGiven(None), True)
    assert fold.decide(GOOD_EXIT) == Outcome("completed", "null")


def test_a_message_after_the_answer_does_not_take_it_back() -> None:
    fold = RunFold()
    for event in (ASKED, SUBMITTING, GIVEN, ev.UserMessage("Hurry up."), SETTLED):
        fold.apply(event)
    assert fold.answered()
    assert fold.decide(GOOD_EXIT) == COMPLETED

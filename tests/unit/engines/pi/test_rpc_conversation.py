from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.golden.reading import Golden, Sending, read_rpc_stream
from tests.unit.core.given_values import events, json_objects, texts, thoroughly

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.usage import Usage
from pi_subagents.engines.conversation import Beginning
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.rpc import GUARD, Answered, DialogAsked, Heard, WorkBegan
from pi_subagents.engines.pi.rpc_conversation import (
    ACCOUNT_LIMIT_S,
    START_LIMIT_S,
    RpcConversation,
    Stage,
)
from pi_subagents.engines.pi.versions import TESTED_VERSIONS

BEGAN, SETTLED = WorkBegan(), ev.Settled()
PROMPT = "Look around."
ASKED = ev.UserMessage(PROMPT)
ANSWER = ev.AssistantMessage("Done.", stop_reason="stop")
STATS = {
    "tokens": {"input": 10, "output": 2, "cacheRead": 3, "cacheWrite": 4, "total": 19},
    "cost": 0.25,
}


class Conversation:
    """A talk with ids beginning with `r`, and everything it sent."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.readied = 0
        self.talk = RpcConversation("r", Sending(self.lines.append))

    def begin(self, *, session: str | None = None, greets: bool = False) -> Conversation:
        self.talk.begin(Beginning(PROMPT, session, self._ready if greets else None))
        return self

    def _ready(self) -> None:
        self.readied += 1

    def at_work(self) -> Conversation:
        """Go on to where the child works on its prompt."""
        self.begin()
        self.hears(answer("prompt"), BEGAN, ASKED)
        self.sent()
        return self

    def hears(self, *heard: Heard, now: float = 0.0) -> list[ev.Event]:
        """Tell the talk these, and return those that it says are events of the run."""
        noted = [self.talk.take(each, now) for each in heard]
        return [event for event in noted if event is not None]

    def sent(self) -> list[dict[str, Any]]:
        """Return what was sent since the last look."""
        records = [json.loads(line) for line in self.lines]
        self.lines.clear()
        return records

    def state(self) -> tuple[Stage, bool, str, float | None]:
        return self.talk.stage, self.talk.over, self.talk.refusal, self.talk.deadline()


def answer(name: str, error: str = "", data: dict[str, object] | None = None) -> Answered:
    return Answered(f"r-{name}", error, data or {})


def said(name: str, **fields: object) -> dict[str, Any]:
    return {"id": f"r-{name}", "type": name, **fields}


def steered(number: str, text: str) -> dict[str, Any]:
    return {"id": f"r-steer-{number}", "type": "steer", "message": text}


def too_late(number: str, text: str) -> ev.Steer:
    return ev.Steer(number, "refused", text, core_messages.STEER_TOO_LATE)


@pytest.fixture
def conversation() -> Conversation:
    return Conversation()


# How a run begins


def test_without_a_session_the_prompt_is_the_first_word(conversation: Conversation) -> None:
    conversation.begin()
    assert conversation.sent() == [said("prompt", message=PROMPT)]
    assert conversation.state() == (Stage.PROMPTING, False, "", None)


def test_a_session_is_opened_before_the_prompt(conversation: Conversation) -> None:
    conversation.begin(session="/runs/r/child-session.jsonl")
    assert conversation.sent() == [
        said("switch_session", sessionPath="/runs/r/child-session.jsonl")
    ]
    assert conversation.state() == (Stage.SWITCHING, False, "", None)
    assert conversation.hears(answer("switch_session", data={"cancelled": False})) == []
    assert conversation.sent() == [said("prompt", message=PROMPT)]
    assert conversation.state() == (Stage.PROMPTING, False, "", None)


def test_a_greeting_comes_before_everything_and_tells_when_the_child_is_up(
    conversation: Conversation,
) -> None:
    conversation.begin(session="/s", greets=True)
    assert (conversation.sent(), conversation.readied) == ([said("get_state")], 0)
    assert conversation.talk.stage is Stage.GREETING
    conversation.hears(answer("get_state"))
    assert (conversation.sent(), conversation.readied) == (
        [said("switch_session", sessionPath="/s")],
        1,
    )


def test_a_child_that_answers_its_greeting_with_an_error_is_up_too(
    conversation: Conversation,
) -> None:
    conversation.begin(greets=True).hears(answer("get_state", "what?"))
    assert (conversation.readied, conversation.talk.stage) == (1, Stage.PROMPTING)


def test_a_greeting_answered_twice_is_one_greeting(conversation: Conversation) -> None:
    conversation.begin(greets=True)
    conversation.hears(answer("get_state"), answer("get_state"), BEGAN, answer("get_state"))
    assert conversation.readied == 1
    assert conversation.sent() == [said("get_state"), said("prompt", message=PROMPT)]
    assert conversation.talk.stage is Stage.WORKING


def test_a_session_opened_twice_asks_once(conversation: Conversation) -> None:
    conversation.begin(session="/s")
    conversation.hears(answer("switch_session"), answer("switch_session"))
    assert [each["type"] for each in conversation.sent()] == ["switch_session", "prompt"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answer("switch_session", "no such place"), "no such place"),
        (answer("switch_session", data={"cancelled": True}), messages.SESSION_REFUSED),
    ],
)
def test_a_session_that_is_not_opened_ends_the_run_before_its_prompt(
    conversation: Conversation, reply: Answered, reason: str
) -> None:
    conversation.begin(session="/s")
    conversation.sent()
    conversation.hears(reply)
    assert conversation.state() == (Stage.OVER, True, reason, None)
    assert conversation.sent() == []


def test_orders_come_after_the_session_and_before_the_prompt(conversation: Conversation) -> None:
    conversation.talk.begin(Beginning(PROMPT, "/s", orders='{"schema":{}}'))
    conversation.hears(answer("switch_session"))
    given = {"id": "r-orders", "type": "prompt", "message": '/pi-subagents-orders {"schema":{}}'}
    assert conversation.sent()[1:] == [given]
    assert conversation.state() == (Stage.ORDERING, False, "", None)
    assert conversation.hears(answer("orders"), answer("orders")) == []
    assert conversation.sent() == [said("prompt", message=PROMPT)]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answer("orders", "no such thing"), "no such thing"),
        (answer("orders", data={"disposition": "started"}), messages.ORDERS_NOT_TAKEN),
    ],
)
def test_orders_that_are_not_taken_end_the_run_before_its_prompt(
    conversation: Conversation, reply: Answered, reason: str
) -> None:
    conversation.talk.begin(Beginning(PROMPT, orders="{}"))
    conversation.sent()
    conversation.hears(reply)
    assert conversation.state() == (Stage.OVER, True, reason, None)
    assert conversation.sent() == []


def test_a_child_that_is_up_takes_its_orders_in_time_or_not_at_all(
    conversation: Conversation,
) -> None:
    talk = conversation.talk
    talk.begin(Beginning(PROMPT, orders="{}", is_up=True))
    talk.check_time(100.0)
    talk.check_time(100.0 + START_LIMIT_S)
    assert conversation.state() == (Stage.OVER, True, messages.ORDERS_NOT_TAKEN, None)


def test_a_child_that_is_up_opens_its_session_in_time_or_not_at_all(
    conversation: Conversation,
) -> None:
    talk = conversation.talk
    talk.begin(Beginning("do it", "/runs/1/session.jsonl", is_up=True))
    for now in (100.0, 100.0 + START_LIMIT_S - 0.1):
        talk.check_time(now)
        assert conversation.state() == (Stage.SWITCHING, False, "", 100.0 + START_LIMIT_S)
    talk.check_time(100.0 + START_LIMIT_S)
    reason = messages.SESSION_NOT_OPENED
    assert conversation.state() == (Stage.OVER, True, reason, None)


def test_a_session_that_was_opened_in_time_is_waited_for_no_longer(
    conversation: Conversation,
) -> None:
    talk = conversation.talk
    talk.begin(Beginning("do it", "/runs/1/session.jsonl", is_up=True))
    talk.check_time(100.0)
    conversation.hears(answer("switch_session"), now=101.0)
    talk.check_time(1000.0)
    assert conversation.state() == (Stage.PROMPTING, False, "", None)


def test_a_child_that_only_starts_may_take_its_time_to_open_its_session(
    conversation: Conversation,
) -> None:
    conversation.begin(session="/runs/1/session.jsonl").talk.check_time(1000.0)
    assert conversation.state() == (Stage.SWITCHING, False, "", None)


def test_a_refused_prompt_ends_the_run_with_pis_reason(conversation: Conversation) -> None:
    conversation.begin().hears(answer("prompt", "No API key found for x."))
    assert conversation.state() == (Stage.OVER, True, "No API key found for x.", None)


def test_a_prompt_that_was_taken_and_starts_no_run_is_refused_after_a_while(
    conversation: Conversation,
) -> None:
    conversation.begin().hears(answer("prompt"), now=100)
    end = 100 + START_LIMIT_S
    assert conversation.state() == (Stage.STARTING, False, "", end)
    conversation.talk.check_time(end - 0.001)
    assert conversation.state() == (Stage.STARTING, False, "", end)
    conversation.talk.check_time(end)
    assert conversation.state() == (Stage.OVER, True, messages.NO_RUN_STARTED, None)


def test_a_prompt_that_an_extension_handled_is_refused_at_once(conversation: Conversation) -> None:
    conversation.begin().hears(answer("prompt", data={"disposition": "handled"}), now=100)
    assert conversation.state() == (Stage.OVER, True, messages.NO_RUN_STARTED, None)


@pytest.mark.parametrize("disposition", ["started", "queued", None, 7])
def test_any_other_disposition_is_waited_for(
    conversation: Conversation, disposition: object
) -> None:
    conversation.begin().hears(answer("prompt", data={"disposition": disposition}), now=100)
    assert conversation.state() == (Stage.STARTING, False, "", 100 + START_LIMIT_S)


def test_a_child_that_settles_as_aborted_has_done_what_was_asked(
    conversation: Conversation,
) -> None:
    conversation.at_work().talk.abort()
    conversation.hears(ev.Settled(aborted=False))
    assert not conversation.talk.aborted
    conversation.hears(ev.Settled(aborted=True))
    assert conversation.talk.aborted


def test_what_another_run_settled_as_says_nothing_of_this_one(conversation: Conversation) -> None:
    conversation.begin(session="/s.jsonl").hears(ev.Settled(aborted=True))
    assert not conversation.talk.aborted


def test_a_prompt_that_is_not_answered_is_not_given_up(conversation: Conversation) -> None:
    conversation.begin()
    conversation.talk.check_time(1e9)
    assert conversation.state() == (Stage.PROMPTING, False, "", None)


@pytest.mark.parametrize("heard", [(answer("prompt"), BEGAN), (BEGAN, answer("prompt")), (BEGAN,)])
def test_work_begins_before_or_after_the_prompt_is_answered(
    conversation: Conversation, heard: tuple[Heard, ...]
) -> None:
    conversation.begin()
    assert conversation.hears(*heard) == []
    assert conversation.state() == (Stage.WORKING, False, "", None)
    conversation.talk.check_time(1e9)
    assert conversation.talk.stage is Stage.WORKING


def test_a_refusal_of_a_prompt_that_is_being_worked_on_changes_nothing(
    conversation: Conversation,
) -> None:
    conversation.begin().hears(BEGAN, answer("prompt", "late"))
    assert conversation.state() == (Stage.WORKING, False, "", None)


@pytest.mark.parametrize("greets", [True, False])
def test_what_is_heard_before_the_session_is_another_runs(
    conversation: Conversation, greets: bool
) -> None:
    conversation.begin(session="/s", greets=greets)
    stage = conversation.talk.stage
    conversation.sent()
    assert conversation.hears(BEGAN, ASKED, ANSWER, SETTLED, ev.OutputText("x")) == []
    conversation.talk.steer("1", PROMPT)
    assert conversation.hears(ASKED, ASKED) == []  # nor is it an answer to a message of ours
    assert (conversation.talk.stage, conversation.sent()) == (stage, [])
    assert conversation.talk.take_news() == []


def test_from_the_prompt_on_events_are_the_runs(conversation: Conversation) -> None:
    conversation.begin(session="/s").hears(answer("switch_session"))
    heard: list[ev.Event] = [
        ev.OutputText("hello"),
        ASKED,
        ANSWER,
        ev.Activity("turn_start"),
        SETTLED,
    ]
    assert conversation.hears(*heard) == heard


# How it ends


def test_settled_then_the_account_then_over(conversation: Conversation) -> None:
    conversation.at_work()
    assert conversation.hears(ANSWER, SETTLED, now=50) == [ANSWER, SETTLED]
    assert conversation.sent() == [said("get_session_stats")]
    assert conversation.state() == (Stage.COUNTING, False, "", 50 + ACCOUNT_LIMIT_S)
    conversation.hears(answer("get_session_stats", data=dict(STATS)))
    assert conversation.talk.usage == Usage(10, 2, 3, 4, 19, 0.25)
    assert conversation.state() == (Stage.OVER, True, "", None)


def test_an_account_that_does_not_come_is_not_waited_for(conversation: Conversation) -> None:
    conversation.at_work().hears(SETTLED, now=50)
    conversation.talk.check_time(50 + ACCOUNT_LIMIT_S - 0.001)
    assert not conversation.talk.over
    conversation.talk.check_time(50 + ACCOUNT_LIMIT_S)
    conversation.hears(answer("get_session_stats", data=dict(STATS)))  # late
    assert conversation.state() == (Stage.OVER, True, "", None)
    assert conversation.talk.usage is None


def test_an_account_that_is_refused_is_none(conversation: Conversation) -> None:
    conversation.at_work().hears(SETTLED, answer("get_session_stats", "no", dict(STATS)))
    assert (conversation.talk.usage, conversation.talk.over) == (None, True)


@pytest.mark.parametrize(
    "stats",
    [
        {},
        {"tokens": None, "cost": None},
        {"tokens": [1], "cost": "2"},
        {"tokens": {"input": -1, "output": "7", "total": math.nan}, "cost": math.inf},
        {"tokens": {"input": True, "total": {}}, "cost": {}},
    ],
)
def test_an_account_without_sense_counts_as_nothing(
    conversation: Conversation, stats: dict[str, object]
) -> None:
    conversation.at_work().hears(SETTLED, answer("get_session_stats", data=stats))
    assert conversation.talk.usage == Usage()


def test_a_child_that_goes_on_after_it_settled_is_at_work_again(
    conversation: Conversation,
) -> None:
    """An extension may ask for more at the end; the account of the first part is not the last."""
    conversation.at_work().hears(SETTLED, now=50)
    conversation.hears(BEGAN, answer("get_session_stats", data=dict(STATS)), now=50.5)
    assert conversation.state() == (Stage.WORKING, False, "", None)
    assert conversation.talk.usage is None
    conversation.talk.check_time(1e9)
    conversation.hears(SETTLED, now=60)
    assert conversation.state() == (Stage.COUNTING, False, "", 60 + ACCOUNT_LIMIT_S)
    assert conversation.sent() == [said("get_session_stats"), said("get_session_stats")]


def test_what_is_over_stays_over(conversation: Conversation) -> None:
    conversation.at_work().hears(SETTLED, answer("get_session_stats"))
    conversation.sent()
    conversation.hears(BEGAN, SETTLED, answer("prompt"), answer("switch_session"))
    conversation.talk.check_time(1e9)
    assert conversation.state() == (Stage.OVER, True, "", None)
    assert conversation.sent() == []


def test_a_second_settled_asks_for_nothing_more(conversation: Conversation) -> None:
    conversation.at_work().hears(SETTLED, SETTLED)
    assert conversation.sent() == [said("get_session_stats")]


@pytest.mark.parametrize("number", ["r2-prompt", "prompt", "", "xr-prompt", "r-", "r-r-prompt"])
def test_an_answer_to_another_runs_command_is_nobodys(
    conversation: Conversation, number: str
) -> None:
    conversation.begin()
    before = conversation.state()
    conversation.hears(Answered(number, "refused", {}))
    assert conversation.state() == before
    assert conversation.talk.aborted is False


# Dialogs


def test_a_dialog_is_dismissed_at_once_and_told(conversation: Conversation) -> None:
    conversation.begin(session="/s")  # whatever the stage
    conversation.sent()
    assert conversation.hears(DialogAsked("d1", "confirm", "Delete\x1b[31m all?")) == []
    assert conversation.sent() == [{"type": "extension_ui_response", "id": "d1", "cancelled": True}]
    note = 'An extension of the sub-agent asked a question (confirm ("Delete all?")); it was dismissed.'
    assert conversation.talk.take_news() == [ev.Note(note)]
    assert conversation.talk.take_news() == []


def test_a_dialog_without_a_title_and_one_with_a_long_one_are_told_in_one_line(
    conversation: Conversation,
) -> None:
    conversation.begin().hears(
        DialogAsked("1", "input", ""), DialogAsked("2", "editor", "a\n" * 99)
    )
    first, second = conversation.talk.take_news()
    assert first == ev.Note(
        "An extension of the sub-agent asked a question (input); it was dismissed."
    )
    assert isinstance(second, ev.Note)
    assert "\n" not in second.text
    assert len(second.text) < 160


def test_a_question_that_pi_asks_before_it_listens_is_why_it_exits(
    conversation: Conversation,
) -> None:
    conversation.begin(greets=True)
    assert conversation.talk.why_nothing(0) == ""
    conversation.hears(DialogAsked("1", "confirm", "Begin?"))
    assert conversation.talk.why_nothing(0) == messages.ASKED_TOO_EARLY
    assert (conversation.talk.why_nothing(1), conversation.talk.why_nothing(None)) == ("", "")
    conversation.hears(answer("get_state"))  # it gave up waiting by itself
    assert conversation.talk.why_nothing(0) == ""
    conversation.hears(DialogAsked("2", "confirm", "Sure?"))
    assert conversation.talk.why_nothing(0) == ""


def test_why_a_prompt_was_refused_is_why_there_is_nothing(conversation: Conversation) -> None:
    conversation.begin().hears(DialogAsked("1", "input", ""), answer("prompt", "no key"))
    assert [conversation.talk.why_nothing(code) for code in (0, 143, None)] == ["no key"] * 3


# Steering


def test_a_steer_to_a_child_at_work_is_sent_and_told_when_it_is_read(
    conversation: Conversation,
) -> None:
    conversation.at_work().talk.steer("1", "Use the other file.")
    assert conversation.sent() == [steered("1", "Use the other file.")]
    assert conversation.talk.take_news() == []
    message = ev.UserMessage("Use the other file.")
    assert conversation.hears(answer("steer-1"), message) == [message]
    assert conversation.talk.take_news() == [ev.Steer("1", "delivered", "Use the other file.", "")]
    conversation.hears(SETTLED)
    assert conversation.talk.take_news() == []
    assert conversation.sent() == [said("get_session_stats")]


@pytest.mark.parametrize("session", [None, "/s"])
def test_a_steer_before_the_work_waits_for_it(
    conversation: Conversation, session: str | None
) -> None:
    conversation.begin(session=session)
    conversation.talk.steer("1", "one")
    conversation.hears(answer("switch_session"), answer("prompt"))
    conversation.talk.steer("2", "two")
    assert [each["type"] for each in conversation.sent()] == [
        *(["switch_session"] if session else []),
        "prompt",
    ]
    conversation.hears(BEGAN)
    assert conversation.sent() == [steered("1", "one"), steered("2", "two")]
    conversation.hears(BEGAN)  # it asks its model again
    assert conversation.sent() == []


def test_a_steer_is_data_whatever_it_looks_like(conversation: Conversation) -> None:
    conversation.at_work().talk.steer("1", " /reload ")
    assert conversation.sent() == [steered("1", f"{GUARD} /reload ")]
    conversation.hears(ev.UserMessage(f"{GUARD} /reload"))  # pi may trim it
    assert conversation.talk.take_news() == [ev.Steer("1", "delivered", " /reload ", "")]


def test_the_same_text_twice_is_delivered_twice_in_order(conversation: Conversation) -> None:
    conversation.at_work()
    conversation.talk.steer("1", "again")
    conversation.talk.steer("2", "again")
    conversation.hears(ev.UserMessage("again"))
    assert conversation.talk.take_news() == [ev.Steer("1", "delivered", "again", "")]
    conversation.hears(ev.UserMessage("again"))
    assert conversation.talk.take_news() == [ev.Steer("2", "delivered", "again", "")]
    conversation.hears(ev.UserMessage("again"))
    assert conversation.talk.take_news() == []


def test_the_prompt_is_not_taken_for_a_steer_of_the_same_words(
    conversation: Conversation,
) -> None:
    conversation.begin().talk.steer("1", PROMPT)
    conversation.hears(BEGAN, ASKED)
    assert conversation.talk.take_news() == []
    conversation.hears(ASKED)
    assert conversation.talk.take_news() == [ev.Steer("1", "delivered", PROMPT, "")]


def test_a_steer_that_pi_refuses_is_told_with_its_reason_once(conversation: Conversation) -> None:
    conversation.at_work().talk.steer("1", "x")
    conversation.hears(answer("steer-1", "busy"), answer("steer-1", "busy"))
    refused = ev.Steer("1", "refused", "x", "pi refused the message: busy")
    assert conversation.talk.take_news() == [refused]
    conversation.hears(ev.UserMessage("x"), SETTLED)
    assert conversation.talk.take_news() == []


def test_an_unread_steer_is_taken_back_when_the_child_settles(conversation: Conversation) -> None:
    """Pi would keep it, and the next task would begin with it."""
    conversation.at_work()
    for number, text in (("1", "read"), ("2", "unread"), ("3", "unread too")):
        conversation.talk.steer(number, text)
    conversation.sent()
    conversation.hears(ev.UserMessage("read"), SETTLED)
    assert conversation.sent() == [said("clear_queue"), said("get_session_stats")]
    assert conversation.talk.take_news() == [
        ev.Steer("1", "delivered", "read", ""),
        too_late("2", "unread"),
        too_late("3", "unread too"),
    ]


def test_a_message_that_is_announced_twice_is_sent_once(conversation: Conversation) -> None:
    conversation.at_work().talk.steer("1", "Be brief.")
    conversation.talk.steer("1", "Be brief.")
    assert conversation.sent() == [steered("1", "Be brief.")]


def test_a_steer_that_was_taken_back_is_not_told_of_again_if_the_child_goes_on(
    conversation: Conversation,
) -> None:
    conversation.at_work().talk.steer("1", "x")
    conversation.hears(SETTLED)
    assert conversation.talk.take_news() == [too_late("1", "x")]
    conversation.sent()
    conversation.hears(BEGAN, ev.UserMessage("x"), SETTLED)
    assert conversation.talk.take_news() == []
    assert conversation.sent() == [said("get_session_stats")]


@pytest.mark.parametrize("counted", [False, True])
def test_a_steer_after_the_end_is_refused_and_never_sent(
    conversation: Conversation, counted: bool
) -> None:
    conversation.at_work().hears(SETTLED, *([answer("get_session_stats")] if counted else []))
    conversation.sent()
    conversation.talk.steer("1", "x")
    assert (conversation.sent(), conversation.talk.take_news()) == ([], [too_late("1", "x")])


def test_a_child_that_is_being_stopped_takes_no_steer(conversation: Conversation) -> None:
    conversation.at_work().talk.abort()
    conversation.sent()
    conversation.talk.steer("1", "x")
    assert conversation.sent() == []
    assert conversation.talk.take_news() == [
        ev.Steer("1", "refused", "x", core_messages.STEER_NOT_ANY_MORE)
    ]


# Stopping


def test_a_stop_empties_the_queue_before_it_aborts(conversation: Conversation) -> None:
    conversation.at_work().talk.abort()
    assert conversation.sent() == [said("clear_queue"), said("abort")]
    assert conversation.talk.aborted is False
    conversation.hears(answer("clear_queue"))
    assert conversation.talk.aborted is False
    conversation.hears(answer("abort"))
    assert conversation.talk.aborted is True


@pytest.mark.parametrize("greets", [True, False])
def test_a_child_that_is_stopped_before_its_prompt_never_gets_it(
    conversation: Conversation, greets: bool
) -> None:
    conversation.begin(session="/s", greets=greets).talk.abort()
    conversation.hears(answer("get_state"), answer("switch_session"), answer("abort"))
    assert "prompt" not in [each["type"] for each in conversation.sent()]


def test_steers_that_waited_for_work_are_not_sent_to_a_child_that_is_being_stopped(
    conversation: Conversation,
) -> None:
    conversation.begin().talk.steer("1", "x")
    conversation.talk.abort()
    conversation.hears(BEGAN)
    assert [each["type"] for each in conversation.sent()] == ["prompt", "clear_queue", "abort"]


# Whatever a child says


NAMES = ("get_state", "switch_session", "prompt", "get_session_stats", "abort", "clear_queue")
numbers = st.sampled_from(["1", "2", "wrap-up"])
command_ids = st.one_of(
    st.sampled_from([f"r-{name}" for name in NAMES]),
    numbers.map(lambda number: f"r-steer-{number}"),
    st.sampled_from(["q-prompt", "prompt", "r", ""]),
    texts,
)
answers = st.builds(
    Answered,
    command_id=command_ids,
    error=st.just("") | texts,
    data=st.just({}) | st.just({"cancelled": True}) | st.just(STATS) | json_objects,
)
dialogs = st.builds(DialogAsked, texts, texts, texts)
spoken = st.sampled_from(["x", "y", "/x", PROMPT])


class AnyChild(RuleBasedStateMachine):
    """A child that says anything in any order, and a caller who steers and stops at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.conversation = Conversation()
        self.talk = self.conversation.talk
        self.now = 0.0
        self.was_over = False
        self.sent: list[dict[str, Any]] = []
        self.steers: dict[str, list[str]] = {}  # what was told of each

    @initialize(session=st.none() | texts, greets=st.booleans())
    def begin(self, session: str | None, greets: bool) -> None:
        self.session = session
        self.conversation.begin(session=session, greets=greets)
        first = "get_state" if greets else "prompt" if session is None else "switch_session"
        assert [each["type"] for each in self.conversation.sent()] == [first]
        self.sent.append({"type": first})

    @rule(heard=answers)
    def answered(self, heard: Answered) -> None:
        assert self.talk.take(heard, self.now) is None

    @rule(heard=dialogs)
    def asked(self, heard: DialogAsked) -> None:
        self.look()
        assert self.talk.take(heard, self.now) is None
        (dismissed,) = self.conversation.sent()
        assert dismissed["cancelled"] is True

    @rule()
    def began(self) -> None:
        assert self.talk.take(BEGAN, self.now) is None

    @rule(event=events | st.builds(ev.UserMessage, spoken) | st.just(SETTLED))
    def happened(self, event: ev.Event) -> None:
        before = self.talk.stage
        noted = self.talk.take(event, self.now)
        counted = before not in (Stage.GREETING, Stage.SWITCHING)
        assert noted == (event if counted else None)

    @rule(text=spoken)
    def steered(self, text: str) -> None:
        number = str(len(self.steers) + 1)
        self.steers[number] = []
        self.talk.steer(number, text)

    @rule()
    def aborted(self) -> None:
        self.talk.abort()

    @rule(seconds=st.floats(0, 20))
    def waited(self, seconds: float) -> None:
        self.now += seconds
        self.talk.check_time(self.now)

    @invariant()
    def look(self) -> None:
        self.sent += self.conversation.sent()
        for each in self.talk.take_news():
            if isinstance(each, ev.Steer):
                self.steers[each.number].append(each.status)

    @invariant()
    def over_is_final(self) -> None:
        assert self.talk.over or not self.was_over
        self.was_over = self.talk.over

    @invariant()
    def nothing_is_waited_for_in_the_end(self) -> None:
        assert not self.talk.over or self.talk.deadline() is None
        deadline = self.talk.deadline()
        waiting = (Stage.SWITCHING, Stage.STARTING, Stage.COUNTING)
        assert deadline is None or self.talk.stage in waiting

    @invariant()
    def a_child_is_prompted_at_most_once_and_after_its_session(self) -> None:
        kinds = [each["type"] for each in self.sent]
        assert kinds.count("prompt") <= 1
        assert kinds.count("switch_session") <= 1
        if "prompt" in kinds and self.session is not None:
            assert kinds.index("switch_session") < kinds.index("prompt")

    @invariant()
    def the_fate_of_a_steer_is_told_at_most_once(self) -> None:
        assert all(len(noted) <= 1 for noted in self.steers.values())
        sent = [each["id"] for each in self.sent if each["type"] == "steer"]
        assert len(sent) == len(set(sent))

    @invariant()
    def a_refusal_ends_it(self) -> None:
        assert not self.talk.refusal or self.talk.over


TestAnyChild = AnyChild.TestCase
TestAnyChild.settings = settings(thoroughly, stateful_step_count=25)


# Whether somebody else gave the child commands


def settled(*more: Heard) -> Conversation:
    talk = Conversation().at_work()
    talk.hears(*more, ANSWER, SETTLED)
    talk.hears(answer("get_session_stats", data=STATS))
    assert talk.talk.over
    return talk


def test_answers_to_our_own_commands_are_no_interference() -> None:
    talk = Conversation().at_work()
    talk.talk.steer("1", "more")
    talk.hears(answer("steer-1"), ev.UserMessage("more"), ANSWER, SETTLED)
    talk.hears(answer("get_session_stats", data=STATS))
    assert (talk.talk.over, talk.talk.interfered) == (True, False)
    assert not settled().talk.interfered


@pytest.mark.parametrize(
    "alien",
    [
        Answered("", "", {}),
        Answered("somebody", "no such command", {}),
        Answered("q-prompt", "", {}),
        answer("set_model"),
        answer("prompt"),  # it was answered already
        answer("steer-1"),
    ],
)
def test_an_answer_to_a_command_that_nobody_here_gave_is_interference(alien: Answered) -> None:
    assert settled(alien).talk.interfered


# What the real pi says


RECORDED = sorted((Path(__file__).parents[3] / "golden").glob("rpc-*.jsonl"))


@pytest.mark.parametrize("stream", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_conversation_with_the_real_pi_gives_what_it_always_gave(stream: Path) -> None:
    promised = Golden(**json.loads(stream.with_suffix(".json").read_text(encoding="utf-8")))
    steers = stream.stem.endswith("-steer")
    read, sent = read_rpc_stream(stream.read_bytes(), promised.exit_code, steers=steers)
    assert Golden(promised.exit_code, *read) == promised
    assert [json.loads(line)["type"] for line in sent] == [
        "get_state", "switch_session", "prompt", *(["steer"] if steers else []),
        "get_session_stats",
    ]  # fmt: skip


def test_the_same_work_gives_the_same_events_in_both_modes() -> None:
    names = {tuple(stream.stem.split("-", 2)[1:]) for stream in RECORDED}
    everywhere = ("model-error", "retry", "steer", "tools")
    assert names == {*product(TESTED_VERSIONS, everywhere), ("1.5.0", "script")}
    for stream in RECORDED:
        promise = stream.with_suffix(".json")
        in_json_mode = promise.with_name(promise.name.replace("rpc-", "pi-"))
        if in_json_mode.exists():  # nobody can be steered there
            assert promise.read_text(encoding="utf-8") == in_json_mode.read_text(encoding="utf-8")

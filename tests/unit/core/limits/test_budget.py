"""When a budget ends a run, and when the child is asked to finish."""

from __future__ import annotations

import pytest

from pi_subagents.core.limits.base import EndRun, TellChild, Verdict
from pi_subagents.core.limits.budget import BudgetLimit, OwnPurse
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Cause
from pi_subagents.core.spending.budget import Budget, Spending
from pi_subagents.core.usage import Usage

CALL = ev.ToolCall("1", "read", {})


def message(
    tokens: int, cost: float = 0.0, *, calls: bool = True, cached: int = 0
) -> ev.AssistantMessage:
    usage = Usage(tokens, cache_read=cached, total_tokens=tokens + cached, cost=cost)
    calls_made = (CALL,) if calls else ()
    return ev.AssistantMessage("so far", calls_made, provider="p", model="m", usage=usage)


def verdicts(limit: BudgetLimit, *messages: ev.AssistantMessage) -> list[Verdict | None]:
    """Return what the limit says after each message."""
    said = []
    for each in messages:
        limit.saw(each, 0)
        said.append(limit.verdict(0))
    return said


def one_budget(budget: Budget, *, can_steer: bool = True) -> BudgetLimit:
    return BudgetLimit([OwnPurse("of the task", budget)], {}, can_steer=can_steer)


def test_a_child_is_told_once_at_four_fifths_and_stopped_at_the_end() -> None:
    said = verdicts(one_budget(Budget(1000)), message(799), message(1), message(100), message(150))
    assert said == [
        None,
        TellChild(
            "budget",
            "The budget of the task is almost used up (800 of 1,000 tokens). Do not start anything "
            "new: finish now with what you have, and say what is missing.",
        ),
        None,
        EndRun(
            Cause.BUDGET,
            "The budget of the task is used up: 1,050 of 1,000 tokens. To go on, resume with a new "
            "budget.",
        ),
    ]


def test_a_call_that_no_message_announced_shows_that_the_child_goes_on() -> None:
    limit = one_budget(Budget(1000))
    assert verdicts(limit, message(800, calls=False)) == [None]
    limit.saw(ev.ToolStarted(CALL), 0)
    assert isinstance(limit.verdict(0), TellChild)
    assert verdicts(limit, message(200, calls=False)) == [None]
    limit.saw(ev.ToolStarted(CALL), 0)
    assert isinstance(limit.verdict(0), EndRun)


def test_a_child_that_cannot_be_told_anything_is_only_stopped() -> None:
    said = verdicts(one_budget(Budget(turns=5), can_steer=False), *[message(1)] * 5)
    assert said[:4] == [None] * 4
    assert said[4] == EndRun(
        Cause.BUDGET,
        "The budget of the task is used up: 5 of 5 turns. To go on, resume with a new budget.",
    )


def test_a_child_that_has_answered_is_told_nothing() -> None:
    assert verdicts(one_budget(Budget(100)), message(90, calls=False)) == [None]


def test_an_answer_counts_and_a_child_that_goes_on_after_it_is_ended() -> None:
    limit = one_budget(Budget(100))
    assert verdicts(limit, message(110, calls=False)) == [None]
    limit.saw(ev.Settled(), 0)
    assert limit.verdict(0) is None
    limit.saw(ev.UserMessage("And the rest?"), 0)
    said = limit.verdict(0)
    assert isinstance(said, EndRun)
    assert "110 of 100 tokens" in said.why


def test_what_is_only_read_from_a_cache_uses_no_budget() -> None:
    assert verdicts(one_budget(Budget(100)), message(10, cached=10_000)) == [None]


@pytest.mark.parametrize(("first", "whose"), [(300, "of the task"), (200, "of the call")])
def test_the_tightest_budget_counts(first: int, whose: str) -> None:
    task, call = OwnPurse("of the task", Budget(300)), OwnPurse("of the call", Budget(400))
    call.add(Spending(300 - first + 100))
    (said,) = verdicts(BudgetLimit([task, call], {}, can_steer=True), message(first))
    assert isinstance(said, EndRun)
    assert whose in said.why


def test_a_cost_is_counted_by_the_prices_that_are_set() -> None:
    purse = OwnPurse("of the task", Budget(cost=0.5))
    limit = BudgetLimit([purse], {"p/m": (10.0, 0.0, 0.0, 0.0)}, can_steer=False)
    said = verdicts(limit, message(30_000), message(30_000))
    assert said[0] is None
    assert isinstance(said[1], EndRun)
    assert "$0.6000 of $0.5000" in said[1].why


def test_a_cost_budget_for_a_model_without_a_price_ends_the_run_by_name() -> None:
    (said,) = verdicts(one_budget(Budget(cost=0.5)), message(1))
    assert said == EndRun(
        Cause.BUDGET,
        "The budget of the task limits the cost, and no price is known for p/m. Set one in "
        "the global settings (subagents.prices), or limit tokens instead.",
    )


def test_a_run_whose_budget_others_have_used_up_does_not_begin() -> None:
    purse = OwnPurse("of the call", Budget(100))
    purse.add(Spending(100))
    assert isinstance(BudgetLimit([purse], {}, can_steer=True).verdict(0), EndRun)


def test_a_run_without_a_budget_is_never_ended() -> None:
    limit = BudgetLimit([], {}, can_steer=True)
    assert verdicts(limit, message(10**9, 1e6), message(10**9)) == [None, None]

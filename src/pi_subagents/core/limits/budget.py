"""Budgets: a child that has used most of one is asked to finish, and stopped when it is used up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pi_subagents.core.limits.base import EndRun, TellChild, Verdict
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Cause
from pi_subagents.core.spending import messages
from pi_subagents.core.spending.budget import (
    COST,
    Budget,
    Spending,
    exact,
    reached,
    spending_of,
)
from pi_subagents.core.spending.price import cost_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.spending.price import Prices

WARN_AT = 0.8
_GOING_ON = (ev.UserMessage, ev.ToolStarted, ev.AssistantMessage)


class Purse(Protocol):
    """A budget with what was spent of it, by this run alone or by several."""

    whose: str
    budget: Budget

    def add(self, spent: Spending) -> Spending:
        """Spend so much, and return what was spent in all."""


class OwnPurse:
    """One that nobody else spends from."""

    def __init__(self, whose: str, budget: Budget) -> None:
        self.whose, self.budget = whose, budget
        self._spent = Spending()

    def add(self, spent: Spending) -> Spending:
        """Spend so much, and return what was spent in all."""
        self._spent += spent
        return self._spent


class BudgetLimit:
    """
    End the run at the end of the message with which a budget is used up, whichever is first.

    A message without calls is an answer: it counts, and only a child that goes on after it is
    ended.  For that reason a child is asked to finish, once, at four fifths, only after a message
    with calls.
    """

    def __init__(self, purses: Sequence[Purse], prices: Prices, *, can_steer: bool) -> None:
        self._purses = purses
        self._prices = prices
        self._may_tell = can_steer
        self._verdict: Verdict | None = None
        self._used_up = ""  # what is, and the child had answered
        for purse in purses:  # those who share it may have left nothing
            self._check(purse, purse.add(Spending()), goes_on=True)

    def saw(self, event: ev.Event | None, now: float) -> None:
        """Count a message."""
        del now
        if self._used_up and isinstance(event, _GOING_ON):
            self._end(self._used_up)
        if isinstance(event, ev.ToolStarted) and self._may_tell:  # that no message announced
            for purse in self._purses:
                self._warn(purse, purse.add(Spending()))
        if not isinstance(event, ev.AssistantMessage):
            return
        model = f"{event.provider}/{event.model}"
        cost = cost_of(event.usage, model, self._prices)
        has_failed = event.stop_reason == "error" and not event.usage.total_tokens
        spent = spending_of(event.usage, cost or 0.0, turns=0 if has_failed else 1)
        goes_on = bool(event.tool_calls)
        for purse in self._purses:
            total = purse.add(spent)
            if cost is None and purse.budget.cost is not None:
                self._end(messages.model_without_price(model, purse.whose))
            self._check(purse, total, goes_on=goes_on)
            if goes_on:
                self._warn(purse, total)

    def deadline(self) -> None:
        """Time alone uses nothing."""

    def verdict(self, now: float) -> Verdict | None:
        """End the run, or tell the child to finish."""
        del now
        verdict = self._verdict
        if not isinstance(verdict, EndRun):
            self._verdict = None
        return verdict

    def _check(self, purse: Purse, total: Spending, *, goes_on: bool) -> None:
        if kind := reached(purse.budget, total):
            why = messages.used_up(purse.whose, *_amounts(kind, purse.budget, total))
            self._used_up = self._used_up or why
            if goes_on:
                self._end(why)

    def _end(self, why: str) -> None:
        if not isinstance(self._verdict, EndRun):
            self._verdict = EndRun(Cause.BUDGET, why)

    def _warn(self, purse: Purse, total: Spending) -> None:
        kind = reached(purse.budget, total, WARN_AT)
        if kind and self._may_tell and self._verdict is None:
            self._may_tell = False
            text = messages.almost_used_up(purse.whose, *_amounts(kind, purse.budget, total))
            self._verdict = TellChild(ev.BUDGET, text)


def _amounts(kind: str, budget: Budget, total: Spending) -> tuple[str, str]:
    """Return how much was used, and of how much."""
    used, most = exact(kind, getattr(total, kind)), exact(kind, getattr(budget, kind))
    return (used if kind == COST else used.partition(" ")[0]), most

"""
Write limits and checks of a run as part of an order, and read what came from another machine.

In: values of `core/run/spec.py`, or decoded JSON from anybody.  Out: the other, or OrderRefused.
How many children a machine has is never the caller's to say: it is not in an order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.core.cluster import messages
from pi_subagents.core.cluster.order import MAX_TEXT
from pi_subagents.core.cluster.reading import Members, checked_number
from pi_subagents.core.run.spec import CheckOrder, RunLimits
from pi_subagents.core.spending.budget import KINDS
from pi_subagents.core.task.request import MAX_CHECK_ROUNDS, MAX_TIMEOUT_S
from pi_subagents.core.value import as_dict, replace
from pi_subagents.errors import OrderRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.spending.price import Prices

_OF_THE_MACHINE = ("max_children", "max_of_provider")
_LONGEST_S = 7 * MAX_TIMEOUT_S
_MOST_BYTES = 100_000 * 1024 * 1024
_MOST = 1e15
_MOST_CALLS = 1000
_MAX_BUDGETS = 16
_MAX_PRICES = 1000
_AMOUNTS = 4
# The limits that are seconds, each with its name in an order.
_SECONDS = {
    "extend_debounce_s": "extendDebounceS",
    "extend_max_s": "extendMaxS",
    "stop_grace_s": "stopGraceS",
    "settled_grace_s": "settledGraceS",
    "limit_wait_s": "limitWaitS",
    "wrap_up_s": "wrapUpS",
    "answer_within_s": "answerWithinS",
}
_KEYS = (
    "timeoutS", *_SECONDS.values(), "loopingToolCount", "maxRunBytes", "budgets", "prices",
)  # fmt: skip


def limits_to_json(limits: RunLimits) -> dict[str, object]:
    """Return the limits as they travel."""
    return {
        "timeoutS": limits.timeout_s,
        **{key: getattr(limits, name) for name, key in _SECONDS.items()},
        "loopingToolCount": limits.looping_tool_count,
        "maxRunBytes": limits.max_run_bytes,
        "budgets": {whose: dict(most) for whose, most in limits.budgets.items()},
        "prices": {model: list(amounts) for model, amounts in limits.prices.items()},
    }


def travelling(limits: RunLimits) -> RunLimits:
    """Return the limits without those of the caller's machine."""
    return replace(limits, **dict.fromkeys(_OF_THE_MACHINE, 0))


def limits_from(given: object, where: str) -> RunLimits:
    """Return the limits that somebody sent."""
    known, usual = Members.of(given, where, _KEYS), as_dict(RunLimits())
    seconds: dict[str, Any] = {
        name: known.number(key, _LONGEST_S, _plain(usual[name])) for name, key in _SECONDS.items()
    }
    has_timeout = known.content.get("timeoutS") is not None
    return RunLimits(
        timeout_s=known.number("timeoutS", MAX_TIMEOUT_S) if has_timeout else None,
        looping_tool_count=known.whole("loopingToolCount", _MOST_CALLS, 5),
        max_run_bytes=known.whole("maxRunBytes", _MOST_BYTES, RunLimits().max_run_bytes),
        budgets=_budgets(known),
        prices=_prices(known),
        **seconds,
    )


def check_from(given: object, where: str) -> CheckOrder:
    """Return the check that somebody sent."""
    known = Members.of(given, where, CheckOrder.__match_args__)
    return CheckOrder(
        known.text("command", MAX_TEXT),
        known.whole("rounds", MAX_CHECK_ROUNDS, CheckOrder().rounds),
    )


def _budgets(known: Members) -> Mapping[str, Mapping[str, float]]:
    found = {}
    for where, whose, given in known.table("budgets", _MAX_BUDGETS):
        most = Members.of(given, where, KINDS)
        found[whose] = {kind: most.number(kind, _MOST) for kind in most.content}
    return found


def _prices(known: Members) -> Prices:
    found: dict[str, tuple[float, float, float, float]] = {}
    for where, model, given in known.table("prices", _MAX_PRICES):
        if not isinstance(given, list) or len(given) != _AMOUNTS:
            raise OrderRefused(where, messages.NEEDS_FOUR)
        first, second, third, fourth = (checked_number(each, where, _MOST) for each in given)
        found[model] = (first, second, third, fourth)
    return found


def _plain(usual: object) -> float:
    assert isinstance(usual, int | float), usual
    return usual

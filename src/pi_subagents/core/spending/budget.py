"""
What may be spent, and what was: tokens, money, turns.

In: a budget as people and models write it, an object or a text (`200k tokens, $0.50, 20 turns`).
Out: a Budget, or a ValueError that says what is wrong.  Tokens are those that are paid in full:
input, cache writes and output; what is only read from a cache does not count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pi_subagents.core.spending import messages
from pi_subagents.core.value import as_dict, value

if TYPE_CHECKING:
    from pi_subagents.core.usage import Usage

TOKENS, COST, TURNS = KINDS = ("tokens", "cost", "turns")
_MOST = 1e15  # of anything: what is more can only be a mistake
_AMOUNT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([kKmM]?)")
_SIZES = {"": 1, "k": 1_000, "m": 1_000_000}


@value
class Budget:
    """The most that may be spent; None: no limit."""

    tokens: int | None = None
    cost: float | None = None
    turns: int | None = None

    def __bool__(self) -> bool:
        return self != Budget()

    def __str__(self) -> str:
        return ", ".join(short(kind, most) for kind in KINDS if (most := getattr(self, kind)))


@value
class Spending:
    """What was spent."""

    tokens: int = 0
    cost: float = 0.0
    turns: int = 0

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            self.tokens + other.tokens, self.cost + other.cost, self.turns + other.turns
        )


def spending_of(usage: Usage, cost: float | None = None, turns: int = 0) -> Spending:
    """Return what a usage counts as, with its own cost unless another one is given."""
    tokens = usage.input + usage.cache_write + usage.output
    return Spending(tokens, usage.cost if cost is None else cost, turns)


def reached(budget: Budget, spent: Spending, share: float = 1.0) -> str:
    """Return the kind of which so much of the budget was spent; nothing if there is none."""
    for kind in KINDS:
        most = getattr(budget, kind)
        if most is not None and getattr(spent, kind) >= most * share:
            return kind
    return ""


def tightest(*budgets: Budget) -> Budget:
    """Return the least of every kind."""
    given = {kind: [most for b in budgets if (most := getattr(b, kind))] for kind in KINDS}
    return Budget(**{kind: min(amounts) for kind, amounts in given.items() if amounts})


def parse_budget(given: object) -> Budget:
    """Read a budget; ValueError says what is wrong with it."""
    if isinstance(given, Budget):
        given = as_dict(given)
    if isinstance(given, str):
        given = _by_kind(given)
    if not isinstance(given, Mapping) or not set(given) <= set(KINDS):
        raise ValueError(messages.BUDGET_FORMS)
    amounts = {kind: amount(kind, each) for kind, each in given.items() if each is not None}
    return Budget(**amounts)  # type: ignore[arg-type]  # whole where they have to be


def amount(kind: str, given: object) -> float:
    """Read one amount; whole where it cannot be anything else."""
    number = math.nan
    if isinstance(given, str):
        text = given.strip()
        if found := _AMOUNT.fullmatch(text.removeprefix("$") if kind == COST else text):
            number = float(found[1]) * _SIZES[found[2].lower()]
    elif isinstance(given, int | float) and not isinstance(given, bool):
        number = given
    if not 0 < number <= _MOST or (kind != COST and number < 1):
        raise ValueError(messages.wrong_amount(kind, given))
    return float(number) if kind == COST else int(number)


def short(kind: str, number: float) -> str:
    """Return an amount such that it is read back as the same."""
    if kind == COST:
        return f"${number:.2f}" if number == round(number, 2) else f"${number:.10f}".rstrip("0")
    whole = int(number)
    for letter, size in (("M", 1_000_000), ("k", 1_000)):
        text = f"{whole / size:.12g}"
        if whole >= size and float(text) * size == whole:
            return f"{text}{letter} {kind}"
    return f"{whole} {kind}"


def exact(kind: str, number: float) -> str:
    """Return an amount for people who compare it with another."""
    return f"${number:.4f}" if kind == COST else f"{int(number):,} {kind}"


def _by_kind(text: str) -> Mapping[str, str]:
    amounts: dict[str, str] = {}
    for item in text.split(","):
        number, _, unit = item.strip().partition(" ")
        kind = COST if number.startswith("$") else unit.strip() or TOKENS
        if kind in amounts:
            raise ValueError(messages.amount_given_twice(kind))
        amounts[kind] = number
    return amounts

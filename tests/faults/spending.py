"""
One call whose children spend from one budget, in some order that a seed decides.

Every child is a process of its own in life: it counts a message when it ends, however long the
others were asleep, and begins the next one only if nothing stopped it.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from pi_subagents.core.limits.base import EndRun
from pi_subagents.core.limits.budget import BudgetLimit, OwnPurse
from pi_subagents.core.run import events as ev
from pi_subagents.core.spending.budget import Budget, spending_of
from pi_subagents.core.usage import Usage
from pi_subagents.store.purses import SharedPurse, close_purses, make_purse

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.limits.budget import Purse

CALL = ev.ToolCall("1", "read", {})


def random_message(chance: random.Random) -> ev.AssistantMessage:
    """Return a message of any size, most of them small."""
    read, written, cached, stored = (int(chance.expovariate(1 / 2000)) for _ in range(4))
    total = read + written + cached + stored
    usage = Usage(read, written, cached, stored, total, chance.expovariate(100))
    return ev.AssistantMessage("", (CALL,), usage=usage)


def spend(seed: int, file: Path | None = None) -> None:
    """Let 1 to 16 children work until each is stopped or done; check the bound of their sum."""
    chance = random.Random(seed)
    budget = Budget(tokens=chance.randint(1, 400_000), cost=chance.uniform(0.01, 2))
    if file is not None:
        make_purse(file, spending_of(Usage()))
    one = OwnPurse("of the call", budget)
    children = [
        _child(one if file is None else SharedPurse("of the call", budget, str(file)))
        for _ in range(chance.randint(1, 16))
    ]
    left = {n: chance.randint(1, 60) for n in range(len(children))}
    last: dict[int, ev.AssistantMessage] = {}
    while left:
        child = chance.choice(list(left))
        left[child] -= 1
        last[child] = random_message(chance)
        limit, _ = children[child]
        limit.saw(last[child], 0)
        if isinstance(limit.verdict(0), EndRun) or not left[child]:
            del left[child]
    sums = {child: purse.add(spending_of(Usage())) for child, (_, purse) in enumerate(children)}
    assert len(set(sums.values())) == 1, seed
    over = [spending_of(message.usage) for message in last.values()]
    spent = sums[0]
    assert spent.tokens < budget.tokens + sum(each.tokens for each in over) + 1, seed  # type: ignore[operator]  # it is set
    assert spent.cost < budget.cost + sum(each.cost for each in over) + 1e-9, seed  # type: ignore[operator]  # it is set
    close_purses(purse for _, purse in children)


def _child(purse: Purse) -> tuple[BudgetLimit, Purse]:
    return BudgetLimit([purse], {}, can_steer=True), purse

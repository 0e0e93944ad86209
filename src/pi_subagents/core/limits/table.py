"""The limits of a run, in the order in which they are asked.  A new one is a file and a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.limits.budget import BudgetLimit
from pi_subagents.core.limits.extension import ExtensionNotice
from pi_subagents.core.limits.held import HeldLimits
from pi_subagents.core.limits.loop import LoopLimit
from pi_subagents.core.limits.timeout import TimeoutLimit
from pi_subagents.core.limits.wrap_up import WrapUpLimit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.limits.base import Limit
    from pi_subagents.core.limits.budget import Purse
    from pi_subagents.core.run.spec import RunLimits


def limits_of(
    wanted: RunLimits, started: float, *, can_steer: bool, purses: Sequence[Purse] = ()
) -> tuple[Limit, ...]:
    """Return the limits of a run that began then; not every child can be told anything."""
    timeout_s = wanted.timeout_s
    return (
        LoopLimit(wanted.looping_tool_count),
        BudgetLimit(purses, wanted.prices, can_steer=can_steer),
        TimeoutLimit(
            started=started,
            timeout_s=timeout_s,
            debounce_s=wanted.extend_debounce_s,
            max_extension_s=wanted.extend_max_s,
        ),
        ExtensionNotice(wanted, started),
        WrapUpLimit(
            started=started, timeout_s=timeout_s, before_s=wanted.wrap_up_s if can_steer else 0
        ),
    )


def held_limits(
    wanted: RunLimits, started: float, purses: Sequence[Purse], *, can_steer: bool
) -> HeldLimits:
    """Return them together, such that they can be held."""
    return HeldLimits(limits_of(wanted, started, can_steer=can_steer, purses=purses))

"""
Count tokens and cost as the child reports them.

In: what it says, however absurd.  Out: amounts that every file and sum of ours has room for:
anything malformed counts as nothing, and what is more than anybody can use as the most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pi_subagents.core.value import value

MOST = 10**12  # tokens or dollars; what is reported beyond it is a mistake or a lie


@value
class Usage:
    """Tokens and cost of one message or, added up, of a whole run."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0
    cost: float = 0.0
    cost_is_billed: bool = False  # the provider's own figure; else reckoned from a price list

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            min(self.input + other.input, MOST),
            min(self.output + other.output, MOST),
            min(self.cache_read + other.cache_read, MOST),
            min(self.cache_write + other.cache_write, MOST),
            min(self.total_tokens + other.total_tokens, MOST),
            min(self.cost + other.cost, float(MOST)),
            # What costs nothing leaves the rest as it is.
            all(each.cost_is_billed for each in (self, other) if each.cost)
            and bool(self.cost or other.cost),
        )


def usage_from_json(value: object) -> Usage:
    """Read what `usage_to_json` writes; a cost may be a bare number too."""
    if not isinstance(value, Mapping):
        return Usage()
    cost = value.get("cost")
    total_cost = cost.get("total") if isinstance(cost, Mapping) else cost
    return Usage(
        input=_tokens(value.get("input")),
        output=_tokens(value.get("output")),
        cache_read=_tokens(value.get("cacheRead")),
        cache_write=_tokens(value.get("cacheWrite")),
        total_tokens=_tokens(value.get("totalTokens")),
        cost=_amount(total_cost),
        cost_is_billed=isinstance(cost, Mapping)
        and cost.get("totalFromProvider") is True
        and _amount(total_cost) > 0,
    )


def usage_to_json(usage: Usage) -> dict[str, Any]:
    """Write the shape in which a usage is kept."""
    billed = {"totalFromProvider": True} if usage.cost_is_billed else {}
    return {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        "totalTokens": usage.total_tokens,
        "cost": {"total": usage.cost, **billed},
    }


def _amount(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    if value > MOST:
        return float(MOST) if isinstance(value, int) or math.isfinite(value) else 0.0
    return float(value) if value > 0 else 0.0


def _tokens(value: object) -> int:
    return int(_amount(value))

"""
What a message cost: by what the child reports, else by the prices that the user has set.

In: a usage and its model.  Out: the cost; None where nobody knows it.  Prices are in the currency
of a budget, per million tokens, by `provider/model`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pi_subagents.core.spending import messages

if TYPE_CHECKING:
    from pi_subagents.core.usage import Usage

# By provider and model: what a million tokens of input, output, cache reads and writes cost.
Prices = Mapping[str, tuple[float, float, float, float]]
_KEYS = ("input", "output", "cacheRead", "cacheWrite")
_MILLION = 1_000_000


def parse_prices(given: object) -> Prices:
    """Read the setting; what a cache costs is what input costs, unless it is said."""
    if not isinstance(given, Mapping):
        raise TypeError(messages.NEEDS_PRICES)
    prices: dict[str, tuple[float, float, float, float]] = {}
    for model, listed in given.items():
        if not isinstance(listed, Mapping) or not {"input", "output"} <= set(listed) <= set(_KEYS):
            raise ValueError(messages.NEEDS_PRICES)
        amounts = [listed.get(key, listed["input"]) for key in _KEYS]
        if not all(type(each) in (int, float) and 0 <= each < _MILLION for each in amounts):
            raise ValueError(messages.NEEDS_PRICES)
        prices[str(model)] = tuple(map(float, amounts))  # type: ignore[assignment]  # four of them
    return prices


def cost_of(usage: Usage, model: str, prices: Prices) -> float | None:
    """Return what a message cost; a price that is set counts where the child reports no cost."""
    if usage.cost > 0 or not usage.total_tokens:
        return usage.cost
    if model not in prices:
        return None
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    return sum(n * price for n, price in zip(counts, prices[model], strict=True)) / _MILLION

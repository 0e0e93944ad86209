"""Amounts of tokens and money, for people: short, and marked where they are large."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_subagents.core.usage import Usage

LARGE = 1_000_000  # tokens of one run that somebody should know of
MARK = "!"
_THOUSAND = 1000
_MAX_DIGITS = 2  # before the point, where a digit behind it has room beside the mark


def marked(amount: str, usage: Usage) -> str:
    """Return the tokens of a run with a mark if it used a great many."""
    if usage.total_tokens <= LARGE:
        return amount
    whole, _, rest = amount.partition(".")  # `!123M`: it has to fit where `123.4M` did
    shown = rest[-1:] if len(whole) > _MAX_DIGITS else amount[len(whole) :]
    return f"{MARK}{whole}{shown}"


def large(usage: Usage) -> str:
    """Return the tokens of a run, marked, if they are a great many: for lists without others."""
    is_large = usage.total_tokens > LARGE
    return marked(short_number(usage.total_tokens), usage) if is_large else ""


def short_number(number: int) -> str:
    """Return a count in at most six characters: `950`, `12.3k`, `4.5M`."""
    if number < _THOUSAND:
        return str(number)
    size = float(number)
    for unit in "kMG":
        size /= _THOUSAND
        if size < 999.95:  # noqa: PLR2004 - what would be rounded to the next unit
            return f"{size:.1f}{unit}"
    return f">{999}G"


def money(cost: float) -> str:
    """Return a cost in dollars in at most eight characters, small ones with more places."""
    if cost < 1:
        return f"${cost:.4f}"
    return f"${cost:.2f}" if cost < 10_000 else f"${short_number(int(cost))}"  # noqa: PLR2004 - room

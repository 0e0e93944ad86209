"""
Share the rows of a screen among windows.

In: what each window would like under its header, and the rows there are.  Out: what each gets.
Those at work come first, then those with an error, then the rest; one row each, round by round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.view.window import WindowStatus

_RANKS: Mapping[WindowStatus, int] = {"running": 0, "error": 1, "completed": 2, "queued": 3}


@value
class Claim:
    """How a window stands, and how many rows it would like under its header."""

    status: WindowStatus
    rows: int


@value
class Shares:
    """Rows under each header, or None for a window that is not shown at all."""

    rows: tuple[int | None, ...]
    left_out: int


def share(claims: Sequence[Claim], room: int) -> Shares:
    """Give every window its header and then, as long as there is room, its rows."""
    by_rank = sorted(range(len(claims)), key=lambda index: _RANKS[claims[index].status])
    # Where not all headers fit, one row says how many are missing.
    shown = by_rank if len(claims) <= room else by_rank[: max(room - 1, 0)]
    left = room - len(shown) - (len(shown) < len(claims))
    given = dict.fromkeys(shown, 0)
    left = _hand_out(given, claims, [i for i in shown if claims[i].status == "running"], left)
    _hand_out(given, claims, shown, left)
    return Shares(tuple(given.get(index) for index in range(len(claims))), len(claims) - len(shown))


def _hand_out(
    given: dict[int, int], claims: Sequence[Claim], group: Sequence[int], left: int
) -> int:
    """Give one row each, round by round; return what is left."""
    while left > 0:
        wanting = [index for index in group if given[index] < claims[index].rows][:left]
        if not wanting:
            break
        for index in wanting:
            given[index] += 1
        left -= len(wanting)
    return left

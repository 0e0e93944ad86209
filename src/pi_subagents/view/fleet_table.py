"""
A row of the fleet as cells: which columns a width has room for, and what stands in each.

In: rows, the time, a width in characters.  Out: columns and texts.  Every status has a sign of its
own besides its word and colour, so that nobody needs to see colours.  Cutting and padding by what
a terminal makes of a text are the face's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pi_subagents.core.path_text import shorten_path
from pi_subagents.core.plain_text import printable
from pi_subagents.core.value import value
from pi_subagents.view.fleet import finished_at_ms, last_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.view.fleet import Totals

Column = Literal["status", "age", "name", "model", "doing", "tokens", "cost"]
CellRole = Literal["working", "good", "bad", "stopped", "quiet"]

SEPARATOR = " · "
GAP = 1
LEAST_DOING = 10
_STATUS, _SIGN, _AGE, _TOKENS, _COST, _MODEL, _MOST_NAME = 13, 1, 4, 6, 8, 18, 32
_WIDE, _MIDDLE = 100, 70
_THOUSAND = 1000

_SIGNS: Mapping[str, tuple[str, CellRole]] = {
    "completed": ("✓", "good"),
    "failed": ("✗", "bad"),
    "aborted": ("■", "stopped"),
    "interrupted": ("!", "bad"),
    "planned": ("○", "quiet"),
    "stopping": ("◌", "stopped"),
}
_AT_WORK: tuple[str, CellRole] = ("●", "working")


@value
class Cell:
    """A column with its heading and its width."""

    column: Column
    heading: str
    width: int
    right: bool = False


def layout(width: int) -> tuple[Cell, ...]:
    """Return the columns for a width; together with gaps they fill it, where it has the room."""
    begin = [Cell("status", "", _SIGN), Cell("age", "AGE", _AGE, right=True)]
    model, figures = [], []
    if width >= _MIDDLE:
        begin[0] = Cell("status", "STATUS", _STATUS)
        figures.append(Cell("tokens", "TOKENS", _TOKENS, right=True))
        figures.append(Cell("cost", "COST", _COST, right=True))
    if width >= _WIDE:
        model.append(Cell("model", "MODEL", _MODEL))
    taken = sum(cell.width + GAP for cell in (*begin, *model, *figures)) + GAP
    left = max(width - taken, 2 * LEAST_DOING)
    name = min(max(left * 2 // 5, LEAST_DOING), _MOST_NAME)
    middle = (Cell("name", "NAME", name), *model, Cell("doing", "LAST", left - name))
    return (*begin, *middle, *figures)


def cell_text(row: RunRecord, cell: Cell, now_ms: int, *, follows: bool = False) -> str:
    """Return what stands in one cell; a run that follows another of its session is set below it."""
    match cell.column:
        case "status":
            sign, _ = sign_of(row)
            return sign if cell.width == _SIGN else f"{sign} {row.status}"
        case "age":
            return age(now_ms - row.meta.created_at_ms) if row.meta.created_at_ms else "-"
        case "name":
            return ("└ " if follows else "") + (row.name or row.run_id[:12])
        case "model":
            return row.model or row.kind or "-"
        case "doing":
            return last_line(row)
        case "tokens":
            return spent(row)[0] or "-"
        case "cost":
            return spent(row)[1] or "-"


def sign_of(row: RunRecord) -> tuple[str, CellRole]:
    """Return the sign of how a run stands, and its role."""
    return _SIGNS.get(row.status, _AT_WORK)


def totals_line(found: Totals, width: int) -> str:
    """Return the line above the list, in fewer words where there is little room."""
    tokens, cost = short_number(found.usage.total_tokens), money(found.usage.cost)
    line = _joined(
        f"{found.running} running",
        f"{found.waiting} waiting" if found.waiting else "",
        f"{found.finished} finished today",
        f"{found.failed} failed",
        f"{tokens} tokens",
        cost,
    )
    if len(line) <= width:
        return line
    return (
        f"●{found.running} ○{found.waiting} today:{found.finished} ✗{found.failed} {tokens} {cost}"
    )


def heading(row: RunRecord) -> str:
    """Return the line above a run that is looked at from near."""
    sign, _ = sign_of(row)
    return _joined(f"{sign} {row.status}", row.name, row.kind, row.model, *_figures(row))


def details(row: RunRecord, now_ms: int, home: str) -> str:
    """Return what the list has no room for: ids, place, figures."""
    started_ms = row.meta.started_at_ms
    if row.active:
        took = f"for {age(now_ms - started_ms)}" if started_ms else "(waits its turn)"
    else:
        took = f"after {age(finished_at_ms(row) - started_ms)}" if started_ms else ""
    who = _joined(
        f"run {row.run_id[:12]}",
        f"session {printable(row.session_id)}" if row.session_id else "",
        "" if row.meta.attached else "in the background",
        row.kind,
        row.model,
    )
    return f"{who}\n{_joined(f'{row.status} {took}'.rstrip(), *_figures(row), place(row, home))}"


def place(row: RunRecord, home: str) -> str:
    """Return where a run works, as its user would write it."""
    return printable(shorten_path(row.meta.cwd, "", home))


def age(milliseconds: int) -> str:
    """Return a length of time in at most four characters."""
    seconds = max(milliseconds, 0) // 1000
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{min(seconds // size, 999)}{unit}"
    return f"{seconds}s"


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


def spent(row: RunRecord) -> tuple[str, str]:
    """Return the tokens and the cost of a run, each empty where it is not known."""
    tokens, cost = row.usage.total_tokens, row.usage.cost
    return short_number(tokens) if tokens else "", money(cost) if cost else ""


def _figures(row: RunRecord) -> tuple[str, str]:
    tokens, cost = spent(row)
    return f"{tokens} tokens" if tokens else "", cost


def _joined(*parts: str) -> str:
    return SEPARATOR.join(part for part in parts if part)

"""
A row of the fleet as cells: which columns a width has room for, and what stands in each.

In: rows, the time, a width in characters.  Out: columns and texts.  Cutting and padding by what a
terminal makes of a text are the face's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pi_subagents.core.path_text import shorten_path
from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.run.record import short_id
from pi_subagents.core.value import value
from pi_subagents.view.amounts import marked, money, short_number
from pi_subagents.view.fleet import SEPARATOR, finished_at_ms, last_line
from pi_subagents.view.states import state_of
from pi_subagents.view.time_spent import age, length

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.view.fleet import Totals

Column = Literal["status", "age", "time", "name", "model", "doing", "tokens", "cost"]

GAP = 1
LEAST_DOING = 10
_STATUS, _SIGN, _AGE, _TOKENS, _COST, _MODEL, _MOST_NAME = 13, 1, 4, 6, 8, 18, 64
_WIDE, _MIDDLE = 100, 70


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
        begin.append(Cell("time", "TIME", _AGE, right=True))
        model.append(Cell("model", "MODEL", _MODEL))
    taken = sum(cell.width + GAP for cell in (*begin, *model, *figures)) + GAP
    left = max(width - taken, 2 * LEAST_DOING)
    name = min(max(left * 2 // 5, LEAST_DOING), _MOST_NAME)
    middle = (Cell("name", "TASK", name), *model, Cell("doing", "LAST", left - name))
    return (*begin, *middle, *figures)


def cell_text(row: RunRecord, cell: Cell, now_ms: int, *, follows: bool = False) -> str:
    """Return what stands in one cell; a run that follows another of its session is set below it."""
    match cell.column:
        case "status":
            state = state_of(row)
            return state.sign if cell.width == _SIGN else f"{state.sign} {state.word}"
        case "age":
            return age(now_ms - row.meta.created_at_ms) if row.meta.created_at_ms else "-"
        case "time":
            return age(elapsed) if (elapsed := elapsed_ms(row, now_ms)) else "-"
        case "name":
            return ("└ " if follows else "") + row.title
        case "model":
            return row.model or row.agent or row.kind or "-"
        case "doing":
            return last_line(row)
        case "tokens":
            return spent(row)[0] or "-"
        case "cost":
            return spent(row)[1] or "-"


def elapsed_ms(row: RunRecord, now_ms: int) -> int:
    """Return how long a run has been at work, or was; 0 if it did not begin."""
    started_ms = row.meta.started_at_ms
    return max((now_ms if row.active else finished_at_ms(row)) - started_ms, 0) if started_ms else 0


def totals_line(found: Totals, width: int) -> str:
    """Return the line above the list, in fewer words where there is little room."""
    waiting = f" ({found.waiting} waiting)" if found.waiting else ""
    ended = ("completed", "failed", "stopped", "interrupted")
    tokens = short_number(found.used_today.total_tokens)
    cost = money(found.used_today.cost) if found.used_today.cost else ""
    line = _joined(
        f"{found.active} active{waiting}",
        *(f"{count} {word}" for word in ended if (count := getattr(found, word))),
        f"today {tokens} tokens" + (f", {cost}" if cost else ""),
    )
    if len(line) <= width:
        return line
    return (
        f"●{found.active} ✓{found.completed} ✗{found.failed} ■{found.stopped} "
        f"!{found.interrupted} {tokens} {cost}"
    ).rstrip()


def heading(row: RunRecord, now_ms: int) -> str:
    """Return the line above a run that is looked at from near."""
    state = state_of(row)
    standing, title = f"{state.sign} {_standing(row, now_ms)}", one_line(row.title, _MOST_NAME)
    what = row.kind, row.agent, row.worker, row.model
    return _joined(standing, title, row.work, *what, *_figures(row))


def details(row: RunRecord, now_ms: int, home: str) -> str:
    """Return what the list has no room for: ids, place, figures."""
    who = _joined(
        f"run {row.short_id}",
        f"session {printable(short_id(row.session_id))}" if row.session_id else "",
        "" if row.meta.attached else "in the background",
        row.kind,
        row.agent,
        row.worker,
        row.model,
    )
    return f"{who}\n{_joined(_standing(row, now_ms), row.work, *_figures(row), place(row, home))}"


def _standing(row: RunRecord, now_ms: int) -> str:
    """Return how a run stands, and for how long or after how long."""
    word = state_of(row).word
    if not row.meta.started_at_ms:
        return word
    return f"{word} {'for' if row.active else 'after'} {length(elapsed_ms(row, now_ms))}"


def place(row: RunRecord, home: str) -> str:
    """Return where a run works, as its user would write it."""
    return printable(shorten_path(row.meta.cwd, "", home))


def spent(row: RunRecord) -> tuple[str, str]:
    """Return the tokens and the cost of a run, each empty where it is not known."""
    tokens, cost = row.usage.total_tokens, row.usage.cost
    shown = marked(short_number(tokens), row.usage) if tokens else ""
    return shown, money(cost) if cost else ""


def _figures(row: RunRecord) -> tuple[str, str]:
    tokens, cost = spent(row)
    return f"{tokens} tokens" if tokens else "", cost


def _joined(*parts: str) -> str:
    return SEPARATOR.join(part for part in parts if part)

"""
Parts of a run's journal, as somebody asks for them: the newest, near a place, or with some words.

In: a record, a place, words.  Out: items and hits as JSON, a bounded number of them, however long
the journal is.  A run whose journal cannot be read has none.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.known_calls import KnownCalls
from pi_subagents.core.value import value
from pi_subagents.store.run_records import directory_of
from pi_subagents.store.tails import JournalTail, journal_entries
from pi_subagents.view.journal_items import ItemMaker, excerpt, text_of, whole_item

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pi_subagents.core.run.journal import JournalEntry
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.value import JsonObject

PAGE = 400
MAX_HITS = 100
MAX_POINTS = 300


@value
class ItemPage:
    """Items that follow each other, and whether there are others on either side."""

    items: tuple[JsonObject, ...]
    earlier: bool
    later: bool


class JournalItems:
    """Follow a journal: each look returns the newest items that were added since the last."""

    def __init__(self, record: RunRecord) -> None:
        self._tail = JournalTail(directory_of(record))
        self._maker = ItemMaker(record.meta.cwd)

    def new_items(self) -> tuple[list[JsonObject], int]:
        """Return what was added, at most a page of it, and how many items came before those."""
        newest: deque[JsonObject] = deque(maxlen=PAGE)
        count = 0
        with suppress(OSError):
            for entry in self._tail.new_entries():
                if item := self._maker.item(entry):
                    newest.append(item)
                    count += 1
        return list(newest), count - len(newest)

    def close(self) -> None:
        """Release the journal."""
        self._tail.close()


def items_near(
    record: RunRecord, reached: Callable[[JournalEntry], bool], *, before: int, after: int
) -> ItemPage:
    """Return the items before and after a place, which is where an entry has reached it."""
    maker = ItemMaker(record.meta.cwd)
    first: deque[JsonObject] = deque(maxlen=before)
    rest: list[JsonObject] = []
    seen, there = 0, False
    for entry in journal_entries(directory_of(record)):
        there = there or reached(entry)
        item = maker.item(entry)
        if item is None:
            continue
        if not there:
            first.append(item)
            seen += 1
        elif len(rest) == after:
            return ItemPage((*first, *rest), seen > len(first), later=True)
        else:
            rest.append(item)
    return ItemPage((*first, *rest), seen > len(first), later=False)


def item_at(record: RunRecord, seq: int) -> JsonObject | None:
    """Return all there is of one entry, with the result where it is a call."""
    found: ev.Event | None = None
    calls = KnownCalls()
    for entry in journal_entries(directory_of(record)):
        event = calls.completed(entry.event)
        match event:
            case _ if found is None and entry.seq == seq:
                found = event
                if not isinstance(event, ev.ToolStarted):
                    break
            case ev.ToolFinished(call_id) if found and _is_call(found, call_id):
                return whole_item(found, event)
    return whole_item(found, None) if found else None


def hits_of(record: RunRecord, text: str) -> list[JsonObject]:
    """Return where all these words occur in an entry, the newest last; at most so many."""
    words = text.casefold().split()
    calls = KnownCalls()
    hits: deque[JsonObject] = deque(maxlen=MAX_HITS)
    for entry in journal_entries(directory_of(record)) if words else ():
        said = text_of(calls.completed(entry.event))
        folded = said.casefold()
        if all(word in folded for word in words):
            hits.append(
                {"seq": entry.seq, "t": entry.time_ms, "text": excerpt(said, folded.find(words[0]))}
            )
    return list(hits)


def spending_of(records: Iterable[RunRecord]) -> list[tuple[int, int, float]]:
    """Return what runs had used by when, together: time, tokens, cost; at most so many points."""
    steps = sorted(step for record in records for step in _steps(record))
    thinned = _thinned([(time_ms, tokens, cost) for time_ms, tokens, cost in steps])
    points: list[tuple[int, int, float]] = []
    tokens, cost = 0, 0.0
    for time_ms, more_tokens, more_cost in thinned:
        tokens, cost = tokens + more_tokens, cost + more_cost
        points.append((time_ms, tokens, cost))
    return points


def _steps(record: RunRecord) -> Iterator[tuple[int, int, float]]:
    """Yield what each message used; of thousands, several at once."""
    held: list[tuple[int, int, float]] = []
    for entry in journal_entries(directory_of(record)):
        match entry.event:
            case ev.AssistantMessage(usage=used) if used.total_tokens or used.cost:
                held.append((entry.time_ms, used.total_tokens, used.cost))
                if len(held) > 2 * MAX_POINTS:
                    held = _thinned(held)
    yield from held


def _thinned(steps: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    """Return at most so many steps that add up to the same."""
    size = -(-len(steps) // MAX_POINTS) or 1
    parts = (steps[start : start + size] for start in range(0, len(steps), size))
    return [
        (part[-1][0], sum(step[1] for step in part), sum(step[2] for step in part))
        for part in parts
    ]


def _is_call(event: ev.Event, call_id: str) -> bool:
    return isinstance(event, ev.ToolStarted) and event.call.call_id == call_id

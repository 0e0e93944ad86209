"""
What a page asks of a run's journal, and what it gets: items near a place, one of them, hits, bars.

In: what is asked for, from an address.  Out: JSON as bytes, or None where there is no such thing.
Numbers, names and words come from a browser and are taken for nothing else.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pi_subagents.core.value import replace
from pi_subagents.service.journal.pages import PAGE, hits_of, item_at, items_near, spending_of
from pi_subagents.view.timeline import bar_to_json, condensed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.watch.web_hub import Hub
    from pi_subagents.service.journal.pages import ItemPage
    from pi_subagents.view.timeline import Bar

MAX_RUNS = 60
MAX_SEGMENTS = 300
HALF = PAGE // 2
_NUMBER = re.compile(r"[0-9]{1,15}")


def answer_to(hub: Hub, words: tuple[str, ...], query: Mapping[str, str]) -> bytes | None:
    """Return the answer to a question."""
    found: object = None
    match words:
        case ("bars",):
            found = [bar_to_json(_bar(hub, row)) for row in _asked_for(hub, query)]
        case ("spending",):
            found = spending_of(_asked_for(hub, query))
        case ("items" | "item" | "hits" as what, run_id) if row := hub.find(run_id):
            found = _of_journal(what, row, query)
    return None if found is None else json.dumps(found).encode("ascii")


def _asked_for(hub: Hub, query: Mapping[str, str]) -> list[RunRecord]:
    wanted = set(query.get("runs", "").split(",")[:MAX_RUNS])
    return [row for row in hub.rows if row.run_id in wanted]


def _bar(hub: Hub, row: RunRecord) -> Bar:
    bar = hub.bars.bar(row)
    return replace(bar, segments=tuple(condensed(list(bar.segments), MAX_SEGMENTS)))


def _of_journal(what: str, row: RunRecord, query: Mapping[str, str]) -> object:
    if what == "hits":
        return hits_of(row, query.get("words", ""))
    asked = next(
        ((name, int(text)) for name, text in query.items() if _NUMBER.fullmatch(text)), None
    )
    if asked is None:
        return None
    if what == "item":
        return item_at(row, asked[1])
    page = _page(row, *asked)
    if page is None:
        return None
    return {"items": page.items, "earlier": page.earlier, "later": page.later}


def _page(row: RunRecord, name: str, number: int) -> ItemPage | None:
    match name:
        case "before":
            return items_near(row, lambda entry: entry.seq >= number, before=PAGE, after=0)
        case "after":
            return items_near(row, lambda entry: entry.seq > number, before=0, after=PAGE)
        case "near":
            return items_near(row, lambda entry: entry.seq >= number, before=HALF, after=HALF)
        case "time":
            return items_near(row, lambda entry: entry.time_ms >= number, before=HALF, after=HALF)
        case _:
            return None

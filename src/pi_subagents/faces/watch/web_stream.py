"""
What a page gets: first everything, then what is different, as server-sent events.

In: a fleet, followed in a thread by a hub; what the page's reader looks for.  Out: events as bytes,
a comment now and then to find out whether somebody still listens.  Texts are sent as JSON; the page
never takes them for markup.  However fast a run goes on, of what it adds a page's worth is sent.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.core.value import as_dict
from pi_subagents.faces.watch import messages
from pi_subagents.faces.watch.once import today_ms
from pi_subagents.faces.watch.web_rows import list_row, open_row
from pi_subagents.service.journal.pages import JournalItems
from pi_subagents.service.run_contents import task_of
from pi_subagents.view.fleet import totals
from pi_subagents.view.fleet_table import totals_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.watch.web_hub import Hub
    from pi_subagents.view.fleet import Wanted

PING_S = 15.0
RECOUNT_S = 0.5
SHARE = 20
PING = b": still here\n\n"
WIDTH = 1000
MAX_TASK = 100_000


class Rest:
    """Work that is done again and again gets a twentieth of the time at most."""

    def __init__(self) -> None:
        self._until = 0.0

    def is_over(self) -> bool:
        """Return whether there was rest enough."""
        return time.monotonic() >= self._until

    @contextmanager
    def work(self) -> Iterator[None]:
        """Do it, and take a rest."""
        begun = time.monotonic()
        yield
        now = time.monotonic()
        self._until = now + SHARE * (now - begun)


def list_events(hub: Hub, wanted: Wanted) -> Iterator[bytes]:
    """Yield the wanted rows, then those that changed or are gone, until the hub is over."""
    seen: dict[str, RunRecord] = {}
    shown: set[str] = set()
    before: dict[str, object] = {}
    version, notice = -1, hub.last_notice
    summing = Rest()
    outdated = True
    while not hub.over:
        version = hub.wait(version, RECOUNT_S if outdated else PING_S)
        rows = {row.run_id: row for row in hub.rows}
        changed = [row for run_id, row in rows.items() if seen.get(run_id) is not row]
        now_shown = shown & rows.keys()
        for row in changed:
            (now_shown.add if wanted.takes(row) else now_shown.discard)(row.run_id)
        gone = shown - now_shown
        now: dict[str, object] = {
            "about": as_dict(hub.about),
            "none": "" if now_shown else messages.NOTHING_WANTED if rows else messages.NO_RUNS,
        }
        outdated = outdated or bool(changed or gone)
        if outdated and summing.is_over():
            with summing.work():
                found = totals(rows.values(), today_ms(), wanted.text)
            now |= {"totals": totals_line(found, WIDTH), "counts": _counts(as_dict(found))}
            outdated = False
        event = {key: value for key, value in now.items() if before.get(key) != value}
        before |= now
        seen, shown = rows, now_shown
        if new := [list_row(row) for row in changed if row.run_id in shown]:
            event["rows"] = new
        if gone:
            event["gone"] = sorted(gone)
        if reports := hub.notices(notice):
            notice = reports[-1][0]
            event["notices"] = [
                {"text": printable(each.text), "bad": each.bad} for _, each in reports
            ]
        yield _event(event) if event else PING


def run_events(hub: Hub, run_id: str) -> Iterator[bytes]:
    """Yield a run with the newest items of its transcript, then what it adds."""
    row = hub.find(run_id)
    if row is None:
        yield _event({"missing": messages.NO_SUCH_RUN})
        return
    journal = JournalItems(row)
    try:
        task = printable(task_of(row)[:MAX_TASK])
        sent: RunRecord | None = None
        version = -1
        while not hub.over:
            version = hub.wait(version, PING_S)
            row = hub.find(run_id) or row
            items, skipped = journal.new_items()
            if row is sent and not items:
                yield PING
                continue
            event: dict[str, object] = {"row": open_row(row), "items": items, "skipped": skipped}
            if sent is None:
                event |= {"task": task, "first": True}
            sent = row
            yield _event(event)
    finally:
        journal.close()


def _counts(found: dict[str, object]) -> dict[str, object]:
    return {name: found[name] for name in found if name != "used_today"}


def _event(value: dict[str, object]) -> bytes:
    return b"data: " + json.dumps(value).encode("ascii") + b"\n\n"

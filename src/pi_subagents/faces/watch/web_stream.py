"""
What a page is told: first everything, then what is different, as server-sent events.

In: the hub, what the page's reader looks for.  Out: events as bytes, a comment now and then to find
out whether somebody still listens.  Texts are sent as JSON; the page never takes them for markup.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.faces.watch import messages
from pi_subagents.faces.watch.today import today_ms
from pi_subagents.service.run_contents import follow_transcript
from pi_subagents.view.fleet import arranged, row_to_json, totals
from pi_subagents.view.fleet_table import (
    heading,
    money,
    place,
    short_number,
    sign_of,
    totals_line,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.watch.hub import Hub
    from pi_subagents.view.fleet import Wanted

PING_S = 15.0
PING = b": still here\n\n"
WIDTH = 1000
LINES_AT_ONCE = 2000


def list_events(hub: Hub, wanted: Wanted) -> Iterator[bytes]:
    """Yield how the list is, then how it becomes, until the hub is over."""
    told: dict[str, RunRecord] = {}
    before: dict[str, object] = {}
    version, notice = -1, hub.last_notice
    while not hub.over:
        version = hub.wait(version, PING_S)
        rows = hub.rows
        groups = arranged(rows, wanted)
        shown = [(row, place > 0) for group in groups for place, row in enumerate(group.rows)]
        changed = [_row(row) for row, _ in shown if told.get(row.run_id) != row]
        told = {row.run_id: row for row, _ in shown}
        now: dict[str, object] = {
            "totals": totals_line(totals(rows, today_ms()), WIDTH),
            "none": "" if shown else _nothing(rows),
            "order": [(row.run_id, follows) for row, follows in shown],
        }
        event = {key: value for key, value in now.items() if before.get(key) != value}
        before = now
        if changed:
            event["rows"] = changed
        if said := hub.notices(notice):
            notice = said[-1][0]
            event["notices"] = [{"text": printable(each.text), "bad": each.bad} for _, each in said]
        yield _event(event) if event else PING


def transcript_events(hub: Hub, run_id: str) -> Iterator[bytes]:
    """Yield what a run said so far, then what it says, until the hub is over."""
    row = _find(hub, run_id)
    if row is None:
        return
    tail = follow_transcript(row)
    told: RunRecord | None = None
    version = -1
    while not hub.over:
        version = hub.wait(version, PING_S)
        row = _find(hub, run_id) or row
        lines = tail.new_lines()
        if told is None and tail.skipped:
            lines.insert(0, messages.EARLIER_LEFT_OUT)
        if row == told and not lines:
            yield PING
            continue
        told = row
        for start in range(0, max(len(lines), 1), LINES_AT_ONCE):
            part = lines[start : start + LINES_AT_ONCE]
            yield _event({"heading": heading(row), "row": _row(row), "lines": part})


def _find(hub: Hub, run_id: str) -> RunRecord | None:
    return next((row for row in hub.rows if row.run_id == run_id), None)


def _nothing(rows: Sequence[RunRecord]) -> str:
    return messages.NOTHING_WANTED if rows else messages.NO_RUNS


def _row(row: RunRecord) -> dict[str, object]:
    sign, role = sign_of(row)
    usage = row.usage
    return {
        **row_to_json(row),
        "sessionId": printable(row.session_id),
        "cwd": place(row, os.environ.get("HOME", "")),
        "path": printable(row.path),
        "sign": sign,
        "role": role,
        "tokens": short_number(usage.total_tokens) if usage.total_tokens else "-",
        "cost": money(usage.cost) if usage.cost else "-",
    }


def _event(value: dict[str, object]) -> bytes:
    return b"data: " + json.dumps(value).encode("ascii") + b"\n\n"

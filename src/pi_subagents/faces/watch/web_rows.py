"""
A run as a page gets it: little of it for a list of thousands, everything for the one that is open.

In: a light record.  Out: JSON, whose texts are printable.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.view.fleet import ending, finished_at_ms, last_line, row_to_json
from pi_subagents.view.fleet_table import place, spent
from pi_subagents.view.states import state_of

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord


def list_row(row: RunRecord) -> dict[str, object]:
    """Return what a list shows of a run."""
    state = state_of(row)
    tokens, cost = spent(row)
    return {
        "runId": row.run_id,
        "callId": printable(row.meta.call_id) or row.run_id,
        "sessionId": printable(row.session_id),
        "title": row.title,
        "status": row.status,
        "word": state.word,
        "sign": state.sign,
        "role": state.role,
        "active": row.active,
        "model": row.model or row.agent or row.kind,
        "lastLine": last_line(row),
        "tokens": tokens,
        "cost": cost,
        "used": row.usage.total_tokens,
        "paid": row.usage.cost,
        "createdAt": row.meta.created_at_ms,
        "startedAt": row.meta.started_at_ms,
        "finishedAt": finished_at_ms(row),
        # Only of a run that had a worktree of its own is there anything to be shown and taken.
        "hasChanges": bool(row.result and row.result.changes),
    }


def open_row(row: RunRecord) -> dict[str, object]:
    """Return everything about a run; changes are only there where it had a worktree of its own."""
    return {
        **row_to_json(row),
        **list_row(row),
        "cwd": place(row, os.environ.get("HOME", "")),
        "path": printable(row.path),
        "kind": row.kind,
        "agent": row.agent,
        "work": row.work,
        "background": not row.meta.attached,
        "ending": ending(row),
    }

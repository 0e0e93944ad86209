"""
What a host's own session log keeps of a run: compact entries of ours.

In: a RunRecord.  Out: ids, status and the final text up to 8 KB; the messages stay in the run
directory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.session import messages
from pi_subagents.core.session.history import final_text
from pi_subagents.core.usage import usage_to_json

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord

ENTRY_TYPE = "pi-subagents"
VERSION = 1
MAX_TEXT_BYTES = 8 * 1024


def entry_of(run: RunRecord) -> dict[str, object]:
    """Return what is written to a host's session log."""
    return {"version": VERSION, **run_to_json(run), "output": _cut(final_text(run))}


def run_to_json(run: RunRecord) -> dict[str, object]:
    """Return how a run stands, without what was said in it."""
    return {
        "runId": run.run_id,
        "sessionId": run.session_id,
        "taskName": _cut(run.name),
        "status": run.status,
        "errorMessage": _cut(run.error_message) or None,
        "exitCode": run.exit_code,
        "model": _cut(run.model) or None,
        "usage": usage_to_json(run.usage),
        "startedAt": run.begun_at_ms,
    }


def _cut(text: str) -> str:
    """Return the text, or as much of its beginning as fits together with the mark."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= MAX_TEXT_BYTES:
        return text
    room = MAX_TEXT_BYTES - len(f"\n{messages.entry_cut(len(text))}")
    kept = encoded[:room].decode("utf-8", "ignore")
    return f"{kept}\n{messages.entry_cut(len(text) - len(kept))}"

"""
Load a session's runs from their directories, as the retrieval tools tell them.

In: run directories with their proven liveness, oldest first.  Out: StoredRuns.  Writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.session import StoredRun, keep_messages
from pi_subagents.delegation.run_view import view_run
from pi_subagents.disk.journal_tail import JournalTail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.core import events as ev
    from pi_subagents.core.liveness import Liveness
    from pi_subagents.disk.run_dir import RunDir


def load_run(run_dir: RunDir, liveness: Liveness) -> StoredRun:
    """Return what is kept of one run; RunUnreadable where nothing is."""
    view = view_run(run_dir, liveness)
    result = view.result
    return StoredRun(
        run_id=run_dir.run_id,
        session_id=view.text("sessionId"),
        name=view.text("name"),
        status=view.status,
        messages=keep_messages(_journal(run_dir)),
        output=result.output if result else "",
        error_message=view.error_message,
        exit_code=result.exit_code if result else None,
        model=result.model if result else "",
    )


def _journal(run_dir: RunDir) -> Iterator[ev.Event]:
    tail = JournalTail(run_dir.events)
    try:
        for entry in tail.new_entries():
            yield entry.event
    except OSError:
        return
    finally:
        tail.close()

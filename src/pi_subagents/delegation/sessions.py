"""
Load a session's runs from their directories, as the retrieval tools tell them.

In: run directories with their proven liveness, oldest first.  Out: StoredRuns.  Writes nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core import events as ev
from pi_subagents.core.session import Message, StoredRun, keep_messages
from pi_subagents.core.value import replace
from pi_subagents.delegation.run_view import view_run
from pi_subagents.disk.journal_tail import JournalTail
from pi_subagents.disk.safe_io import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.core.liveness import Liveness
    from pi_subagents.delegation.run_view import RunView
    from pi_subagents.disk.run_dir import RunDir


MAX_PROMPT_BYTES = 64 * 1024 * 1024


def load_run(run_dir: RunDir, liveness: Liveness) -> StoredRun:
    """Return what is kept of one run; RunUnreadable where nothing is."""
    facts = run_facts(view_run(run_dir, liveness))
    messages = keep_messages(_journal(run_dir))
    task = _task(run_dir, messages)
    if task and messages and isinstance(messages[0], ev.UserMessage):
        messages = (ev.UserMessage(task), *messages[1:])  # without what was told of earlier runs
    return replace(facts, messages=messages, task=task)


def run_facts(view: RunView) -> StoredRun:
    """Return how a run stands, without what was said in it."""
    result = view.result
    started = view.meta.get("startedAt")  # absent while the run waits its turn
    return StoredRun(
        run_id=view.run_dir.run_id,
        session_id=view.text("sessionId"),
        name=view.text("name"),
        status=view.status,
        output=result.output if result else "",
        error_message=view.error_message,
        exit_code=result.exit_code if result else None,
        model=result.model if result else "",
        profile=view.text("profile"),
        usage=view.usage,
        started_at_ms=started if isinstance(started, int) else view.created_at_ms,
    )


def _task(run_dir: RunDir, messages: tuple[Message, ...]) -> str:
    """Return what was asked of the run, where its messages do not say it, or say more."""
    asked_at_all = any(isinstance(each, ev.UserMessage) for each in messages)
    for path in (run_dir.task,) if asked_at_all else (run_dir.task, run_dir.prompt):
        with suppress(OSError):
            return read_bounded(path, MAX_PROMPT_BYTES).decode("utf-8", "replace")
    return ""


def _journal(run_dir: RunDir) -> Iterator[ev.Event]:
    tail = JournalTail(run_dir)
    try:
        for entry in tail.new_entries():
            yield entry.event
    except OSError:
        return
    finally:
        tail.close()

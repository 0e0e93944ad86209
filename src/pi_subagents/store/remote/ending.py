"""
Give a run that a worker did its result here, once the cluster says that it is over.

In: a mirror that has every piece, and how the run stands.  Out: the result, kept in its directory;
the desk is cleared.  A result that cannot be believed, or none, ends the run as *interrupted* with
all that was recorded.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.cluster.state import ENDED, STOPPED
from pi_subagents.core.run.outcome import Outcome
from pi_subagents.core.run.record import meta_from_json
from pi_subagents.core.run.result import result_from_json
from pi_subagents.core.value import replace
from pi_subagents.store import messages
from pi_subagents.store.child_sessions import keep_session, session_limit
from pi_subagents.store.remote.note import remove_note
from pi_subagents.store.rescue import ensure_dir
from pi_subagents.store.run_records import RunStory

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.cluster.state import RunState
    from pi_subagents.core.run.record import RunMeta
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.store.remote.mirror import Mirror
    from pi_subagents.store.run_dir import RunDir


def conclude_remote(
    mirror: Mirror, state: RunState, accept: Callable[[RunDir, RunResult], RunResult]
) -> RunResult:
    """Give the run its result, and return it; OSError where it cannot be kept."""
    run_dir = ensure_dir(mirror.run_dir)
    meta = _meta(run_dir)
    result = run_dir.read_result(meta.session_id)
    if result is None:
        result = _result(run_dir, meta, state)
        kept = keep_session(
            run_dir.desk.child_session, run_dir, session_limit(mirror.note.max_bytes)
        )
        result = replace(
            result, session_seal=kept.seal, notes=(*result.notes, *filter(None, (kept.note,)))
        )
        result = run_dir.write_result(accept(run_dir, result))
    remove_note(run_dir.desk)
    return result


def _result(run_dir: RunDir, meta: RunMeta, state: RunState) -> RunResult:
    """Return how the run ended: as its worker says, else by what was recorded."""
    ran_on = (messages.note_ran_on(state.worker, state.host),) if state.worker else ()
    if state.state == ENDED and (sent := _sent(state.result)) is not None:
        return replace(
            sent,
            run_id=run_dir.run_id,
            session_id=meta.session_id,
            name=meta.name,
            resumed=sent.resumed or meta.resumed,
            notes=tuple(dict.fromkeys((*meta.notes, *sent.notes, *ran_on))),
        )
    story = RunStory(run_dir)
    reason = (state.reason,) if state.reason else ()
    if state.state == STOPPED:
        outcome = Outcome("aborted", story.fold.said, core_messages.STOPPED_ON_REQUEST)
    elif state.state == ENDED and state.reason and state.result is None:
        outcome = Outcome("failed", story.fold.said, state.reason)
        reason = ()
    else:
        answer = story.fold.given.text if story.fold.given else ""
        outcome = Outcome("interrupted", story.fold.said or answer, core_messages.INTERRUPTED)
    outcome = replace(outcome, notes=(*outcome.notes, *reason, *ran_on))
    ended_ms = state.ended_ms or story.last_ms
    return story.as_result(run_dir, meta, outcome, ended_ms)


def _sent(content: bytes | None) -> RunResult | None:
    """Return what the worker sent, where it is a result."""
    with suppress(ValueError, RecursionError):
        return result_from_json(json.loads(content or b""))
    return None


def _meta(run_dir: RunDir) -> RunMeta:
    with suppress(OSError, ValueError):
        return meta_from_json(run_dir.read_meta())
    return meta_from_json({})

"""Records of runs by their facts, whichever part of a record these are in."""

from __future__ import annotations

from typing import Any, get_args

from pi_subagents.core.run.outcome import Status
from pi_subagents.core.run.record import RunMeta, RunProgress, RunRecord
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.value import replace


def record(
    run_id: str = "r", session_id: str = "", name: str = "", status: str = "completed", **facts: Any
) -> RunRecord:
    """Return a run that stands so."""
    known = RunRecord(run_id, RunMeta(session_id, name))
    return with_facts(known, status=status, **facts)


def with_facts(run: RunRecord, **facts: Any) -> RunRecord:
    """Return a run with some of its facts changed."""
    status = facts.pop("status", run.status)
    own, meta = _taken(RunRecord, facts), _taken(RunMeta, facts, "notes")
    run = replace(run, **own, meta=replace(run.meta, **meta))
    if status in get_args(Status):
        known = run.result or RunResult("", "", "", status)
        names = {"run_id": run.run_id, "session_id": run.session_id, "name": run.name}
        return replace(run, result=replace(known, status=status, **names, **facts))
    heard = replace(run.progress, state=status, **_taken(RunProgress, facts))
    elapsed_ms = facts.pop("duration_ms", run.elapsed_ms)
    assert not facts, f"only a run that ended has these: {facts}"
    return replace(run, progress=heard, result=None, elapsed_ms=elapsed_ms)


def _taken(kind: Any, facts: dict[str, Any], *but: str) -> dict[str, Any]:
    """Take the facts that a part of a record has out of all of them."""
    return {
        name: facts.pop(name) for name in kind.__match_args__ if name in facts and name not in but
    }

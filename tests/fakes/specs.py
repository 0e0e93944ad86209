"""Orders for supervisors, said in one breath: whatever is not named has its default."""

from __future__ import annotations

from pi_subagents.core.run.spec import ChildOrder, RunSpec, changed


def make_spec(
    run_id: str,
    session_id: str,
    name: str,
    run_dir: str,
    argv: tuple[str, ...],
    cwd: str,
    **fields: object,
) -> RunSpec:
    """Return an order; `fields` may be of any of its groups."""
    order = RunSpec(run_id, session_id, name, ChildOrder(argv, cwd, "pi"))
    return changed(order, run_dir=run_dir, **fields)

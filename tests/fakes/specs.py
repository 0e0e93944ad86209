"""Orders for supervisors, said in one breath: whatever is not named has its default."""

from __future__ import annotations

from pi_subagents.core.run.spec import ChildOrder, RunSpec, changed
from pi_subagents.store.local_order import LocalOrder, PlaceOrder, altered


def make_spec(
    run_id: str, session_id: str, name: str, argv: tuple[str, ...], cwd: str, **fields: object
) -> RunSpec:
    """Return a specification; `fields` may be of any of its groups."""
    return changed(RunSpec(run_id, session_id, name, ChildOrder(argv, cwd, "pi")), **fields)


def make_order(spec: RunSpec, run_dir: str, **fields: object) -> LocalOrder:
    """Return the order of a run that is kept on this machine; `fields` may be of either part."""
    return altered(LocalOrder(spec, PlaceOrder(run_dir)), **fields)

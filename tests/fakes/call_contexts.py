"""The context of a call whose runs are kept in a store of the test's own, and have no seal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.runners.pool import ChildPool
from pi_subagents.service.call import CallContext
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pi_subagents.core.settings import Settings
    from pi_subagents.engines.base import EngineCall
    from pi_subagents.store.held_runs import HeldRuns
    from pi_subagents.store.run_dir import RunDir
    from pi_subagents.store.run_store import RunStore


class UnsealedRuns(Runs):
    """Runs of a store, without an index."""

    def __init__(self, store: RunStore) -> None:
        self.store = store

    def seal(self, run_dir: RunDir) -> str | None:
        del run_dir
        return None


def call_context(
    cwd: Path,
    store: RunStore,
    held: HeldRuns,
    engine: EngineCall,
    settings: Settings,
    trusted: Callable[[Path], bool] = lambda _: False,
) -> CallContext:
    """Return what the planner needs."""
    return CallContext(
        options={},
        cwd=cwd,
        env={},
        settings=settings,
        engine=engine.name,
        open_engine=lambda _: engine,
        runs=UnsealedRuns(store),
        held=held,
        pool=ChildPool(),
        trusted=trusted,
        notice=lambda _: None,
        concurrency=1,
        call_id="ca11" * 8,
    )

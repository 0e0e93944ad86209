"""
The runs of a call on this machine: directories that were made for them, and their locks.

In: what a run's directory begins with.  Out: where a supervisor finds it.  A lock is held from the
making of a directory until a supervisor has it, or the run is refused or discarded: meanwhile the
run counts as alive.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_subagents.store.local_order import LocalOrder, PlaceOrder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.store.run_dir import RunDir
    from pi_subagents.store.run_store import RunStore


class HeldRuns:
    """What local runners add to an order; in `slots_dir` this user's children are counted."""

    def __init__(self, store: RunStore, slots_dir: str = "") -> None:
        self._store = store
        self._slots_dir = slots_dir
        self._dirs: dict[str, RunDir] = {}
        self._marks: dict[str, str] = {}
        self._locks: dict[str, int] = {}
        self._purses: dict[str, Mapping[str, str]] = {}

    def begin(
        self,
        run_dir: RunDir,
        meta: Mapping[str, object],
        prompt: bytes,
        texts: Mapping[str, bytes] | None = None,
        session: bytes | None = None,
    ) -> None:
        """Make the directory of a run and hold its lock; OSError if that is impossible."""
        self._locks[run_dir.run_id] = run_dir.begin(meta, prompt, texts, session)
        self._dirs[run_dir.run_id] = run_dir
        self._marks[run_dir.run_id] = run_dir.mark()

    def share(self, run_id: str, purses: Mapping[str, str]) -> None:
        """Note the files of the budgets that a run shares with others."""
        self._purses[run_id] = purses

    def run_dir(self, run_id: str) -> RunDir:
        """Return where a run is kept, as it was planned."""
        return self._dirs.get(run_id) or self._store.run_dir(run_id)

    def placed(self, spec: RunSpec) -> LocalOrder:
        """Return the order as a supervisor of this machine needs it, the lock's number included."""
        run_dir = self.run_dir(spec.run_id)
        place = PlaceOrder(
            run_dir=str(run_dir.path),
            desk=str(run_dir.desk.path),
            dir_mark=self._marks.get(spec.run_id, ""),
            slots_dir=self._slots_dir,
            lock_fd=self._locks.get(spec.run_id),
            purses=self._purses.get(spec.run_id, {}),
        )
        return LocalOrder(spec, place)

    def release(self, run_id: str) -> None:
        """Release the lock of a run, once: its number may soon be another's."""
        if (lock := self._locks.pop(run_id, None)) is not None:
            os.close(lock)

    def discard(self, run_ids: Iterable[str]) -> None:
        """Remove runs that were planned and will not be started."""
        for run_id in run_ids:
            self._dirs[run_id].discard(self._locks.pop(run_id))

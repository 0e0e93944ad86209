"""Run directories for tests without a store: their desks are out of the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.store.run_store import RunStore

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir


def store_at(path: Path) -> RunStore:
    """Return the store in a directory; the desks of its runs are in another beside that."""
    return RunStore(path, path.with_name(f"{path.name}.data"))


def run_at(path: Path) -> RunDir:
    """Return the run of a directory."""
    return store_at(path.parent).run_dir(path.name)

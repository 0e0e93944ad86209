"""What a verb needs to know about where it was typed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.disk.run_store import RunStore, open_store

if TYPE_CHECKING:
    from pi_subagents.delegation.runs import RunView


def store_here() -> RunStore:
    """Return the run store of the current directory's project."""
    return open_store(Path.cwd(), os.environ)


def run_here(run: str) -> RunView:
    """Return the run with that id or beginning; StoreError if there is none."""
    from pi_subagents.delegation.runs import view_run

    return view_run(store_here().find(run))

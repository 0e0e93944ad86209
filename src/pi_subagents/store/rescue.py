"""
Keep a run whose directory was taken away: in the data directory, where it is found by its id.

In: a run, and what is left of its directory if anything is.  Out: the same run elsewhere, with what
it was asked and started with; whoever has its logs open brings them along.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run.files import APPEND_PROMPT, META, PROMPT, SYSTEM_PROMPT, TASK
from pi_subagents.core.value import replace
from pi_subagents.store.run_dir import RESERVED_BYTES
from pi_subagents.system import safe_io

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

_TEXTS = (PROMPT, TASK, SYSTEM_PROMPT, APPEND_PROMPT, META)


def standing(run_dir: RunDir) -> RunDir:
    """Return the run where it has a directory, and give it one if it has none; OSError if not."""
    here = run_dir.now()
    return here if os.path.lexists(here.path) else rescued(here)


def rescued(run_dir: RunDir) -> RunDir:
    """Give the run a directory out of reach of the project, and note on its desk where that is."""
    target = replace(run_dir, path=run_dir.desk.rescue_place(run_dir.path))
    store = target.path.parent
    for directory in (store.parent, store, target.path):
        safe_io.make_private_dirs(directory)
    for name in _TEXTS:
        with suppress(FileNotFoundError):
            safe_io.copy_file(run_dir.desk.path / name, target.path / name)
    with suppress(FileExistsError):
        safe_io.reserve(target.reserved, RESERVED_BYTES)
    target.desk.note_place(target.path)
    return target


def bring_rest(left: Path, target: RunDir) -> None:
    """Move what is left in a directory to a run's new place; what is there already counts."""
    with suppress(OSError):
        for name in os.listdir(left):  # noqa: PTH208 - names are all that is wanted
            with suppress(OSError):
                is_file = stat.S_ISREG((left / name).lstat().st_mode)
                if is_file and not os.path.lexists(target.path / name):
                    safe_io.copy_file(left / name, target.path / name)
                (left / name).unlink()

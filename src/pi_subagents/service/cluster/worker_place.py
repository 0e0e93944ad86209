"""
Where a worker keeps its runs: a directory of its own, whoever else works on the same machine.

In: the worker's name and environment.  Out: its directories, and what its children get of the
environment: nothing that leads to the cluster's database.  One worker at a time has a place.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.errors.work import WorkerNameInvalid, WorkerNameTaken
from pi_subagents.service.runs import Runs
from pi_subagents.system.home import PROJECT_DIR, data_dir
from pi_subagents.system.safe_io import acquire_lock, make_private_dirs
from pi_subagents.workspaces.bundle import prune_stores

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WORKERS = "workers"
_UNUSED_S = 7 * 86_400
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CLUSTER_VARIABLE = "PI_SUBAGENTS_CLUSTER"
_OF_THE_DRIVER = "PG"


@value
class WorkerPlace:
    """The directories of one worker."""

    home: Path

    @property
    def repositories(self) -> Path:
        """Return where what it received of repositories is."""
        return self.home / "repositories"

    @property
    def arriving(self) -> Path:
        """Return where packs are while they arrive."""
        return self.home / "arriving"

    @property
    def snapshots(self) -> Path:
        """Return where the snapshots of its runs are, with their worktrees."""
        return self.home / "workspaces"

    def empty_dir(self, run_id: str) -> Path:
        """Return where the child of a run works that has no files to work on."""
        return self.home / "empty" / run_id

    def skills_dir(self, run_id: str) -> Path:
        """Return where the skills are that came with a run."""
        return self.home / "skills" / run_id

    def runs(self, env: Mapping[str, str]) -> Runs:
        """Return its runs, with desks and index of their own."""
        return Runs(self.home, {**env, "PI_SUBAGENTS_DATA": str(self.home)})

    def clear_up(self, run_id: str) -> None:
        """Remove what a run needed only while it was at work; what its child made stays."""
        shutil.rmtree(self.skills_dir(run_id), ignore_errors=True)
        with suppress(OSError):
            self.empty_dir(run_id).rmdir()

    def prune(self, runs: Runs) -> None:
        """Remove old runs, and what was kept for runs that are gone."""
        runs.keep_tidy()
        with suppress(OSError):
            for directory in (self.home / "empty").iterdir():
                if not runs.store.run_dir(directory.name).exists():
                    shutil.rmtree(directory, ignore_errors=True)
        prune_stores(self.repositories, _UNUSED_S)


def worker_place(name: str, env: Mapping[str, str]) -> WorkerPlace:
    """Return the place of a worker of that name, made."""
    if not _NAME.fullmatch(name):
        raise WorkerNameInvalid(name)
    place = WorkerPlace(data_dir(env) / WORKERS / name)
    # A mark of a project: what lies above, such as a home directory, is none of its runs' project.
    for directory in (place.home / PROJECT_DIR, place.repositories, place.snapshots):
        make_private_dirs(directory)
    for directory in (place.arriving, place.home / "skills"):
        shutil.rmtree(directory, ignore_errors=True)
        make_private_dirs(directory)
    return place


def hold_place(name: str, env: Mapping[str, str]) -> int:
    """Return the lock of a worker's name, held; WorkerNameTaken if another process has it."""
    if not _NAME.fullmatch(name):
        raise WorkerNameInvalid(name)
    home = data_dir(env) / WORKERS / name
    make_private_dirs(home.parent)
    make_private_dirs(home)
    lock = acquire_lock(home / "lock")
    if lock is None:
        raise WorkerNameTaken(name)
    return lock


def environment_of_children(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what leads to the database of a cluster."""
    return {
        name: each
        for name, each in env.items()
        if name != _CLUSTER_VARIABLE and not name.startswith(_OF_THE_DRIVER)
    }


def usual_name() -> str:
    """Return the name of this machine, as far as a worker may be called so."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", os.uname().nodename).lstrip("._-")[:64]
    return name or "worker"

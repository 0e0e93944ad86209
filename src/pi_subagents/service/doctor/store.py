"""Check where runs are kept: directory, index, what a crash left, what came from elsewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_subagents.core.check import Check, Subject
from pi_subagents.service.doctor.machine import existing
from pi_subagents.store.orphans import Marked, find_orphans, marker_of
from pi_subagents.system import safe_io
from pi_subagents.system.home import CheckedPlace, data_dir, project_root
from pi_subagents.system.identity import all_processes

if TYPE_CHECKING:
    from pi_subagents.service.runs import Runs

RUN_DIR = Subject("run-dir", "Run directory")
INDEX = Subject("index", "Index of runs")
REINDEX = Subject("reindex", "Reindexing")
RECOVERY = Subject("recovery", "Lost runs")
ORPHANS = Subject("orphans", "Orphaned processes")
UNKNOWN = Subject("unknown-runs", "Unknown runs")
WORKTREES = Subject("worktrees", "Worktrees")
SHOWN = 5


def check_run_dir(runs: Runs, place: CheckedPlace) -> Check:
    """Check where runs are kept, and prove that a file can be made there."""
    directory = runs.store.runs_dir
    target = existing(directory)
    # Nothing is left behind, so a project that never delegated stays as it is.
    probe = target / f".doctor-{os.urandom(6).hex()}"
    try:
        try:
            safe_io.write_new(probe, b"can this be written?\n")
        finally:  # a full disk makes the file, and then takes nothing
            probe.unlink(missing_ok=True)
    except OSError as error:
        return RUN_DIR.fatal(
            f"{target} cannot be written ({error.strerror})",
            "Give yourself write access to it, or free disk space.",
        )
    root = project_root(place.cwd)
    if root not in directory.parents:
        return RUN_DIR.note(
            f"{directory}: the project {root} cannot be written, so its runs are kept there",
            "Give yourself write access to the project, if its runs should be kept in it.",
        )
    return RUN_DIR.ok(f"{directory}")


def check_index(runs: Runs, place: CheckedPlace) -> Check:
    """Check whether runs are found by id from anywhere."""
    directory = data_dir(place.env)
    try:
        known = len(runs.index.all())
    except Exception as error:  # noqa: BLE001 - sqlite3 raises many kinds; each means the same
        return INDEX.problem(
            f"{directory} cannot be used ({_reason(error)}): runs work, but are found in their own "
            "project only, and are not recovered after a crash",
            "Give yourself write access to that directory, free disk space, or set "
            "PI_SUBAGENTS_DATA to another directory.",
        )
    damaged = sorted(directory.glob("index.damaged-*"))
    if damaged:
        return INDEX.note(
            f"{known} run{_s(known)}; a damaged index was set aside and rebuilt: {damaged[-1]}",
            f"`subagents doctor --reindex` in each project adopts what is still missing; then "
            f"remove {directory}/index.damaged-*",
        )
    return INDEX.ok(f"{known} run{_s(known)} ({directory})")


def reindex(runs: Runs) -> Check:
    """Adopt the project's unknown run directories, rebuild the index, and report what that did."""
    done = runs.reindex()
    parts = [f"{done.adopted} run director{'y' if done.adopted == 1 else 'ies'} adopted"]
    if done.forgotten:
        parts.append(f"{done.forgotten} missing one{_s(done.forgotten)} forgotten")
    if not done.left_out:
        return REINDEX.ok(", ".join(parts))
    parts.append(f"{done.left_out} left out")
    return REINDEX.note(
        ", ".join(parts),
        "Those left out cannot be read, or are copies of runs kept elsewhere; remove such "
        "directories by hand if you do not need them.",
    )


def check_recovery(runs: Runs) -> Check:
    """Conclude what a crash left, and report how many runs that were."""
    concluded = len(runs.recover(thorough=True))
    cleared = runs.clear_desks()
    if concluded:
        return RECOVERY.note(
            f"{concluded} had lost {'its' if concluded == 1 else 'their'} supervisor and "
            f"{'is' if concluded == 1 else 'are'} now marked as interrupted",
            "Nothing to do: `subagents runs` lists them.",
        )
    if cleared:
        return RECOVERY.ok(f"none; removed the files of {cleared} that ended long ago")
    return RECOVERY.ok("none")


def check_orphans(runs: Runs) -> Check:
    """Check which processes outlived their run; recovery has ended those it could."""
    if not all_processes():
        return ORPHANS.note("cannot be looked for on this system")
    left = [each for each in find_orphans() if _is_left(each, runs)]
    if not left:
        return ORPHANS.ok("none")
    shown = [f"process {each.pid} of run {each.run_id}" for each in left[:SHOWN]]
    if len(left) > SHOWN:
        shown.append(f"and {len(left) - SHOWN} more")
    pids = " ".join(str(each.pid) for each in left[:SHOWN])
    return ORPHANS.problem(
        "\n".join(shown),
        f"Look at them, then end them: ps -fp {pids.replace(' ', ',')}; kill -9 {pids}",
        public=f"{len(left)}",
    )


def check_worktrees(runs: Runs, place: CheckedPlace) -> Check:
    """Check whether tasks can have worktrees, and which are there although their run has ended."""
    from pi_subagents.errors.workspaces import GitMissing
    from pi_subagents.workspaces.concluding import DIRECTORY
    from pi_subagents.workspaces.git import Git

    try:
        Git(place.env, place.cwd)
    except GitMissing as missing:
        return WORKTREES.note(str(missing), "Install it, if tasks are to have worktrees.")
    found = sorted((data_dir(place.env) / DIRECTORY).glob("*/trees/*"))
    kept = [path for path in found if not runs.store.run_dir(path.name).alive()]
    busy = len(found) - len(kept)
    if not kept:
        return WORKTREES.ok(f"{busy} in use" if busy else "none")
    shown = [str(path) for path in kept[:SHOWN]]
    if len(kept) > SHOWN:
        shown.append(f"and {len(kept) - SHOWN} more")
    return WORKTREES.note(
        "\n".join([f"{len(kept)} kept after their run:", *shown]),
        f"To remove one with its changes: subagents discard {kept[0].name[:8]}",
        public=f"{len(kept)} kept",
    )


def _is_left(process: Marked, runs: Runs) -> bool:
    run_id = process.run_id
    if runs.store.run_dir(run_id).alive():
        return False
    return marker_of(process.pid) == run_id  # it did not end while we looked


def check_unknown(runs: Runs) -> Check:
    """Check which run directories of this project are not ours."""
    unknown = runs.unknown()
    if not unknown:
        return UNKNOWN.ok("none")
    count = len(unknown)
    return UNKNOWN.note(
        f"{count} run director{'y' if count == 1 else 'ies'} here came from elsewhere (a clone, a "
        "copy, a moved project) and "
        f"{'is' if count == 1 else 'are'} never recovered or removed",
        "To treat them as your own: subagents doctor --reindex",
    )


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _s(count: int) -> str:
    return "" if count == 1 else "s"

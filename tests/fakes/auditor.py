"""
The independent look afterwards: whatever a test did, these things hold.

In: a directory of runs.  Out: what is wrong, in sentences; nothing if all is well.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pi_subagents.core.journal import Entry, decode_entry
from pi_subagents.disk.run_dir import RunDir

MARKER = b"PI_SUBAGENTS_RUN="


def audit(runs_dir: Path) -> list[str]:
    """Return every broken promise about the runs in a directory."""
    if not runs_dir.exists():
        return []
    runs = [RunDir(path) for path in sorted(runs_dir.iterdir()) if path.is_dir()]
    complaints = [
        f"run {run.run_id}: {what}"
        for run in runs
        for what in _audit_result(run) + _audit_files(run)
    ]
    return complaints + _strays({run.run_id for run in runs})


def read_journal(run: RunDir, *, finished: bool = True) -> list[Entry]:
    """
    Return every entry of a journal, which must be whole, in order and without gaps.

    Only while the run goes on the last line may be half written.
    """
    if not run.events.exists():
        return []
    *lines, rest = run.events.read_bytes().split(b"\n")
    assert rest == b"" or not finished, f"the journal ends in half a line: {rest[:100]!r}"
    entries = [decode_entry(line) for line in lines]
    assert None not in entries, f"not an entry: {lines[entries.index(None)][:100]!r}"
    whole = [entry for entry in entries if entry is not None]
    assert [entry.seq for entry in whole] == list(range(1, len(whole) + 1))
    return whole


def _audit_result(run: RunDir) -> list[str]:
    result = run.read_result()
    if result is None:
        return ["has no readable result.json"]
    if result.run_id != run.run_id:
        return [f"tells of run {result.run_id}"]
    if (result.status == "completed") == bool(result.error_message):
        return [f"is {result.status} with the error message {result.error_message!r}"]
    return []


def _audit_files(run: RunDir) -> list[str]:
    complaints = []
    if run.alive():
        complaints.append("is still locked")
    if (mode := stat.S_IMODE(run.path.stat().st_mode)) != 0o700:
        complaints.append(f"has mode {mode:o}")
    for path in sorted(run.path.iterdir()):
        if (mode := stat.S_IMODE(path.lstat().st_mode)) != 0o600:
            complaints.append(f"{path.name} has mode {mode:o}")
        if path.name.endswith(".tmp"):
            complaints.append(f"left {path.name}")
    try:
        read_journal(run)
    except AssertionError as error:
        complaints.append(f"events.jsonl: {error}")
    return complaints


def _strays(run_ids: set[str]) -> list[str]:
    """Name every living process that carries the marker of one of the runs."""
    found: list[str] = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            variables = Path(entry.path, "environ").read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile, or is not ours
            continue
        marks = {os.fsdecode(v.removeprefix(MARKER)) for v in variables if v.startswith(MARKER)}
        found += [f"process {entry.name} outlived run {run_id}" for run_id in marks & run_ids]
    return found

"""
The independent look afterwards: whatever a test did, these things hold.

In: a store of runs.  Out: what is wrong, in sentences; nothing if all is well.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core import messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import MAX_TEXT, JournalEntry, decode_entry

if TYPE_CHECKING:
    from pi_subagents.store.run_dir import RunDir
    from pi_subagents.store.run_store import RunStore

MARKER = b"PI_SUBAGENTS_RUN="
FINAL_STATES = ("completed", "failed", "aborted", "interrupted")
# Directories by these names are no runs: somebody was killed while he made or removed them.
NO_RUNS = (".making-", ".removing-")
NOTES = ".planned"


def audit(store: RunStore) -> list[str]:
    """Return every broken promise about the runs in a store."""
    runs_dir = store.runs_dir
    if not runs_dir.exists():
        return []
    runs = [
        store.run_dir(path.name)
        for path in sorted(runs_dir.iterdir())
        if path.is_dir() and not path.is_symlink() and not path.name.startswith((*NO_RUNS, NOTES))
    ]
    complaints = [
        f"run {run.run_id}: {what}"
        for run in runs
        for what in _audit_result(run) + _audit_files(run) + _audit_story(run)
    ]
    complaints += [
        f"{path.name} is still locked"
        for path in runs_dir.iterdir()
        if path.name.startswith(NO_RUNS) and store.run_dir(path.name.partition("-")[2]).alive()
    ]
    return complaints + _strays({run.run_id for run in runs})


def find_text(root: Path, secret: bytes) -> list[Path]:
    """Return the files below a directory that hold these bytes."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return [path for path in files if secret in path.read_bytes()]


def read_journal(run: RunDir, *, finished: bool = True) -> list[JournalEntry]:
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
        if path.name.endswith(".tmp") and not _killed_just_after_writing(run, path):
            complaints.append(f"left {path.name}")
    if run.reserved.exists() and (run.reserved.stat().st_nlink > 1):
        complaints.append("has a result that can still be written to")
    return complaints


def _killed_just_after_writing(run: RunDir, temporary: Path) -> bool:
    """
    Tell whether a temporary file is what kill -9 leaves of a run whose end was reported already.

    `programs/caller.py` starts planned foreground runs detached: no look reports their end for them.
    """
    planned_attached = run.read_meta().get("attached") is True
    reporting = temporary.name.startswith(".completion.told.")
    return reporting and (planned_attached or run.completion.exists())


def _audit_story(run: RunDir) -> list[str]:
    """Compare the journal with the result: one end, and the answer as it was given."""
    result = run.read_result()
    # Killed in the middle of a write, a supervisor may leave half a line, and only then.
    finished = result is not None and result.status != "interrupted"
    try:
        events = [entry.event for entry in read_journal(run, finished=finished)]
    except AssertionError as error:
        return [f"events.jsonl: {error}"]
    ends = [e.state for e in events if isinstance(e, ev.StateChanged) and e.state in FINAL_STATES]
    if len(ends) > 1:
        return [f"ended more than once: {ends}"]
    answers = [event.text for event in events if isinstance(event, ev.AssistantMessage)]
    if result is None or not result.completed or result.artifacts_truncated or not answers:
        return []
    values = [event.text for event in events if isinstance(event, ev.ValueGiven)]
    without = values[-1] if values else messages.NO_TEXT_OUTPUT
    answer = answers[-1] if answers[-1].strip() else without
    if result.output[:MAX_TEXT] != answer[:MAX_TEXT]:
        return [f"answered {answer[:100]!r} but tells {result.output[:100]!r}"]
    return []


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

"""What users read about the runs that are kept, and about how they are looked after."""

from __future__ import annotations


def old_runs_removed(for_age: int, days: float, for_space: int, megabytes: float) -> str:
    """Return the notice on runs that were removed by themselves, and how to have it otherwise."""
    parts = [
        f"{count} {'run' if count == 1 else 'runs'} of this project {why}"
        for count, why in (
            (for_age, f"older than {days:g} days (subagents.retention_days)"),
            (for_space, f"beyond {megabytes:g} MiB (subagents.retention_megabytes)"),
        )
        if count
    ]
    return f"Removed {' and '.join(parts)}."

"""
The note on a desk that a run is done by a worker of a cluster, and where that is.

In: a desk.  Out: a RemoteNote.  While the note is there no process of this machine concludes the
run: only the database knows how it stands.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.value import as_dict, value
from pi_subagents.system import safe_io

if TYPE_CHECKING:
    from pi_subagents.store.desk import Desk

SCHEMA_VERSION = 1
_MAX_BYTES = 64 * 1024


@value
class RemoteNote:
    """Which call submitted the run, and to which cluster."""

    call: str
    shown: str  # the address, as people may see it
    tag: str
    max_bytes: int  # of each of its files


def write_note(desk: Desk, note: RemoteNote) -> None:
    """Note it; OSError where that is impossible."""
    content = {"schemaVersion": SCHEMA_VERSION, **as_dict(note)}
    safe_io.replace_file(desk.remote, safe_io.to_json_bytes(content))


def read_note(desk: Desk) -> RemoteNote | None:
    """Return what was noted; None for a run of this machine, or where the note is damaged."""
    with suppress(OSError, ValueError):
        match safe_io.read_json(desk.remote, _MAX_BYTES):
            case {
                "schemaVersion": 1,
                "call": str(call),
                "shown": str(shown),
                "tag": str(tag),
                "max_bytes": int(most),
            }:
                return RemoteNote(call, shown, tag, most)
    return None


def remove_note(desk: Desk) -> None:
    """Say that the run has come to its end here, or was never submitted."""
    with suppress(OSError):
        desk.remote.unlink()

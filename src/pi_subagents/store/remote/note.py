"""
The note on a desk that a run is done by a worker of a cluster, and where that is.

In: a desk.  Out: a RemoteNote.  While the note is there no process of this machine concludes the
run: only the database knows how it stands.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run import question
from pi_subagents.core.value import as_dict, value
from pi_subagents.system import safe_io

if TYPE_CHECKING:
    from pi_subagents.core.run.question import WaitingFor
    from pi_subagents.store.desk import Desk

SCHEMA_VERSION = 1
_MAX_BYTES = 64 * 1024
_WAIT = "elsewhere.json"


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


def write_wait(desk: Desk, text: str) -> None:
    """Note what the run waits for that only the cluster knows; without a text, nothing."""
    path = desk.path / _WAIT
    if text:
        waiting = question.questions_to_json([question.WaitingFor(0, text, kind=question.PLACE)])
        safe_io.replace_file(path, safe_io.to_json_bytes(waiting), durable=False)
    else:
        path.unlink(missing_ok=True)


def read_wait(desk: Desk) -> tuple[WaitingFor, ...]:
    """Return what was noted of that."""
    try:
        return question.questions_from_json(safe_io.read_json(desk.path / _WAIT, _MAX_BYTES))
    except (OSError, ValueError):
        return ()


def remove_note(desk: Desk) -> None:
    """Say that the run has come to its end here, or was never submitted."""
    with suppress(OSError):
        desk.remote.unlink()

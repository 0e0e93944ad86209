"""
What a supervisor is told on its control channel, as a value.

In: a RunSpec, or one decoded JSON object.  Out: the other.  The channel carries a specification,
then commands (`stop`, `kill`); after the run's end another specification may follow, if the child
was to be kept.  The end of the channel is the end of the lifeline.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from pi_subagents.core.guards import SETTLED_GRACE_S, STOP_GRACE_S
from pi_subagents.core.value import as_dict, value

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 1
MAX_RUN_BYTES = 256 * 1024 * 1024
STOP = "stop"
KILL = "kill"
PING = "ping"  # says nothing, and is answered like everything else
STEER = "steer"  # and the number of the text that waits on the run's desk
MAX_STEER_BYTES = 1024 * 1024
JSON_MODE, RPC_MODE = CHILD_MODES = ("json", "rpc")
# What a supervisor says on its standard output.
NEWS = b"."  # there are new records in the journal
FREE = b"r"  # the run is over, and the child waits for another one
HEARD = b"h"  # a command was taken
# What it answers on the socket of its desk, once for each command.
TAKEN = b"taken\n"


@value
class RunSpec:
    """Everything one supervisor needs; secrets may be in `environment`, so it is never stored."""

    run_id: str
    session_id: str
    name: str
    run_dir: str
    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = MappingProxyType({})
    attached: bool = True
    timeout_s: float | None = None
    extend_debounce_s: float = 30
    extend_max_s: float = 3600
    looping_tool_count: int = 5
    stop_grace_s: float = STOP_GRACE_S
    settled_grace_s: float = SETTLED_GRACE_S
    max_run_bytes: int = MAX_RUN_BYTES
    notes: tuple[str, ...] = ()  # said of the run before it began
    max_children: int = 0  # on this machine, counted in `slots_dir`; 0: no limit
    slots_dir: str = ""
    on_complete: tuple[str, ...] = ()  # the command that is told of a background run's end
    desk: str = ""  # where lock, orders and texts are: out of reach of the project
    dir_mark: str = ""  # which directory is meant, whatever stands in its place by now
    lock_fd: int | None = None  # the run's lock, already held, in the supervisor's hands
    envelope_fd: int | None = None  # where the caller finds the result, whatever becomes of files
    screen_fd: int | None = None  # a terminal that shows the transcript, if one does
    mode: str = JSON_MODE  # how the child is spoken to
    keeps_session: bool = False  # whether the child's own session is written down
    kind: str = ""  # what shapes the child; runs of one kind may share it, empty: with nobody
    follows: str = ""  # the run that this one goes on from, where a session is resumed
    keep: bool = False  # whether the child may serve other runs afterwards
    ahead: bool = False  # only start the child: its first run is yet to come
    wrap_up_s: float = 0  # how long before its time-out the child is told to finish; 0: never


def spec_to_json(spec: RunSpec) -> dict[str, object]:
    """Return the specification as it travels."""
    environment = dict(spec.environment)
    return {"schemaVersion": SCHEMA_VERSION, **as_dict(spec), "environment": environment}


def spec_from_json(content: object) -> RunSpec:
    """Return the specification; ValueError where it is not one of ours."""
    message = "not a run specification of this version"
    if not isinstance(content, dict) or content.get("schemaVersion") != SCHEMA_VERSION:
        raise ValueError(message)
    names = RunSpec.__match_args__
    known = {name: content[name] for name in names if name in content}
    try:
        known["argv"] = tuple(known["argv"])
        for name in ("notes", "on_complete"):
            known[name] = tuple(known.get(name, ()))
        return RunSpec(**known)
    except (KeyError, TypeError) as error:
        raise ValueError(message) from error

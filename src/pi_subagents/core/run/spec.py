"""
What a supervisor is told on its control channel, as a value.

In: a RunSpec, or one decoded JSON object.  Out: the other.  The channel carries a specification,
then commands (`stop`, `kill`); after the run's end another specification may follow, if the child
was to be kept.  The end of the channel is the end of the lifeline.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pi_subagents.core.limits.ladder import SETTLED_GRACE_S, STOP_GRACE_S
from pi_subagents.core.value import as_dict, replace, value

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 1
MAX_RUN_BYTES = 256 * 1024 * 1024
STOP = "stop"
KILL = "kill"
PING = "ping"  # says nothing, and is answered like everything else
STEER = "steer"  # and the number of the text that waits on the run's desk
MAX_STEER_BYTES = 1024 * 1024
MAX_REUSE = 8  # how many runs one child serves
# What a supervisor says on its standard output.
NEWS = b"."  # there are new records in the journal
FREE = b"r"  # the run is over, and the child waits for another one
HEARD = b"h"  # a command was taken
# What it answers on the socket of its desk, once for each command.
TAKEN = b"taken\n"


@value
class ChildOrder:
    """What the child is started as, and how it is spoken to; a key may be in `environment`."""

    argv: tuple[str, ...]
    cwd: str
    engine: str  # the kind of agent it is
    environment: Mapping[str, str] = MappingProxyType({})  # added to the caller's
    mode: str = ""  # which of the engine's ways it is spoken to in, where there are several
    takes_commands: bool = False  # on its standard input, which otherwise is its prompt
    keeps_session: bool = False  # whether the child's own session is written down


@value
class RunLimits:
    """What may end or hold the run, and what it may use."""

    timeout_s: float | None = None
    extend_debounce_s: float = 30
    extend_max_s: float = 3600
    looping_tool_count: int = 5
    stop_grace_s: float = STOP_GRACE_S
    settled_grace_s: float = SETTLED_GRACE_S
    max_run_bytes: int = MAX_RUN_BYTES
    max_children: int = 0  # of this user on this machine; 0: no limit
    wrap_up_s: float = 0  # how long before its time-out the child is told to finish; 0: never


@value
class PlaceOrder:
    """Where the run is kept on this machine."""

    run_dir: str = ""
    desk: str = ""  # where lock, orders and texts are: out of reach of the project
    dir_mark: str = ""  # which directory is meant, whatever stands in its place by now
    slots_dir: str = ""  # where the children of this user are counted
    lock_fd: int | None = None  # the run's lock, already held, in the supervisor's hands
    envelope_fd: int | None = None  # where the caller finds the result, whatever becomes of files
    screen_fd: int | None = None  # a terminal that shows the transcript, if one does


@value
class ReuseOrder:
    """Whether the child may serve other runs as well."""

    kind: str = ""  # what shapes the child; runs of one kind may share it, empty: with nobody
    follows: str = ""  # the run that this one goes on from, where a session is resumed
    keep: bool = False  # whether the child may serve other runs afterwards
    prewarm: bool = False  # only start the child: its first run is yet to come


@value
class RunSpec:
    """Everything one supervisor needs; never stored, because it may hold a key."""

    run_id: str
    session_id: str
    name: str
    child: ChildOrder
    limits: RunLimits = RunLimits()
    place: PlaceOrder = PlaceOrder()
    reuse: ReuseOrder = ReuseOrder()
    attached: bool = True
    notes: tuple[str, ...] = ()  # said of the run before it began
    on_complete: tuple[str, ...] = ()  # the command that is told of a background run's end


def changed(spec: RunSpec, **fields: object) -> RunSpec:
    """Return the order with some of its fields changed, whichever group they are in."""
    own = {name: fields.pop(name) for name in RunSpec.__match_args__ if name in fields}
    for name in ("child", "limits", "place", "reuse"):
        group = getattr(spec, name)
        inner = {each: fields.pop(each) for each in group.__match_args__ if each in fields}
        if inner:
            own[name] = replace(group, **inner)
    assert not fields, fields
    return replace(spec, **own)


def spec_to_json(spec: RunSpec) -> dict[str, object]:
    """Return the specification as it travels."""
    child = {**as_dict(spec.child), "environment": dict(spec.child.environment)}
    groups = {name: as_dict(getattr(spec, name)) for name in ("limits", "place", "reuse")}
    return {"schemaVersion": SCHEMA_VERSION, **as_dict(spec), "child": child, **groups}


def spec_from_json(content: object) -> RunSpec:
    """Return the specification; ValueError where it is not one of ours."""
    message = "not a run specification of this version"
    if not isinstance(content, dict) or content.get("schemaVersion") != SCHEMA_VERSION:
        raise ValueError(message)
    try:
        known = _known(RunSpec, content)
        child = _known(ChildOrder, content["child"])
        known["child"] = ChildOrder(**{**child, "argv": tuple(child["argv"])})
        for name, group in _GROUPS.items():
            known[name] = group(**_known(group, content.get(name, {})))
        for name in ("notes", "on_complete"):
            known[name] = tuple(known.get(name, ()))
        return RunSpec(**known)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(message) from error


_GROUPS: Mapping[str, type] = {"limits": RunLimits, "place": PlaceOrder, "reuse": ReuseOrder}


def _known(group: Any, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a group has; what else is there was said by a later version."""
    return {name: content[name] for name in group.__match_args__ if name in content}

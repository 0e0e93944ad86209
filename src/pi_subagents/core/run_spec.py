"""
What a supervisor is told on its control channel, as a value.

In: a RunSpec, or one decoded JSON object.  Out: the other.  Version 1 of the channel carries
exactly one specification, then commands (`stop`, `kill`); its end is the end of the lifeline.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 1
STOP = "stop"
KILL = "kill"


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything one supervisor needs; secrets may be in `environment`, so it is never stored."""

    run_id: str
    session_id: str
    name: str
    run_dir: str
    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = field(default_factory=dict)
    attached: bool = True
    timeout_s: float | None = None
    extend_debounce_s: float = 30
    extend_max_s: float = 3600
    looping_tool_count: int = 5
    stop_grace_s: float = 5
    settled_grace_s: float = 5


def spec_to_json(spec: RunSpec) -> dict[str, object]:
    """Return the specification as it travels."""
    return {"schemaVersion": SCHEMA_VERSION, **asdict(spec)}


def spec_from_json(value: object) -> RunSpec:
    """Return the specification; ValueError where it is not one of ours."""
    message = "not a run specification of this version"
    if not isinstance(value, dict) or value.get("schemaVersion") != SCHEMA_VERSION:
        raise ValueError(message)
    known = {f.name: value[f.name] for f in fields(RunSpec) if f.name in value}
    try:
        known["argv"] = tuple(known["argv"])
        return RunSpec(**known)
    except (KeyError, TypeError) as error:
        raise ValueError(message) from error

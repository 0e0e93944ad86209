"""
Plan the command line of one child.

In: the pi command, trust, and extra options as values.  Out: argv and added environment.
Prompts, keys and other contents never appear in argv.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pi_subagents.core.run.markers import CHILD_VARIABLE, MARKER_VARIABLE
from pi_subagents.core.value import value
from pi_subagents.engines.pi.conversation import JSON_MODE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.engines.pi.profile.options import ProfileInvocation

# pi looks for nothing on the network: no update, no new models, no telemetry.
QUIET = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}


@value
class ModelOverride:
    """Another provider and model for a child: how `--offline` is put into effect."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    launcher: tuple[str, ...] = ()  # a command that starts the child in its place


@dataclass(frozen=True, slots=True)
class Invocation:
    """What to execute; `environment` is added to the caller's, which is passed on unchanged."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def asking_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which a pi is asked something: quiet, and part of no run."""
    kept = {name: value for name, value in env.items() if name != MARKER_VARIABLE}
    return {**kept, **QUIET, CHILD_VARIABLE: "1"}


def plan_invocation(
    pi_command: tuple[str, ...],
    *,
    run_id: str,
    trusted: bool,
    profile: ProfileInvocation | None = None,
    session_file: str | None = None,
    override: ModelOverride | None = None,
    mode: str = JSON_MODE,
) -> Invocation:
    """
    Return the invocation of pi for one run.

    In RPC mode no session file is named: the child is told of one when its run begins.
    """
    json_mode = mode == JSON_MODE
    named = session_file if json_mode else None
    arguments = (
        *(override.launcher if override else ()),
        *pi_command,
        *("--mode", mode),
        *(("-p",) if json_mode else ()),
        *(("--session", named) if named else ("--no-session",)),
        "--approve" if trusted else "--no-approve",
        *(profile.arguments if profile else ()),
        *(override.arguments if override else ()),  # the last provider and model count
    )
    environment = {
        **(profile.environment if profile else {}),
        **(override.environment if override else {}),
        CHILD_VARIABLE: "1",
        MARKER_VARIABLE: run_id,
    }
    return Invocation(arguments, environment)

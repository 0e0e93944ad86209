"""
Plan the command line of one child.

In: the pi command, trust, and extra options as values.  Out: argv and added environment.
Prompts, keys and other contents never appear in argv.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run.files import CHILD_VARIABLE, MARKER_VARIABLE
from pi_subagents.core.value import value
from pi_subagents.engines.pi.conversation import JSON_MODE

if TYPE_CHECKING:
    from collections.abc import Mapping

# pi looks for nothing on the network: no update, no new models, no telemetry.
QUIET = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
# Followed by the file of its own session, which pi makes if it is empty, and goes on with if not.
SESSION_OPTION, NO_SESSION_OPTION = "--session", "--no-session"
COPILOT = "github-copilot"
# The extension that says what a provider answered where that was no answer.
REPORTING = ("--extension", str(Path(__file__).with_name("response_reporter.mjs")))


@value
class ModelOverride:
    """Another provider and model for a child: how `--offline` is put into effect."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    launcher: tuple[str, ...] = ()  # a command that starts the child in its place


NO_OVERRIDE = ModelOverride((), {})


@dataclass(frozen=True, slots=True)
class Invocation:
    """What to execute, or a part of it; `environment` is added to the caller's, may hold a key."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)


NOTHING = Invocation((), {})


def asking_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which a pi is asked something: quiet, and part of no run."""
    kept = {name: value for name, value in env.items() if name != MARKER_VARIABLE}
    return {**kept, **QUIET, CHILD_VARIABLE: "1"}


def initiator_extensions(model: str | None) -> tuple[str, ...]:
    """Return the extension by which GitHub Copilot knows that an agent, not a person, asks."""
    if model is None or model.partition("/")[0] != COPILOT:
        return ()
    return (str(Path(__file__).with_name("copilot_initiator.mjs")),)


def plan_invocation(
    pi_command: tuple[str, ...],
    *,
    run_id: str,
    trusted: bool,
    profile: Invocation = NOTHING,
    orders: Invocation = NOTHING,
    override: ModelOverride = NO_OVERRIDE,
    mode: str = JSON_MODE,
) -> Invocation:
    """Return the invocation of pi for one run."""
    argv = (
        *override.launcher,
        *pi_command,
        *("--mode", mode),
        *(("-p",) if mode == JSON_MODE else ()),
        "--approve" if trusted else "--no-approve",
        *profile.argv,
        *orders.argv,
        *override.arguments,  # the last provider and model count
    )
    markers = {CHILD_VARIABLE: "1", MARKER_VARIABLE: run_id}
    added = {**profile.environment, **orders.environment, **override.environment}
    return Invocation(argv, {**added, **markers})

"""
Sub-agents that any main agent can trust: parallel pi children with truthful results.

The names below are the Python API; importing the package runs nothing and loads nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents._version import __version__

if TYPE_CHECKING:
    from pi_subagents.api import Delegation, call_tool, delegate, delegate_sync
    from pi_subagents.core.attachment import FileSpec
    from pi_subagents.core.progress import ProgressFormatter
    from pi_subagents.core.request import Task
    from pi_subagents.core.run_result import RunResult
    from pi_subagents.core.steer import Steered
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.delegation.ports import Update
    from pi_subagents.engines.offline_model.script import parse_script
    from pi_subagents.errors.base import RequestError, SetupError, StoreError, SubagentsError
    from pi_subagents.procs.pool import Pool
    from pi_subagents.steering import steer

__all__ = [
    "Delegation",
    "FileSpec",
    "Pool",
    "ProgressFormatter",
    "RequestError",
    "RunResult",
    "SetupError",
    "Steered",
    "StopSwitch",
    "StoreError",
    "SubagentsError",
    "Task",
    "Update",
    "__version__",
    "call_tool",
    "delegate",
    "delegate_sync",
    "parse_script",
    "steer",
]

_HOMES = {
    "Delegation": "api",
    "call_tool": "api",
    "delegate": "api",
    "delegate_sync": "api",
    "FileSpec": "core.attachment",
    "ProgressFormatter": "core.progress",
    "Task": "core.request",
    "RunResult": "core.run_result",
    "Steered": "core.steer",
    "StopSwitch": "core.stop_switch",
    "Update": "delegation.ports",
    "parse_script": "engines.offline_model.script",
    "Pool": "procs.pool",
    "RequestError": "errors.base",
    "SetupError": "errors.base",
    "StoreError": "errors.base",
    "SubagentsError": "errors.base",
    "steer": "steering",
}


def __getattr__(name: str) -> object:
    """Load a public name where it lives, when it is first asked for."""
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)

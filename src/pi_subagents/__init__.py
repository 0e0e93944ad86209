"""
Sub-agents that any main agent can trust: parallel pi children with truthful results.

The names below are the Python API; importing the package runs nothing and loads nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents._version import __version__

if TYPE_CHECKING:
    from pi_subagents.api import call_tool, delegate, delegate_sync, start
    from pi_subagents.core.offline.script import parse_script
    from pi_subagents.core.run.answering import AnswerReport
    from pi_subagents.core.run.progress import ProgressFormatter
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.run.steer import Steered
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.core.task.attachment import FileSpec
    from pi_subagents.core.task.request import Task
    from pi_subagents.errors.base import RequestError, SetupError, StoreError, SubagentsError
    from pi_subagents.service.call import Pool
    from pi_subagents.service.delegation import Delegation, Update
    from pi_subagents.service.questions.answering import answer
    from pi_subagents.service.steering import steer

__all__ = [
    "AnswerReport",
    "Delegation",
    "FileSpec",
    "Pool",
    "ProgressFormatter",
    "RequestError",
    "RunRecord",
    "RunResult",
    "SetupError",
    "Steered",
    "StopSwitch",
    "StoreError",
    "SubagentsError",
    "Task",
    "Update",
    "__version__",
    "answer",
    "call_tool",
    "delegate",
    "delegate_sync",
    "parse_script",
    "start",
    "steer",
]

_HOMES = {
    "Delegation": "service.delegation",
    "call_tool": "api",
    "delegate": "api",
    "delegate_sync": "api",
    "FileSpec": "core.task.attachment",
    "ProgressFormatter": "core.run.progress",
    "Task": "core.task.request",
    "RunRecord": "core.run.record",
    "RunResult": "core.run.result",
    "Steered": "core.run.steer",
    "StopSwitch": "core.stop_switch",
    "Update": "service.delegation",
    "parse_script": "core.offline.script",
    "Pool": "service.call",
    "RequestError": "errors.base",
    "SetupError": "errors.base",
    "StoreError": "errors.base",
    "SubagentsError": "errors.base",
    "answer": "service.questions.answering",
    "AnswerReport": "core.run.answering",
    "start": "api",
    "steer": "service.steering",
}


def __getattr__(name: str) -> object:
    """Load a public name where it lives, when it is first asked for."""
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)

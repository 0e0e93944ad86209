"""
What is asked of the tools that work with presets and background runs, checked.

In: the decoded parameters of `subagent`, `background_agent`, `background_agent_status` and
`background_agent_stop`, however malformed.  Out: values, or a RequestError that refuses the whole
call and names the place.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from pi_subagents.core import messages
from pi_subagents.core.parameters import (
    check_cwd,
    objects,
    optional_flag,
    optional_text,
    refuse_unknown,
    required_text,
    seconds,
)
from pi_subagents.core.task.request import MAX_TASKS
from pi_subagents.core.value import JsonObject, value
from pi_subagents.errors import InvalidRequest

MAX_WAIT_S = 3600.0
_TASK_KEYS = ("preset", "task", "engine", "model", "cwd", "outputSchema")


@value
class PresetTask:
    """One piece of work for a preset; `cwd` is absolute, or None for the caller's directory."""

    preset: str
    task: str
    model: str | None = None
    cwd: str | None = None
    output_schema: JsonObject | None = None
    engine: str | None = None


@value
class SubagentRequest:
    """One task, or 1 to 16 in parallel, in the order their results will have."""

    tasks: tuple[PresetTask, ...]
    parallel: bool


@value
class StatusRequest:
    """Which background runs are meant, and how long to wait for news of them."""

    run_id: str | None = None
    include_completed: bool = False
    wait_s: float = 0.0


def parse_subagent(parameters: object, caller_cwd: str) -> SubagentRequest:
    """Read the parameters of `subagent`."""
    given = _object(parameters, messages.NEEDS_PRESET_OR_TASKS)
    if "tasks" not in given:
        refuse_unknown("parameters", given, (*_TASK_KEYS, "tasks"))
        return SubagentRequest((_task("", given, caller_cwd),), parallel=False)
    refuse_unknown("parameters", given, ("tasks",))
    tasks = objects("tasks", given["tasks"], messages.NEEDS_PRESET_TASK_LIST)
    if not 1 <= len(tasks) <= MAX_TASKS:
        raise InvalidRequest("tasks", messages.wrong_task_count(MAX_TASKS, len(tasks)))
    parsed = []
    for index, task in enumerate(tasks):
        refuse_unknown(f"tasks[{index}]", task, _TASK_KEYS)
        parsed.append(_task(f"tasks[{index}].", task, caller_cwd))
    return SubagentRequest(tuple(parsed), parallel=True)


def parse_background(parameters: object, caller_cwd: str) -> PresetTask:
    """Read the parameters of `background_agent`."""
    given = _object(parameters, messages.NEEDS_PRESET_AND_TASK)
    refuse_unknown("parameters", given, _TASK_KEYS)
    return _task("", given, caller_cwd)


def parse_status(parameters: object) -> StatusRequest:
    """Read the parameters of `background_agent_status`."""
    given = _object(parameters, messages.NEEDS_OBJECT)
    refuse_unknown("parameters", given, ("runId", "includeCompleted", "waitSeconds"))
    return StatusRequest(
        run_id=optional_text("runId", given.get("runId")) or None,
        include_completed=optional_flag("includeCompleted", given.get("includeCompleted")),
        wait_s=seconds("waitSeconds", given.get("waitSeconds", 0), 0, MAX_WAIT_S),
    )


def parse_stop(parameters: object) -> str | None:
    """Read the parameters of `background_agent_stop`: one run's id, or None for all."""
    given = _object(parameters, messages.NEEDS_OBJECT)
    refuse_unknown("parameters", given, ("runId",))
    run_id = optional_text("runId", given.get("runId"))
    if run_id == "":
        raise InvalidRequest("runId", messages.EMPTY_IS_NOT_ALL)
    return run_id


def _task(where: str, given: Mapping[str, object], caller_cwd: str) -> PresetTask:
    preset = required_text(f"{where}preset", given.get("preset"))
    task = required_text(f"{where}task", given.get("task"))
    if not task.strip():
        raise InvalidRequest(f"{where}task", messages.MUST_NOT_BE_EMPTY)
    cwd = optional_text(f"{where}cwd", given.get("cwd"))
    if cwd:
        # Relative means: below the caller's directory.  Nothing climbs.
        cwd = cwd if cwd.startswith("/") else posixpath.join(caller_cwd, cwd)
        check_cwd(f"{where}cwd", cwd)
    return PresetTask(
        preset=preset,
        task=task,
        engine=optional_text(f"{where}engine", given.get("engine")) or None,
        model=optional_text(f"{where}model", given.get("model")) or None,
        cwd=cwd or None,
        output_schema=_schema(f"{where}outputSchema", given.get("outputSchema")),
    )


def _schema(where: str, given: object) -> JsonObject | None:
    from pi_subagents.core.answer.schema import checked_schema  # few tasks have one

    return None if given is None else checked_schema(where, given)


def _object(parameters: object, problem: str) -> Mapping[str, object]:
    """Return what is given: models write null where they mean to leave something out."""
    if not isinstance(parameters, Mapping):
        raise InvalidRequest("parameters", problem)
    return {key: value for key, value in parameters.items() if value is not None}

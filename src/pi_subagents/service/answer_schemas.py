"""
The schemas that answers have to fit: which one counts for a task, and whether it is one.

In: a task and its profile.  Out: a schema, or InvalidRequest that names the place.  Whether it is
one, another process is asked: callers on an event loop do so in a thread.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.value import replace
from pi_subagents.engines.base import REFUSED, Finding
from pi_subagents.errors import InvalidRequest
from pi_subagents.service import messages

MAX_WHY = 300

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.task.request import Task
    from pi_subagents.service.delegation import Preparation


def with_schema(needs: Preparation, task_schema: object) -> Preparation:
    """Return what a task needs, with the schema of its answer: its own, else its profile's."""
    profile = needs.profile
    if task_schema is not None:
        from pi_subagents.core.answer.schema import checked_schema

        return replace(needs, schema=checked_schema("outputSchema", task_schema))
    if profile is not None and profile.output_schema:
        return replace(needs, schema=json.loads(profile.output_schema))
    return needs


def refuse_wrong_schemas(tasks: Sequence[Task], preparations: Sequence[Preparation]) -> None:
    """Refuse a call in which an answer would have to fit what is no schema."""
    for index, (task, needs) in enumerate(zip(tasks, preparations, strict=True)):
        own = task.output_schema is not None or needs.profile is None
        whose = f"tasks[{index}]" if own or not needs.profile else f'profile "{needs.profile.name}"'
        refuse_wrong_schema(f"{whose}.outputSchema", needs.schema)


def refuse_wrong_schema(where: str, schema: Mapping[str, object] | None) -> None:
    """Refuse what is no schema."""
    if schema is not None and (problem := _problem(json.dumps(schema))):
        raise InvalidRequest(where, problem)


def with_parsed(result: RunResult, asked: object) -> RunResult:
    """Return the result with its value as an instance of the model class that was asked for."""
    parse = getattr(asked, "model_validate_json", None)
    if not (result.has_value and isinstance(asked, type) and parse):
        return result
    try:
        return replace(result, parsed=parse(json.dumps(result.value)))
    except ValueError as error:  # it may check more than its schema says
        note = messages.note_not_parsed(asked.__name__, one_line(str(error), MAX_WHY))
        return replace(result, notes=(*result.notes, note))


def schema_findings(profile: Profile) -> tuple[Finding, ...]:
    """Return what keeps calls from using a profile for the sake of its schema; waits."""
    problem = _problem(profile.output_schema) if profile.output_schema else ""
    return (Finding("outputSchema", f"outputSchema: {problem}", REFUSED),) if problem else ()


def _problem(schema: str) -> str:
    try:
        _check(schema)
    except ValueError as error:
        return str(error)
    return ""


@lru_cache(maxsize=64)
def _check(schema: str) -> None:
    """Raise ValueError where it is none; only what is one is remembered: it may be the machine."""
    from pi_subagents.system.schema_check import schema_problem

    if problem := schema_problem(json.loads(schema)):
        raise ValueError(problem)

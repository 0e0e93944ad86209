"""
What a caller asks for: tasks, checked before anything starts.

In: the decoded parameters of `delegate_to_subagents`, however malformed.  Out: a
DelegateRequest, or a RequestError that refuses the whole call and names the place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pi_subagents.core import messages
from pi_subagents.core.parameters import check_cwd, optional_text, refuse_unknown
from pi_subagents.core.task.attachment import FileSpec, parse_files
from pi_subagents.errors import InvalidRequest

MAX_TASKS = 16
DEFAULT_TIMEOUT_S = 600.0
MIN_TIMEOUT_S = 1.0
MAX_TIMEOUT_S = 86_400.0
MAX_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work for one child; `cwd` None means the caller's directory."""

    name: str
    prompt: str
    cwd: str | None = None
    timeout_s: float | None = DEFAULT_TIMEOUT_S  # None: no limit, for tasks of presets
    files: tuple[FileSpec, ...] = ()
    profile: str | None = None
    resume: str | None = None


@dataclass(frozen=True, slots=True)
class DelegateRequest:
    """A checked call: 1 to 16 tasks, in the order their results will have."""

    tasks: tuple[Task, ...]
    profile: str | None = None

    def profile_of(self, task: Task) -> str | None:
        """Return the name of the profile a task is to run with: its own, else the call's."""
        return task.profile or self.profile


_TASK_KEYS = ("name", "prompt", "cwd", "profile", "timeout", "resume", "files")
_CALL_KEYS = ("tasks", "profile")


def parse_delegate(parameters: object) -> DelegateRequest:
    """Read the parameters of one call."""
    if not isinstance(parameters, Mapping):
        raise InvalidRequest("parameters", messages.NEEDS_TASKS)
    refuse_unknown("parameters", parameters, _CALL_KEYS)
    tasks = parameters.get("tasks")
    if not isinstance(tasks, list):
        raise InvalidRequest("tasks", messages.NEEDS_TASK_LIST)
    return checked_request(
        (_parse_task(f"tasks[{i}]", task) for i, task in enumerate(tasks)),
        optional_text("profile", parameters.get("profile")),
    )


def checked_request(tasks: Iterable[Task], profile: str | None = None) -> DelegateRequest:
    """Return the request, or refuse it: the one gate for every face."""
    request = DelegateRequest(tuple(tasks), profile)
    if not 1 <= len(request.tasks) <= MAX_TASKS:
        raise InvalidRequest("tasks", messages.wrong_task_count(MAX_TASKS, len(request.tasks)))
    for index, task in enumerate(request.tasks):
        _check_task(f"tasks[{index}]", task)
    return request


def _parse_task(where: str, task: object) -> Task:
    if not isinstance(task, Mapping):
        raise InvalidRequest(where, messages.NEEDS_TASK_OBJECT)
    refuse_unknown(where, task, _TASK_KEYS)
    given: dict[str, Any] = {"name": None, "prompt": None}  # which are refused if they stay so
    given |= {key: value for key, value in task.items() if value is not None}
    return Task(
        name=given["name"],
        prompt=given["prompt"],
        cwd=given.get("cwd"),
        timeout_s=given.get("timeout", DEFAULT_TIMEOUT_S),
        files=parse_files(f"{where}.files", given.get("files", [])),
        profile=given.get("profile"),
        resume=given.get("resume"),
    )


def _check_task(where: str, task: Task) -> None:
    _check_types(where, task)
    if not task.name.strip() or len(task.name) > MAX_NAME_LENGTH:
        raise InvalidRequest(f"{where}.name", messages.wrong_length(MAX_NAME_LENGTH))
    if not task.prompt.strip():
        raise InvalidRequest(f"{where}.prompt", messages.MUST_NOT_BE_EMPTY)
    if task.cwd is not None:
        check_cwd(f"{where}.cwd", task.cwd)
    if task.timeout_s is not None and not MIN_TIMEOUT_S <= task.timeout_s <= MAX_TIMEOUT_S:
        problem = messages.wrong_timeout(MIN_TIMEOUT_S, MAX_TIMEOUT_S)
        raise InvalidRequest(f"{where}.timeout", problem)


def _check_types(where: str, task: Task) -> None:
    """Refuse what only a type checker would have found: tasks come from programs, too."""
    for key in ("name", "prompt"):
        if not isinstance(getattr(task, key), str):
            raise InvalidRequest(f"{where}.{key}", messages.NEEDS_STRING)
    for key in ("cwd", "profile", "resume"):
        optional_text(f"{where}.{key}", getattr(task, key))
    timeout: object = task.timeout_s
    if isinstance(timeout, bool) or not isinstance(timeout, int | float | None):
        raise InvalidRequest(f"{where}.timeout", messages.MUST_BE_SECONDS)
    for index, each in enumerate(task.files):
        if not isinstance(each, FileSpec):
            raise InvalidRequest(f"{where}.files[{index}]", messages.NEEDS_FILE_SPEC)

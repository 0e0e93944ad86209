"""
What a caller asks for: tasks, checked before anything starts.

In: the decoded parameters of `delegate_to_subagents`, however malformed.  Out: a
DelegateRequest, or a RequestError that refuses the whole call and names the place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pi_subagents.core import messages
from pi_subagents.core.cluster.messages import WRONG_DESTINATION
from pi_subagents.core.cluster.state import HERE, tag_of
from pi_subagents.core.parameters import check_cwd, optional_text, refuse_unknown
from pi_subagents.core.profile.profile import QUESTION_CHOICES, THINKING_LEVELS
from pi_subagents.core.spending.budget import Budget, parse_budget, tightest
from pi_subagents.core.task.attachment import FileSpec, check_file, parse_files
from pi_subagents.core.value import replace
from pi_subagents.core.workspace.modes import WORKSPACES
from pi_subagents.errors import InvalidRequest

MAX_TASKS = 16
DEFAULT_TIMEOUT_S = 600.0
MIN_TIMEOUT_S = 1.0
MAX_TIMEOUT_S = 86_400.0
MAX_NAME_LENGTH = 200
MAX_CHECK_ROUNDS = 5

# What may be spent, as programs and people write it.
GivenBudget = Budget | Mapping[str, object] | str | None


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
    fork: bool = False  # whether that session stays as it is, and this is the first of another
    model: str | None = None  # this and the next three go over what the profile says
    thinking: str | None = None
    tools: tuple[str, ...] | None = None  # all it may use; an empty one: none
    budget: GivenBudget = None  # a Budget once the request was checked
    workspace: str | None = None  # "shared", "worktree" or "auto", over what the call says
    check: str | None = None  # a command line that says whether its work is good
    check_rounds: int = 1  # how often it may mend what the check finds
    questions: str | None = None  # "ask" or "refuse", over what the profile says
    output_schema: Any = (
        None  # what the answer has to fit: a JSON schema, or a pydantic model class
    )
    engine: str | None = None  # what kind of child it has, over what call and profile say
    on: str | None = None  # where it runs: "here", "cluster" or "cluster:TAG"

    @property
    def chooses(self) -> bool:
        """Whether it says itself what a profile would."""
        chosen = (self.model, self.thinking, self.tools, self.questions)
        return any(each is not None for each in chosen)


# What a program may give: a task, or several; a text is the prompt of one.
Tasks = str | Task | Iterable[str | Task]


@dataclass(frozen=True, slots=True)
class DelegateRequest:
    """A checked call: 1 to 16 tasks, in the order their results will have."""

    tasks: tuple[Task, ...]
    profile: str | None = None
    budget: Budget = Budget()  # of all its tasks together

    def profile_of(self, task: Task) -> str | None:
        """Return the name of the profile a task is to run with: its own, else the call's."""
        return task.profile or self.profile


TASK_KEYS = (
    "name", "prompt", "cwd", "profile", "engine", "timeout", "resume", "files", "budget",
    "questions", "outputSchema", "workspace", "check", "checkRounds",
)  # fmt: skip
FILE_TASK_KEYS = (*TASK_KEYS, "model", "thinking", "tools", "on")  # what people write in a file
_TEXT_KEYS = (
    "cwd", "profile", "resume", "engine", "model", "thinking", "questions", "workspace", "check",
    "on",
)  # fmt: skip
_UNWRITTEN = {"name": "a task", "prompt": "a task"}
_CALL_KEYS = ("tasks", "profile", "budget")


def parse_delegate(parameters: object, task_keys: tuple[str, ...] = TASK_KEYS) -> DelegateRequest:
    """Read the parameters of one call, whose tasks may have these fields."""
    if not isinstance(parameters, Mapping):
        raise InvalidRequest("parameters", messages.NEEDS_TASKS)
    refuse_unknown("parameters", parameters, _CALL_KEYS)
    tasks = parameters.get("tasks")
    if not isinstance(tasks, list):
        raise InvalidRequest("tasks", messages.NEEDS_TASK_LIST)
    return checked_request(
        (_parse_task(f"tasks[{i}]", task, task_keys) for i, task in enumerate(tasks)),
        optional_text("profile", parameters.get("profile")),
        parameters.get("budget"),
    )


def parse_begun(parameters: object, begun: int) -> tuple[DelegateRequest, int]:
    """Read a call that is still being written; return how many of its tasks are known, too."""
    match parameters:
        case {"tasks": list(known), **rest}:
            more = max(0, min(begun, MAX_TASKS) - len(known))
            return parse_delegate({**rest, "tasks": [*known, *([_UNWRITTEN] * more)]}), len(known)
    return parse_delegate(parameters), 0


def checked_request(
    tasks: Tasks, profile: str | None = None, budget: object = None
) -> DelegateRequest:
    """Return the request, or refuse it: the one gate for every face."""
    of_call = checked_budget("budget", budget)
    request = DelegateRequest(tuple(_each_task(tasks)), profile, of_call)
    if not 1 <= len(request.tasks) <= MAX_TASKS:
        raise InvalidRequest("tasks", messages.wrong_task_count(MAX_TASKS, len(request.tasks)))
    for index, task in enumerate(request.tasks):
        _check_task(f"tasks[{index}]", task)
    budgets = [
        checked_budget(f"tasks[{index}].budget", task.budget)
        for index, task in enumerate(request.tasks)
    ]
    if not any(budgets):
        return request
    both = zip(request.tasks, budgets, strict=True)
    return replace(request, tasks=tuple(replace(task, budget=own) for task, own in both))


def checked_budget(where: str, given: object) -> Budget:
    """Return a budget, or refuse the call."""
    try:
        return Budget() if given is None else parse_budget(given)
    except ValueError as wrong:
        raise InvalidRequest(where, str(wrong)) from None


def with_budget(request: DelegateRequest, given: object) -> DelegateRequest:
    """Return the request with what its caller, too, lets it spend."""
    return replace(request, budget=tightest(request.budget, checked_budget("budget", given)))


def _each_task(tasks: object) -> Iterator[Task]:
    """Yield tasks as they were given, by programs too: a text is the prompt of one."""
    if isinstance(tasks, str | Task):
        tasks = (tasks,)
    if isinstance(tasks, bytes | Mapping) or not isinstance(tasks, Iterable):
        raise InvalidRequest("tasks", messages.NEEDS_TASKS_OR_PROMPTS)
    for number, task in enumerate(tasks):
        if isinstance(task, str):
            yield Task(unnamed(number), task)
        elif isinstance(task, Task):
            yield task
        else:
            raise InvalidRequest(f"tasks[{number}]", messages.NEEDS_TASK_OR_PROMPT)


def unnamed(index: int) -> str:
    """Return what a task is called that nobody gave a name."""
    return f"task-{index + 1}"


def is_unnamed(name: str, preset: str = "") -> bool:
    """Return whether a task is called so because nobody gave it a name of its own."""
    made_of, _, number = name.rpartition("-")
    return name in ("", preset) or (number.isdecimal() and made_of in ("task", preset or "task"))


def _parse_task(where: str, task: object, keys: tuple[str, ...]) -> Task:
    if not isinstance(task, Mapping):
        raise InvalidRequest(where, messages.NEEDS_TASK_OBJECT)
    refuse_unknown(where, task, keys)
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
        engine=given.get("engine"),
        on=given.get("on"),
        model=given.get("model"),
        thinking=given.get("thinking"),
        tools=_parse_tools(given.get("tools")),
        budget=given.get("budget"),
        questions=given.get("questions"),
        workspace=given.get("workspace"),
        check=given.get("check"),
        check_rounds=given.get("checkRounds", 1),
        output_schema=given.get("outputSchema"),
    )


def _parse_tools(given: Any) -> Any:
    """Return the names of a list, or of a text with commas; anything else is refused later."""
    if isinstance(given, str):
        return split_names(given)
    return tuple(given) if isinstance(given, list) else given


def split_names(text: str) -> tuple[str, ...]:
    """Return names that are separated by commas."""
    return tuple(name for each in text.split(",") if (name := each.strip()))


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
    if task.output_schema is not None:
        from pi_subagents.core.answer.schema import checked_schema

        checked_schema(f"{where}.outputSchema", task.output_schema)


def _check_types(where: str, task: Task) -> None:
    """Refuse what only a type checker would have found: tasks come from programs, too."""
    for key in ("name", "prompt"):
        if not isinstance(getattr(task, key), str):
            raise InvalidRequest(f"{where}.{key}", messages.NEEDS_STRING)
    for key in _TEXT_KEYS:
        optional_text(f"{where}.{key}", getattr(task, key))
    for key in ("model", "engine", "check"):
        if getattr(task, key) is not None and not getattr(task, key).strip():
            raise InvalidRequest(f"{where}.{key}", messages.MUST_NOT_BE_EMPTY)
    if task.thinking not in (None, *THINKING_LEVELS):
        raise InvalidRequest(f"{where}.thinking", messages.must_be_one_of(THINKING_LEVELS))
    if isinstance(task.check_rounds, bool) or task.check_rounds not in range(MAX_CHECK_ROUNDS + 1):
        problem = messages.wrong_rounds(MAX_CHECK_ROUNDS)
        raise InvalidRequest(f"{where}.checkRounds", problem)
    if task.workspace not in (None, *WORKSPACES):
        raise InvalidRequest(f"{where}.workspace", messages.must_be_one_of(WORKSPACES))
    if task.on not in (None, HERE) and tag_of(task.on) is None:
        raise InvalidRequest(f"{where}.on", WRONG_DESTINATION)
    if task.questions not in (None, *QUESTION_CHOICES):
        raise InvalidRequest(f"{where}.questions", messages.must_be_one_of(QUESTION_CHOICES))
    if task.tools is not None and not _are_texts(task.tools):
        raise InvalidRequest(f"{where}.tools", messages.NEEDS_TOOL_NAMES)
    if not isinstance(task.fork, bool):
        raise InvalidRequest(f"{where}.fork", messages.MUST_BE_FLAG)
    timeout: object = task.timeout_s
    if isinstance(timeout, bool) or not isinstance(timeout, int | float | None):
        raise InvalidRequest(f"{where}.timeout", messages.MUST_BE_SECONDS)
    files: object = task.files
    if not isinstance(files, tuple | list):
        raise InvalidRequest(f"{where}.files", messages.NEEDS_FILE_SPECS)
    for index, each in enumerate(files):
        check_file(f"{where}.files[{index}]", each)


def _are_texts(given: object) -> bool:
    return isinstance(given, tuple | list) and all(isinstance(each, str) for each in given)

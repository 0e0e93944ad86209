"""
Read the `subagents` key of pi's settings files into one value.

In: the decoded JSON of the global file, then of the project's (None where absent).
Out: Settings and the problems found.  A wrong type is reported and the default used, a number
out of range is clamped, unknown keys are kept for whoever knows them, and keys that name a
command count from the global file only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields

from pi_subagents.core import messages
from pi_subagents.core.cluster.state import tag_of
from pi_subagents.core.definitions.found import ALLOW, POLICIES
from pi_subagents.core.engine_values import AgentCommand
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.spec import NATIVE, RESUME_WAYS
from pi_subagents.core.runner_names import PROCESS, RUNNERS, is_runner
from pi_subagents.core.spending import messages as spending_messages
from pi_subagents.core.spending.budget import Budget, parse_budget, tightest
from pi_subagents.core.spending.price import Prices, parse_prices
from pi_subagents.core.value import value
from pi_subagents.core.workspace.modes import SHARED, WORKSPACES

GLOBAL = "global settings"
PROJECT = "project settings"
MIN_PREVIEW = 20
MAX_SHOWN = 40
MAX_INLINE = 400_000
_INLINE_IN_CALL = 6  # answers of full length
_AGENT_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
CHILD_MODES = ("json", "rpc")  # how pi is spoken to
ALL_TOOLS, PROFILE_TOOLS, PRESET_TOOLS = TOOL_FAMILIES = ("all", "profiles", "presets")


@value
class InlineAnswers:
    """How many characters of answers a call gives its main model at once; 0 each: none."""

    each: int = 2000
    call: int = 12_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set."""

    max_lines_per_window: int = 15
    command_preview_width: int = 160
    extend_timeout_debounce: float = 30
    extend_timeout_max: float = 3600
    looping_tool_count: int = 5
    max_concurrency: int = 4
    max_machine_children: int = 16
    max_run_megabytes: float = 256
    max_resume_kilobytes: float = 128
    retention_days: float = 30
    retention_megabytes: float = 2048
    foreground_timeout: float | None = None
    background_timeout: float = 86_400  # 0: none
    on_complete: tuple[str, ...] = ()
    runner: str = PROCESS
    cluster: str = ""  # the address of its database, which may hold a password
    tools: str = ALL_TOOLS
    engine: str = ""  # of tasks that choose none; empty: pi
    project_engine: str = ""  # the same by the project, which counts where that is trusted
    engines: Mapping[str, AgentCommand] = field(default_factory=dict)  # agents of the user's own
    child_mode: str = "rpc"
    resume: str = NATIVE
    reuse_children: bool = True
    warm_children: int = 1
    wrap_up_before: float = 0
    workspace: str = SHARED
    workspace_max_megabytes: float = 100
    workspace_links: tuple[str, ...] = ()
    workspace_setup: str = ""
    project_workspace_setup: str = ""  # of the project's file: only where that is trusted
    inline_answers: InlineAnswers = InlineAnswers()
    wake_parent: bool = False
    answer_within: float = 600
    limit_wait_max: float = 21_600
    provider_limits: Mapping[str, int] = field(default_factory=dict)
    project_definitions: str = ALLOW
    day_budget: Budget = Budget()
    project_day_budget: Budget = Budget()
    prices: Prices = field(default_factory=dict)
    pi_command: tuple[str, ...] | str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)

    def preview_width(self, columns: int | None) -> int:
        """Return how wide a tool call's preview may be; a terminal's own width counts first."""
        return self.command_preview_width if columns is None else max(columns - 4, MIN_PREVIEW)


@value
class SettingsProblem:
    """One thing wrong with a settings file, in words for its owner."""

    where: str
    problem: str


Reader = Callable[[object], object]


def _number(low: float, high: float) -> Callable[[object], float]:
    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError("a number")
        if value != value:  # noqa: PLR0124 - NaN; math.isnan cannot take every int
            raise TypeError("a number")
        return min(max(value, low), high)

    return read


def _number_or_none(low: float, high: float) -> Reader:
    """Take 0 for none at all; whatever else is less than the least means the least."""
    clamp = _number(low, high)
    return lambda value: 0 if value == 0 and value is not False else clamp(value)


def _whole(low: int, high: int) -> Callable[[object], int]:
    clamp = _number(low, high)
    return lambda value: int(clamp(value))


def _command(value: object) -> str | tuple[str, ...]:
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise TypeError("a command line or a list of strings")


def _argv(value: object) -> tuple[str, ...]:
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise TypeError("a list of strings: a program and its arguments")


def _one_of(*names: str) -> Reader:
    def read(value: object) -> str:
        if value in names:
            return str(value)
        expected = " or ".join(f'"{name}"' for name in names)
        raise ValueError(expected) if isinstance(value, str) else TypeError(expected)

    return read


def _runner(value: object) -> str:
    expected = " or ".join(f'"{name}"' for name in RUNNERS)
    if not isinstance(value, str):
        raise TypeError(expected)
    if not is_runner(value):
        raise ValueError(expected)
    return value


def _inline_answers(value: object) -> InlineAnswers:
    given = value if isinstance(value, Mapping) else {"each": value}
    count = _whole(0, MAX_INLINE)
    if not set(given) <= {"each", "call"}:
        raise TypeError("a number, or an object with `each` and `call`")
    each = count(given.get("each", InlineAnswers().each))
    return InlineAnswers(each, count(given.get("call", each * _INLINE_IN_CALL)))


def _inside(value: object) -> tuple[str, ...]:
    """Take relative paths that lead nowhere else."""
    expected = "a list of relative paths without .."
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TypeError(expected)
    for each in value:
        if not each.strip("/. ") or each.startswith(("/", "~")) or ".." in each.split("/"):
            raise ValueError(expected)
    return tuple(each.rstrip("/") for each in value)


def _command_line(value: object) -> str:
    expected = "a command line"
    if not isinstance(value, str):
        raise TypeError(expected)
    if not value.strip() or "\0" in value:
        raise ValueError(expected)
    return value


def _children_by_provider(value: object) -> Mapping[str, int]:
    count = _whole(1, 1000)
    if not isinstance(value, Mapping):
        raise TypeError("an object with a number of children for each provider")
    return {str(provider): count(most) for provider, most in value.items()}


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise TypeError("true or false")


def _engine(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise TypeError("the name of an engine")


def _engines(value: object) -> Mapping[str, AgentCommand]:
    if not isinstance(value, Mapping):
        raise TypeError("an object of names")
    return {str(name): _agent_command(str(name), given) for name, given in value.items()}


def _agent_command(name: str, given: object) -> AgentCommand:
    if not _AGENT_NAME.fullmatch(name):
        raise TypeError("an object whose names have small letters, digits, `-`, `_` and `.` alone")
    # What was given is not shown: there may be keys in it.
    words = f"an object whose `{name}` has `command`, a list of texts, perhaps `env` and `like`"
    known = {"command", "env", "like"}
    if not isinstance(given, Mapping) or not {"command"} <= set(given) <= known:
        raise TypeError(words)
    command, env, like = given["command"], given.get("env", {}), given.get("like", "")
    if not isinstance(command, list) or not command or not _are_texts(command):
        raise TypeError(words)
    if not isinstance(env, Mapping) or not _are_texts((*env, *env.values())):
        raise TypeError(words)
    if not isinstance(like, str):
        raise TypeError(words)
    return AgentCommand(tuple(command), like, dict(env))


def _are_texts(given: Iterable[object]) -> bool:
    """Return whether these are texts that a process can be started with."""
    return all(isinstance(each, str) and each and "\0" not in each for each in given)


def _day_budget(value: object) -> Budget:
    budget = parse_budget(value)
    if budget.turns is not None:
        raise ValueError(spending_messages.DAYS_HAVE_NO_TURNS)
    return budget


# JSON key -> (field, reader).  Users have files with both spellings: neither changes.
_KEYS: Mapping[str, tuple[str, Reader]] = {
    "maxLinesPerWindow": ("max_lines_per_window", _whole(1, 1000)),
    "commandPreviewWidth": ("command_preview_width", _whole(MIN_PREVIEW, 100_000)),
    "extend_timeout_debounce": ("extend_timeout_debounce", _number(0, 300)),
    "extend_timeout_max": ("extend_timeout_max", _number(0, 86_400)),
    "looping_tool_count": ("looping_tool_count", _whole(0, 50)),
    "max_concurrency": ("max_concurrency", _whole(1, 16)),
    "max_machine_children": ("max_machine_children", _whole(0, 1000)),
    "max_run_megabytes": ("max_run_megabytes", _number(1, 100_000)),
    "max_resume_kilobytes": ("max_resume_kilobytes", _number(1, 100_000)),
    "retention_days": ("retention_days", _number(0, 36_500)),
    "retention_megabytes": ("retention_megabytes", _number(0, 1_000_000)),
    "foreground_timeout": ("foreground_timeout", _number(1, 86_400)),
    "background_timeout": ("background_timeout", _number_or_none(1, 86_400)),
    "on_complete": ("on_complete", _argv),
    "runner": ("runner", _runner),
    "cluster": ("cluster", _command_line),
    "tools": ("tools", _one_of(*TOOL_FAMILIES)),
    "engine": ("engine", _engine),
    "engines": ("engines", _engines),
    "child_mode": ("child_mode", _one_of(*CHILD_MODES)),
    "resume": ("resume", _one_of(*RESUME_WAYS)),
    "reuse_children": ("reuse_children", _flag),
    "warm_children": ("warm_children", _whole(0, 16)),
    "wrap_up_before": ("wrap_up_before", _number(0, 3600)),
    "workspace": ("workspace", _one_of(*WORKSPACES)),
    "workspace_max_megabytes": ("workspace_max_megabytes", _number(1, 100_000)),
    "workspace_links": ("workspace_links", _inside),
    "workspace_setup": ("workspace_setup", _command_line),
    "inline_answers": ("inline_answers", _inline_answers),
    "wake_parent": ("wake_parent", _flag),
    "answer_within": ("answer_within", _number(1, 86_400)),
    "limit_wait_max": ("limit_wait_max", _number(0, 604_800)),
    "provider_limits": ("provider_limits", _children_by_provider),
    "project_definitions": ("project_definitions", _one_of(*POLICIES)),
    "day_budget": ("day_budget", _day_budget),
    "project_day_budget": ("project_day_budget", _day_budget),
    "prices": ("prices", parse_prices),
    "pi_command": ("pi_command", _command),
}
# What names a command, or decides over the machine, over what is removed, over what a project may
# define or over turns that somebody pays for, is the user's alone to set.
_GLOBAL_ONLY = (
    "pi_command",
    "cluster",
    "on_complete",
    "engines",
    "max_machine_children",
    "provider_limits",
    "retention_days",
    "retention_megabytes",
    "project_definitions",
    "day_budget",
    "prices",
    "wake_parent",
)
# What a project may tighten and never widen.
_TIGHTENED = ("project_day_budget",)
# What a project may set where it is trusted, which is not known here: key -> field.
_OF_PROJECT = {"engine": "project_engine", "workspace_setup": "project_workspace_setup"}
KEYS = tuple(_KEYS)
# The keys whose values are plain numbers: safe to show to anyone.
NUMBERS: Mapping[str, str] = {
    key: name
    for key, (name, _) in _KEYS.items()
    if key
    not in (
        "on_complete",
        "runner",
        "cluster",
        "tools",
        "pi_command",
        "engine",
        "engines",
        "child_mode",
        "reuse_children",
        "inline_answers",
        "wake_parent",
        "workspace",
        "workspace_links",
        "workspace_setup",
        "resume",
        "project_definitions",
        "day_budget",
        "project_day_budget",
        "prices",
        "provider_limits",
    )
}


def parse_settings(
    global_file: object, project_file: object
) -> tuple[Settings, tuple[SettingsProblem, ...]]:
    """Merge both files: the project's value wins key by key."""
    values: dict[str, object] = {}
    extra: dict[str, object] = {}
    problems: list[SettingsProblem] = []
    for where, content in ((GLOBAL, global_file), (PROJECT, project_file)):
        for key, raw in _section(where, content, problems).items():
            place = f"{where}: subagents.{key}"
            if where == PROJECT and (key in _GLOBAL_ONLY or _sends_away(key, raw)):
                problems.append(SettingsProblem(place, messages.SETTING_GLOBAL_ONLY))
            elif key not in _KEYS:
                extra[key] = raw
            else:
                name, read = _KEYS[key]
                name = _OF_PROJECT.get(key, name) if where == PROJECT else name
                try:
                    known = values.get(name)
                    values[name] = read(raw)
                    if known is not None and key in _TIGHTENED:
                        values[name] = tightest(known, values[name])  # type: ignore[arg-type]  # budgets
                except TypeError as wrong:
                    problem = messages.setting_of_wrong_type(str(wrong), type(raw).__name__)
                    problems.append(SettingsProblem(place, problem))
                except ValueError as wrong:
                    problem = messages.setting_unknown(str(wrong), one_line(str(raw), MAX_SHOWN))
                    problems.append(SettingsProblem(place, problem))
    known = {f.name: values[f.name] for f in fields(Settings) if f.name in values}
    return Settings(**known, extra=extra), tuple(problems)  # type: ignore[arg-type]  # fields by name, of many types


def _sends_away(key: str, raw: object) -> bool:
    """Return whether a setting has tasks, and files with them, go to other machines."""
    return key == "runner" and isinstance(raw, str) and tag_of(raw) is not None


def _section(where: str, content: object, problems: list[SettingsProblem]) -> Mapping[str, object]:
    if content is None:
        return {}
    if not isinstance(content, dict):
        problems.append(SettingsProblem(where, messages.SETTINGS_NOT_AN_OBJECT))
        return {}
    section = content.get("subagents")
    if section is None:
        return {}
    if not isinstance(section, dict):
        problems.append(SettingsProblem(f"{where}: subagents", messages.SETTINGS_NOT_AN_OBJECT))
        return {}
    return section

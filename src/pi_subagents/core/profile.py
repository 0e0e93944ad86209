"""
A profile: how a sub-agent is to run, under a name.

In: the front matter and body of one `agent-profiles/*.md`.  Out: a Profile and what is wrong with
the file.  A restriction that cannot be read never falls away: its profile is not loaded.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pi_subagents import messages, profile_messages
from pi_subagents.core.plain_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.frontmatter import Frontmatter, Value

GLOBAL = "global"
PROJECT = "project"
NAME_PATTERN = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # to be matched whole
THINKING_LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
_MAX_UNKNOWN = 10  # each costs a search for what was meant
_MAX_KEY_SHOWN = 64
_MAX_SHOWN = 1000


@dataclass(frozen=True, slots=True)
class Profile:
    """The fields of a file; empty means "as pi has it", None of a list means "not set"."""

    name: str
    provider: str = ""
    model: str = ""
    thinking_level: str = ""
    system_prompt: str = ""
    append_system_prompt: str = ""
    api_key: str = field(default="", repr=False)
    tools: tuple[str, ...] | None = None
    exclude_tools: tuple[str, ...] | None = None
    no_tools: bool = False
    no_extensions: bool = False
    extensions: tuple[str, ...] = ()
    no_skills: bool = False
    suggested_skills: tuple[str, ...] = ()
    load_skills: tuple[str, ...] = ()
    no_context_files: bool = False
    extra_args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProfileProblem:
    """One thing wrong with a file; a fatal one keeps the profile from being loaded."""

    path: str
    line: int
    problem: str
    fatal: bool

    def __str__(self) -> str:
        return one_line(f"{self.path}:{self.line}: {self.problem}", _MAX_SHOWN)


@dataclass(frozen=True, slots=True)
class LoadedProfile:
    """A profile and where it came from: `scope` is GLOBAL or PROJECT."""

    profile: Profile
    scope: str
    path: str


def is_profile_name(name: str) -> bool:
    """Tell whether a profile may be called so, which also makes it safe as a file's name."""
    return NAME_PATTERN.fullmatch(name) is not None


def parse_profile(
    path: str, content: Frontmatter
) -> tuple[Profile | None, tuple[ProfileProblem, ...]]:
    """Return the profile, or None after a fatal problem, and all that is wrong with the file."""
    values: dict[str, object] = {"system_prompt": content.body}
    problems: list[ProfileProblem] = []

    def report(key: str, problem: str, *, fatal: bool) -> None:
        problems.append(ProfileProblem(path, content.lines.get(key, 1), problem, fatal))

    if "name" not in content.fields:
        report(
            "name",
            profile_messages.profile_field("name", profile_messages.NEEDS_PROFILE_NAME),
            fatal=True,
        )
    if "\0" in content.body:
        report("", profile_messages.BODY_HAS_NULL, fatal=True)
    for key, given in content.fields.items():
        if key not in _READERS:
            continue
        try:
            values[FIELDS[key]] = _READERS[key](given)
        except TypeError as wrong:
            report(key, profile_messages.profile_field(key, str(wrong)), fatal=True)
    if values.get("tools") == ():
        report("tools", profile_messages.TOOLS_EMPTY, fatal=False)
    if values.get("thinking_level", "") not in ("", *THINKING_LEVELS):
        del values["thinking_level"]
        report("thinkingLevel", profile_messages.wrong_thinking_level(THINKING_LEVELS), fatal=False)
    for key, problem in _unknown_fields(content):
        report(key, problem, fatal=False)
    problems.sort(key=lambda found: found.line)
    if any(found.fatal for found in problems):
        return None, tuple(problems)
    return Profile(**values), tuple(problems)  # type: ignore[arg-type]


def _unknown_fields(content: Frontmatter) -> list[tuple[str, str]]:
    unknown = [key for key in content.fields if key not in _READERS]
    found = [(key, _unknown_field(key)) for key in unknown[:_MAX_UNKNOWN]]
    rest = unknown[_MAX_UNKNOWN:]
    return [*found, (rest[0], profile_messages.more_unknown_fields(len(rest)))] if rest else found


def _unknown_field(key: str) -> str:
    known = {each.lower(): each for each in _READERS}
    close = difflib.get_close_matches(key[:_MAX_KEY_SHOWN].lower(), known, n=1)
    return profile_messages.unknown_profile_field(
        one_line(key, _MAX_KEY_SHOWN), known[close[0]] if close else ""
    )


def _name(given: Value) -> str:
    if not isinstance(given, str) or not is_profile_name(given):
        raise TypeError(profile_messages.NEEDS_PROFILE_NAME)
    return given


def _text(given: Value) -> str:
    if given is None:
        return ""
    if not isinstance(given, str):
        raise TypeError(messages.MUST_BE_STRING)
    if "\0" in given:
        raise TypeError(messages.MUST_NOT_HAVE_NULL)
    return given


def _flag(given: Value) -> bool:
    word = given.lower() if isinstance(given, str) else None
    if word not in ("true", "false"):
        raise TypeError(profile_messages.MUST_BE_TRUE_OR_FALSE)
    return word == "true"


def _items(given: Value) -> tuple[str, ...]:
    """Return the items of a list as they are, or those between the commas of a text."""
    if given is None:
        return ()
    items = given.split(",") if isinstance(given, str) else given
    if not isinstance(items, list):
        raise TypeError(profile_messages.MUST_BE_ITEMS)
    texts = [item.strip() for item in items if isinstance(item, str)]
    if len(texts) < len(items):
        raise TypeError(profile_messages.MUST_BE_ITEMS)
    return tuple(text for text in texts if text)


def _paths(given: Value) -> tuple[str, ...]:
    items = _items(given)
    if any("\0" in item for item in items):
        raise TypeError(messages.MUST_NOT_HAVE_NULL)
    return items


def _names(given: Value) -> tuple[str, ...]:
    """Return names; no name holds a comma, so `["bash,edit"]` excludes two tools, not none."""
    return _paths(",".join(_items(given)))


# What a file calls a field -> what a Profile does, in the order in which they are shown and saved.
FIELDS: Mapping[str, str] = {
    "name": "name",
    "provider": "provider",
    "model": "model",
    "thinkingLevel": "thinking_level",
    "systemPrompt": "system_prompt",
    "appendSystemPrompt": "append_system_prompt",
    "tools": "tools",
    "noTools": "no_tools",
    "excludeTools": "exclude_tools",
    "noExtensions": "no_extensions",
    "extensions": "extensions",
    "noSkills": "no_skills",
    "suggestedSkills": "suggested_skills",
    "loadSkills": "load_skills",
    "noContextFiles": "no_context_files",
    "apiKey": "api_key",
    "extraArgs": "extra_args",
}
# Every field but the system prompt, which is the body.
_READERS: Mapping[str, Callable[[Value], object]] = {
    "name": _name,
    "provider": _text,
    "model": _text,
    "thinkingLevel": _text,
    "appendSystemPrompt": _text,
    "tools": _names,
    "noTools": _flag,
    "excludeTools": _names,
    "noExtensions": _flag,
    "extensions": _paths,
    "noSkills": _flag,
    "suggestedSkills": _names,
    "loadSkills": _names,
    "noContextFiles": _flag,
    "apiKey": _text,
    "extraArgs": _items,  # a null byte among them refuses the call, in words of its own
}

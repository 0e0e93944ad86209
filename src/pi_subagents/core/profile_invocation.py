"""
Turn a profile into what its child is started with: options of pi and environment variables.

In: a Profile whose `extraArgs` were checked, the files that hold its prompts, the paths of its
suggested skills, and the parent's tools where there is a parent session.  Out: ProfileInvocation,
and what there is to say about the names of its tools.  Keys and prompts never stand in the
arguments, and a restriction never falls away: where no tool is left, pi is told so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pi_subagents import profile_messages
from pi_subagents.core.provider_keys import key_variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pi_subagents.core.profile import Profile

KEY_VARIABLE = "PI_API_KEY"
BUILTIN_TOOLS = ("read", "bash", "edit", "write", "grep", "find", "ls")
_TOOLS, _NO_TOOLS = "--tools", "--no-tools"
_EXTENSION_OPTIONS = frozenset({"--extension", "-e"})


@dataclass(frozen=True, slots=True)
class ProfileInvocation:
    """What a profile adds to a child's command line and environment, which may hold a key."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)


def profile_invocation(
    profile: Profile,
    *,
    system_prompt_file: str | None,
    append_prompt_file: str | None,
    skill_paths: tuple[str, ...],
    parent_tools: tuple[str, ...] | None,
) -> ProfileInvocation:
    """Return options in the documented order; each value is an item of its own, as pi wants it."""
    arguments = (
        *_option("--provider", profile.provider),
        *_option("--model", profile.model),
        *_option("--system-prompt", system_prompt_file),
        *_option("--append-system-prompt", append_prompt_file),
        *_option("--thinking", profile.thinking_level),
        *_tool_options(profile, parent_tools),
        *_flag("--no-extensions", given=profile.no_extensions),
        *(item for path in profile.extensions for item in ("--extension", path)),
        *_flag("--no-skills", given=profile.no_skills),
        *(item for path in skill_paths for item in ("--skill", path)),
        *_flag("--no-context-files", given=profile.no_context_files),
        *profile.extra_args,
    )
    return ProfileInvocation(arguments, _key_environment(profile))


def allowed_tools(arguments: Sequence[str]) -> int | None:
    """Return how many tools a child with these arguments has; None where none are named."""
    if _NO_TOOLS in arguments:
        return 0
    if _TOOLS not in arguments:
        return None
    return len(arguments[arguments.index(_TOOLS) + 1].split(","))


def unknown_tools(profile: Profile, parent_tools: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the names in force that neither pi nor the parent knows: perhaps an extension does."""
    known = {*BUILTIN_TOOLS, *(parent_tools or ())}
    return tuple(name for name in _named_tools(profile) if name not in known)


def tools_problem(profile: Profile, parent_tools: tuple[str, ...] | None) -> str:
    """Return why no tool can be left of those a profile allows, or nothing."""
    extensible = (
        not profile.no_extensions
        or profile.extensions
        or not _EXTENSION_OPTIONS.isdisjoint(profile.extra_args)
    )
    if profile.tools is None or extensible:
        return ""
    names = _named_tools(profile)
    unknown = unknown_tools(profile, parent_tools)
    return profile_messages.no_known_tool(profile.name, names) if names and names == unknown else ""


def _option(name: str, value: str | None) -> tuple[str, ...]:
    return (name, value) if value else ()


def _flag(name: str, *, given: bool) -> tuple[str, ...]:
    return (name,) if given else ()


def _tool_options(profile: Profile, parent_tools: tuple[str, ...] | None) -> tuple[str, ...]:
    named = _named_tools(profile)
    if profile.no_tools:
        return (_NO_TOOLS,)
    if profile.tools is not None:
        return _only(named)
    if profile.exclude_tools is None:
        return ()
    if parent_tools is not None:
        return _only(name for name in _names(parent_tools) if name not in named)
    return _option("--exclude-tools", ",".join(named))


def _only(names: Iterable[str]) -> tuple[str, ...]:
    # pi takes an absent list for "all", so an empty one is said with the other option.
    return _option(_TOOLS, ",".join(names)) or (_NO_TOOLS,)


def _named_tools(profile: Profile) -> tuple[str, ...]:
    """Return the names of the list that is in force."""
    if profile.no_tools:
        return ()
    return _names(profile.exclude_tools if profile.tools is None else profile.tools)


def _names(items: Iterable[str] | None) -> tuple[str, ...]:
    """Return names cut at commas, as pi will cut them, so that none hides in another."""
    names = (name.strip() for item in items or () for name in item.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _key_environment(profile: Profile) -> dict[str, str]:
    if not profile.api_key:
        return {}
    environment = {KEY_VARIABLE: profile.api_key}
    variables = key_variables(profile.provider, profile.model)
    if variables:
        environment |= {variables.set: profile.api_key, **dict.fromkeys(variables.unset, "")}
    return environment

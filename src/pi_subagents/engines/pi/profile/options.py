"""
Turn a profile into what its child is started with: options of pi and environment variables.

In: a Profile whose fields were checked, the files that hold its prompts, the paths of its suggested
skills, the parent's tools where there is a parent session, and what this pi has.  Out: an
Invocation, and what is wrong with the names of its tools.  Keys and prompts never stand in the
arguments, and a restriction never falls away: where no tool is left, pi is told so.  A list of
allowed tools must never come to allow more than it names: newer pis take `+name` and `-name` for
changes of their default tools, and `*` for any characters.  Names are read as pi reads them.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import pairwise
from typing import TYPE_CHECKING

from pi_subagents.core.profile.profile import ALL_MCP
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.invocation import Invocation
from pi_subagents.engines.pi.profile.providers import key_variables
from pi_subagents.engines.pi.versions import OWN_TOOLS, needs_mcp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.pi.versions import PiTraits

KEY_VARIABLE = "PI_API_KEY"
_TOOLS, _NO_TOOLS = "--tools", "--no-tools"
_TOOLS_OPTIONS = frozenset({"--tools", "-t"})
_EXTENSION_OPTIONS = frozenset({"--extension", "-e"})
_NO_EXTENSIONS_OPTIONS = frozenset({"--no-extensions", "-ne"})
_SIGNS = ("+", "-")
# What JavaScript's trim() takes away.  Python's strip() keeps U+FEFF, behind which a sign would
# come to light in pi only, and takes away what pi keeps, such as U+0085.
_BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_PATTERN_PREFIX = "mcp__"


def profile_invocation(
    profile: Profile,
    *,
    system_prompt_file: str | None,
    append_prompt_file: str | None,
    skill_paths: tuple[str, ...],
    parent_tools: tuple[str, ...] | None,
    traits: PiTraits,
    own_tools: tuple[str, ...] = (),
) -> Invocation:
    """Return what a profile adds, in the documented order; each value is an item of its own."""
    tools = _tool_options(profile, parent_tools)
    if tools[:1] == (_TOOLS,):  # a list leaves out what extensions bring, ours too
        tools = _only((*tools[1:], *own_tools))
    argv = (
        *_option("--provider", profile.provider),
        *_option("--model", profile.model),
        *_option("--system-prompt", system_prompt_file),
        *_option("--append-system-prompt", append_prompt_file),
        *_option("--thinking", profile.thinking_level),
        *tools,
        *(() if _wants_mcp(profile, tools) else traits.without_mcp),
        *_flag("--no-extensions", given=profile.no_extensions),
        *(item for path in profile.extensions for item in ("--extension", path)),
        *_flag("--no-skills", given=profile.no_skills),
        *(item for path in skill_paths for item in ("--skill", path)),
        *_flag("--no-context-files", given=profile.no_context_files),
        *profile.extra_args,
    )
    return Invocation(argv, _key_environment(profile))


def allowed_tools(arguments: Sequence[str], own_tools: tuple[str, ...] = ()) -> int | None:
    """Return how many tools beside ours such a child has; None where none are named."""
    if _NO_TOOLS in arguments:
        return 0
    if _TOOLS not in arguments:
        return None
    names = arguments[arguments.index(_TOOLS) + 1].split(",")
    return sum(name not in own_tools for name in names)


def unknown_tools(
    profile: Profile, parent_tools: tuple[str, ...] | None, traits: PiTraits
) -> tuple[str, ...]:
    """Return the names in force that neither pi nor the parent knows: perhaps an extension does."""
    parents = parent_tools or ()
    bare = profile.tools is not None and _leaves_out_extensions(profile)
    extensions = _named_extensions(profile)

    def is_known(name: str) -> bool:
        builtin = traits.builtin_extension(name)
        if bare and builtin:  # whatever the parent has
            return builtin in extensions
        return name in parents or traits.knows_tool(name)

    return tuple(name for name in named_tools(profile) if not is_known(name))


def tools_problem(profile: Profile, parent_tools: tuple[str, ...] | None, traits: PiTraits) -> str:
    """Return why no tool can be left of those a profile allows, or nothing."""
    extensible = not _leaves_out_extensions(profile) or _named_extensions(profile)
    if profile.tools is None or extensible:
        return ""
    names = named_tools(profile)
    unknown = unknown_tools(profile, parent_tools, traits)
    return messages.no_known_tool(profile.name, names) if names and names == unknown else ""


def _leaves_out_extensions(profile: Profile) -> bool:
    """Return whether a child has only those extensions that its profile names."""
    return profile.no_extensions or not _NO_EXTENSIONS_OPTIONS.isdisjoint(profile.extra_args)


def _named_extensions(profile: Profile) -> tuple[str, ...]:
    return (*profile.extensions, *_values(profile.extra_args, _EXTENSION_OPTIONS))


def _values(items: tuple[str, ...], options: frozenset[str]) -> Iterator[str]:
    return (value for name, value in pairwise(items) if name in options)


def _option(name: str, value: str | None) -> tuple[str, ...]:
    return (name, value) if value else ()


def _flag(name: str, *, given: bool) -> tuple[str, ...]:
    return (name,) if given else ()


def _tool_options(profile: Profile, parent_tools: tuple[str, ...] | None) -> tuple[str, ...]:
    named = named_tools(profile)
    if profile.no_tools:
        return (_NO_TOOLS,)
    if profile.tools is not None:
        return _only(named)
    if profile.exclude_tools is None:
        return ()
    if parent_tools is not None:
        # pi's own tools can be given to a child whether or not they are switched on in the parent.
        there = tool_names((*parent_tools, *OWN_TOOLS))
        left = (name for name in there if not matches(name, named))
        return _only(name for name in left if is_plain(name))
    return _option("--exclude-tools", ",".join(named))


def _only(names: Iterable[str]) -> tuple[str, ...]:
    # pi takes an absent list for "all", so an empty one is said with the other option.
    return _option(_TOOLS, ",".join(names)) or (_NO_TOOLS,)


def named_tools(profile: Profile) -> tuple[str, ...]:
    """Return the names of the list that is in force."""
    if profile.no_tools:
        return ()
    return tool_names(profile.exclude_tools if profile.tools is None else profile.tools)


def _wants_mcp(profile: Profile, tools: tuple[str, ...]) -> bool:
    """Return whether a profile asks for MCP servers: in so many words, or by what it allows."""
    if profile.mcp or profile.no_tools:
        return profile.mcp == ALL_MCP and not profile.no_tools
    allowed = tool_names(tools[1:]) if tools[:1] == (_TOOLS,) else ()
    more = tool_names(_values(profile.extra_args, _TOOLS_OPTIONS))
    return needs_mcp((*allowed, *profile.extensions, *more))


def _key_environment(profile: Profile) -> dict[str, str]:
    if not profile.api_key:
        return {}
    environment = {KEY_VARIABLE: profile.api_key}
    variables = key_variables(profile.provider, profile.model)
    if variables:
        environment |= {variables.set: profile.api_key, **dict.fromkeys(variables.unset, "")}
    return environment


# The names of tools in a list, and which of them must not reach pi.


def tool_names(items: Iterable[str] | None) -> tuple[str, ...]:
    """Return names cut at commas, as pi will cut them, so that none hides in another."""
    names = (name.strip(_BLANKS) for item in items or () for name in item.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def tool_name_problem(name: str, traits: PiTraits) -> str:
    """Return why a name may not stand in a list of tools, or nothing."""
    name = name.strip(_BLANKS)
    if name.startswith(_SIGNS):
        return messages.tool_signed(name)
    if "*" not in name:
        return ""
    if not name.startswith(_PATTERN_PREFIX):
        return messages.tool_pattern(name)
    return "" if traits.has_tool_patterns else messages.no_patterns(name, traits.shown)


def is_plain(name: str) -> bool:
    """Return whether pi, of whatever version, takes a name for exactly this tool."""
    return not name.strip(_BLANKS).startswith(_SIGNS) and "*" not in name


def matches(name: str, listed: Iterable[str]) -> bool:
    """Return whether a list names a tool, itself or by a pattern."""
    return any(fnmatchcase(name, each) if "*" in each else name == each for each in listed)

"""
Decide which of a profile's `extraArgs` may reach the child's command line.

In: a Profile, and what this pi has.  Out: what is wrong with its first bad item, or a refusal.  The
items are read as pi's own parser reads them, so that no option can take what we put behind it for
its value.  What is never let through is refused in any place, also as a value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.profile.options import tool_name_problem, tool_names
from pi_subagents.errors import ExtraArgRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.pi.versions import PiTraits

# Every option that all versions of pi have stands in exactly one of the next four tables; what only
# some have is in `versions.py` (tests/e2e checks it).
FLAGS = frozenset({
    "--no-tools", "-nt", "--no-builtin-tools", "-nbt", "--no-extensions", "-ne", "--no-skills",
    "-ns", "--no-prompt-templates", "-np", "--no-themes", "--no-context-files", "-nc", "--verbose",
    "--offline",
})  # fmt: skip
TAKES_ANYTHING = frozenset({
    "--provider", "--model", "--models", "--thinking", "--system-prompt", "--append-system-prompt",
    "--tools", "-t", "--exclude-tools", "-xt", "--extension", "-e", "--skill", "--prompt-template",
    "--theme",
})  # fmt: skip
# These leave an item that begins with a dash to the parser.
TAKES_WORD = frozenset({"--use-theme", "--tui-mode"})
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("--mode", "--print", "-p"), messages.EXTRA_ARG_MODE),
    **dict.fromkeys(
        ("--session", "--session-id", "--session-dir", "--no-session", "--fork", "--continue", "-c",
         "--resume", "-r", "--name", "-n"),
        messages.EXTRA_ARG_SESSION,
    ),
    **dict.fromkeys(
        ("--export", "--help", "-h", "--version", "-v", "--list-models"),
        messages.EXTRA_ARG_ENDS_PI,
    ),
    **dict.fromkeys(("--approve", "-a", "--no-approve", "-na"), messages.EXTRA_ARG_TRUST),
    "--api-key": messages.EXTRA_ARG_KEY,
    "--": messages.EXTRA_ARG_DASHES,
}  # fmt: skip

TOOL_LISTS = frozenset({"--tools", "-t", "--exclude-tools", "-xt"})
TOOL_OPTIONS = TOOL_LISTS | {"--no-tools", "-nt", "--no-builtin-tools", "-nbt"}

# Documented, so kept, although no shell is involved; U+FEFF is a space where it was documented.
_UNSAFE = re.compile(r"^[\s\ufeff|&;$\\`!]|&&|\|\||;|>|<")


def check_extra_args(profile: Profile, traits: PiTraits) -> None:
    """Refuse the whole call for an item that must not reach the child."""
    problem = extra_args_problem(profile, traits)
    if problem:
        raise ExtraArgRefused(profile.name, problem)


def extra_args_problem(profile: Profile, traits: PiTraits) -> str:
    """Return what is wrong with the first bad item, or nothing."""
    restricted = profile.no_tools or profile.tools is not None or profile.exclude_tools is not None
    option = ""  # the one before, while it may still take an item
    for item in profile.extra_args:
        problem = _text_problem(item) or _option_problem(item, restricted=restricted)
        if problem:
            return problem
        if _takes(option, item):
            if option in TOOL_LISTS and (problem := _tools_problem(item, traits)):
                return problem
            option = ""
            continue
        if problem := _value_problem(option):
            return problem
        if item.startswith("@"):
            return messages.extra_arg_refused(item, messages.EXTRA_ARG_FILE)
        option = _open_option(item, traits)
    return _value_problem(option)


def _tools_problem(item: str, traits: PiTraits) -> str:
    problems = (tool_name_problem(name, traits) for name in tool_names([item]))
    why = next((problem for problem in problems if problem), "")
    return messages.extra_arg_refused(item, why) if why else ""


def words_of_no_option(profile: Profile, traits: PiTraits) -> tuple[str, ...]:
    """Return the items that pi reads as a prompt, or not at all."""
    words = []
    option = ""
    for item in profile.extra_args:
        if _takes(option, item):
            option = ""
            continue
        words += [] if item.startswith("-") else [item]
        option = _open_option(item, traits)
    return tuple(words)


def _open_option(item: str, traits: PiTraits) -> str:
    """Return the item if what follows may be its value."""
    return "" if item in FLAGS or item in traits.flags or "=" in item else item


def _text_problem(item: str) -> str:
    if "\0" in item:
        return messages.EXTRA_ARG_HAS_NULL
    return messages.extra_arg_unsafe(item) if _UNSAFE.search(item) else ""


def _option_problem(item: str, *, restricted: bool) -> str:
    """Refuse an option by its name; what stands behind `=` may be a key and is not repeated."""
    name = item.partition("=")[0]
    if restricted and name in TOOL_OPTIONS:
        return messages.extra_arg_overrides_tools(item)
    return messages.extra_arg_refused(name, REFUSED[name]) if name in REFUSED else ""


def _takes(option: str, item: str) -> bool:
    """Return whether pi reads an item as the value of the option before it."""
    if option in TAKES_ANYTHING:
        return True
    if option in TAKES_WORD:
        return not item.startswith("-")
    # An extension may know this option, and then whether it has a value.
    return option.startswith("--") and not item.startswith(("-", "@"))


def _value_problem(option: str) -> str:
    """Refuse an option that would take its value from what we put behind it."""
    lacks_value = option in TAKES_ANYTHING or option in TAKES_WORD
    return messages.extra_arg_refused(option, messages.EXTRA_ARG_NEEDS_VALUE) if lacks_value else ""

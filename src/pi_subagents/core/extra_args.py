"""
Decide which of a profile's `extraArgs` may reach the child's command line.

In: a Profile.  Out: what is wrong with its first bad item, or ExtraArgRefused.  The items are read
as pi's own parser reads them, so that no word can become a prompt, and no option can take what we
put behind it for its value.  What is never let through is refused in any place, also as a value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi_subagents import profile_messages
from pi_subagents.errors import ExtraArgRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.profile import Profile

# Every option of pi 0.87.1 stands in exactly one of the next four tables (tests/e2e checks it).
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
    **dict.fromkeys(("--mode", "--print", "-p"), profile_messages.EXTRA_ARG_MODE),
    **dict.fromkeys(
        ("--session", "--session-id", "--session-dir", "--no-session", "--fork", "--continue", "-c",
         "--resume", "-r", "--name", "-n"),
        profile_messages.EXTRA_ARG_SESSION,
    ),
    **dict.fromkeys(
        ("--export", "--help", "-h", "--version", "-v", "--list-models"),
        profile_messages.EXTRA_ARG_ENDS_PI,
    ),
    **dict.fromkeys(("--approve", "-a", "--no-approve", "-na"), profile_messages.EXTRA_ARG_TRUST),
    "--api-key": profile_messages.EXTRA_ARG_KEY,
    "--": profile_messages.EXTRA_ARG_DASHES,
}  # fmt: skip

TOOL_OPTIONS = frozenset({
    "--tools", "-t", "--exclude-tools", "-xt", "--no-tools", "-nt", "--no-builtin-tools", "-nbt",
})  # fmt: skip

# Documented, so kept, although no shell is involved; U+FEFF is a space where it was documented.
_UNSAFE = re.compile(r"^[\s\ufeff|&;$\\`!]|&&|\|\||;|>|<")


def check_extra_args(profile: Profile) -> None:
    """Refuse the whole call for an item that must not reach the child."""
    problem = extra_args_problem(profile)
    if problem:
        raise ExtraArgRefused(profile.name, problem)


def extra_args_problem(profile: Profile) -> str:
    """Return what is wrong with the first bad item, or nothing."""
    restricted = profile.no_tools or profile.tools is not None or profile.exclude_tools is not None
    option = ""  # the one before, while it may still take an item
    for item in profile.extra_args:
        problem = _text_problem(item) or _option_problem(item, restricted=restricted)
        if problem:
            return problem
        if _takes(option, item):
            option = ""
            continue
        problem = _value_problem(option) or _word_problem(item)
        if problem:
            return problem
        option = "" if item in FLAGS or "=" in item else item
    return _value_problem(option)


def _text_problem(item: str) -> str:
    if "\0" in item:
        return profile_messages.EXTRA_ARG_HAS_NULL
    return profile_messages.extra_arg_unsafe(item) if _UNSAFE.search(item) else ""


def _option_problem(item: str, *, restricted: bool) -> str:
    """Refuse an option by its name; what stands behind `=` may be a key and is not repeated."""
    name = item.partition("=")[0]
    if restricted and name in TOOL_OPTIONS:
        return profile_messages.extra_arg_overrides_tools(item)
    return profile_messages.extra_arg_refused(name, REFUSED[name]) if name in REFUSED else ""


def _takes(option: str, item: str) -> bool:
    """Tell whether pi reads an item as the value of the option before it."""
    if option in TAKES_ANYTHING:
        return True
    if option in TAKES_WORD:
        return not item.startswith("-")
    # An extension may know this option, and then whether it has a value.
    return option.startswith("--") and not item.startswith(("-", "@"))


def _value_problem(option: str) -> str:
    """Refuse an option that would take its value from what we put behind it."""
    lacks_value = option in TAKES_ANYTHING or option in TAKES_WORD
    return (
        profile_messages.extra_arg_refused(option, profile_messages.EXTRA_ARG_NEEDS_VALUE)
        if lacks_value
        else ""
    )


def _word_problem(item: str) -> str:
    if item.startswith("@"):
        return profile_messages.extra_arg_refused(item, profile_messages.EXTRA_ARG_FILE)
    return (
        ""
        if item.startswith("-")
        else profile_messages.extra_arg_refused(item, profile_messages.EXTRA_ARG_WORD)
    )

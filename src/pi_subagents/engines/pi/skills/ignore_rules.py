"""
The rules of ignore files, as pi applies them to skills.

In: the text of a `.gitignore` and where it stands below the root.  Out: rules, and whether a path
is ignored by them: the last rule that matches decides, and nothing inside an ignored directory
comes back.  As in pi and unlike in git, letter case does not count, and a rule of a file further
down counts from that file's directory only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi_subagents.core.glob_match import ANY_DEPTH, names_match
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LINE_END = re.compile(r"\r?\n")
_OPEN_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\$")


@value
class IgnoreRule:
    """One line of an ignore file, relative to the root."""

    segments: tuple[str, ...]
    for_directories: bool
    brings_back: bool


def parse_ignore_file(text: str, place: str) -> tuple[IgnoreRule, ...]:
    """Return the rules of a file that stands in `place` below the root, "" for the root itself."""
    prefix = f"{place}/" if place else ""
    lines = _LINE_END.split(text.removeprefix("\ufeff"))
    rules = (_rule(_from_root(line, prefix)) for line in lines if _says_something(line))
    return tuple(rule for rule in rules if rule is not None)


def is_ignored(names: Sequence[str], rules: Iterable[IgnoreRule], *, is_dir: bool) -> bool:
    """Return whether the path of these names below the root is ignored."""
    rules = tuple(rules)
    lowered = [name.lower() for name in names]
    return any(
        _is_ignored_itself(lowered[:end], rules, is_dir=is_dir or end < len(lowered))
        for end in range(1, len(lowered) + 1)
    )


def _is_ignored_itself(names: Sequence[str], rules: Sequence[IgnoreRule], *, is_dir: bool) -> bool:
    for rule in reversed(rules):
        if (is_dir or not rule.for_directories) and names_match(names, rule.segments, hidden=True):
            return not rule.brings_back
    return False


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith("#")


def _from_root(line: str, prefix: str) -> str:
    """Return a line as it would stand in the root's own file; a leading slash says nothing."""
    sign, pattern = ("!", line[1:]) if line.startswith("!") else ("", line)
    if not sign and pattern.startswith("\\!"):  # plain, even where nothing comes to stand before it
        pattern = pattern[1:]
    return sign + prefix + pattern.removeprefix("/")


def _rule(line: str) -> IgnoreRule | None:
    line = line.rstrip("\r")
    pattern = line.rstrip(" ")  # a tab belongs to the name
    if _OPEN_ESCAPE.search(pattern) and pattern != line:
        pattern += " "  # an escaped blank at the end belongs to the name
    if not pattern or pattern.startswith("#") or _OPEN_ESCAPE.search(pattern):
        return None
    brings_back = pattern.startswith("!")
    pattern = pattern.removeprefix("!").lower()
    path = pattern.removesuffix("/").split("/")
    if len(path) == 1:
        path.insert(0, ANY_DEPTH)  # a name alone is looked for everywhere
    segments = tuple(segment for segment in path if segment)
    return IgnoreRule(segments, pattern.endswith("/"), brings_back) if segments else None

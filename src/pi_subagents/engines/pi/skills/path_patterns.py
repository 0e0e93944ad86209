"""
Match paths against the patterns of pi's settings and package manifests.

In: absolute POSIX paths, patterns, and the directory that patterns are relative to.  Out: which
paths they select.  `{a,b}` works, no wildcard finds a name that begins with a dot, and extended
globs do not exist here.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from pi_subagents.core.glob_match import alternatives, names_match

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SKILL_FILE = "SKILL.md"
_OVERRIDES = ("!", "+", "-")


def is_override(entry: str) -> bool:
    """Return whether an entry excludes (`!`), or names one path to add (`+`) or drop (`-`)."""
    return entry.startswith(_OVERRIDES)


def is_glob(entry: str) -> bool:
    """Return whether an entry stands for whatever it matches."""
    return "*" in entry or "?" in entry


def selected(paths: Sequence[str], patterns: Sequence[str], base: str) -> frozenset[str]:
    """Return the paths that plain patterns allow (all, if there is none) and overrides leave."""
    plain = [each for each in patterns if not is_override(each)]
    return frozenset(
        path
        for path in paths
        if is_enabled(path, patterns, base, at_first=not plain or _matches_any(path, plain, base))
    )


def is_enabled(path: str, entries: Sequence[str], base: str, *, at_first: bool = True) -> bool:
    """Return whether the overrides among settings entries leave a path in use, or bring it back."""
    excluded, added, dropped = (
        [each[1:] for each in entries if each.startswith(sign)] for sign in _OVERRIDES
    )
    enabled = at_first and not _matches_any(path, excluded, base)
    return (enabled or _names_any(path, added, base)) and not _names_any(path, dropped, base)


def switched(paths: Sequence[str], patterns: Iterable[str], base: str) -> dict[str, bool]:
    """Return the paths that patterns name at all: on or off, by the last of them."""
    states: dict[str, bool] = {}
    for pattern in patterns:
        target = pattern[1:] if is_override(pattern) else pattern
        exact = pattern.startswith(("+", "-"))
        found = _names_any if exact else _matches_any
        on = not pattern.startswith(("!", "-"))
        states.update({path: on for path in paths if found(path, (target,), base)})
    return states


def matches(path: str, pattern: str) -> bool:
    """Return whether a whole path is what the pattern describes."""
    if pattern.startswith("#"):  # a comment, to pi as well
        return False
    bare = pattern.lstrip("!")
    wanted = (len(pattern) - len(bare)) % 2 == 0
    names = path.split("/")
    found = any(
        names_match(names, re.split("/+", each), hidden=False) for each in alternatives(bare)
    )
    return found is wanted


def _matches_any(path: str, patterns: Iterable[str], base: str) -> bool:
    targets = [*_places(path, base), posixpath.basename(path)]
    if posixpath.basename(path) == SKILL_FILE:
        targets.append(posixpath.basename(posixpath.dirname(path)))
    return any(matches(target, pattern) for pattern in patterns for target in targets)


def _names_any(path: str, exact: Iterable[str], base: str) -> bool:
    return any(each.removeprefix("./") in _places(path, base) for each in exact)


def _places(path: str, base: str) -> list[str]:
    """Return how a file can be named: relative or absolute, a skill also by its directory."""
    named = [path]
    if posixpath.basename(path) == SKILL_FILE:
        named.append(posixpath.dirname(path))
    return [*(_relative(each, base) for each in named), *named]


def _relative(path: str, base: str) -> str:
    return "" if path == base else posixpath.relpath(path, base)

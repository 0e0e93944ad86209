"""
Walk directories for skill files, the way pi does.

In: a directory, or a package's glob.  Out: absolute paths in pi's order, which decides between
skills of one name.  Ignore files count, links are followed, and a circle of links, a depth or a
number of files that no collection of skills has ends the walk: `cut` is where.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from pi_subagents.core.glob_match import ANY_DEPTH, alternatives, name_matches
from pi_subagents.engines.pi.skills.ignore_rules import is_ignored, parse_ignore_file
from pi_subagents.engines.pi.skills.path_patterns import SKILL_FILE
from pi_subagents.system.safe_io import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pi_subagents.engines.pi.skills.ignore_rules import IgnoreRule

MAX_ENTRIES = 20_000
MAX_DEPTH = 32
MAX_IGNORE_BYTES = 64 * 1024
_IGNORE_FILES = (".gitignore", ".ignore", ".fdignore")


def mode_of(path: Path) -> int:
    """Return what kind of thing a path leads to, 0 if to nothing."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


class SkillWalk:
    """One search through any number of directories: it looks at `max_entries` names, no more."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self.cut: Path | None = None
        self._left = max_entries

    def skill_files(self, root: Path, *, loose_below: bool = False) -> list[Path]:
        """
        Return every SKILL.md, and loose Markdown files that may be skills.

        Loose files count in the root itself, or (`loose_below`) anywhere but there: so it is
        in `.agents/skills`.
        """
        return list(self._below(root, _Ignored(root), (), loose_below=loose_below))

    def expand(self, root: Path, pattern: str) -> list[Path]:
        """Return what a glob of a package finds below its root, without hidden names."""
        found = set()
        for each in alternatives(pattern):
            parts = [part for part in each.split("/") if part not in {"", "."}]
            found |= set(self._matching(root, parts, 0))
        return sorted(found, key=str)

    def _below(
        self, directory: Path, ignored: _Ignored, trail: tuple[object, ...], *, loose_below: bool
    ) -> Iterator[Path]:
        identity = _identity(directory)
        if identity is None or identity in trail:  # not there, or a circle
            return
        if len(trail) == MAX_DEPTH:
            self.cut = self.cut or directory
            return
        ignored.read(directory)
        names = self._names(directory)
        own = directory / SKILL_FILE
        if SKILL_FILE in names and stat.S_ISREG(mode_of(own)) and not ignored.has(own):
            yield own
            return
        for name in names:
            if name.startswith(".") or name == "node_modules":
                continue
            path = directory / name
            mode = mode_of(path)
            if stat.S_ISDIR(mode):
                if not ignored.has(path, is_dir=True):
                    inner = (*trail, identity)
                    yield from self._below(path, ignored, inner, loose_below=loose_below)
                continue
            is_loose = stat.S_ISREG(mode) and name.endswith(".md") and loose_below == bool(trail)
            if is_loose and not ignored.has(path):
                yield path

    def _matching(self, directory: Path, parts: list[str], depth: int) -> Iterator[Path]:
        if not parts:
            yield directory
            return
        first, *rest = parts
        if depth == MAX_DEPTH:
            self.cut = self.cut or directory
        elif first == "..":
            yield from self._matching(directory.parent, rest, depth + 1)
        elif first == ANY_DEPTH:
            yield from self._matching(directory, rest, depth + 1)
            for path in self._visible(directory):
                if stat.S_ISDIR(mode_of(path)) and not path.is_symlink():
                    yield from self._matching(path, parts, depth + 1)
                elif not rest:
                    yield path
        else:
            for path in self._visible(directory):
                if name_matches(path.name, first, hidden=False):
                    yield from self._matching(path, rest, depth + 1)

    def _visible(self, directory: Path) -> list[Path]:
        return [directory / name for name in self._names(directory) if not name.startswith(".")]

    def _names(self, directory: Path) -> list[str]:
        """Return a directory's names in the order in which Node lists them: by their bytes."""
        try:
            with os.scandir(directory) as entries:
                names = [entry.name for entry in islice(entries, self._left + 1)]
        except OSError:
            return []
        if len(names) > self._left:
            self.cut = self.cut or directory
            names = names[: self._left]
        self._left -= len(names)
        # A name that is not UTF-8 cannot be given to pi.
        readable = [each for each in names if os.fsencode(each) == each.encode(errors="replace")]
        return sorted(readable, key=os.fsencode)


class _Ignored:
    """The rules of all ignore files met so far below one root."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._rules: list[IgnoreRule] = []

    def read(self, directory: Path) -> None:
        place = "/".join(directory.relative_to(self._root).parts)
        for name in _IGNORE_FILES:
            with suppress(OSError, ValueError, RuntimeError):
                text = read_bounded((directory / name).resolve(), MAX_IGNORE_BYTES)
                self._rules += parse_ignore_file(text.decode(errors="replace"), place)

    def has(self, path: Path, *, is_dir: bool = False) -> bool:
        return is_ignored(path.relative_to(self._root).parts, self._rules, is_dir=is_dir)


def _identity(directory: Path) -> object | None:
    try:
        found = directory.stat()
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None

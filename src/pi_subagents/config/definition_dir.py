"""
Read one directory of Markdown files that each define something under a name, and cache it.

In: a directory, which may be absent, its scope, and what kind of thing its files define.  Out: all
that could be read, which of them count, and what is wrong with each file; callers that ask again
and again get what was read in the last five seconds.  A file that cannot be used is reported and
never hides the others; nothing here waits; files and their number are limited.
"""

from __future__ import annotations

import heapq
import os
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pi_subagents.config import messages
from pi_subagents.core import messages as core_messages
from pi_subagents.core.definitions.definition import FileProblem, Loaded
from pi_subagents.core.definitions.found import DefinitionFile, DefinitionsDir
from pi_subagents.core.definitions.frontmatter import parse_frontmatter
from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.errors import FrontmatterError
from pi_subagents.system.safe_io import read_bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from pathlib import Path

    from pi_subagents.core.definitions.frontmatter import Frontmatter

SUFFIX = ".md"
MAX_BYTES = 256 * 1024
MAX_FILES = 1000
_MAX_PROBLEM = 300

L = TypeVar("L", bound=Loaded)


@dataclass(frozen=True, slots=True)
class DefinitionKind(Generic[L]):
    """What the files of a directory define: a word for it, and how a file's content is loaded."""

    noun: str
    load: Callable[[Path, str, Frontmatter], tuple[L | None, tuple[FileProblem, ...]]]


def read_directory(kind: DefinitionKind[L], directory: Path, scope: str) -> DefinitionsDir[L]:
    """Return what the files of a directory define; a missing one holds none."""
    problems: list[FileProblem] = []
    names = _names(kind, directory, problems)
    read = (read_file(kind, directory / name, scope, problems) for name in names)
    files = tuple(file for file in read if file is not None)
    return DefinitionsDir(files, tuple(_counting(kind, files, problems)), tuple(problems))


def read_file(
    kind: DefinitionKind[L], path: Path, scope: str, problems: list[FileProblem]
) -> DefinitionFile[L] | None:
    """Return what a file defines, or None; add to the problems."""
    try:
        # It may be a link: people keep such files in dotfile repositories.
        content = parse_frontmatter(read_bounded(path.resolve(), MAX_BYTES).decode())
    except FrontmatterError as error:
        problem = one_line(error.problem, _MAX_PROBLEM)
        problems.append(FileProblem(str(path), error.line, problem, fatal=True))
        return None
    except UnicodeDecodeError:
        problems.append(FileProblem(str(path), 1, messages.NOT_UTF8, fatal=True))
        return None
    except (OSError, ValueError, RuntimeError) as error:
        problems.append(_unusable(path, error))
        return None
    loaded, found = kind.load(path, scope, content)
    problems += found
    return DefinitionFile(loaded, content.lines) if loaded else None


def holds_definitions(directory: Path) -> bool:
    """Return whether a directory can be read and has a file that would be."""
    try:
        with os.scandir(directory) as entries:
            return any(_is_wanted(entry) for entry in entries)
    except (OSError, ValueError):
        return False


def _names(kind: DefinitionKind[L], directory: Path, problems: list[FileProblem]) -> list[str]:
    """Return the names of the files to read, sorted and not too many."""
    try:
        with os.scandir(directory) as entries:
            wanted = (entry.name for entry in entries if _is_wanted(entry))
            names = heapq.nsmallest(MAX_FILES + 1, wanted)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        problems.append(_unusable(directory, error))
        return []
    if len(names) > MAX_FILES:
        problem = messages.too_many_files(kind.noun, MAX_FILES)
        problems.append(FileProblem(str(directory), 1, problem, fatal=True))
    return names[:MAX_FILES]


def _is_wanted(entry: os.DirEntry[str]) -> bool:
    is_visible = entry.name.endswith(SUFFIX) and not entry.name.startswith(".")
    return is_visible and not os.path.isdir(entry.path)  # noqa: PTH112 - never raises, unlike the entry


def _counting(
    kind: DefinitionKind[L], files: Iterable[DefinitionFile[L]], problems: list[FileProblem]
) -> list[L]:
    """Return one per name: the file called after it wins, else the first."""
    by_name: dict[str, list[DefinitionFile[L]]] = defaultdict(list)
    for file in files:
        by_name[file.loaded.name].append(file)
    counting = []
    for name, same in by_name.items():
        winner = next((file for file in same if _file_name(file) == name + SUFFIX), same[0])
        counting.append(winner.loaded)
        if _file_name(winner) != name + SUFFIX:
            wanted = messages.wanted_file_name(name)
            problems.append(_name_problem(winner, wanted, fatal=False))
        taken = messages.name_taken(kind.noun, name, printable(_file_name(winner)))
        problems += [_name_problem(f, taken, fatal=True) for f in same if f is not winner]
    return counting


def _file_name(file: DefinitionFile[L]) -> str:
    return os.path.basename(file.loaded.path)  # noqa: PTH119 - of a text


def _name_problem(file: DefinitionFile[L], problem: str, *, fatal: bool) -> FileProblem:
    return FileProblem(file.loaded.path, file.lines["name"], problem, fatal)


def _unusable(path: Path, error: Exception) -> FileProblem:
    reason = getattr(error, "strerror", None) or str(error)
    problem = core_messages.file_unusable(one_line(reason, _MAX_PROBLEM))
    return FileProblem(str(path), 1, problem, fatal=True)


CACHE_S = 5.0
MAX_CACHED = 64

T = TypeVar("T")


class Recent(Generic[T]):
    """What was read less than five seconds ago, by key."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()

    def __len__(self) -> int:
        """Return how many entries are cached."""
        return len(self._entries)

    def get(self, key: Hashable, now: float, read: Callable[[], T]) -> T:
        """Return what is cached, or else read it."""
        if key in self._entries and now - self._entries[key][0] < CACHE_S:
            return self._entries[key][1]
        found = read()
        self._entries[key] = (now, found)
        self._entries.move_to_end(key)
        while len(self._entries) > MAX_CACHED:
            self._entries.popitem(last=False)  # the one that was read first
        return found

    def clear(self) -> None:
        """Forget everything, so that the next caller has it read again."""
        self._entries.clear()


def is_same_dir(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one directory, which then must not count twice."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False
